"""From a list before and a list after to the edits between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ullage.types import Drop, Edit, Insert, Message, Rewrite


def edits_between(
    before: Sequence[Message], after: Sequence[Message], sources: Mapping[str, tuple[str, ...]] | None = None
) -> tuple[Edit, ...]:
    """The edits that turn ``before`` into ``after``: messages are the same when their ids are.

    A message that moved is dropped and inserted again. ``sources`` names, by the id of a new message, the ids that it
    stands for. Flags are not compared: no edit can change one.
    """
    known = sources or {}
    old = {message.id: (at, message) for at, message in enumerate(before)}
    kept: set[str] = set()
    edits: list[Edit] = []
    anchor: str | None = None
    last = -1
    for message in after:
        place = old.get(message.id)
        if place is None or place[0] < last:
            origin = known.get(message.id, () if place is None else (message.id,))
            edits.append(Insert(after=anchor, message=message, sources=origin))
            continue
        last, anchor = place[0], message.id
        kept.add(message.id)
        if place[1].blocks != message.blocks:
            edits.append(Rewrite(id=message.id, blocks=message.blocks))
    dropped = tuple(message.id for message in before if message.id not in kept)
    return (Drop(ids=dropped), *edits) if dropped else tuple(edits)

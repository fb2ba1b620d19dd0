"""Histories as Strands would hold them: the results of parallel calls in one user message.

Recordings of other clients answer parallel calls in several user messages one after the other. The tool-pair rules look
at neighbours only, so such results are merged before a manager sees them, and its edits are spread over the originals.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from ullage.context import Context
from ullage.types import Block, Drop, Edit, Insert, Message, Rewrite


@dataclass(frozen=True, slots=True)
class Turns:
    """Messages with neighbouring results merged. ``parts`` maps the id of a merged message to its originals."""

    messages: tuple[Message, ...]
    parts: Mapping[str, tuple[Message, ...]] = field(default_factory=dict)

    @classmethod
    def of(cls, context: Context) -> Turns:
        """Merge runs of neighbouring user messages that all hold tool results."""
        runs = _runs(context)
        if not runs:
            return cls(tuple(context))
        merged: list[Message] = []
        parts: dict[str, tuple[Message, ...]] = {}
        at = 0
        for start, stop in [*runs, (len(context), len(context))]:
            merged.extend(context[at:start])
            if stop > start:
                group = context[start:stop]
                blocks = tuple(block for message in group for block in message.blocks)
                merged.append(msgspec.structs.replace(group[0], blocks=blocks, pinned=any(m.pinned for m in group)))
                parts[group[0].id] = group
            at = stop
        return cls(tuple(merged), parts)

    def spread(self, edits: Iterable[Edit]) -> tuple[Edit, ...]:
        """The same edits on the originals."""
        if not self.parts:
            return tuple(edits)
        return tuple(new for edit in edits for new in self._spread(edit))

    def _spread(self, edit: Edit) -> Iterable[Edit]:
        if isinstance(edit, Drop):
            return (Drop(ids=self.ids(edit.ids)),)
        if isinstance(edit, Insert):
            group = self.parts.get(edit.after) if edit.after is not None else None
            after = group[-1].id if group else edit.after
            return (msgspec.structs.replace(edit, after=after, sources=self.ids(edit.sources)),)
        if isinstance(edit, Rewrite) and edit.id in self.parts:
            return _divided(self.parts[edit.id], edit.blocks)
        return (edit,)

    def ids(self, ids: Sequence[str]) -> tuple[str, ...]:
        """The original ids behind these."""
        return tuple(original for i in ids for original in self._originals(i))

    def _originals(self, message_id: str) -> tuple[str, ...]:
        parts = self.parts.get(message_id)
        return (message_id,) if parts is None else tuple(part.id for part in parts)


def _runs(context: Context) -> list[tuple[int, int]]:
    """Half-open ranges of two and more neighbouring user messages with tool results."""
    runs: list[tuple[int, int]] = []
    for position in context.result_positions:
        if context[position].role != "user":
            continue
        if runs and runs[-1][1] == position:
            runs[-1] = (runs[-1][0], position + 1)
        else:
            runs.append((position, position + 1))
    return [(start, stop) for start, stop in runs if stop - start > 1]


def _divided(group: tuple[Message, ...], blocks: tuple[Block, ...]) -> Iterable[Edit]:
    """Give each original its share of the new blocks; when their number changed the first gets all and the others go."""
    if len(blocks) != sum(len(message.blocks) for message in group):
        return (Rewrite(id=group[0].id, blocks=blocks), Drop(ids=tuple(message.id for message in group[1:])))
    edits, at = [], 0
    for message in group:
        share = blocks[at : at + len(message.blocks)]
        at += len(message.blocks)
        if share != message.blocks:
            edits.append(Rewrite(id=message.id, blocks=share))
    return edits

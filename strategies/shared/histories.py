"""A history as a list of messages: what stands in it, where it may be cut, and the decision that a changed list means.

For systems that rebuild their list in one go. Where calls and results are paired, they are paired by id, so that a result
far from its call counts as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec import UNSET
from msgspec.structs import replace

from ullage.strategies.shared.edits import edits_between
from ullage.strategies.shared.estimators import Estimator
from ullage.strategy import View
from ullage.types import Block, Decision, Edit, Message, Role, Text, ToolResult, ToolUse


def changed_to(
    view: View,
    after: Sequence[Message],
    *,
    tier: str,
    reason: str,
    sources: Mapping[str, tuple[str, ...]] | None = None,
    state: Any = UNSET,
    estimate: int | None = None,
    extra: Iterable[Edit] = (),
) -> Decision:
    """The decision that turns the context of a view into a list; ``sources`` names what new messages stand for.

    Without ``state`` the strategy's state stays as it was.
    """
    edits = (*edits_between(view.context, after, sources), *extra)
    return Decision(edits=edits, state=state, tier=tier, reason=reason, estimate=estimate)


def spoken(view: View, text: str, *, role: Role = "user", base: str = "summary") -> Message:
    """A new message of one text, under an id that the context has not seen; ``synthetic``: nobody typed it."""
    return made(view, (Text(text=text),), role=role, base=base)


def made(view: View, blocks: tuple[Block, ...], *, role: Role = "user", base: str = "summary") -> Message:
    """A new message, under an id made of ``base``, the call and the number of compactions so far."""
    name = stem = f"{base}-{view.call}-{len(view.compactions)}"
    number = 1
    while view.context.position(name) is not None:
        number += 1
        name = f"{stem}.{number}"
    return Message(id=name, role=role, blocks=blocks, synthetic=True)


def is_typed(message: Message) -> bool:
    """Tell whether a person wrote a message: a user's, with text, answering no tool call and made by no strategy."""
    return (
        message.role == "user"
        and not message.synthetic
        and not message.tool_result_ids
        and any(isinstance(block, Text) for block in message.blocks)
    )


def text_of(message: Message) -> str:
    """The text blocks of a message, one under the other."""
    return "\n".join(block.text for block in message.blocks if isinstance(block, Text))


def tool_names(messages: Iterable[Message]) -> dict[str, str]:
    """The tool's name for each tool call id; the newest call with an id counts."""
    return {b.id: b.name for m in messages for b in m.blocks if isinstance(b, ToolUse)}


def whole_cuts(messages: Sequence[Message]) -> list[bool]:
    """For each position from 0 to the length whether a cut before it parts no call from its result; linear."""
    open_calls: set[str] = set()
    answered = {one for message in messages for one in message.tool_result_ids}
    found = [True]
    for message in messages:
        open_calls |= {one for one in message.tool_use_ids if one in answered}
        open_calls -= set(message.tool_result_ids)
        found.append(not open_calls)
    return found


def tail_start(messages: Sequence[Message], tokens: int, estimate: Estimator) -> int:
    """Where the longest run of newest messages begins that fits ``tokens``; the length when even the last does not."""
    used = 0
    for at in range(len(messages) - 1, -1, -1):
        used += estimate(messages[at])
        if used > tokens:
            return at + 1
    return 0


def without_orphans(messages: Sequence[Message]) -> list[Message]:
    """The messages without results whose call is gone; a message left empty goes as well."""
    calls = {one for message in messages for one in message.tool_use_ids}
    kept = []
    for message in messages:
        if all(one in calls for one in message.tool_result_ids):
            kept.append(message)
            continue
        blocks = tuple(b for b in message.blocks if not isinstance(b, ToolResult) or b.tool_use_id in calls)
        if blocks:
            kept.append(replace(message, blocks=blocks))
    return kept

"""What the edits of a step touched, and which user messages a person wrote."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from ullage.step import Step
from ullage.types import Block, Drop, Erase, Insert, Message, Rewrite, ToolResult, Trace


def touched(step: Step) -> frozenset[str]:
    """Ids of all messages that edits since the last step dropped, rewrote, erased or brought."""
    found: set[str] = set()
    for event in step.compactions:
        for edit in event.edits:
            if isinstance(edit, Drop):
                found.update(edit.ids)
            elif isinstance(edit, (Rewrite, Erase)):
                found.add(edit.id)
            elif isinstance(edit, Insert):
                found.add(edit.message.id)
    return frozenset(found)


def positions_of(trace: Trace, wanted: Callable[[Message], bool]) -> tuple[int, ...]:
    """Positions of the recorded messages that are wanted, ascending."""
    return tuple(at for at, message in enumerate(trace.messages) if wanted(message))


def asked(trace: Trace) -> tuple[int, ...]:
    """Positions of what the user said: messages that the recording marks as a person's, else user texts without results."""
    marked = positions_of(trace, lambda message: message.human and bool(message.text.strip()))
    return marked or positions_of(
        trace, lambda message: message.role == "user" and bool(message.text.strip()) and not message.tool_result_ids
    )


def said(message: Message) -> tuple[Block, ...]:
    """The blocks of a message that are not tool results."""
    return tuple(block for block in message.blocks if not isinstance(block, ToolResult))


def holder(step: Step, recorded: Message, part: Callable[[Message], tuple[Block, ...]], among: Iterable[str]) -> str | None:
    """The first of some messages in which this ``part`` of a recorded one stands whole, in order and under the same role.

    A client that merges neighbouring messages of one role changes nothing that the model sees, so the message that took
    the blocks in counts as well as the original.
    """
    for message_id in among:
        at = step.context.position(message_id)
        if at is not None:
            message = step.context[at]
            if message.role == recorded.role and _within(part(recorded), part(message)):
                return message_id
    return None


def _within(wanted: tuple[Block, ...], blocks: tuple[Block, ...]) -> bool:
    size = len(wanted)
    return any(blocks[at : at + size] == wanted for at in range(len(blocks) - size + 1))


class Arrivals:
    """Walks through chosen positions of the trace as calls go by."""

    def __init__(self, positions: Sequence[int]) -> None:
        self._positions = positions
        self.count = 0

    def until(self, upto: int) -> Iterable[int]:
        """The positions that came in since it was last asked."""
        before = self.count
        while self.count < len(self._positions) and self._positions[self.count] < upto:
            self.count += 1
        return self._positions[before : self.count]

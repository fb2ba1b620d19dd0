"""The uncompacted history of a replay, asked whether it holds a finding of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from ullage.invariants._turns import Turn, turns_of
from ullage.step import Step
from ullage.types import Edit, Insert, Message, Opaque, Thinking, ToolResult, ToolUse, Trace

NEIGHBOURS = 2
"""Turns on either side of a message that a rule may look at."""


@dataclass(kw_only=True)
class Past:
    """What was recorded: messages by id, and the turns around one of them as they stood at a call."""

    trace: Trace
    messages: Sequence[Message] = ()
    offset: int = 0
    upto: int = 0
    begun: bool = False

    def at(self, step: Step) -> None:
        """Move to a call; at the first one see whether the replay put unrecorded history in front."""
        if not self.begun:
            self._begin(step)
        self.upto = step.call.upto + self.offset

    def _begin(self, step: Step) -> None:
        self.begun = True
        first = step.context[0] if len(step.context) else None
        known = first is not None and any(m.id == first.id for m in self.trace.messages[:1])
        lead = first is not None and not known and len(first.blocks) == 1 and isinstance(first.blocks[0], Opaque)
        if first is not None and lead and all(first.id not in inserted(event.edits) for event in step.compactions):
            self.messages, self.offset = (first, *self.trace.messages), 1
        else:
            self.messages = self.trace.messages

    @cached_property
    def index(self) -> dict[str, int]:
        """Position of each recorded message."""
        return {message.id: at for at, message in enumerate(self.messages)}

    @cached_property
    def calls(self) -> dict[str, list[int]]:
        """Positions of the messages that make each tool call, ascending."""
        found: dict[str, list[int]] = {}
        for at, message in enumerate(self.messages):
            for use in message.tool_use_ids:
                found.setdefault(use, []).append(at)
        return found

    @cached_property
    def thinks(self) -> bool:
        """Whether the recording holds reasoning at all."""
        return any(isinstance(block, Thinking) for message in self.messages for block in message.blocks)

    @cached_property
    def tools_sent(self) -> bool:
        """Whether the requests offered tools: the trace says which, or holds calls, which cannot be made without."""
        return bool(self.trace.tools) or any(
            isinstance(block, (ToolUse, ToolResult)) for message in self.messages for block in message.blocks
        )

    def message(self, message_id: str) -> Message | None:
        """The recorded message of this id, if it had arrived by the call."""
        at = self.index.get(message_id)
        return self.messages[at] if at is not None and at < self.upto else None

    def last_reply(self) -> Turn | None:
        """The model's last turn before the call."""
        stop = self.upto
        while stop and self.messages[stop - 1].role != "assistant":
            stop -= 1
        start = stop
        while start and self.messages[start - 1].role == "assistant":
            start -= 1
        return turns_of(self.messages[start:stop], start)[0] if stop else None

    def around(self, message_id: str) -> list[Turn]:
        """The turns near a recorded message as the uncompacted request of the call held them; none if it did not."""
        at = self.index.get(message_id)
        if at is None or at >= self.upto:
            return []
        start, stop = self._turn_start(at), self._turn_stop(at)
        for _ in range(NEIGHBOURS):
            start = self._turn_start(start - 1) if start else 0
            stop = self._turn_stop(stop) if stop < self.upto else stop
        return turns_of(self.messages[start:stop], start)

    def _turn_start(self, at: int) -> int:
        role = self.messages[at].role
        while at and self.messages[at - 1].role == role:
            at -= 1
        return at

    def _turn_stop(self, at: int) -> int:
        role = self.messages[at].role
        while at < self.upto and self.messages[at].role == role:
            at += 1
        return at


def inserted(edits: Sequence[Edit]) -> set[str]:
    """Ids of the messages that edits bring."""
    return {edit.message.id for edit in edits if isinstance(edit, Insert)}

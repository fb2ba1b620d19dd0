"""The default decider: a written policy.

It sees what a model sees: the messages, the status line and the tools. From ``PIN_AT`` of the window on it pins the task,
and again when its own call is no longer in the history. From ``TRUNCATE_AT`` on it drops old tool traffic, from
``SUMMARIZE_AT`` on it folds the oldest half into a summary. When the answer says that nothing was done it tries the other
tool at the next call; after a call that worked, or two that did not, it waits ``LOOK_BACK`` messages.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from ullage.deciders import DeciderPlugin
from ullage.strategy import DeciderRequest, ToolRequest
from ullage.types import Message, Text, ToolResult, ToolUse, canonical_json

TRUNCATE_AT = 0.6
"""Share of the window from which on old tool traffic is dropped: half the way between calm and the safety net's usual place."""
SUMMARIZE_AT = 0.75
PIN_AT = 0.3
"""Share from which on the task is pinned: a short session needs no pin."""
LOOK_BACK = 12
"""Newest messages in which the policy looks for its own last calls; about six steps."""
NOTHING_DONE = re.compile(r"^(No|Nothing|The summary failed|Every index)\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenPolicy(DeciderPlugin):
    """Deterministic; keeps nothing between calls: its own past calls stand in the messages that it is shown."""

    truncate_at: float = TRUNCATE_AT
    summarize_at: float = SUMMARIZE_AT
    pin_at: float = PIN_AT

    summary: ClassVar[str] = "pins the task, then drops old tool traffic, then summarises, at three shares of the window"

    def __call__(self, request: DeciderRequest) -> tuple[ToolRequest, ...]:
        """Choose the calls for one moment; none when the window is calm or a call was made only just before."""
        names = {tool.name for tool in request.tools}
        share = request.used / request.limit
        if share < self.pin_at or not names:
            return ()
        recent = _recent_calls(request.messages)
        calls = []
        if "pin_context" in names and not _pinned_before(request.messages):
            calls.append(_pin_task(request.messages))
        if share >= self.summarize_at and "summarize_context" in names:
            calls += self._relieve(recent, "summarize_context", "truncate_context")
        elif share >= self.truncate_at and "truncate_context" in names:
            calls += self._relieve(recent, "truncate_context", "summarize_context")
        return tuple(calls)

    @staticmethod
    def _relieve(recent: Sequence[tuple[str, str]], first: str, second: str) -> list[ToolRequest]:
        """The first tool; the second when the first has just done nothing; neither when one has just worked or both failed."""
        done = {name: bool(NOTHING_DONE.match(answer)) for name, answer in recent if name in (first, second)}
        if any(not nothing for nothing in done.values()) or len(done) == 2:
            return []
        return [_call(second if first in done else first)]


def _call(name: str) -> ToolRequest:
    if name == "summarize_context":
        return ToolRequest(name=name, arguments=canonical_json({"summary_ratio": 0.5}))
    return ToolRequest(name=name, arguments=canonical_json({"keep_recent": 20, "message_type": "tools"}))


def _pin_task(messages: Sequence[Message]) -> ToolRequest:
    task = next((at for at, m in enumerate(messages) if m.role == "user" and m.text), 0)
    return ToolRequest(name="pin_context", arguments=canonical_json({"select": [task]}))


def _pinned_before(messages: Sequence[Message]) -> bool:
    return any(block.name == "pin_context" for message in messages for block in message.blocks if isinstance(block, ToolUse))


def _recent_calls(messages: Sequence[Message]) -> list[tuple[str, str]]:
    """Names and answers of the context tools among the newest messages, oldest first."""
    answers = {
        block.tool_use_id: "".join(item.text for item in block.content if isinstance(item, Text))
        for message in messages[-LOOK_BACK:]
        for block in message.blocks
        if isinstance(block, ToolResult)
    }
    calls = (block for message in messages[-LOOK_BACK:] for block in message.blocks if isinstance(block, ToolUse))
    return [(call.name, answers[call.id]) for call in calls if call.id in answers]

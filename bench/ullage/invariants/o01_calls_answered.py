"""Chat Completions refuses anything between a tool call and its results, and a call without one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from ullage.invariants._pairs import unanswered
from ullage.invariants._scan import BEFORE, LAST, Finding, Scene, TurnRule
from ullage.invariants._turns import ASSISTANT, SEVERAL, USE, USER, Turn
from ullage.types import Message, ToolResult


@dataclass(frozen=True, slots=True, kw_only=True)
class CallsAnswered(TurnRule):
    """The messages behind an assistant message with calls are their results, before anything else."""

    summary: ClassVar[str] = "tool calls are answered at once, before anything else"
    rule: ClassVar[str] = "O01"
    scope: ClassVar[str] = "openai"
    source: ClassVar[str] = (
        "langchainjs 6621; qwen-code 606; livekit/agents PR 1977: must be followed by tool messages responding to each tool_call_id"
    )

    def concerns(self, bits: int) -> bool:
        """A turn after tool calls, a turn of several messages that makes some, or a last turn that does."""
        return bool(bits & (USE * BEFORE) or (bits & ASSISTANT and bits & USE and bits & (SEVERAL | LAST)))

    def look(self, scene: Scene, at: int, *, last: bool) -> Iterable[Finding]:
        """One finding for each call left open, and one at each message that stands between a call and its results."""
        turn = scene.turns[at]
        found: list[Finding] = []
        if at and scene.turns[at - 1].uses:
            answered = turn.results if turn.bits & USER else ()
            found = unanswered(scene.turns[at - 1], answered, "is not answered by the next messages")
            found += _between(turn, set(scene.turns[at - 1].uses))
        if turn.bits & ASSISTANT:
            pairs = zip(turn.messages, turn.messages[1:], strict=False)
            found += [
                Finding(after.id, "stands between a tool call and its results", "between")
                for one, after in pairs
                if one.tool_use_ids
            ]
        return found + unanswered(turn, (), "is the last of the request, without a result") if last else found


def _between(turn: Turn, asked: set[str]) -> list[Finding]:
    """Messages of a user turn with something before the last of the results that are asked for."""
    found: list[Finding] = []
    other = False
    for message in turn.messages:
        late = _late(message, asked, other=other)
        if late:
            found.append(Finding(message.id, "a result behind something else", "late"))
        other = other or any(not isinstance(block, ToolResult) for block in message.blocks)
    return found


def _late(message: Message, asked: set[str], *, other: bool) -> bool:
    for block in message.blocks:
        if isinstance(block, ToolResult):
            if other and block.tool_use_id in asked:
                return True
        else:
            other = True
    return False

"""Calls and reasoning belong in assistant turns, results in user turns."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from ullage.invariants._scan import Finding, Scene, TurnRule
from ullage.invariants._turns import ASSISTANT, RESULT, THINKING, USE, USER
from ullage.types import Thinking, ToolResult, ToolUse

MISPLACED: dict[str, tuple[type, ...]] = {
    "assistant": (ToolResult,),
    "user": (ToolUse, Thinking),
    "system": (ToolUse, Thinking, ToolResult),
}
"""Blocks that a message of each role must not hold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockRoles(TurnRule):
    """Tool calls and thinking stand in assistant messages, tool results in user messages."""

    summary: ClassVar[str] = "calls and thinking are the assistant's, results the user's"
    rule: ClassVar[str] = ""
    source: ClassVar[str] = (
        "Messages API: tool_use only in assistant, tool_result only in user messages; other APIs have no place for them at all (general knowledge)"
    )

    def concerns(self, bits: int) -> bool:
        """A turn whose blocks do not fit its role."""
        return bool((bits & (USE | THINKING) and not bits & ASSISTANT) or (bits & RESULT and not bits & USER))

    def look(self, scene: Scene, at: int, *, last: bool) -> Iterable[Finding]:  # noqa: ARG002 - the signature of all rules
        """One finding at each message with such a block."""
        turn = scene.turns[at]
        found = []
        for message in turn.messages:
            wrong = next((block for block in message.blocks if isinstance(block, MISPLACED[turn.role])), None)
            if wrong is not None:
                found.append(Finding(message.id, f"a {type(wrong).__name__} block in a message of role {turn.role}"))
        return found

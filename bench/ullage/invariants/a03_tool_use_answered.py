"""Claude's API refuses a tool call without a result in the turn that follows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from ullage.invariants._pairs import unanswered
from ullage.invariants._scan import BEFORE, LAST, Finding, Scene, TurnRule
from ullage.invariants._turns import USE


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolUseAnswered(TurnRule):
    """Every tool call has its result in the next turn, also the calls of the last turn."""

    summary: ClassVar[str] = "every tool call is answered in the next turn"
    rule: ClassVar[str] = "A03"
    scope: ClassVar[str] = "anthropic bedrock"
    source: ClassVar[str] = "anthropics/claude-code 2796, 5594, 8931: ids found without tool_result blocks immediately after"

    def concerns(self, bits: int) -> bool:
        """A turn after tool calls, or a last turn that makes some."""
        return bool(bits & (USE * BEFORE) or (bits & LAST and bits & USE))

    def look(self, scene: Scene, at: int, *, last: bool) -> Iterable[Finding]:
        """One finding for each call of the turn before that this one leaves open, and for each call of a last turn."""
        turn = scene.turns[at]
        found = []
        if at and scene.turns[at - 1].uses:
            answered = turn.results if turn.role == "user" else ()
            found = unanswered(scene.turns[at - 1], answered, "is not answered in the next turn")
        return found + unanswered(turn, (), "is the last of the request, without a result") if last else found

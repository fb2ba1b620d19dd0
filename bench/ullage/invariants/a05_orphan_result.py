"""Claude's API refuses a tool result whose call is not in the turn before, and a second result for one call."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from ullage.invariants._pairs import orphans
from ullage.invariants._scan import Finding, Scene, TurnRule
from ullage.invariants._turns import RESULT


@dataclass(frozen=True, slots=True, kw_only=True)
class OrphanResult(TurnRule):
    """Every tool result answers a call of the turn before, and each call has one result."""

    summary: ClassVar[str] = "every tool result has its call in the turn before"
    rule: ClassVar[str] = "A05"
    scope: ClassVar[str] = "anthropic bedrock"
    source: ClassVar[str] = (
        "anthropics/claude-code 24670; openclaw/openclaw 7865: unexpected tool_use_id found in tool_result blocks"
    )

    def concerns(self, bits: int) -> bool:
        """A turn with results."""
        return bool(bits & RESULT)

    def look(self, scene: Scene, at: int, *, last: bool) -> Iterable[Finding]:  # noqa: ARG002 - the signature of all rules
        """One finding for each result without a call, and for each repeated one."""
        turn = scene.turns[at]
        asked = scene.turns[at - 1].uses if at else []
        if turn.results == asked:
            return ()
        return orphans(turn, asked)

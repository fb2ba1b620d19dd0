"""Chat Completions refuses a tool message that answers no call before it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from ullage.invariants._pairs import orphans
from ullage.invariants._scan import Finding, Scene, TurnRule
from ullage.invariants._turns import RESULT


@dataclass(frozen=True, slots=True, kw_only=True)
class OrphanTool(TurnRule):
    """Every tool result answers a call of the turn before, and each call has one result."""

    summary: ClassVar[str] = "every tool message has its call before it"
    rule: ClassVar[str] = "O02"
    scope: ClassVar[str] = "openai"
    source: ClassVar[str] = (
        "Chat Completions error: messages with role tool must be a response to a preceding message with tool_calls (general knowledge)"
    )

    def concerns(self, bits: int) -> bool:
        """A turn with results."""
        return bool(bits & RESULT)

    def look(self, scene: Scene, at: int, *, last: bool) -> Iterable[Finding]:  # noqa: ARG002 - the signature of all rules
        """One finding for each result without a call, and for each repeated one."""
        turn = scene.turns[at]
        asked = scene.turns[at - 1].uses if at else []
        return () if turn.results == asked else orphans(turn, asked)

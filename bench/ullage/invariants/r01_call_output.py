"""Responses refuses a function call without its output."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from ullage.invariants._pairs import unanswered
from ullage.invariants._scan import BEFORE, LAST, Finding, Scene, TurnRule
from ullage.invariants._turns import USE


@dataclass(frozen=True, slots=True, kw_only=True)
class CallOutput(TurnRule):
    """Every call has its output. The API would take it from anywhere behind the call; clients send it next, which is looked at here."""

    summary: ClassVar[str] = "every function call has its output"
    rule: ClassVar[str] = "R01"
    scope: ClassVar[str] = "responses"
    source: ClassVar[str] = "openai-agents-python 2317: no tool output found for function call"

    def concerns(self, bits: int) -> bool:
        """A turn after calls, or a last turn that makes some."""
        return bool(bits & (USE * BEFORE) or (bits & LAST and bits & USE))

    def look(self, scene: Scene, at: int, *, last: bool) -> Iterable[Finding]:
        """One finding for each call of the turn before that this one leaves open, and for each call of a last turn."""
        turn = scene.turns[at]
        found = unanswered(scene.turns[at - 1], turn.results, "has no output in the next turn") if at else []
        return found + unanswered(turn, (), "is the last of the request, without an output") if last else found

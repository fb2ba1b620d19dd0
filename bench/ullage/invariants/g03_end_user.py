"""Gemini wants the last turn to be the user's."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from ullage.invariants._scan import LAST, Finding, Scene, TurnRule
from ullage.invariants._turns import ASSISTANT
from ullage.types import Severity


@dataclass(frozen=True, slots=True, kw_only=True)
class EndUser(TurnRule):
    """The request ends with the user or with function responses."""

    summary: ClassVar[str] = "the request ends with the user"
    rule: ClassVar[str] = "G03"
    severity: ClassVar[Severity] = "warning"
    scope: ClassVar[str] = "gemini"
    source: ClassVar[str] = "crewAI PR 6973: single turn requests end with a user role"

    def concerns(self, bits: int) -> bool:
        """A last turn of the model."""
        return bool(bits & LAST and bits & ASSISTANT)

    def look(self, scene: Scene, at: int, *, last: bool) -> Iterable[Finding]:  # noqa: ARG002 - the signature of all rules
        """One finding, at the last message."""
        return (Finding(scene.turns[at].messages[-1].id, "the request ends with a model message"),)

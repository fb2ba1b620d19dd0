"""Claude's API refuses a request whose first message is not the user's."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from ullage.invariants._scan import FIRST, Finding, Scene, TurnRule
from ullage.invariants._turns import USER


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstUser(TurnRule):
    """The request begins with a user message; a system text belongs in the system prompt."""

    summary: ClassVar[str] = "the first message is the user's"
    rule: ClassVar[str] = "A01"
    scope: ClassVar[str] = "anthropic bedrock"
    source: ClassVar[str] = "Messages API error 'first message must use the \"user\" role' (general knowledge)"

    def concerns(self, bits: int) -> bool:
        """Only a first turn that is not the user's."""
        return bool(bits & FIRST and not bits & USER)

    def look(self, scene: Scene, at: int, *, last: bool) -> Iterable[Finding]:  # noqa: ARG002 - the signature of all rules
        """One finding, at the first message."""
        turn = scene.turns[at]
        return (Finding(turn.messages[0].id, f"the request begins with a message of role {turn.role}"),)

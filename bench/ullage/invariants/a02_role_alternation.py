"""Claude's API merges neighbouring messages of one role into one turn: accepted, but not what the client meant."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from ullage.invariants._scan import INJECTED, Finding, Scene, TurnRule
from ullage.invariants._turns import SEVERAL
from ullage.types import Severity


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleAlternation(TurnRule):
    """No two neighbouring messages have the same role. Injected blocks ride in the message before them."""

    summary: ClassVar[str] = "user and assistant alternate"
    rule: ClassVar[str] = "A02"
    severity: ClassVar[Severity] = "warning"
    scope: ClassVar[str] = "anthropic"
    source: ClassVar[str] = "Messages API reference: consecutive turns of one role are combined"

    def concerns(self, bits: int) -> bool:
        """Only turns of several messages."""
        return bool(bits & SEVERAL)

    def look(self, scene: Scene, at: int, *, last: bool) -> Iterable[Finding]:  # noqa: ARG002 - the signature of all rules
        """One finding at each message that follows one of its own role."""
        turn = scene.turns[at]
        return [
            Finding(message.id, f"two {turn.role} messages in a row") for message in turn.messages[1:] if message.id != INJECTED
        ]

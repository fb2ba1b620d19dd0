"""Bedrock refuses two messages of one role in a row."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from ullage.invariants._scan import INJECTED, Finding, Scene, TurnRule
from ullage.invariants._turns import SEVERAL


@dataclass(frozen=True, slots=True, kw_only=True)
class Alternation(TurnRule):
    """User and assistant alternate strictly; unlike Claude's own API nothing is merged."""

    summary: ClassVar[str] = "user and assistant alternate, nothing is merged"
    rule: ClassVar[str] = "B01"
    scope: ClassVar[str] = "bedrock"
    source: ClassVar[str] = (
        "langchain-aws 130, 192; Portkey gateway 748: a conversation must alternate between user and assistant roles"
    )

    def concerns(self, bits: int) -> bool:
        """Only turns of several messages."""
        return bool(bits & SEVERAL)

    def look(self, scene: Scene, at: int, *, last: bool) -> Iterable[Finding]:  # noqa: ARG002 - the signature of all rules
        """One finding at each message that follows one of its own role."""
        turn = scene.turns[at]
        return [
            Finding(message.id, f"two {turn.role} messages in a row") for message in turn.messages[1:] if message.id != INJECTED
        ]

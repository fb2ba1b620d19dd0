"""Claude's API refuses an assistant turn that ends on thinking."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from ullage.invariants._scan import Finding, Scene, TurnRule
from ullage.invariants._turns import ASSISTANT, THINKING


@dataclass(frozen=True, slots=True, kw_only=True)
class ThinkingLast(TurnRule):
    """No assistant turn ends on a thinking block."""

    summary: ClassVar[str] = "no assistant turn ends on thinking"
    rule: ClassVar[str] = "A17"
    scope: ClassVar[str] = "anthropic"
    source: ClassVar[str] = "cortexkit/anthropic-auth PR 49: the final block cannot be thinking"

    def concerns(self, bits: int) -> bool:
        """An assistant turn with thinking."""
        return bool(bits & ASSISTANT and bits & THINKING)

    def look(self, scene: Scene, at: int, *, last: bool) -> Iterable[Finding]:  # noqa: ARG002 - the signature of all rules
        """One finding, at the turn's last message."""
        turn = scene.turns[at]
        return (Finding(turn.messages[-1].id, "an assistant turn ends on thinking"),) if turn.ends_thinking else ()

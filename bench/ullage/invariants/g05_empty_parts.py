"""Gemini refuses a message without a part that says something."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from ullage.invariants._scan import Finding, Scene, TurnRule
from ullage.invariants._turns import BLANK, THINKING
from ullage.types import Text, Thinking


@dataclass(frozen=True, slots=True, kw_only=True)
class EmptyParts(TurnRule):
    """Every message has at least one part that is not an empty text; thoughts are not sent back as text."""

    summary: ClassVar[str] = "every message has a part that is not empty"
    rule: ClassVar[str] = "G05"
    scope: ClassVar[str] = "gemini"
    source: ClassVar[str] = "Gemini API error: must include at least one parts field (general knowledge)"

    def concerns(self, bits: int) -> bool:
        """A turn with something blank, or with reasoning."""
        return bool(bits & (BLANK | THINKING))

    def look(self, scene: Scene, at: int, *, last: bool) -> Iterable[Finding]:  # noqa: ARG002 - the signature of all rules
        """One finding at each message of which no part would be left."""
        return [
            Finding(message.id, "a message without a part")
            for message in scene.turns[at].messages
            if all(isinstance(block, Thinking) or (isinstance(block, Text) and not block.text) for block in message.blocks)
        ]

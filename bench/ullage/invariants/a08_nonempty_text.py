"""Claude's API refuses empty text blocks and messages without content."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from ullage.invariants._scan import Finding, Scene, TurnRule
from ullage.invariants._turns import BLANK
from ullage.types import Text


@dataclass(frozen=True, slots=True, kw_only=True)
class NonemptyText(TurnRule):
    """Text blocks hold more than white space, and messages hold blocks."""

    summary: ClassVar[str] = "no text is blank, no message without content"
    rule: ClassVar[str] = "A08"
    scope: ClassVar[str] = "anthropic bedrock"
    source: ClassVar[str] = "experientiallabs/experiential PR 799: text content blocks must be non-empty"

    def concerns(self, bits: int) -> bool:
        """A turn with something blank."""
        return bool(bits & BLANK)

    def look(self, scene: Scene, at: int, *, last: bool) -> Iterable[Finding]:  # noqa: ARG002 - the signature of all rules
        """One finding at each message with something blank."""
        found = []
        for message in scene.turns[at].messages:
            if not message.blocks:
                found.append(Finding(message.id, "a message without content"))
            elif any(isinstance(block, Text) and not block.text.strip() for block in message.blocks):
                found.append(Finding(message.id, "a text block of nothing but white space"))
        return found

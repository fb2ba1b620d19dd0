"""Chat Completions refuses a message without content, unless it makes calls."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from ullage.invariants._scan import Finding, Scene, TurnRule
from ullage.invariants._turns import BLANK, THINKING
from ullage.types import Thinking


@dataclass(frozen=True, slots=True, kw_only=True)
class NullContent(TurnRule):
    """A message holds content or, if it is the assistant's, tool calls; reasoning is not sent and is neither."""

    summary: ClassVar[str] = "no message is empty but for its calls"
    rule: ClassVar[str] = "O05"
    scope: ClassVar[str] = "openai"
    source: ClassVar[str] = "Chat Completions error: invalid value for content, expected a string, got null (general knowledge)"

    def concerns(self, bits: int) -> bool:
        """A turn with something blank, or with reasoning."""
        return bool(bits & (BLANK | THINKING))

    def look(self, scene: Scene, at: int, *, last: bool) -> Iterable[Finding]:  # noqa: ARG002 - the signature of all rules
        """One finding at each message of which nothing would be sent."""
        return [
            Finding(message.id, "a message without content")
            for message in scene.turns[at].messages
            if all(isinstance(block, Thinking) for block in message.blocks)
        ]

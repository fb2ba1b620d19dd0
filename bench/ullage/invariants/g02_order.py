"""Gemini refuses a function call that does not follow the user or a function response."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from ullage.invariants._scan import FIRST, Finding, Scene, TurnRule
from ullage.invariants._turns import ASSISTANT, SEVERAL, USE


@dataclass(frozen=True, slots=True, kw_only=True)
class Order(TurnRule):
    """A message with calls stands right behind a user message: not first, and not behind another message of the model."""

    summary: ClassVar[str] = "function calls come right after the user or a response"
    rule: ClassVar[str] = "G02"
    scope: ClassVar[str] = "gemini"
    source: ClassVar[str] = (
        "Gemini API error: function call turn comes immediately after a user turn or after a function response turn; gemini-cli PR 4141"
    )

    def concerns(self, bits: int) -> bool:
        """A turn of the model with calls that is the first or has several messages."""
        return bool(bits & ASSISTANT and bits & USE and bits & (FIRST | SEVERAL))

    def look(self, scene: Scene, at: int, *, last: bool) -> Iterable[Finding]:  # noqa: ARG002 - the signature of all rules
        """One finding at each such message."""
        turn = scene.turns[at]
        return [
            Finding(message.id, "function calls behind no user message")
            for number, message in enumerate(turn.messages)
            if message.tool_use_ids and (number or not at)
        ]

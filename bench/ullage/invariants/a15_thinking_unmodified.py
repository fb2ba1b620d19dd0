"""Claude's API refuses thinking of the latest assistant message that was edited, reordered or merged."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from ullage.invariants._scan import LAST, Finding, Scene, TurnRule
from ullage.invariants._turns import THINKING, latest_assistant
from ullage.types import Message, Thinking


@dataclass(frozen=True, slots=True, kw_only=True)
class ThinkingUnmodified(TurnRule):
    """Thinking blocks of the latest assistant message are those of the recording, in their order; leaving all out is A14's matter."""

    summary: ClassVar[str] = "thinking in the latest assistant message is unchanged"
    rule: ClassVar[str] = "A15"
    scope: ClassVar[str] = "anthropic"
    source: ClassVar[str] = "anthropics/claude-code 63284: blocks in the latest assistant message cannot be modified"

    def concerns(self, bits: int) -> bool:
        """The end of a request."""
        return bool(bits & LAST)

    def look(self, scene: Scene, at: int, *, last: bool) -> Iterable[Finding]:  # noqa: ARG002 - the signature of all rules
        """One finding at each message of the latest assistant turn whose thinking is not the recorded one."""
        sent = latest_assistant(scene.turns, at)
        if sent is None or not sent.bits & THINKING:
            return ()
        return [
            Finding(message.id, "thinking of the latest assistant message is not what was recorded")
            for message in sent.messages
            if thinking_of(message) and thinking_of(message) != thinking_of(scene.past.message(message.id))
        ]


def thinking_of(message: Message | None) -> tuple[Thinking, ...]:
    """The reasoning in a message, in order."""
    return () if message is None else tuple(block for block in message.blocks if isinstance(block, Thinking))

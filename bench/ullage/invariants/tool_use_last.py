"""Some servers refuse an assistant message that goes on after its tool calls."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from ullage.invariants._scan import Finding, Scene, TurnRule
from ullage.invariants._turns import ASSISTANT, BURIED
from ullage.types import Severity, ToolUse


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolUseLast(TurnRule):
    """Tool calls are the last blocks of an assistant message."""

    summary: ClassVar[str] = "tool calls come last in their message"
    rule: ClassVar[str] = ""
    severity: ClassVar[Severity] = "warning"
    scope: ClassVar[str] = "anthropic bedrock"
    source: ClassVar[str] = "what several shipped libraries break; whether it is refused depends on the server"

    def concerns(self, bits: int) -> bool:
        """An assistant turn with a block behind a call."""
        return bool(bits & ASSISTANT and bits & BURIED)

    def look(self, scene: Scene, at: int, *, last: bool) -> Iterable[Finding]:  # noqa: ARG002 - the signature of all rules
        """One finding at each message with a block behind a call."""
        found = []
        for message in scene.turns[at].messages:
            kinds = [isinstance(block, ToolUse) for block in message.blocks]
            if kinds != sorted(kinds):
                found.append(Finding(message.id, "a block stands behind a tool call"))
        return found

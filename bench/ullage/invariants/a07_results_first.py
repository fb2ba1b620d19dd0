"""Claude's API wants the results at the beginning of the turn that answers calls."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from ullage.invariants._scan import Finding, Scene, TurnRule
from ullage.invariants._turns import LATE
from ullage.types import ToolResult


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultsFirst(TurnRule):
    """In a turn with tool results nothing stands before them."""

    summary: ClassVar[str] = "tool results come before other blocks of their turn"
    rule: ClassVar[str] = "A07"
    scope: ClassVar[str] = "anthropic"
    source: ClassVar[str] = "Claude tool-use guide: tool_result blocks come first in the content (general knowledge)"

    def concerns(self, bits: int) -> bool:
        """A turn with a result behind another kind of block."""
        return bool(bits & LATE)

    def look(self, scene: Scene, at: int, *, last: bool) -> Iterable[Finding]:  # noqa: ARG002 - the signature of all rules
        """One finding at each message with such a result."""
        found, other = [], False
        for message in scene.turns[at].messages:
            late = False
            for block in message.blocks:
                late = late or (other and isinstance(block, ToolResult))
                other = other or not isinstance(block, ToolResult)
            if late:
                found.append(Finding(message.id, "a tool result stands behind another block of its turn"))
        return found

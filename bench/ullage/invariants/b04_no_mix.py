"""Some models on Bedrock refuse text beside tool results."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from ullage.invariants._scan import Finding, Scene, TurnRule
from ullage.invariants._turns import OTHER, RESULT, USER
from ullage.types import Severity, ToolResult


@dataclass(frozen=True, slots=True, kw_only=True)
class NoMix(TurnRule):
    """A user turn holds tool results or other content, not both."""

    summary: ClassVar[str] = "tool results and other content stand in turns of their own"
    rule: ClassVar[str] = "B04"
    severity: ClassVar[Severity] = "warning"
    scope: ClassVar[str] = "bedrock"
    source: ClassVar[str] = "langchain-aws 141: conversation blocks and tool result blocks cannot be provided in the same turn"

    def concerns(self, bits: int) -> bool:
        """A user turn with results and something else."""
        return bool(bits & USER and bits & RESULT and bits & OTHER)

    def look(self, scene: Scene, at: int, *, last: bool) -> Iterable[Finding]:  # noqa: ARG002 - the signature of all rules
        """One finding, at the first message that mixes, or that brings the other kind."""
        kinds: set[bool] = set()
        for message in scene.turns[at].messages:
            kinds.update(isinstance(block, ToolResult) for block in message.blocks)
            if len(kinds) > 1:
                return (Finding(message.id, "tool results and other content in one turn"),)
        return ()

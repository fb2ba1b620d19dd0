"""Claude models from 4.6 on refuse a request that ends with an assistant message (a prefill)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from ullage.invariants._scan import LAST, Finding, Scene, TurnRule
from ullage.invariants._turns import ASSISTANT


@dataclass(frozen=True, slots=True, kw_only=True)
class Prefill(TurnRule):
    """The request does not end with an assistant message."""

    summary: ClassVar[str] = "the request ends with the user"
    rule: ClassVar[str] = "A12"
    scope: ClassVar[str] = "anthropic bedrock"
    source: ClassVar[str] = "anomalyco/opencode 13768; decolua/9router 2302: the conversation must end with a user message"

    def concerns(self, bits: int) -> bool:
        """A last turn of the assistant."""
        return bool(bits & LAST and bits & ASSISTANT)

    def look(self, scene: Scene, at: int, *, last: bool) -> Iterable[Finding]:  # noqa: ARG002 - the signature of all rules
        """One finding, at the last message."""
        return (Finding(scene.turns[at].messages[-1].id, "the request ends with an assistant message"),)

"""Responses refuses a function call's output without the call."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from ullage.invariants._scan import Finding, Scene, TurnRule
from ullage.invariants._turns import RESULT


@dataclass(frozen=True, slots=True, kw_only=True)
class OrphanOutput(TurnRule):
    """Every output has its call somewhere before it."""

    summary: ClassVar[str] = "every output has its function call before it"
    rule: ClassVar[str] = "R02"
    scope: ClassVar[str] = "responses"
    source: ClassVar[str] = "Responses API error: no tool call found for function call output with call_id (general knowledge)"

    def concerns(self, bits: int) -> bool:
        """A turn with outputs."""
        return bool(bits & RESULT)

    def look(self, scene: Scene, at: int, *, last: bool) -> Iterable[Finding]:  # noqa: ARG002 - the signature of all rules
        """One finding for each output whose call is not in the request before it."""
        return [
            Finding(message.id, f"no function call for the output {result!r}", result)
            for position, message in enumerate(scene.turns[at].messages, scene.turns[at].start)
            for result in message.tool_result_ids
            if all(call >= position for call in scene.calls.get(result, ()))
        ]

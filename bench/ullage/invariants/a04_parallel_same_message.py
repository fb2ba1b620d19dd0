"""Servers that speak Claude's API want all results of parallel calls in one message."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from ullage.invariants._scan import BEFORE, Finding, Scene, TurnRule
from ullage.invariants._turns import RESULT, SEVERAL, USE


@dataclass(frozen=True, slots=True, kw_only=True)
class ParallelSameMessage(TurnRule):
    """The results of one turn's calls stand in one message. The first-party server merges them; strict ones refuse."""

    summary: ClassVar[str] = "results of parallel calls stand in one message"
    rule: ClassVar[str] = "A04"
    scope: ClassVar[str] = "anthropic"
    source: ClassVar[str] = "sudoprivacy/sudocode PR 546; the first-party API merges"

    def concerns(self, bits: int) -> bool:
        """A turn of several messages with results, after calls."""
        return bool(bits & RESULT and bits & SEVERAL and bits & (USE * BEFORE))

    def look(self, scene: Scene, at: int, *, last: bool) -> Iterable[Finding]:  # noqa: ARG002 - the signature of all rules
        """One finding at each further message that answers calls of the turn before."""
        asked = set(scene.turns[at - 1].uses)
        answering = [message for message in scene.turns[at].messages if not asked.isdisjoint(message.tool_result_ids)]
        return [Finding(message.id, "results of parallel calls are spread over several messages") for message in answering[1:]]

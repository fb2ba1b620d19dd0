"""Gemini counts: as many responses as calls in the message before."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from ullage.invariants._scan import BEFORE, INJECTED, LAST, Finding, Scene, TurnRule
from ullage.invariants._turns import RESULT, SEVERAL, USE


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts(TurnRule):
    """Every message holds exactly as many function responses as the message before it made calls; nothing is merged."""

    summary: ClassVar[str] = "as many function responses as calls in the message before"
    rule: ClassVar[str] = "G01"
    scope: ClassVar[str] = "gemini"
    source: ClassVar[str] = (
        "gemini-cli 4568, 4105, 4136, all from compression: number of function response parts is equal to the number of function call parts"
    )

    def concerns(self, bits: int) -> bool:
        """A turn with responses, a turn after calls, or a turn with calls that goes on or ends the request."""
        return bool(bits & (RESULT | USE * BEFORE) or (bits & USE and bits & (SEVERAL | LAST)))

    def look(self, scene: Scene, at: int, *, last: bool) -> Iterable[Finding]:
        """One finding at each message whose responses do not match in number, and at a last message with calls."""
        turn = scene.turns[at]
        asked = len(scene.turns[at - 1].messages[-1].tool_use_ids) if at else 0
        found = []
        for message in turn.messages:
            if message.id != INJECTED or message.tool_result_ids:
                if len(message.tool_result_ids) != asked:
                    found.append(
                        Finding(message.id, f"{len(message.tool_result_ids)} function responses for {asked} calls", "count")
                    )
                asked = len(message.tool_use_ids)
        if last and asked:
            found.append(Finding(turn.messages[-1].id, f"{asked} function calls end the request", "open"))
        return found

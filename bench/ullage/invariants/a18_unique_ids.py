"""Claude's API refuses two tool calls with one id."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from ullage.invariants._scan import Finding, Scene, TurnRule
from ullage.invariants._turns import USE


@dataclass(frozen=True, slots=True, kw_only=True)
class UniqueIds(TurnRule):
    """Tool-use ids are unique in the request."""

    summary: ClassVar[str] = "tool-use ids are unique"
    rule: ClassVar[str] = "A18"
    scope: ClassVar[str] = "anthropic"
    source: ClassVar[str] = "Messages API error 'tool_use ids must be unique' (general knowledge)"

    def concerns(self, bits: int) -> bool:
        """A turn with calls."""
        return bool(bits & USE)

    def look(self, scene: Scene, at: int, *, last: bool) -> Iterable[Finding]:  # noqa: ARG002 - the signature of all rules
        """One finding for each id that an earlier message, or the same one, has used."""
        turn = scene.turns[at]
        if all(len(scene.calls[use]) == 1 for use in turn.uses):
            return ()
        return [
            Finding(message.id, f"tool-use id {use!r} is used a second time", use)
            for position, message in enumerate(turn.messages, turn.start)
            for use in dict.fromkeys(message.tool_use_ids)
            if scene.calls[use][0] < position or message.tool_use_ids.count(use) > 1
        ]

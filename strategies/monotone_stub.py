"""Clears old tool results in few big steps: the boundary moves forward only, and only when that frees enough."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from ullage.errors import CannotShrink
from ullage.strategies.shared.estimators import chars_over_4, usage_plus_tail
from ullage.strategies.shared.results import older_than
from ullage.strategies.shared.stubs import CLEARED, result_characters, shrinks, stub
from ullage.strategy import UNCHANGED, Strategy, TriggerUnit, View
from ullage.types import Decision, Message, Moment, Rewrite

CHARACTERS_PER_TOKEN = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class MonotoneStub(Strategy):
    """Above ``threshold`` of the window, clears all but the newest ``keep`` results once that frees ``free`` tokens.

    A result is cleared at most once and never comes back. At an overflow it clears without asking how much is freed,
    in the end all but the newest result. ``free`` counts characters / 4; the prompt is the last usage plus the tail.
    """

    keep: int = 10
    free: int = 20_000
    threshold: float = 0.5

    summary: ClassVar[str] = "clears old tool results in few big steps that never go back"
    moments: ClassVar[frozenset[Moment]] = frozenset({Moment.BEFORE_CALL, Moment.OVERFLOW})
    trigger_unit: ClassVar[TriggerUnit] = "usage"
    promises: ClassVar[tuple[str, ...]] = ("task_survives", "no_rewrite_twice")
    sources: ClassVar[tuple[str, ...]] = (
        "hysteresis as control for sliding_stub; compare OpenCode prune and Gemini CLI masking",
    )

    def __post_init__(self) -> None:
        if self.keep < 1:
            raise ValueError(f"found keep={self.keep}; expected at least 1 result")
        if self.free < 0:
            raise ValueError(f"found free={self.free}; expected 0 or more tokens")
        if not 0 <= self.threshold <= 1:
            raise ValueError(f"found threshold={self.threshold}; expected 0 <= threshold <= 1, a share of the window")

    def decide(self, view: View) -> Decision:
        """Move the boundary if this is worth breaking the cache, or if nothing else helps."""
        if view.moment is Moment.OVERFLOW:
            return self._at_overflow(view)
        estimate = usage_plus_tail(view, chars_over_4)
        if estimate is None or estimate < self.threshold * view.window:
            return UNCHANGED if estimate is None else Decision(estimate=estimate)
        state = self._counted(view)
        if state["freeable"] < self.free * CHARACTERS_PER_TOKEN:
            return Decision(state=state, estimate=estimate)
        return self._clear(view, self.keep, estimate)

    def _counted(self, view: View) -> dict[str, Any]:
        """The state with what has left the window since it was last counted: characters that a step would free."""
        state = view.state or {}
        passed = list(older_than(view.context, self.keep, state.get("counted")))
        fresh = sum(_gain(view.context[at]) for at in passed if at)
        counted = view.context[passed[0]].id if passed else state.get("counted")
        return {"until": state.get("until"), "counted": counted, "freeable": state.get("freeable", 0) + fresh}

    def _clear(self, view: View, keep: int, estimate: int | None) -> Decision:
        """Clear everything between the old boundary and the newest ``keep`` results."""
        passed = list(older_than(view.context, keep, (view.state or {}).get("until")))
        edits = tuple(stub(view.context[at]) for at in reversed(passed) if at and _gain(view.context[at]) > 0)
        boundary = view.context[passed[0]].id if passed else (view.state or {}).get("until")
        state = {"until": boundary, "counted": boundary, "freeable": 0}
        return Decision(
            edits=edits, state=state, tier="stub", reason=f"{len(edits)} results cleared in one step", estimate=estimate
        )

    def _at_overflow(self, view: View) -> Decision:
        for keep in dict.fromkeys((self.keep, 1)):
            decision = self._clear(view, keep, None)
            if any(isinstance(edit, Rewrite) for edit in decision.edits):
                return decision
        raise CannotShrink("every tool result but the newest is cleared already")


def _gain(message: Message) -> int:
    """Characters that clearing a message would free; nothing for one that must stay."""
    if message.pinned or message.protected or not shrinks(message):
        return 0
    return result_characters(message) - len(CLEARED) * len(message.tool_result_ids)

"""The pitfall: a window of verbatim tool results that slides at every step, and breaks the prompt cache at every step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ullage.strategies.shared.results import older_than
from ullage.strategies.shared.stubs import shrinks, stub
from ullage.strategy import UNCHANGED, Strategy, TriggerUnit, View
from ullage.types import Decision, Moment


@dataclass(frozen=True, slots=True, kw_only=True)
class SlidingStub(Strategy):
    """Keeps the newest ``keep`` tool results and clears every older one, asked again before each call.

    The first message, pinned and protected ones, and results not twice as long as the stub are left alone.
    With ``polling`` above 1 the border moves at every ``polling``-th result message only, so that between ``keep`` and
    ``keep + polling`` are kept: the cure that SWE-agent offers for its own sliding window.
    """

    keep: int = 10
    polling: int = 1

    summary: ClassVar[str] = "clears all but the newest tool results, one more at every step"
    moments: ClassVar[frozenset[Moment]] = frozenset({Moment.BEFORE_CALL, Moment.OVERFLOW})
    trigger_unit: ClassVar[TriggerUnit] = "count"
    promises: ClassVar[tuple[str, ...]] = ("task_survives", "no_rewrite_twice")
    sources: ClassVar[tuple[str, ...]] = (
        "the per-step clearing reported for MUR AI: 177 steps, 83 % of the bill in cache writes",
        "SWE-agent, last_n_observations with polling: the cut stands at floor(results / polling) × polling − keep",
    )

    def __post_init__(self) -> None:
        if self.keep < 1:
            raise ValueError(f"found keep={self.keep}; expected at least 1 result")
        if self.polling < 1:
            raise ValueError(f"found polling={self.polling}; expected at least 1 result")

    def decide(self, view: View) -> Decision:
        """Clear the results that have left the window since the last call."""
        state = view.state or {}
        keep = self.keep + len(view.context.result_positions) % self.polling
        passed = list(older_than(view.context, keep, state.get("until")))
        if not passed:
            return UNCHANGED
        messages = [view.context[at] for at in reversed(passed) if at]
        edits = tuple(stub(m) for m in messages if not (m.pinned or m.protected) and shrinks(m))
        newest = view.context[passed[0]].id
        return Decision(edits=edits, state={"until": newest}, tier="stub", reason=f"{len(edits)} results left the window")

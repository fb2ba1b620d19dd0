"""Every provider refuses a prompt that, with the output room, does not fit the window."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ullage.invariants import RECORDED, Invariant
from ullage.step import Step
from ullage.types import Trace, Violation


@dataclass(frozen=True, slots=True, kw_only=True)
class Window(Invariant):
    """Prompt and reserved output fit the window.

    The loop lets no such request through: the strategy is asked, and a replay that cannot go on dies, which is a fact
    and no violation. The rule holds the loop to that, also for the blocks that a strategy adds to one request. In
    forced mode the strategy is not asked at most calls: there an overfull history is the mode's doing.
    """

    summary: ClassVar[str] = "prompt and output room fit the window"
    rule: ClassVar[str] = "A22"
    source: ClassVar[str] = "Messages API error 'prompt is too long: N tokens > M maximum' (general knowledge)"

    def open(self, trace: Trace) -> _Sizes:  # noqa: ARG002 - sizes are on the step
        """Compare sizes."""
        return _Sizes(self)


class _Sizes:
    """Knows whether the last request was too long, and by whose doing."""

    def __init__(self, invariant: Invariant) -> None:
        self._invariant = invariant
        self._state = ""

    def check(self, step: Step) -> list[Violation]:
        """One finding when requests become too long."""
        before, self._state = self._state, self._judge(step)
        if not self._state or self._state == before:
            return []
        evidence = f"{step.prompt_tokens} tokens + {step.reserve} reserved > {step.window} maximum"
        return [self._invariant.violation(step.index, (), evidence if self._state == "own" else f"{RECORDED}: {evidence}")]

    @staticmethod
    def _judge(step: Step) -> str:
        """``own`` when injected blocks make a request too long, ``recorded`` when its history alone is, else nothing."""
        if step.row is None or step.prompt_tokens + step.reserve <= step.window:
            return ""
        return "own" if step.prompt_tokens - step.row.injected + step.reserve <= step.window else RECORDED

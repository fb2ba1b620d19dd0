"""A compaction makes the prompt smaller, or the loop that asked for it never ends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ullage.invariants import Invariant
from ullage.step import Step
from ullage.types import Moment, Trace, Violation


@dataclass(frozen=True, slots=True, kw_only=True)
class StrictShrink(Invariant):
    """Every decision that changes the history leaves fewer true tokens than before; resuming a session is excepted."""

    summary: ClassVar[str] = "every compaction frees tokens"
    source: ClassVar[str] = "Gemini CLI's inflated summaries; openai/codex 14120"

    def open(self, trace: Trace) -> _Sizes:  # noqa: ARG002 - the sizes are on the compactions
        """Compare sizes."""
        return _Sizes(self)


@dataclass(frozen=True, slots=True)
class _Sizes:
    """Keeps nothing: a compaction carries both sizes."""

    invariant: Invariant

    def check(self, step: Step) -> list[Violation]:
        """One finding for each compaction that freed nothing."""
        return [
            self.invariant.violation(
                step.index, (), f"{event.tokens_before} tokens became {event.tokens_after} at {event.moment}"
            )
            for event in step.compactions
            if event.tokens_after >= event.tokens_before and event.moment is not Moment.RESTORE
        ]

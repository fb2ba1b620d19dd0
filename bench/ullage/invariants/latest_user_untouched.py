"""The newest thing that the user said stands in the request exactly as it was said."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ullage.invariants import Invariant
from ullage.invariants._edits import Arrivals, asked, holder, said, touched
from ullage.step import Step
from ullage.types import Message, Trace, Violation


@dataclass(frozen=True, slots=True, kw_only=True)
class LatestUserUntouched(Invariant):
    """The latest message that the user wrote stands whole in the request; tool results beside it may change.

    What the user wrote: messages that the recording marks as a person's, else user texts without tool results.
    """

    summary: ClassVar[str] = "the latest user message stands in the request as it was written"
    source: ClassVar[str] = "OpenCode's replay of the pending request, Letta 2512, Hermes: the latest user message wins"

    def open(self, trace: Trace) -> _Latest:
        """Follow the user's messages."""
        return _Latest(self, trace)


class _Latest:
    """Knows the latest user message, and which message of the request holds it."""

    def __init__(self, invariant: Invariant, trace: Trace) -> None:
        self._invariant, self._trace = invariant, trace
        self._arrivals = Arrivals(asked(trace))
        self._latest: Message | None = None
        self._holder: str | None = None

    def check(self, step: Step) -> list[Violation]:
        """One finding when the latest user message is lost."""
        if not step.compactions:
            return []
        for at in self._arrivals.until(step.call.upto):
            self._latest, self._holder = self._trace.messages[at], self._trace.messages[at].id
        edited = touched(step)
        if self._latest is None or not edited & {self._holder, self._latest.id}:
            return []
        before = self._holder
        self._holder = holder(step, self._latest, said, (self._latest.id, *sorted(edited)))
        if self._holder is not None or before is None:
            return []
        how = "dropped" if step.context.position(self._latest.id) is None else "changed"
        return [self._invariant.violation(step.index, (self._latest.id,), f"the latest user message was {how}")]

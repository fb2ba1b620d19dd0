"""Recorded messages that must stay as they are, watched one by one.

A message changes only by an edit that names it, so a step costs its edits and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable

from ullage.invariants import Invariant
from ullage.invariants._edits import Arrivals, fate, positions_of, touched
from ullage.step import Step
from ullage.types import Message, Trace, Violation


class Watch:
    """Reports each watched message once when it is dropped or changed, and again if that happens after it came back."""

    def __init__(self, invariant: Invariant, trace: Trace, wanted: Callable[[Message], bool], name: str) -> None:
        self._invariant, self._trace, self._name = invariant, trace, name
        self._arrivals = Arrivals(positions_of(trace, wanted))
        self._watched: dict[str, Message] = {}
        self._lost: set[str] = set()

    def check(self, step: Step) -> list[Violation]:
        """New losses at one step."""
        if not step.compactions:
            return []
        for at in self._arrivals.until(step.call.upto):
            message = self._trace.messages[at]
            self._watched[message.id] = message
        found = []
        for message_id in sorted(touched(step) & self._watched.keys()):
            how = fate(step, self._watched[message_id], lambda message: message.key)
            if how and message_id not in self._lost:
                found.append(self._invariant.violation(step.index, (message_id,), f"{self._name} was {how}"))
            self._lost.add(message_id) if how else self._lost.discard(message_id)
        return found

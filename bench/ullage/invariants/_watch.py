"""Recorded messages that must stay as they are, watched one by one.

A message changes only by an edit that names it, so a step costs its edits and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable

from ullage.invariants import Invariant
from ullage.invariants._edits import Arrivals, holder, positions_of, touched
from ullage.step import Step
from ullage.types import Message, Trace, Violation


class Watch:
    """Reports each watched message once when it no longer stands whole in the request, and again if it came back and went.

    ``wanted`` says in one word why a message is watched, or nothing when it is not.
    """

    def __init__(self, invariant: Invariant, trace: Trace, wanted: Callable[[Message], str]) -> None:
        self._invariant, self._trace, self._wanted = invariant, trace, wanted
        self._arrivals = Arrivals(positions_of(trace, lambda message: bool(wanted(message))))
        self._held: dict[str, list[Message]] = {}
        self._lost: dict[str, Message] = {}

    def check(self, step: Step) -> list[Violation]:
        """New losses at one step."""
        if not step.compactions:
            return []
        for at in self._arrivals.until(step.call.upto):
            message = self._trace.messages[at]
            self._held[message.id] = [message]
        edited = touched(step)
        found = []
        for message in self._affected(edited):
            now = holder(step, message, lambda other: other.blocks, (message.id, *sorted(edited)))
            if now is not None:
                self._held.setdefault(now, []).append(message)
                self._lost.pop(message.id, None)
            else:
                if message.id not in self._lost:
                    found.append(self._violation(step, message))
                self._lost[message.id] = message
        return found

    def _affected(self, edited: frozenset[str]) -> list[Message]:
        """The watched messages whose place an edit named, taken from their places."""
        back = [self._lost[i] for i in sorted(edited & self._lost.keys())]
        return back + [message for i in sorted(edited & self._held.keys()) for message in self._held.pop(i)]

    def _violation(self, step: Step, message: Message) -> Violation:
        how = "dropped" if step.context.position(message.id) is None else "changed"
        return self._invariant.violation(step.index, (message.id,), f"a {self._wanted(message)} message was {how}")

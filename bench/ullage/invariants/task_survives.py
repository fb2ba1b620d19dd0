"""The task survives: the first thing that the user asked for is still there, or quoted whole by what stands for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ullage.invariants import Invariant
from ullage.invariants._edits import asked, touched
from ullage.step import Step
from ullage.types import Trace, Violation


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskSurvives(Invariant):
    """The text of the first user message stands whole in that message, or in one whose sources include it.

    The first message that the recording marks as a person's, else the first user text without tool results.
    """

    summary: ClassVar[str] = "the task stands in every request, itself or quoted whole in a summary"
    source: ClassVar[str] = "what several shipped libraries break; anthropics/claude-code 4017: rules ignored after compaction"

    def open(self, trace: Trace) -> _Task:
        """Follow the task."""
        return _Task(self, trace)


class _Task:
    """Knows which message of the request holds the task; looks for another one only among what edits touched."""

    def __init__(self, invariant: Invariant, trace: Trace) -> None:
        first = next(iter(asked(trace)), None)
        self._invariant = invariant
        self._position = -1 if first is None else first
        self._task = None if first is None else trace.messages[first]
        self._holder: str | None = None if self._task is None else self._task.id

    def check(self, step: Step) -> list[Violation]:
        """One finding when no message holds the task any more."""
        if not step.compactions or self._task is None or step.call.upto <= self._position:
            return []
        edited = touched(step)
        if self._holder is not None and self._holder not in edited:
            return []
        held = self._holder is not None
        self._holder = next((i for i in (self._task.id, *sorted(edited)) if self._holds(step, i)), None)
        if self._holder is not None or not held:
            return []
        evidence = "the task is in no message of the request, nor whole in one that stands for it"
        return [self._invariant.violation(step.index, (self._task.id,), evidence)]

    def _holds(self, step: Step, message_id: str) -> bool:
        at = step.context.position(message_id)
        if at is None or self._task is None:
            return False
        stands_for_it = message_id == self._task.id or self._task.id in step.context.sources(message_id)
        return stands_for_it and self._task.text.strip() in step.context[at].text

"""Where a replay is examined: at common checkpoints, and after a bounded number of compactions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ullage.options import COMPACTION_SHARE, EXAMS_AFTER_COMPACTIONS
from ullage.records import Loss
from ullage.step import Step
from ullage.types import Compaction, Drop, Erase, Exam, Message, Moment, Probe, Rewrite


@dataclass(frozen=True, slots=True, kw_only=True)
class Sitting:
    """One examination to be held: the exam, the messages that the next call would send, and what is stored by reference."""

    exam: Exam
    messages: tuple[Message, ...] = ()
    stored: Mapping[str, str] = field(default_factory=dict)


def is_compaction(event: Compaction, window: int) -> bool:
    """Tell a compaction from a smaller edit: it frees 2 % of the window from what was already sent."""
    freed = event.tokens_before - event.tokens_after
    return event.moment is not Moment.ARRIVAL and freed >= COMPACTION_SHARE * window


@dataclass(slots=True)
class Proctor:
    """Watches the steps of one replay and keeps the contexts to be examined.

    ``checkpoints`` are (share, call) pairs. Contexts after compactions are kept by reference until all are known,
    since the first, the last and evenly spaced ones between are examined. ``stored`` says what the strategies' store holds.
    """

    checkpoints: Sequence[tuple[float, int]]
    window: int
    stored: Callable[[], Mapping[str, str]] = dict
    compactions: int = 0
    taken: list[Sitting] = field(default_factory=list)
    candidates: list[Sitting] = field(default_factory=list)
    last: int = -1
    died: bool = False

    def watch(self, step: Step) -> None:
        """Look at one step; its context is copied where an examination may follow."""
        new = sum(is_compaction(event, self.window) for event in step.compactions)
        self.compactions += new
        if step.died:
            self.died = True
            return
        self.last = step.index
        shares = [share for share, call in self.checkpoints if call == step.index]
        if not shares and not new:
            return
        messages = tuple(step.context)
        for share in shares:
            self.taken.append(self._sitting(step, messages, share))
        if new and not shares:
            self.candidates.append(self._sitting(step, messages, None))

    def sittings(self) -> tuple[tuple[Sitting, ...], int]:
        """All examinations in order of their calls, those that a dead replay missed included, and how many were left out."""
        chosen = spread(self.candidates, EXAMS_AFTER_COMPACTIONS)
        missed = [
            Sitting(exam=Exam(call=call, kind="checkpoint", share=share, compactions_before=self.compactions, dead=True))
            for share, call in self.checkpoints
            if call > self.last
        ]
        held = sorted([*self.taken, *chosen], key=lambda sitting: (sitting.exam.call, sitting.exam.share or 0.0))
        return (*held, *missed), len(self.candidates) - len(chosen)

    def _sitting(self, step: Step, messages: tuple[Message, ...], share: float | None) -> Sitting:
        exam = Exam(
            call=step.index,
            kind="compaction" if share is None else "checkpoint",
            share=share,
            compactions_before=self.compactions,
            tokens=step.prompt_tokens,
        )
        return Sitting(exam=exam, messages=messages, stored=self.stored())


def spread(items: Sequence[Sitting], most: int) -> list[Sitting]:
    """At most ``most`` of the items: the first, the last, and evenly spaced ones between."""
    if len(items) <= most:
        return list(items)
    return [items[round(n * (len(items) - 1) / (most - 1))] for n in range(most)]


Removals = dict[str, tuple[int, int]]
"""Message id → the compaction and the edit in it that first took the message out of its raw form."""


def removals(compactions: Iterable[Compaction]) -> Removals:
    """For each message that an edit dropped, rewrote or erased: which compaction and edit did so first."""
    found: Removals = {}
    for number, event in enumerate(compactions):
        for index, edit in enumerate(event.edits):
            if isinstance(edit, Drop):
                touched: tuple[str, ...] = edit.ids
            elif isinstance(edit, (Rewrite, Erase)):
                touched = (edit.id,)
            else:
                continue
            for message in touched:
                found.setdefault(message, (number, index))
    return found


def counted_before(compactions: Sequence[Compaction], window: int) -> list[int]:
    """For each edit event: how many compactions had happened before and with it."""
    counts, total = [], 0
    for event in compactions:
        total += is_compaction(event, window)
        counts.append(total)
    return counts


def ages(probe: Probe, removed: Removals, counts: Sequence[int], exam: Exam, events_before: int) -> int:
    """Compactions that the newest evidence of a probe has lived through out of its raw form, at an examination; 0: raw."""
    since = [removed[s.message][0] for s in probe.evidence if s.message in removed and removed[s.message][0] < events_before]
    if len(since) < len({s.message for s in probe.evidence}):
        return 0
    newest = max(since)
    before = counts[newest - 1] if newest else 0
    return max(1, exam.compactions_before - before)


def losses(probes: Iterable[Probe], removed: Removals, kept: set[str]) -> tuple[Loss, ...]:
    """For each probe whose evidence is gone (not in ``kept``): the last edit that took some of it away."""
    found = []
    for probe in probes:
        places = [(*removed[s.message], s.message) for s in probe.evidence if s.message in removed]
        if probe.id in kept or not places:
            continue
        compaction, edit, message = max(places)
        found.append(Loss(probe=probe.id, compaction=compaction, edit=edit, message=message))
    return tuple(found)

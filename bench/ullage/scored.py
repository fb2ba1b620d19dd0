"""The answers of a record joined with their probes and exams: one value for each question asked, draws averaged."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean

from ullage.records import AskedProbe, RunRecord
from ullage.types import Answer, Exam

Place = tuple[str, str]
"""Which examination, in a form that is the same for every strategy: its kind and its share of the trace."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """One question at one examination. ``score`` is the mean over draws in [0, 1], none when no draw could be scored.

    ``floor`` and ``ceiling`` are the same question's scores without any context and with the whole one.
    """

    asked: AskedProbe
    exam: Exam
    place: Place
    score: float | None
    survives: bool | None
    age: int
    lost_to: int | None
    outcome: str
    text: str | None
    reason: str
    floor: float | None
    ceiling: float | None

    @property
    def key(self) -> tuple[str, Place]:
        """Probe and examination: what two strategies are paired by."""
        return self.asked.probe.id, self.place

    @property
    def decoy(self) -> bool:
        """Whether the right answer is to decline: such probes measure false memory, never retention."""
        return self.asked.probe.grader == "abstain"


def scored(record: RunRecord) -> tuple[Scored, ...]:
    """Every question asked, in the order of exams and answers; an answer without its probe or exam is passed over.

    Kept with the record: a comparison of many arms asks for it many times, and a record never changes.
    """
    known: tuple[Scored, ...] | None = record.__dict__.get("scored")
    if known is None:
        known = record.__dict__["scored"] = _join(record)
    return known


def _join(record: RunRecord) -> tuple[Scored, ...]:
    probes = {asked.probe.id: asked for asked in record.probes}
    floors = _rates(record.floors)
    ceilings = _rates(record.ceilings)
    at_exam = _rates_by_exam(record.ceilings)
    found = []
    for (exam_index, probe_id), draws in _grouped(record.answers).items():
        if probe_id not in probes or exam_index >= len(record.exams):
            continue
        exam, first = record.exams[exam_index], draws[0]
        found.append(
            Scored(
                asked=probes[probe_id],
                exam=exam,
                place=place_of(exam),
                score=rate(draws),
                survives=first.survives,
                age=first.age,
                lost_to=first.lost_to,
                outcome=first.outcome,
                text=first.text,
                reason=first.reason,
                floor=floors.get(probe_id),
                ceiling=at_exam.get((exam_index, probe_id), ceilings.get(probe_id)),
            )
        )
    return tuple(found)


def headline(items: Iterable[Scored]) -> tuple[Scored, ...]:
    """Those that retention is made of: scored, no decoys, at the checkpoints that all strategies share."""
    return tuple(item for item in items if item.score is not None and not item.decoy and item.exam.kind != "compaction")


def place_of(exam: Exam) -> Place:
    """Kind and share; an exam after a compaction is placed by its call, which is its strategy's own."""
    return exam.kind, f"{exam.share:g}" if exam.share is not None else f"call {exam.call}"


def rate(draws: Sequence[Answer]) -> float | None:
    """Mean score over draws: 1 for correct, 0 for wrong and abstained; none when every draw is unscorable."""
    values = [float(draw.outcome == "correct") for draw in draws if draw.outcome != "unscorable"]
    return fmean(values) if values else None


def mean(values: Iterable[float | None]) -> float | None:
    """Mean of what is known; none when nothing is."""
    known = [value for value in values if value is not None]
    return fmean(known) if known else None


def _grouped(answers: Iterable[Answer]) -> dict[tuple[int, str], list[Answer]]:
    groups: dict[tuple[int, str], list[Answer]] = {}
    for answer in answers:
        groups.setdefault((answer.exam, answer.probe), []).append(answer)
    return groups


def _rates(answers: Iterable[Answer]) -> dict[str, float]:
    groups: dict[str, list[Answer]] = {}
    for answer in answers:
        groups.setdefault(answer.probe, []).append(answer)
    return {probe: value for probe, draws in groups.items() if (value := rate(draws)) is not None}


def _rates_by_exam(answers: Iterable[Answer]) -> dict[tuple[int, str], float]:
    return {key: value for key, draws in _grouped(answers).items() if (value := rate(draws)) is not None}

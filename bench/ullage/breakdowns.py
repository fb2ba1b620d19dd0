"""Retention cut by age, probe type, form, speaker, zone and checkpoint: macro means over clusters of traces with their intervals and denominators."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import TypeVar

from ullage.intervals import cluster_means, t_interval
from ullage.measures import of_form, of_speaker, of_type, of_zone
from ullage.records import RunRecord
from ullage.scored import Scored, headline, scored

_T = TypeVar("_T")
AGE_GROUPS = ((0, 0, "0"), (1, 1, "1"), (2, 2, "2"), (3, 3, "3"), (4, 7, "4–7"), (8, 10**9, "8+"))
"""Ages in compactions: single up to three, where most facts are, then ever wider so that each group has questions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One group of questions: mean over clusters of traces, t interval (none for one cluster), and what it rests on."""

    value: float
    low: float | None
    high: float | None
    questions: int
    traces: int


def by_age(records: Iterable[RunRecord]) -> dict[str, Cell]:
    """Retention by how many compactions a fact has been through out of its raw form.

    All examinations count but those that a trace's early end prevented: there a fact has no age.
    """
    return _cut(records, _examined, lambda item: age_group(item.age))


def by_type(records: Iterable[RunRecord]) -> dict[str, Cell]:
    """Retention by probe type at the common checkpoints."""
    return _cut(records, headline, of_type)


def by_form(records: Iterable[RunRecord]) -> dict[str, Cell]:
    """Retention of facts in prose and of typed values (names, numbers, paths) at the common checkpoints."""
    return _cut(records, headline, of_form)


def by_speaker(records: Iterable[RunRecord]) -> dict[str, Cell]:
    """Retention by who stated the fact: a strategy that keeps all user text shows here as what it is."""
    return _cut(records, headline, of_speaker)


def by_zone(records: Iterable[RunRecord]) -> dict[str, Cell]:
    """Retention by where in the trace the fact was stated: head, middle or tail."""
    return _cut(records, headline, of_zone)


def by_checkpoint(records: Iterable[RunRecord]) -> dict[str, Cell]:
    """Retention at each common checkpoint, in their order along the trace."""
    found = _cut(records, headline, lambda item: item.place[1] if item.exam.share is None else f"{100 * item.exam.share:g} %")
    return dict(sorted(found.items(), key=lambda pair: _leading_number(pair[0])))


def age_group(age: int) -> str:
    """The label of the group that an age belongs to."""
    return next(label for low, high, label in AGE_GROUPS if low <= age <= high)


def _examined(items: Iterable[Scored]) -> tuple[Scored, ...]:
    return tuple(item for item in items if item.score is not None and not item.decoy and not item.exam.dead)


def _cut(
    records: Iterable[RunRecord], choose: Callable[[Iterable[Scored]], Sequence[Scored]], key: Callable[[Scored], str]
) -> dict[str, Cell]:
    groups: dict[str, list[tuple[str, list[float]]]] = {}
    for record in records:
        here: dict[str, list[float]] = {}
        for item in choose(scored(record)):
            here.setdefault(key(item), []).append(item.score or 0.0)
        for label, scores in here.items():
            groups.setdefault(label, []).append((record.cluster, scores))
    return {label: _cell(traces) for label, traces in _ordered(groups).items()}


def _cell(traces: Sequence[tuple[str, Sequence[float]]]) -> Cell:
    means = cluster_means((cluster, fmean(scores)) for cluster, scores in traces)
    found = t_interval(means)
    return Cell(
        value=fmean(means),
        low=None if found is None else max(0.0, found.low),
        high=None if found is None else min(1.0, found.high),
        questions=sum(len(scores) for _, scores in traces),
        traces=len(traces),
    )


def _ordered(groups: Mapping[str, _T]) -> dict[str, _T]:
    ages = [label for _, _, label in AGE_GROUPS]
    if set(groups) <= set(ages):
        return {label: groups[label] for label in ages if label in groups}
    return dict(sorted(groups.items()))


def _leading_number(label: str) -> float:
    """The number in ``40 %`` or ``call 40``; other labels go last."""
    return next((float(word) for word in label.split() if word.replace(".", "", 1).isdigit()), float("inf"))

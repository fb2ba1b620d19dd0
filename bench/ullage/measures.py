"""Measures of memory beyond plain retention: demand, stale and false memories, cuts by kind of fact, decay over compactions.

All of them are macro over traces: one value a trace, their mean, and a t interval over the traces. What cannot be said is
none with a reason, never a number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from statistics import fmean

from msgspec import Struct

from ullage.intervals import clustered, none_seen_bound, t_interval
from ullage.records import RunRecord
from ullage.scored import Scored, headline, scored
from ullage.scoring import SUPERSEDED

Traces = Sequence[Sequence[Scored]]
"""Questions of each trace."""

MOST_DEMAND = 3
"""Later uses of a fact that count (methodology, metric 4): more would let one file name outweigh everything else."""
CLIFF = 0.3
"""Fall of retention from one cycle to the next that is a cliff and not decay: three of ten facts at once."""
LEAST_QUESTIONS = 10
"""Questions below which an age says nothing: one answer would be a tenth of it."""


class Figure(Struct, frozen=True, kw_only=True):
    """A share over traces with its 95 % t interval (none for one trace), or none with the reason."""

    value: float | None
    low: float | None = None
    high: float | None = None
    traces: int = 0
    questions: int = 0
    reason: str = ""


def common(records: Iterable[RunRecord]) -> list[tuple[Scored, ...]]:
    """For each cluster the questions that retention is made of: facts, at the checkpoints that all strategies share."""
    return _by_cluster(records, headline)


def examined(records: Iterable[RunRecord]) -> list[tuple[Scored, ...]]:
    """For each cluster all questions of examinations that were held, decoys and those after compactions included."""
    return _by_cluster(records, lambda items: tuple(item for item in items if item.score is not None and not item.exam.dead))


def _by_cluster(
    records: Iterable[RunRecord], choose: Callable[[tuple[Scored, ...]], tuple[Scored, ...]]
) -> list[tuple[Scored, ...]]:
    groups = clustered((record.cluster, choose(scored(record))) for record in records)
    return [tuple(item for items in group for item in items) for group in groups]


def retention(traces: Traces) -> Figure:
    """Share of facts answered right."""
    return _macro([[(item.score or 0.0, 1.0) for item in items] for items in traces], "no fact was asked")


def survival(traces: Traces) -> Figure:
    """Share of facts whose evidence text is still present: deterministic, no reader."""
    pairs = [[(float(item.survives), 1.0) for item in items if item.survives is not None] for items in traces]
    return _macro(pairs, "no fact with evidence was asked")


def usability_gap(traces: Traces) -> Figure:
    """Survival less retention on the same facts: what is present and yet not used. Negative where facts live on in other words."""
    pairs = [
        [(float(item.survives) - (item.score or 0.0), 1.0) for item in items if item.survives is not None] for items in traces
    ]
    return _macro(pairs, "no fact with evidence was asked")


def demand_weighted(traces: Traces) -> Figure:
    """Retention over the facts that the recorded future used, each weighted with its later uses, at most ``MOST_DEMAND``."""
    pairs = [[(item.score or 0.0, float(weight)) for item in items if (weight := demand(item))] for items in traces]
    return _macro(pairs, "no fact that was asked is used later in the recording")


def demand(item: Scored) -> int:
    """How many calls at or after the examination used the fact, capped."""
    return min(MOST_DEMAND, sum(call >= item.exam.call for call in item.asked.probe.uses))


def stale_rate(traces: Traces) -> Figure:
    """Share of update questions answered with a superseded value."""
    pairs = [
        [(float(item.reason == SUPERSEDED), 1.0) for item in items if item.asked.probe.type == "update" and not item.exam.dead]
        for items in traces
    ]
    return _macro(pairs, "no update was asked")


def false_memory_rate(traces: Traces) -> Figure:
    """Share of decoys answered instead of declined. With none seen, ``high`` is the upper bound 3/n."""
    pairs = [[(1.0 - (item.score or 0.0), 1.0) for item in items if item.decoy] for items in traces]
    return _rare(_macro(pairs, "no decoy was asked"))


def constraint_violation_delta(traces: Traces) -> Figure:
    """Share of the user's rules of which something else is asserted, where the whole context answers right: there it is 0.

    Declining is a loss and no violation. With none seen, ``high`` is the upper bound 3/n.
    """
    pairs = [[(float(item.outcome == "wrong"), 1.0) for item in items if _known_rule(item)] for items in traces]
    return _rare(_macro(pairs, "no rule of the user was asked that the whole context answers right"))


def _known_rule(item: Scored) -> bool:
    return item.asked.probe.type == "constraint" and not item.exam.dead and (item.ceiling is None or item.ceiling >= 1)


def _rare(found: Figure) -> Figure:
    """A rate with the rule of three where nothing was seen."""
    if found.value != 0:
        return found
    return Figure(value=0.0, low=0.0, high=none_seen_bound(found.questions), traces=found.traces, questions=found.questions)


def constraint_flips(traces: Traces) -> int:
    """Rules of the user of which the opposite was asserted."""
    return sum(
        item.asked.probe.type == "constraint" and item.outcome == "wrong" and not item.exam.dead
        for items in traces
        for item in items
    )


def by(traces: Traces, key: Callable[[Scored], str]) -> dict[str, Figure]:
    """Retention cut by a property of the question, groups in alphabetical order."""
    labels = sorted({key(item) for items in traces for item in items})
    return {label: retention([[item for item in items if key(item) == label] for items in traces]) for label in labels}


def of_type(item: Scored) -> str:
    """Probe type."""
    return item.asked.probe.type


def of_form(item: Scored) -> str:
    """Typed value or prose."""
    return item.asked.probe.form


def of_speaker(item: Scored) -> str:
    """Who stated the fact; unknown where the bank does not say."""
    return item.asked.probe.speaker or "unknown"


def of_zone(item: Scored) -> str:
    """Where in the trace the fact lies."""
    return item.asked.zone or "unknown"


def of_restated(item: Scored) -> str:
    """Whether the trace states the fact again later."""
    return "restated" if item.asked.probe.restated_at is not None else "said once"


CUTS: dict[str, Callable[[Scored], str]] = {
    "type": of_type, "form": of_form, "speaker": of_speaker, "zone": of_zone, "restated": of_restated,
}  # fmt: skip


def decay(traces: Traces) -> tuple[Figure, ...]:
    """Retention by age in compactions from 0 on, up to the oldest age that any fact reached."""
    oldest = max((item.age for items in traces for item in items if not item.decoy), default=-1)
    return tuple(retention([[i for i in items if i.age == age and not i.decoy] for items in traces]) for age in range(oldest + 1))


def half_life(curve: Sequence[float | None]) -> float | None:
    """First cycle, interpolated, at which retention is at most half of that after one compaction; none when it stays above.

    ``curve[k]`` is retention after ``k`` compactions; unknown cycles are passed over.
    """
    known = [(age, value) for age, value in enumerate(curve) if value is not None and age >= 1]
    if not known or known[0][0] != 1:
        return None
    target = known[0][1] / 2
    for (age, value), (later, lower) in pairwise(known):
        if lower <= target < value:
            return age + (later - age) * (value - target) / (value - lower)
    return None


def cliff(curve: Sequence[float | None]) -> int | None:
    """First cycle whose retention falls by at least ``CLIFF`` against the cycle before; none when there is none."""
    for age, (before, after) in enumerate(pairwise(curve), 1):
        if before is not None and after is not None and before - after >= CLIFF:
            return age
    return None


def memory_figures(records: Sequence[RunRecord]) -> dict[str, Figure]:
    """The measures of one strategy's records by name, as the list of metrics names them."""
    at_checkpoints, all_held = common(records), examined(records)
    return {
        "demand_weighted_retention": demand_weighted(at_checkpoints),
        "usability_gap": usability_gap(at_checkpoints),
        "stale_rate": stale_rate(at_checkpoints),
        "false_memory_rate": false_memory_rate(all_held),
        "constraint_violation_delta": constraint_violation_delta(at_checkpoints),
        **wear(all_held),
    }


def wear(traces: Traces) -> dict[str, Figure]:
    """Half-life and cliff of the curve over ages; ages of fewer than ``LEAST_QUESTIONS`` questions are passed over."""
    curve = [figure.value if figure.questions >= LEAST_QUESTIONS else None for figure in decay(traces)]
    if len(curve) < 2 or curve[1] is None:
        too_few = f"fewer than {LEAST_QUESTIONS} questions were asked about facts that one compaction had taken"
        return {"half_life": Figure(value=None, reason=too_few), "cliff": Figure(value=None, reason=too_few)}
    oldest, half, fall = max(age for age, value in enumerate(curve) if value is not None), half_life(curve), cliff(curve)
    return {
        "half_life": Figure(value=half, reason=f"retention stays above half of its value at age 1, up to age {oldest}"),
        "cliff": Figure(value=fall, reason=f"no fall of {CLIFF:g} from one age to the next, up to age {oldest}"),
    }


def _macro(traces: Sequence[Sequence[tuple[float, float]]], nothing: str) -> Figure:
    """Weighted mean of each trace, then their plain mean with its t interval."""
    held = [pairs for pairs in traces if pairs]
    if not held:
        return Figure(value=None, reason=nothing)
    means = [sum(value * weight for value, weight in pairs) / sum(weight for _, weight in pairs) for pairs in held]
    found = t_interval(means)
    return Figure(
        value=fmean(means),
        low=None if found is None else found.low,
        high=None if found is None else found.high,
        traces=len(held),
        questions=sum(map(len, held)),
    )

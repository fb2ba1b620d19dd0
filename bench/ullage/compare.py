"""Two arms on the same traces: differences paired by probe and clustered by trace, and the probes that changed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from statistics import fmean
from typing import Any

from ullage.billing import bill_of_first
from ullage.errors import UserError
from ullage.exams import is_compaction
from ullage.intervals import cluster_means, detectable, holm, p_value, standard_error, t_interval
from ullage.losses import removal_of
from ullage.pricing import usd
from ullage.records import RunRecord
from ullage.scored import Place, Scored, headline, scored
from ullage.tables import DIGITS
from ullage.types import Usage

Key = tuple[str, Place]
IDENTICAL = "identical"
ONE_GROUP = "one independent trace: no interval"


@dataclass(frozen=True, slots=True, kw_only=True)
class Arm:
    """One side of a comparison: the records of one spec in one run, by trace digest."""

    run: str
    spec: str
    records: Mapping[str, RunRecord]


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedTrace:
    """One trace under both arms: the headline questions that both could be scored on, by probe and checkpoint."""

    digest: str
    a: RunRecord
    b: RunRecord
    questions: Mapping[Key, tuple[Scored, Scored]]
    unpaired: int

    @property
    def calls(self) -> int:
        """Calls that both arms made: a bill that ends early is no saving, so both are held to these."""
        return min(len(self.a.rows), len(self.b.rows))

    @property
    def cut(self) -> bool:
        """Whether one arm made calls that the other could not."""
        return self.a.kind == self.b.kind == "strategy" and len(self.a.rows) != len(self.b.rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One metric, b minus a, over means of ``groups`` independent clusters of traces.

    ``probes`` are distinct ones, none for metrics that ask no questions.
    """

    metric: str
    value_a: float | None
    value_b: float | None
    difference: float | None
    interval: tuple[float, float] | None
    p: float | None
    mde: float | None
    traces: int
    groups: int
    probes: int | None
    questions: int | None
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Everything that two arms differ in."""

    a: Arm
    b: Arm
    differences: tuple[Difference, ...]
    changed: tuple[dict[str, Any], ...]
    notes: tuple[str, ...]


def arms_of(records: Iterable[RunRecord], run: str = "") -> dict[str, Arm]:
    """The arms of a run by spec, in the order in which the records name them: the first of a pair is ``a``."""
    groups: dict[str, list[RunRecord]] = {}
    for record in records:
        groups.setdefault(record.spec, []).append(record)
    return {
        spec: Arm(
            run=run, spec=spec, records={r.inputs.trace: r for r in sorted(group, key=lambda r: (r.trace.id, r.inputs.trace))}
        )
        for spec, group in groups.items()
    }


def pair_arms(a: Mapping[str, Arm], b: Mapping[str, Arm] | None = None) -> list[tuple[Arm, Arm]]:
    """Which arms to compare: all pairs of one run; of two runs those of one spec, and what is left where one is on each side.

    Raises ``UserError`` when nothing can be paired.
    """
    if b is None:
        if len(a) < 2:
            raise UserError(f"compare: found one strategy ({', '.join(a) or 'none'}) in the run; expected two, or a second run")
        return list(combinations(a.values(), 2))
    pairs = [(a[spec], b[spec]) for spec in a if spec in b]
    left, right = [a[spec] for spec in a if spec not in b], [b[spec] for spec in b if spec not in a]
    if len(left) == 1 and len(right) == 1:
        pairs.append((left[0], right[0]))
    if not pairs:
        raise UserError(
            f"found no strategy to pair: {', '.join(a)} against {', '.join(b)}; expected one spec in both, or one in each"
        )
    return pairs


def pair_traces(a: Arm, b: Arm) -> list[PairedTrace]:
    """The traces that both arms ran, in order of their ids; raises ``UserError`` where the probe banks differ."""
    common = [digest for digest in a.records if digest in b.records]
    if not common:
        raise UserError(
            f"found no trace in both {a.spec} and {b.spec}; expected runs over the same traces (digests are compared)"
        )
    for digest in common:
        first, second = a.records[digest].inputs.bank, b.records[digest].inputs.bank
        if first != second:
            name = a.records[digest].trace.id
            raise UserError(
                f"trace {name}: found probe banks {first[:12]} and {second[:12]}; expected the same bank on both sides"
            )
    return [_pair_trace(digest, a.records[digest], b.records[digest]) for digest in common]


def compare(a: Arm, b: Arm) -> Comparison:
    """Compare two arms, ``b`` minus ``a``."""
    paired = pair_traces(a, b)
    return Comparison(
        a=a,
        b=b,
        differences=tuple(_differences(paired)),
        changed=tuple(changed_probes(paired)),
        notes=tuple(_notes(a, b, paired)),
    )


def compare_all(pairs: Sequence[tuple[Arm, Arm]]) -> dict[str, Any]:
    """The object of ``compare --json`` over several pairs; p values of one metric are also adjusted over them (Holm)."""
    comparisons = [compare(a, b) for a, b in pairs]
    entries = [_entry(found, difference) for found in comparisons for difference in found.differences]
    for metric in dict.fromkeys(entry["metric"] for entry in entries):
        family = [entry for entry in entries if entry["metric"] == metric and entry["p"] is not None]
        for entry, p in zip(family, holm([entry["p"] for entry in family]), strict=True):
            entry["p_adjusted"] = round(p, DIGITS)
    changed = [{"a": found.a.spec, "b": found.b.spec, **probe} for found in comparisons for probe in found.changed]
    notes = list(dict.fromkeys(note for found in comparisons for note in found.notes))
    return {"pairs": entries, "changed_probes": changed, "notes": notes}


def changed_probes(paired: Iterable[PairedTrace]) -> list[dict[str, Any]]:
    """Questions whose outcome or evidence changed, with the evidence and what removed it; what was lost comes first."""
    found = [
        _changed(trace, key, first, second)
        for trace in paired
        for key, (first, second) in trace.questions.items()
        if first.outcome != second.outcome or first.score != second.score or first.survives != second.survives
    ]
    order = {"lost": 0, "evidence lost": 1, "outcome": 2, "gained": 3, "evidence kept": 4}
    return sorted(found, key=lambda entry: (order[entry["change"]], entry["trace"], entry["at"], entry["probe"]))


def question_differences(trace: PairedTrace) -> list[float]:
    """Score of b less score of a, for each paired question of a trace."""
    return [(second.score or 0.0) - (first.score or 0.0) for first, second in trace.questions.values()]


def _pair_trace(digest: str, a: RunRecord, b: RunRecord) -> PairedTrace:
    first = {item.key: item for item in headline(scored(a))}
    second = {item.key: item for item in headline(scored(b))}
    return PairedTrace(
        digest=digest,
        a=a,
        b=b,
        questions={key: (item, second[key]) for key, item in first.items() if key in second},
        unpaired=len(first.keys() ^ second.keys()),
    )


def _differences(paired: Sequence[PairedTrace]) -> list[Difference]:
    cut = sum(trace.cut for trace in paired)
    early = f"{cut} of {len(paired)} traces held to the calls that both arms made" if cut else ""
    found = [_asked("retention", paired, lambda item: item.score)]
    found += [_asked(f"retention_{form}", paired, partial(_of_form, form)) for form in FORMS]
    found.append(_asked("survival", paired, _survives))
    return found + [_counted(name, paired, value, early) for name, value in COUNTED.items()]


def _dollars(record: RunRecord, calls: int) -> float | None:
    pico = bill_of_first(record, calls)
    return None if pico is None else usd(pico)


def _input_tokens(record: RunRecord, calls: int) -> float | None:
    return float(sum(row.usage.prompt for row in record.rows[:calls])) if record.kind == "strategy" else None


def _peak(record: RunRecord, calls: int) -> float | None:
    return float(max(row.prompt_tokens for row in record.rows[:calls])) if calls else None


def _read_ratio(record: RunRecord, calls: int) -> float | None:
    usage = sum((row.usage for row in record.rows[:calls]), Usage())
    return usage.cache_read / usage.prompt if usage.prompt else None


def _compactions(record: RunRecord, calls: int) -> float | None:
    if record.kind != "strategy":
        return None
    return float(sum(event.call < calls and is_compaction(event, record.window) for event in record.compactions))


def _violations(record: RunRecord, calls: int) -> float | None:
    return float(sum(violation.call < calls for violation in record.violations)) if record.kind == "strategy" else None


COUNTED: dict[str, Callable[[RunRecord, int], float | None]] = {
    "usd": _dollars,
    "input_tokens": _input_tokens,
    "peak": _peak,
    "cache_read_ratio": _read_ratio,
    "compactions": _compactions,
    "violations": _violations,
}
"""Metrics of a replay's first calls, each as one value a trace: dollars, tokens, shares and counts of that trace."""


FORMS = ("prose", "typed")
"""Facts in plain words, and values that have a shape of their own: a summariser may be good at one of them only."""


def _of_form(form: str, item: Scored) -> float | None:
    return item.score if item.asked.probe.form == form else None


def _survives(item: Scored) -> float | None:
    return None if item.survives is None else float(item.survives)


def _asked(metric: str, paired: Iterable[PairedTrace], value: Callable[[Scored], float | None]) -> Difference:
    """A metric that is a mean over paired questions."""
    means: list[tuple[str, float, float]] = []
    probes: set[tuple[str, str]] = set()
    questions = 0
    for trace in paired:
        both = [(key, value(first), value(second)) for key, (first, second) in trace.questions.items()]
        known = [(key, x, y) for key, x, y in both if x is not None and y is not None]
        if known:
            means.append((trace.a.cluster, fmean(x for _, x, _ in known), fmean(y for _, _, y in known)))
            probes |= {(trace.digest, key[0]) for key, _, _ in known}
            questions += len(known)
    return _difference(metric, means, len(probes), questions, "no question was scored under both")


def _counted(
    metric: str, paired: Iterable[PairedTrace], value: Callable[[RunRecord, int], float | None], early: str
) -> Difference:
    both = [(trace.a.cluster, value(trace.a, trace.calls), value(trace.b, trace.calls)) for trace in paired]
    known = [(cluster, x, y) for cluster, x, y in both if x is not None and y is not None]
    missing = f"unknown for {len(both) - len(known)} of {len(both)} traces" if len(known) < len(both) else ""
    return _difference(metric, known, None, None, "; ".join(filter(None, (early, missing))))


def _difference(
    metric: str, means: Sequence[tuple[str, float, float]], probes: int | None, questions: int | None, reason: str
) -> Difference:
    differences = cluster_means((cluster, second - first) for cluster, first, second in means)
    enough = len(differences) > 1
    found = t_interval(differences)
    return Difference(
        metric=metric,
        value_a=fmean(cluster_means((cluster, x) for cluster, x, _ in means)) if means else None,
        value_b=fmean(cluster_means((cluster, y) for cluster, _, y in means)) if means else None,
        difference=fmean(differences) if means else None,
        interval=found.pair if found is not None else None,
        p=p_value(differences) if means else None,
        mde=detectable(standard_error(differences), len(differences)) if enough else None,
        traces=len(means),
        groups=len(differences),
        probes=probes,
        questions=questions,
        reason=reason if probes is None or not means else "" if enough else ONE_GROUP,
    )


def _entry(found: Comparison, difference: Difference) -> dict[str, Any]:
    """One element of ``pairs``."""

    def rounded(value: float | None) -> float | None:
        return None if value is None else round(value, DIGITS)

    unknown = difference.reason or (ONE_GROUP if difference.groups == 1 else "no trace has this figure under both")
    keys = ("difference", "interval", "p", "mde")
    asks = {} if difference.probes is not None else {"probes": "this metric asks no questions"}
    return {
        "a": found.a.spec,
        "b": found.b.spec,
        "run_a": found.a.run,
        "run_b": found.b.run,
        "metric": difference.metric,
        "value_a": rounded(difference.value_a),
        "value_b": rounded(difference.value_b),
        "difference": rounded(difference.difference),
        "interval": None if difference.interval is None else [round(limit, DIGITS) for limit in difference.interval],
        "p": rounded(difference.p),
        "p_adjusted": None,
        "traces": difference.traces,
        "groups": difference.groups,
        "probes": difference.probes,
        "questions": difference.questions,
        "mde": rounded(difference.mde),
        "note": difference.reason,
        "reasons": {key: unknown for key in keys if getattr(difference, key) is None} | asks,
    }


def _changed(trace: PairedTrace, key: Key, first: Scored, second: Scored) -> dict[str, Any]:
    probe = first.asked.probe
    removal = removal_of(trace.b, second) or removal_of(trace.a, first)
    return {
        "trace": trace.a.trace.id,
        "probe": probe.id,
        "type": probe.type,
        "at": key[1][1],
        "change": _change(first, second),
        "question": probe.question,
        "accept": list(probe.accept),
        "outcome_a": first.outcome,
        "outcome_b": second.outcome,
        "answer_a": first.text,
        "answer_b": second.text,
        "survives_a": first.survives,
        "survives_b": second.survives,
        "evidence": [{"message": e.message, "role": e.role, "tool": e.tool, "text": e.text} for e in first.asked.evidence],
        "removed_by": None
        if removal is None
        else {
            "compaction": removal.compaction,
            "call": removal.call,
            "tier": removal.tier,
            "message": removal.message,
            "action": removal.action,
        },
    }


def _change(first: Scored, second: Scored) -> str:
    before, after = first.score or 0.0, second.score or 0.0
    if before != after:
        return "lost" if after < before else "gained"
    if first.survives != second.survives:
        return "evidence lost" if first.survives else "evidence kept"
    return "outcome"


def _notes(a: Arm, b: Arm, paired: Sequence[PairedTrace]) -> list[str]:
    notes = []
    single = len(a.records.keys() ^ b.records.keys())
    if single:
        notes.append(f"{single} trace(s) are in one arm only and were left out of {a.spec} against {b.spec}")
    unpaired = sum(trace.unpaired for trace in paired)
    if unpaired:
        notes.append(f"{unpaired} question(s) were scored in one arm only and were left out of {a.spec} against {b.spec}")
    for name, left, right in (
        ("window", {t.a.window for t in paired}, {t.b.window for t in paired}),
        ("mode", {t.a.mode for t in paired}, {t.b.mode for t in paired}),
        ("reader", {t.a.inputs.reader for t in paired}, {t.b.inputs.reader for t in paired}),
        ("cache policy", {t.a.inputs.policy for t in paired}, {t.b.inputs.policy for t in paired}),
        ("price sheet", {t.a.inputs.prices for t in paired}, {t.b.inputs.prices for t in paired}),
    ):
        if left != right:
            notes.append(f"the arms differ in {name}: {_listed(left)} against {_listed(right)}")
    return notes


def _listed(values: Iterable[Any]) -> str:
    return ", ".join(sorted(str(value) or "none" for value in values))


__all__ = ["Arm", "Comparison", "Difference", "arms_of", "changed_probes", "compare", "compare_all", "pair_arms"]

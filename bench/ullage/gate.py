"""The gate: is a candidate not worse than its baseline by more than a margin? Pass, fail, or honestly unable to tell.

Non-inferiority on paired retention, clustered by trace. Fail needs evidence: an upper one-sided 95 % bound below zero
with a drop of more than half the margin, or something that no statistic excuses (a new violation or fault, a lost
constraint). Pass needs power: a lower bound above minus the margin, and a minimum detectable effect within it.
"""

from __future__ import annotations

import math
from collections import Counter as Tally
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, Literal

from ullage.compare import IDENTICAL, Arm, PairedTrace, arms_of, changed_probes, pair_arms, pair_traces, question_differences
from ullage.errors import UserError
from ullage.intervals import LEVEL, clustered, detectable, planned_effect, standard_error, t_quantile
from ullage.records import RunRecord
from ullage.scored import Scored

Verdict = Literal["pass", "fail", "inconclusive"]
EXIT_CODES: dict[str, int] = {"pass": 0, "fail": 1, "inconclusive": 3}
MARGIN = 0.05
ONE_TRACE = "bounds and detectable effects are unknown: they need two traces"
ZERO_TOLERANCE_TYPES = frozenset({"constraint"})
"""Probe types of which not one may be lost: what the user forbade or demanded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Broken:
    """Something of which none is tolerated: a new violation or fault, or a lost probe of a zero-tolerance type."""

    kind: Literal["violation", "fault", "constraint"]
    trace: str
    name: str
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """The verdict on one pair of arms. Differences are candidate minus baseline, ``interval`` is two one-sided 95 % bounds.

    ``retention`` is the verdict of the statistics alone, before what is not tolerated.
    """

    baseline: str
    candidate: str
    verdict: Verdict
    retention: Verdict
    reasons: tuple[str, ...]
    difference: float | None
    interval: tuple[float, float] | None
    mde: float | None
    mde_planned: float | None
    zero_tolerance: tuple[Broken, ...]
    traces: int
    groups: int
    probes: int
    questions: int
    notes: tuple[str, ...]
    changed: tuple[dict[str, Any], ...]


def gate(baseline: Iterable[RunRecord], candidate: Iterable[RunRecord], margin: float = MARGIN) -> list[Judgement]:
    """Judge every pair of arms; raises ``UserError`` for other traces, banks, readers or an impossible margin."""
    if not 0 < margin < 1:
        raise UserError(f"gate: found --margin {margin}; expected a share between 0 and 1, such as 0.05")
    first, second = _arms(baseline, "baseline"), _arms(candidate, "candidate")
    pairs = pair_arms(first, second)
    missing = sorted(set(first) - {a.spec for a, _ in pairs})
    if missing:
        raise UserError(f"gate: the candidate lacks {', '.join(missing)} of the baseline; found {', '.join(second)}")
    return [judge(a, b, margin) for a, b in pairs]


def overall(judgements: Sequence[Judgement]) -> Verdict:
    """The worst verdict: one failure fails, one doubt leaves doubt."""
    found = {judgement.verdict for judgement in judgements}
    return "fail" if "fail" in found else "inconclusive" if "inconclusive" in found else "pass"


def exit_code(verdict: Verdict, on_inconclusive: str = "") -> int:
    """0 pass, 1 fail, 3 inconclusive unless ``on_inconclusive`` says ``pass`` or ``fail``."""
    return EXIT_CODES[on_inconclusive or verdict] if verdict == "inconclusive" else EXIT_CODES[verdict]


def judge(baseline: Arm, candidate: Arm, margin: float = MARGIN) -> Judgement:
    """The verdict on one pair of arms."""
    _check_inputs(baseline, candidate)
    paired = pair_traces(baseline, candidate)
    kept = [(trace.a.cluster, found) for trace in paired if (found := question_differences(trace))]
    groups = [[value for found in group for value in found] for group in clustered(kept)]
    broken = (*_new_violations(paired), *_new_faults(paired), *_lost_constraints(paired))
    questions = sum(map(len, groups))
    probes = len({(trace.digest, key[0]) for trace in paired for key in trace.questions})
    difference, error = _effect(groups)
    bounds = None if difference is None or error is None else _bounds(difference, error, len(groups))
    mde = None if error is None else detectable(error, len(groups))
    retention, reasons = decide(groups, margin)
    if groups and _identical(paired):
        retention, reasons = "pass", [IDENTICAL]
    return Judgement(
        baseline=baseline.spec,
        candidate=candidate.spec,
        verdict="fail" if broken else retention,
        retention=retention,
        reasons=(*_not_tolerated(broken), *(reasons if not broken or retention == "fail" else ())),
        difference=difference,
        interval=bounds,
        mde=mde,
        mde_planned=planned_effect(len(groups), probes),
        zero_tolerance=broken,
        traces=len(kept),
        groups=len(groups),
        probes=probes,
        questions=questions,
        notes=(*_notes(paired), *([ONE_TRACE] if len(groups) == 1 else ())),
        changed=tuple(changed_probes(paired)),
    )


def decide(groups: Sequence[Sequence[float]], margin: float) -> tuple[Verdict, list[str]]:
    """The verdict of the statistics, with its reasons, from the paired differences of each trace's questions."""
    if not groups:
        return "inconclusive", ["no question was scored under both"]
    difference, error = _effect(groups)
    if difference is None or error is None:
        return "inconclusive", ["one independent trace: no interval can be computed; more traces are needed"]
    return _decide_by_interval(difference, error, len(groups), margin)


def _identical(paired: Iterable[PairedTrace]) -> bool:
    """Whether every paired answer has the same outcome and score, in every draw's mean."""
    pairs = (pair for trace in paired for pair in trace.questions.values())
    return all(first.outcome == second.outcome and first.score == second.score for first, second in pairs)


def _not_tolerated(broken: Sequence[Broken]) -> list[str]:
    words = {"violation": "invariant newly violated", "fault": "new strategy fault", "constraint": "constraint lost"}
    return [
        f"zero tolerance: {words[kind]}, {count} time{'s' if count > 1 else ''}"
        for kind, count in Tally(b.kind for b in broken).items()
    ]


def _decide_by_interval(difference: float, error: float, traces: int, margin: float) -> tuple[Verdict, list[str]]:
    low, high = _bounds(difference, error, traces)
    mde = detectable(error, traces)
    if high < 0 and difference < -margin / 2:
        return "fail", [
            f"worse by {-difference:.1%}: the upper 95 % bound {high:+.1%} is below zero and the drop exceeds half the margin"
        ]
    if low > 0:
        return "pass", [f"better: the lower 95 % bound {low:+.1%} is above zero"]
    if mde > margin:
        return "inconclusive", [
            f"underpowered: the smallest effect that {traces} independent traces can show is {mde:.1%}, the margin {margin:.1%}; add traces or widen the margin"
        ]
    if low > -margin:
        return "pass", [f"not worse: the lower 95 % bound {low:+.1%} is above the margin {-margin:+.1%}"]
    return "inconclusive", [
        f"the 95 % bounds {low:+.1%} to {high:+.1%} hold both no change and a drop of the margin {margin:.1%}"
    ]


def _effect(groups: Sequence[Sequence[float]]) -> tuple[float | None, float | None]:
    """Mean over traces of the mean difference, and its standard error: that of traces, never less than that of questions.

    A few traces can agree by chance; treating their questions as independent then gives the smallest error there can be.
    """
    if not groups:
        return None, None
    means = [fmean(group) for group in groups]
    difference = fmean(means)
    if len(groups) < 2:
        return difference, None
    within = [fmean([value * value for value in group]) - mean * mean for group, mean in zip(groups, means, strict=True)]
    floor = math.sqrt(sum(max(0.0, spread) / len(group) for spread, group in zip(within, groups, strict=True))) / len(groups)
    return difference, max(standard_error(means), floor)


def _bounds(difference: float, error: float, traces: int) -> tuple[float, float]:
    reach = t_quantile(LEVEL, traces - 1) * error
    return difference - reach, difference + reach


def _arms(records: Iterable[RunRecord], name: str) -> dict[str, Arm]:
    arms = {spec: arm for spec, arm in arms_of(records, name).items() if any(r.kind == "strategy" for r in arm.records.values())}
    if not arms:
        raise UserError(f"gate: the {name} holds no strategy; expected at least one")
    return arms


def _check_inputs(baseline: Arm, candidate: Arm) -> None:
    """Traces, banks and reader must be the same on both sides."""
    gone, new = baseline.records.keys() - candidate.records.keys(), candidate.records.keys() - baseline.records.keys()
    if gone or new:
        first = min([*(baseline.records[d].trace.id for d in gone), *(candidate.records[d].trace.id for d in new)])
        raise UserError(
            f"gate: trace digests differ: {len(gone)} only in the baseline, {len(new)} only in the candidate (first: {first}); "
            "expected the same traces on both sides"
        )
    for digest, record in baseline.records.items():
        other = candidate.records[digest]
        if record.inputs.bank != other.inputs.bank:
            raise UserError(
                f"gate: trace {record.trace.id}: found probe banks {record.inputs.bank[:12]} and {other.inputs.bank[:12]}; expected one bank"
            )
        if record.inputs.reader != other.inputs.reader:
            raise UserError(
                f"gate: found readers {record.inputs.reader!r} and {other.inputs.reader!r}; expected one reader on both sides"
            )


def _new_violations(paired: Iterable[PairedTrace]) -> list[Broken]:
    """Violations of error severity beyond what the baseline has of the same invariant on the same trace."""
    found = []
    for trace in paired:
        before = Tally(v.invariant for v in trace.a.violations if v.severity == "error")
        after = [v for v in trace.b.violations if v.severity == "error"]
        for invariant, count in Tally(v.invariant for v in after).items():
            if count > before[invariant]:
                last = [v for v in after if v.invariant == invariant][-1]
                detail = f"{count} against {before[invariant]}; call {last.call}: {last.evidence}"
                found.append(Broken(kind="violation", trace=trace.a.trace.id, name=invariant, detail=detail))
    return found


def _new_faults(paired: Iterable[PairedTrace]) -> list[Broken]:
    return [
        Broken(kind="fault", trace=trace.a.trace.id, name=fault.kind, detail=f"call {fault.call}: {fault.text}")
        for trace in paired
        if len(trace.b.faults) > len(trace.a.faults)
        for fault in trace.b.faults[-1:]
    ]


def _lost_constraints(paired: Iterable[PairedTrace]) -> list[Broken]:
    """Constraints that the baseline still held and the candidate neither holds in its context nor answers.

    While the evidence stands in the context, a wrong answer is the reader's and counts in the statistics only.
    """
    found: dict[tuple[str, str], Broken] = {}
    for trace in paired:
        for (probe, place), (first, second) in trace.questions.items():
            if first.asked.probe.type in ZERO_TOLERANCE_TYPES and _held(first) and not _held(second):
                detail = f"at {place[1]}: {first.asked.probe.question}"
                found.setdefault(
                    (trace.digest, probe), Broken(kind="constraint", trace=trace.a.trace.id, name=probe, detail=detail)
                )
    return list(found.values())


def _held(item: Scored) -> bool:
    return bool(item.survives) or (item.score or 0.0) >= 0.5


def _notes(paired: Sequence[PairedTrace]) -> list[str]:
    notes = []
    carried = sum(min(len(trace.a.violations), len(trace.b.violations)) for trace in paired)
    if carried:
        notes.append(f"{carried} violation(s) stand in both and do not count")
    deaths = sum(trace.b.died_at is not None and trace.a.died_at is None for trace in paired)
    if deaths:
        notes.append(
            f"the candidate could not finish {deaths} trace(s) that the baseline finished; what it could not answer counts as lost"
        )
    unpaired = sum(trace.unpaired for trace in paired)
    if unpaired:
        notes.append(f"{unpaired} question(s) were scored in one arm only and were left out")
    for name, values in (
        ("window", [(t.a.window, t.b.window) for t in paired]),
        ("mode", [(t.a.mode, t.b.mode) for t in paired]),
        ("budget", [(t.a.budget, t.b.budget) for t in paired]),
        ("cache policy", [(t.a.inputs.policy, t.b.inputs.policy) for t in paired]),
    ):
        differing = [pair for pair in values if pair[0] != pair[1]]
        if differing:
            notes.append(f"{name} differs on {len(differing)} trace(s): {differing[0][0]} against {differing[0][1]}")
    return notes

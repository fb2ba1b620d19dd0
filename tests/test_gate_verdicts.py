"""The gate's three states, its calibration, and what it refuses to compare."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import msgspec
import pytest

from ullage.errors import UserError
from ullage.gate import ONE_TRACE, decide, exit_code, gate, overall
from ullage.gate_output import gate_json
from ullage.records import RunRecord
from ullage.testing import make_record
from ullage.types import Fault, Moment, Violation

ORPHAN = Violation(invariant="A01", severity="error", call=7, evidence="tool result without its call")


def run_of(traces: int = 6, **fields: Any) -> list[RunRecord]:
    """One strategy on several made traces."""
    return [make_record(trace=f"t{n}", **fields) for n in range(traces)]


def dropping(records: list[RunRecord], types: set[str], count: int = 1_000) -> list[RunRecord]:
    """The same records with the evidence of the first ``count`` probes of some types gone from every answer."""
    changed = []
    for record in records:
        gone = {a.probe.id for a in record.probes if a.probe.type in types}
        gone = set(sorted(gone)[:count])
        answers = tuple(
            msgspec.structs.replace(a, outcome="abstained", text=None, survives=False) if a.probe in gone else a
            for a in record.answers
        )
        changed.append(msgspec.structs.replace(record, answers=answers))
    return changed


def simulated(
    rng: random.Random, *, traces: int, probes: int, discordance: float, spread: float = 0.0, drop: float = 0.0
) -> list[list[float]]:
    """Paired differences of a rerun: noise both ways, a trace effect, and planted damage."""
    groups = []
    for _ in range(traces):
        shift = rng.gauss(0, spread) / 2
        up, down = max(0.0, discordance / 2 + shift), max(0.0, discordance / 2 - shift)
        group = [1.0 if (u := rng.random()) < up else -1.0 if u < up + down else 0.0 for _ in range(probes)]
        groups.append([-1.0 if rng.random() < drop else value for value in group])
    return groups


def test_the_same_answers_pass_as_identical_whatever_the_number_of_traces() -> None:
    """The same answers pass as identical whatever the number of traces."""
    for traces in (1, 2, 6):
        judgement = gate(run_of(traces), run_of(traces))[0]
        assert (judgement.verdict, judgement.reasons) == ("pass", ("identical",))
        assert ((judgement.interval, judgement.mde) == (None, None)) is (ONE_TRACE in judgement.notes) is (traces == 1)


def test_another_wrong_answer_is_not_identical_but_no_loss() -> None:
    """Abstained in the baseline, wrong in the candidate: no score changes, yet the answers do."""
    base = run_of(4, keep=0.5)
    wrong = [
        msgspec.structs.replace(r, answers=tuple(msgspec.structs.replace(a, outcome="wrong") if a.outcome == "abstained" else a for a in r.answers))
        for r in base
    ]  # fmt: skip
    judgement = gate(base, wrong)[0]
    assert judgement.verdict == "pass"
    assert judgement.reasons != ("identical",)


def test_a_little_noise_on_four_traces_cannot_be_told_and_says_the_effect_it_could_show() -> None:
    """A little noise on four traces cannot be told and says the effect it could show."""
    judgement = gate(run_of(4, noise=0.1, seed=1, keep=1), run_of(4, noise=0.1, seed=2, keep=1))[0]
    assert judgement.verdict == "inconclusive"
    assert judgement.mde is not None
    assert judgement.mde > 0.05
    assert "smallest effect" in judgement.reasons[0]


def test_four_traces_of_twenty_probes_plan_for_about_23_points() -> None:
    """The methodology's formula at its declared assumptions."""
    planned = gate(run_of(4, probes=23), run_of(4, probes=23))[0].mde_planned
    assert planned is not None
    assert 0.22 < planned < 0.25


def test_one_trace_that_differs_is_inconclusive() -> None:
    """One trace that differs is inconclusive."""
    base = run_of(1)
    judgement = gate(base, dropping(base, {"recall"}))[0]
    assert judgement.verdict == "inconclusive"
    assert judgement.mde is None


def test_damage_to_every_trace_fails() -> None:
    """Damage to every trace fails."""
    base = run_of(6, keep=1)
    judgement = gate(base, dropping(base, {"recall", "artifact"}))[0]
    assert judgement.verdict == "fail"
    assert judgement.difference is not None
    assert judgement.difference < -0.2
    assert not judgement.zero_tolerance


def test_better_on_every_trace_passes_even_when_small() -> None:
    """Better on every trace passes even when small."""
    good = run_of(6, keep=1)
    judgement = gate(dropping(good, {"recall", "artifact"}), good)[0]
    assert judgement.verdict == "pass"
    assert "better" in judgement.reasons[0]


@pytest.mark.parametrize(("traces", "discordance"), [(4, 0.2), (10, 0.2), (10, 0.05), (30, 0.2), (30, 0.05)])
def test_reruns_of_one_arm_fail_at_most_one_time_in_twenty(traces: int, discordance: float) -> None:
    """1,000 simulated reruns; 60 leaves 1.5 standard errors over the 5 % promised."""
    rng = random.Random(traces)
    verdicts = Counter(decide(simulated(rng, traces=traces, probes=20, discordance=discordance), 0.05)[0] for _ in range(1000))
    assert verdicts["fail"] <= 60


@pytest.mark.parametrize(("discordance", "spread"), [(0.0, 0.0), (0.1, 0.0), (0.2, 0.06)])
def test_dropping_a_tenth_of_the_evidence_is_caught(discordance: float, spread: float) -> None:
    """At 30 traces of 20 probes and a margin of 6 points, in at least 80 of 100 runs."""
    rng = random.Random(5)
    verdicts = Counter(
        decide(simulated(rng, traces=30, probes=20, discordance=discordance, spread=spread, drop=0.1), 0.06)[0]
        for _ in range(200)
    )
    assert verdicts["fail"] >= 160


def test_a_drop_of_the_whole_margin_rarely_passes() -> None:
    """False passes at a true drop of the margin stay near the 5 % of the one-sided bound."""
    rng = random.Random(6)
    verdicts = Counter(decide(simulated(rng, traces=30, probes=40, discordance=0.0, drop=0.05), 0.05)[0] for _ in range(400))
    assert verdicts["pass"] <= 0.08 * 400


def test_reruns_of_records_with_a_noisy_reader_do_not_fail() -> None:
    """The same through records: of 20 reruns with an erring reader at most 3 fail, and no constraint trips."""
    verdicts = Counter(
        gate(run_of(8, seed=2 * n, keep=1, noise=0.1), run_of(8, seed=2 * n + 1, keep=1, noise=0.1))[0].verdict for n in range(20)
    )
    assert verdicts["fail"] <= 3


@pytest.mark.parametrize("trace", range(5))
def test_one_lost_constraint_trips_zero_tolerance(trace: int) -> None:
    """One lost constraint trips zero tolerance."""
    base = run_of(5, keep=1)
    hurt = dropping(base, {"constraint"}, count=1)
    candidate = [*base[:trace], hurt[trace], *base[trace + 1 :]]
    judgement = gate(base, candidate)[0]
    assert judgement.verdict == "fail"
    assert [item.kind for item in judgement.zero_tolerance] == ["constraint"]
    assert judgement.zero_tolerance[0].trace == f"t{trace}"


def test_a_constraint_that_stands_in_the_context_is_not_lost_when_the_reader_errs() -> None:
    """A constraint that stands in the context is not lost when the reader errs."""
    base = run_of(5, keep=1)
    erring = [
        msgspec.structs.replace(r, answers=tuple(msgspec.structs.replace(a, outcome="wrong") if a.probe.endswith("-p2") else a for a in r.answers))
        for r in base
    ]  # fmt: skip
    assert not gate(base, erring)[0].zero_tolerance


def test_a_new_violation_or_fault_fails_and_an_old_one_does_not() -> None:
    """A new violation or fault fails and an old one does not."""
    fault = Fault(call=3, moment=Moment.BEFORE_CALL, kind="KeyError", text="m3")
    base, worse, faulty = run_of(3), run_of(3, violations=[ORPHAN]), run_of(3, faults=[fault])
    assert [b.kind for b in gate(base, worse)[0].zero_tolerance] == ["violation"] * 3
    assert [b.kind for b in gate(base, faulty)[0].zero_tolerance] == ["fault"] * 3
    assert gate(worse, worse)[0].verdict == "pass"
    assert gate(worse, base)[0].verdict == "pass"


def test_a_warning_does_not_fail() -> None:
    """A warning does not fail."""
    warning = msgspec.structs.replace(ORPHAN, severity="warning")
    assert gate(run_of(3), run_of(3, violations=[warning]))[0].verdict == "pass"


def test_other_traces_or_banks_are_refused() -> None:
    """Other traces or banks are refused."""
    with pytest.raises(UserError, match="1 only in the baseline, 0 only in the candidate"):
        gate(run_of(4), run_of(3))
    with pytest.raises(UserError, match="probe banks"):
        gate(run_of(4, probes=21), run_of(4, probes=22))


def test_another_reader_is_refused() -> None:
    """Another reader is refused."""
    base = run_of(2)
    other = [msgspec.structs.replace(r, inputs=msgspec.structs.replace(r.inputs, reader="openai/x")) for r in base]
    with pytest.raises(UserError, match="readers 'lexical' and 'openai/x'"):
        gate(base, other)


@pytest.mark.parametrize("margin", [0, -0.1, 1, 5])
def test_an_impossible_margin_is_refused(margin: float) -> None:
    """An impossible margin is refused."""
    with pytest.raises(UserError, match="--margin"):
        gate(run_of(2), run_of(2), margin)


def test_specs_are_paired_by_name_and_a_single_change_by_place() -> None:
    """Specs are paired by name and a single change by place."""
    base = [*run_of(3), *run_of(3, spec="null", threshold=3)]
    assert [(j.baseline, j.candidate) for j in gate(base, base)] == [("auto", "auto"), ("null", "null")]
    changed = [*run_of(3, spec="auto(threshold=0.7)"), *run_of(3, spec="null", threshold=3)]
    assert [(j.baseline, j.candidate) for j in gate(base, changed)] == [("null", "null"), ("auto", "auto(threshold=0.7)")]
    with pytest.raises(UserError, match="lacks null"):
        gate(base, run_of(3))


def test_the_worst_verdict_is_the_overall_one_and_its_figures_lead() -> None:
    """The worst verdict is the overall one and its figures lead."""
    base = [*run_of(6, keep=1), *run_of(6, spec="other", keep=1)]
    candidate = [*run_of(6, keep=1), *dropping(run_of(6, spec="other", keep=1), {"recall", "artifact"})]
    judgements = gate(base, candidate)
    found = gate_json(judgements, 0.05)
    assert overall(judgements) == found["verdict"] == "fail"
    assert found["candidate"] == "other"
    assert found["reasons"][0].startswith("other: ")


def test_the_json_has_the_promised_keys() -> None:
    """The json has the promised keys."""
    found = gate_json(gate(run_of(3), run_of(3)), 0.05)
    promised = {"verdict", "reasons", "difference", "interval", "margin", "mde", "mde_planned", "zero_tolerance"}
    assert promised <= found.keys()
    assert found["reasons"] == ["identical"]
    assert found["difference"] == 0
    assert found["zero_tolerance"] == []


@pytest.mark.parametrize(
    ("verdict", "policy", "code"),
    [("pass", "", 0), ("fail", "pass", 1), ("inconclusive", "", 3), ("inconclusive", "pass", 0), ("inconclusive", "fail", 1)],
)
def test_exit_codes(verdict: Any, policy: str, code: int) -> None:
    """Exit codes."""
    assert exit_code(verdict, policy) == code


def test_a_gate_counts_stories_and_not_their_retellings() -> None:
    """Nine traces of three stories are planned and bounded as three; nine of nine as nine."""
    alone, told = run_of(9, probes=23), [of_story(record, n % 3) for n, record in enumerate(run_of(9, probes=23))]
    one, three = gate(alone, alone)[0], gate(told, told)[0]
    assert (one.traces, one.groups, three.traces, three.groups) == (9, 9, 9, 3)
    assert one.mde_planned is not None
    assert three.mde_planned is not None
    assert three.mde_planned > 2 * one.mde_planned


def of_story(record: RunRecord, story: int) -> RunRecord:
    """The record of a trace that tells one of several stories."""
    return msgspec.structs.replace(record, trace=msgspec.structs.replace(record.trace, group=f"story {story}"))

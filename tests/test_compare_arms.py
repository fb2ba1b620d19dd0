"""Comparisons are paired by probe, clustered by trace, signed b minus a, and say what they left out."""

from __future__ import annotations

import json
from statistics import fmean
from typing import Any

import msgspec
import pytest

from ullage.compare import Arm, arms_of, compare, compare_all, pair_arms, pair_traces, question_differences
from ullage.errors import UserError
from ullage.intervals import cluster_means, p_value, t_interval
from ullage.losses import removal_of
from ullage.records import RunRecord
from ullage.scored import scored
from ullage.tables import trace_scores
from ullage.testing import make_record
from ullage.types import Drop, Erase, Insert, Message, Moment, Rewrite, Stash, Text

METRICS = {"retention", "retention_prose", "retention_typed", "survival", "usd", "input_tokens", "peak", "cache_read_ratio"}
METRICS |= {"compactions", "violations"}
KEYS = {"a", "b", "metric", "difference", "interval", "p", "traces", "probes", "mde"}


def arm(spec: str = "auto", traces: int = 5, run: str = "", **fields: Any) -> Arm:
    """One strategy on several made traces."""
    return arms_of([make_record(spec=spec, trace=f"t{n}", **fields) for n in range(traces)], run)[spec]


def entries(a: Arm, b: Arm) -> dict[str, dict[str, Any]]:
    """The elements of ``pairs`` by metric."""
    return {entry["metric"]: entry for entry in compare_all([(a, b)])["pairs"]}


def test_all_metrics_and_keys_are_there() -> None:
    """All metrics and keys are there."""
    found = compare_all([(arm(), arm("other"))])
    assert {entry["metric"] for entry in found["pairs"]} == METRICS
    assert all(entry.keys() >= KEYS for entry in found["pairs"])
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    for entry in found["pairs"]:
        assert {key for key in KEYS if entry[key] is None} <= entry["reasons"].keys()


def test_differences_are_b_minus_a_over_trace_means() -> None:
    """Differences are b minus a over trace means."""
    a, b = arm("a", keep=0.9, threshold=0.8), arm("b", keep=0.3, threshold=0.6)
    differences = [
        (trace_scores(b.records[digest]).retention or 0) - (trace_scores(a.records[digest]).retention or 0)
        for digest in a.records
    ]
    found = entries(a, b)["retention"]
    interval = t_interval(differences)
    assert interval is not None
    assert found["difference"] == pytest.approx(fmean(differences), abs=1e-6)
    assert found["interval"] == pytest.approx(list(interval.pair), abs=1e-6)
    assert found["p"] == pytest.approx(p_value(differences), abs=1e-6)
    assert found["traces"] == 5
    assert found["value_b"] - found["value_a"] == pytest.approx(found["difference"], abs=1e-5)


def test_swapping_the_arms_swaps_the_signs() -> None:
    """Swapping the arms swaps the signs."""
    a, b = arm("a", keep=0.9), arm("b", keep=0.3, threshold=0.6)
    one, other = entries(a, b), entries(b, a)
    known = {metric: entry for metric, entry in one.items() if entry["difference"] is not None}
    assert known.keys() == METRICS - {"retention_prose"}
    for metric, entry in known.items():
        assert entry["difference"] == pytest.approx(-other[metric]["difference"])
        assert entry["p"] == pytest.approx(other[metric]["p"])


def grouped(spec: str, groups: int, **fields: Any) -> Arm:
    """Three traces of each of several stories."""
    made = [make_record(spec=spec, trace=f"t{g}-{n}", **fields) for g in range(groups) for n in range(3)]
    told = [
        msgspec.structs.replace(record, trace=msgspec.structs.replace(record.trace, group=record.trace.id.split("-")[0]))
        for record in made
    ]
    return arms_of(told)[spec]


def test_traces_that_tell_one_story_count_once_in_an_interval() -> None:
    """Twelve traces of four stories have the interval of four means, not the narrower one of twelve traces."""
    a, b = grouped("a", 4, keep=0.9), grouped("b", 4, keep=0.3)
    told, alone = entries(a, b)["retention"], entries(arm("a", 12, keep=0.9), arm("b", 12, keep=0.3))["retention"]
    assert (told["traces"], told["groups"]) == (12, 4)
    assert (alone["traces"], alone["groups"]) == (12, 12)
    differences = cluster_means(
        (digest[:2], fmean(question_differences(pair))) for pair in pair_traces(a, b) for digest in [pair.a.trace.id]
    )
    found = t_interval(differences)
    assert found is not None
    assert len(differences) == found.clusters == 4
    assert told["interval"] == pytest.approx(list(found.pair), abs=1e-6)


def test_three_traces_of_one_story_have_no_interval() -> None:
    """Seeds of one playbook show nothing about other playbooks."""
    found = entries(grouped("a", 1), grouped("b", 1))["retention"]
    assert (found["interval"], found["mde"]) == (None, None)
    assert found["reasons"]["interval"] == "one independent trace: no interval"


def test_an_arm_against_itself_shows_nothing() -> None:
    """An arm against itself shows nothing."""
    found = compare_all([(arm(), arm())])
    known = [entry for entry in found["pairs"] if entry["metric"] != "retention_prose"]
    assert all(entry["difference"] == 0 and entry["p"] == 1 for entry in known)
    (prose,) = (entry for entry in found["pairs"] if entry["metric"] == "retention_prose")
    assert (prose["difference"], prose["reasons"]["difference"]) == (None, "no question was scored under both")
    assert found["changed_probes"] == []


def test_an_early_end_is_no_saving() -> None:
    """Bills and tokens are held to the calls that both arms made."""
    whole, short = arm("whole", keep=1), arm("short", threshold=3, keep=1)
    found = entries(whole, short)
    assert found["input_tokens"]["difference"] > 0
    calls = next(iter(short.records.values())).survived
    rows = next(iter(whole.records.values())).rows[:calls]
    assert found["input_tokens"]["value_a"] == sum(row.prompt_tokens for row in rows)
    assert found["usd"]["note"] == "5 of 5 traces held to the calls that both arms made"


def test_a_missing_price_leaves_the_trace_out_of_the_dollars_alone() -> None:
    """A missing price leaves the trace out of the dollars alone."""
    a = arm()
    unpriced = {**a.records, next(iter(a.records)): make_record(trace="t0", priced=False)}
    found = entries(a, Arm(run="", spec="auto", records=unpriced))
    assert (found["usd"]["traces"], found["retention"]["traces"]) == (4, 5)
    assert found["usd"]["note"] == "unknown for 1 of 5 traces"


def test_changed_probes_name_the_evidence_and_the_edit() -> None:
    """Changed probes name the evidence and the edit."""
    a, b = arm("a", keep=1), arm("b", keep=0)
    changed = compare_all([(a, b)])["changed_probes"]
    assert {entry["change"] for entry in changed} == {"lost"}
    first = changed[0]
    assert first["outcome_a"] == "correct"
    assert first["outcome_b"] == "abstained"
    assert first["accept"][0] in first["evidence"][0]["text"]
    assert first["removed_by"]["message"] == first["evidence"][0]["message"]
    assert "summary put in its place" in first["removed_by"]["action"]
    gained = compare_all([(b, a)])["changed_probes"]
    assert {entry["change"] for entry in gained} == {"gained"}
    assert len(gained) == len(changed)


def test_one_run_is_paired_with_itself_two_runs_by_spec() -> None:
    """One run is paired with itself two runs by spec."""
    one = arms_of([make_record(spec=spec) for spec in ("a", "b", "c")])
    assert [(x.spec, y.spec) for x, y in pair_arms(one)] == [("a", "b"), ("a", "c"), ("b", "c")]
    assert [(x.spec, y.spec) for x, y in pair_arms(one, one)] == [("a", "a"), ("b", "b"), ("c", "c")]
    assert [(x.spec, y.spec) for x, y in pair_arms({"a": one["a"]}, {"b": one["b"]})] == [("a", "b")]


def test_the_first_strategy_named_is_a() -> None:
    """The order of the records decides the sign, not the alphabet."""
    arms = arms_of([make_record(spec="z"), make_record(spec="a")])
    assert [(x.spec, y.spec) for x, y in pair_arms(arms)] == [("z", "a")]


def test_what_cannot_be_paired_is_refused() -> None:
    """What cannot be paired is refused."""
    one = arms_of([make_record(spec=spec) for spec in ("a", "b")])
    with pytest.raises(UserError, match="expected two, or a second run"):
        pair_arms({"a": one["a"]})
    with pytest.raises(UserError, match="no strategy to pair"):
        pair_arms(one, {"c": one["a"], "d": one["b"]})
    with pytest.raises(UserError, match="no trace in both"):
        pair_traces(arm(), arms_of([make_record(trace="elsewhere")])["auto"])
    with pytest.raises(UserError, match="probe banks"):
        pair_traces(arm(), arm(probes=8))


def test_traces_of_one_arm_only_are_left_out_and_counted() -> None:
    """Traces of one arm only are left out and counted."""
    found = compare(arm(traces=5), arm(traces=4))
    assert any("1 trace(s) are in one arm only" in note for note in found.notes)
    assert found.differences[0].traces == 4


def test_arms_under_another_window_are_compared_with_a_note() -> None:
    """Arms under another window are compared with a note."""
    found = compare(arm(window=100_000), arm(window=80_000))
    assert any("differ in window: 100000 against 80000" in note for note in found.notes)


def test_p_values_of_several_pairs_are_adjusted() -> None:
    """P values of several pairs are adjusted."""
    records = [make_record(spec=s, trace=f"t{n}", keep=k) for s, k in (("a", 0.9), ("b", 0.5), ("c", 0.1)) for n in range(6)]
    found = [entry for entry in compare_all(pair_arms(arms_of(records)))["pairs"] if entry["metric"] == "retention"]
    assert len(found) == 3
    assert all(entry["p_adjusted"] >= entry["p"] for entry in found)
    assert any(entry["p_adjusted"] > entry["p"] for entry in found)


def lost_by(*edits: Any) -> RunRecord:
    """A record whose first compaction makes these edits and loses probe 1, whose evidence stands in one message."""
    record = make_record(keep=0)
    events = (msgspec.structs.replace(record.compactions[0], edits=edits), *record.compactions[1:])
    losses = tuple(msgspec.structs.replace(loss, edit=None, message="") for loss in record.losses)
    return msgspec.structs.replace(record, compactions=events, losses=losses)


def test_each_kind_of_edit_is_told_apart() -> None:
    """Rewritten, erased, dropped alone, dropped for a summary, and an edit that touches something else."""
    record = make_record(keep=0)
    item = next(i for i in scored(record) if i.lost_to == 0)
    place = item.asked.evidence[0].message
    summary = Message(id="s", role="user", blocks=(Text(text="the gist"),))
    cases = [
        ((Rewrite(id=place, blocks=(Text(text="[cleared]"),)),), "its content was rewritten", "[cleared]"),
        ((Stash(ref="r", content="x"), Rewrite(id=place, blocks=())), "its content was rewritten; the decision put content into the store", ""),
        ((Erase(id=place),), "the server erased it", ""),
        ((Drop(ids=(place,)),), "dropped", ""),
        ((Drop(ids=(place, "x")), Insert(after=None, message=summary, sources=(place, "x"))), "dropped with 1 other message, a summary put in its place", "the gist"),
        ((Drop(ids=("x",)),), "an edit to what stood in for it", ""),
    ]  # fmt: skip
    for edits, action, instead in cases:
        changed = lost_by(*edits)
        found = removal_of(changed, next(i for i in scored(changed) if i.key == item.key))
        assert found is not None
        assert (found.action, found.instead) == (action, instead)
        assert (found.compaction, found.moment) == (0, Moment.BEFORE_CALL.value)


def test_what_still_stands_was_not_removed() -> None:
    """What still stands was not removed."""
    record = make_record(keep=1)
    assert all(removal_of(record, item) is None for item in scored(record))

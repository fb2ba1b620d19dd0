"""Measures of memory: macro over traces, never a number where there is nothing to count."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage import measures
from ullage.records import AskedProbe
from ullage.scored import Scored
from ullage.scoring import SUPERSEDED
from ullage.testing_records import make_record
from ullage.types import Exam, Probe


def item(score: float = 1.0, *, type_: str = "recall", age: int = 0, survives: bool | None = True, **fields: Any) -> Scored:
    """One question at the last checkpoint; ``uses``, ``speaker``, ``form`` and ``restated_at`` go to its probe."""
    decoy = type_ == "abstention"
    reason, dead = fields.pop("reason", ""), fields.pop("dead", False)
    probe = Probe(id=f"p{len(fields)}", question="?", type=type_, grader="abstain" if decoy else "exact", **fields)
    return Scored(
        asked=AskedProbe(probe=probe, zone="head"),
        exam=Exam(call=10, kind="checkpoint", share=1.0, dead=dead),
        place=("checkpoint", "1"),
        score=score,
        survives=survives,
        age=age,
        lost_to=None,
        outcome="correct" if score else "wrong",
        text=None,
        reason=reason,
        floor=0.0,
        ceiling=1.0,
    )


def test_every_trace_counts_once_however_many_questions_it_has() -> None:
    """Macro means: one trace of one question weighs as much as one of ten."""
    found = measures.retention([[item(1)], [item(0)] * 10])
    assert found.value == 0.5
    assert (found.traces, found.questions) == (2, 11)


def test_demand_counts_later_uses_up_to_three() -> None:
    """Uses before the examination say nothing; a fact used often weighs three times one used once."""
    often, once = item(1, uses=(10, 11, 12, 13, 40)), item(0, uses=(2, 30))
    assert measures.demand(often) == 3
    assert measures.demand(once) == 1
    assert measures.demand(item(1, uses=(3, 4))) == 0
    assert measures.demand_weighted([[often, once]]).value == 0.75


@pytest.mark.parametrize(
    ("measure", "traces", "value"),
    [
        (measures.stale_rate, [[item(0, type_="update", reason=SUPERSEDED), item(1, type_="update"), item(0)]], 0.5),
        (measures.stale_rate, [[item(0, type_="update", reason="died", dead=True)]], None),
        (measures.false_memory_rate, [[item(0, type_="abstention"), item(1, type_="abstention"), item(0)]], 0.5),
        (measures.constraint_violation_delta, [[item(0, type_="constraint"), item(1, type_="constraint"), item(0)]], 0.5),
        (measures.constraint_violation_delta, [[item(0, type_="constraint", dead=True), item(0)]], None),
        (measures.survival, [[item(1), item(1, survives=False), item(1, survives=None)]], 0.5),
        (measures.usability_gap, [[item(0), item(1), item(1, survives=False)]], 0.0),
        (measures.retention, [[]], None),
        (measures.demand_weighted, [[item(1)]], None),
    ],
)
def test_rates(measure: Any, traces: list[list[Scored]], value: float | None) -> None:
    """Each rate over its own questions, none with a reason where there are none."""
    found = measure(traces)
    assert found.value == value
    assert (found.reason != "") is (value is None)


def test_no_false_memory_seen_has_an_upper_bound() -> None:
    """Nothing seen in sixty is not nothing: at most one in twenty."""
    found = measures.false_memory_rate([[item(1, type_="abstention")] * 60])
    assert (found.value, found.low, found.high) == (0.0, 0.0, 0.05)


def test_a_rule_that_is_declined_or_never_known_is_not_violated() -> None:
    """Only what is asserted against a rule that the whole context answers counts; none seen in thirty is at most one in ten."""
    declined = replace(item(0, type_="constraint"), outcome="abstained")
    unknown = replace(item(0, type_="constraint"), ceiling=0.0)
    found = measures.constraint_violation_delta([[declined] * 30 + [unknown]])
    assert (found.value, found.questions, found.high) == (0.0, 30, 0.1)


def test_cuts_name_what_they_cut_by() -> None:
    """Type, form, speaker, zone and whether the fact was said once."""
    traces = [[item(1, speaker="user", form="prose"), item(0, type_="update", restated_at=4)]]
    found = {name: measures.by(traces, key) for name, key in measures.CUTS.items()}
    assert {name: sorted(groups) for name, groups in found.items()} == {
        "type": ["recall", "update"],
        "form": ["prose", "typed"],
        "speaker": ["unknown", "user"],
        "zone": ["head"],
        "restated": ["restated", "said once"],
    }
    assert found["form"]["prose"].value == 1.0


def test_decay_half_life_and_cliff() -> None:
    """The curve by age, the cycle at which half is gone, and the first fall of three in ten."""
    curve = measures.decay([[item(1), item(1, age=1), item(0, age=2), item(1, age=2)]])
    assert [point.value for point in curve] == [1.0, 1.0, 0.5]
    assert measures.half_life([1.0, 0.8, 0.6, 0.2]) == pytest.approx(2.5)
    assert measures.half_life([1.0, 0.8, 0.7]) is None
    assert measures.half_life([1.0, None, 0.2]) is None
    assert measures.cliff([1.0, 0.9, 0.5, 0.1]) == 2
    assert measures.cliff([1.0, 0.9, None, 0.1]) is None


def test_wear_is_told_only_from_ages_with_enough_questions() -> None:
    """Ten questions at age 1 and at age 2 give half-life and cliff; nine at age 1 give a reason instead."""
    raw, worn = [item(1)] * 10, [item(n % 2, age=2) for n in range(10)]
    found = measures.wear([[*raw, *([item(1, age=1)] * 10), *worn]])
    assert found["half_life"].value == pytest.approx(2.0)
    assert found["cliff"].value == 2
    few = measures.wear([[*raw, *([item(1, age=1)] * 9), *worn]])
    assert few["half_life"].value is None
    assert (
        few["half_life"].reason
        == few["cliff"].reason
        == "fewer than 10 questions were asked about facts that one compaction had taken"
    )
    kept = measures.wear([[*raw, *([item(1, age=1)] * 10)]])
    assert (kept["half_life"].value, kept["cliff"].value) == (None, None)
    assert kept["cliff"].reason == "no fall of 0.3 from one age to the next, up to age 1"


def test_constraint_flips_are_counted() -> None:
    """A rule whose opposite was asserted is one flip; silence is none."""
    traces = [[item(0, type_="constraint"), item(1, type_="constraint"), item(0)]]
    assert measures.constraint_flips(traces) == 1


@given(
    scores=st.lists(
        st.lists(st.tuples(st.sampled_from([0.0, 0.5, 1.0]), st.integers(0, 60), st.booleans()), max_size=6), max_size=5
    )
)
def test_a_figure_is_a_share_or_has_a_reason(scores: list[list[tuple[float, int, bool]]]) -> None:
    """Never a NaN, and a missing interval is none."""
    traces = [[item(score, uses=(use,), survives=alive) for score, use, alive in row] for row in scores]
    for measure in (
        measures.retention,
        measures.survival,
        measures.demand_weighted,
        measures.stale_rate,
        measures.false_memory_rate,
        measures.constraint_violation_delta,
    ):
        found = measure(traces)
        if found.value is None:
            assert found.reason
        else:
            assert 0 <= found.value <= 1
            assert (found.low is None) == (found.traces < 2)
            assert found.low is None or not math.isnan(found.low)


def test_records_give_all_figures_by_name() -> None:
    """From records alone, as the tables need them."""
    found = measures.memory_figures([make_record(trace=f"t{n}", seed=n) for n in range(3)])
    assert sorted(found) == [
        "cliff",
        "constraint_violation_delta",
        "demand_weighted_retention",
        "false_memory_rate",
        "half_life",
        "stale_rate",
        "usability_gap",
    ]
    assert all(figure.value is not None or figure.reason for figure in found.values())

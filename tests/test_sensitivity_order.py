"""Sensitivity: what extra turns multiply, where two strategies change places, and who can be ranked."""

from __future__ import annotations

from fractions import Fraction

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage import registry
from ullage.pricing import ModelPrices, PriceSheet, policy_for
from ullage.rescoring import rescore
from ullage.sensitivity import (
    EXTRA,
    FARTHEST,
    PRICE_LISTS,
    PROVIDERS,
    Course,
    Scenario,
    Standing,
    course_of,
    entry,
    first_loss,
    flips,
    inversions,
    ranking,
    repriced,
    standings,
)
from ullage.testing import make_record, user
from ullage.types import Compaction, Drop, Edit, Erase, Inject, Insert, Moment, Rewrite, Row, Stash, Text, Usage

SHEET = PriceSheet.load()
NO_EDITS: tuple[Edit, ...] = ()


def rows(count: int) -> list[Row]:
    """So many calls."""
    return [Row(call=n, prompt_tokens=10, usage=Usage(uncached=10), messages=n) for n in range(count)]


def event(call: int, *edits: Edit) -> Compaction:
    """A decision before a call."""
    return Compaction(call=call, moment=Moment.BEFORE_CALL, edits=edits, tokens_before=10, tokens_after=5)


@pytest.mark.parametrize(
    ("events", "calls"),
    [
        ([], 5),
        ([event(2, Drop(ids=("a",)))], 2),
        ([event(3, Rewrite(id="a", blocks=(Text(text="x"),))), event(1, Erase(id="b"))], 1),
        ([event(1, Insert(after=None, message=user("hint", "n"))), event(4, Drop(ids=("a",)))], 4),
        ([event(1, Inject(blocks=(Text(text="x"),)), Stash(ref="r", content="c"))], 5),
        ([event(0, Drop(ids=("a",)))], 0),
    ],
)
def test_the_first_loss_is_the_first_decision_that_takes_something_away(events: list[Compaction], calls: int) -> None:
    """Dropping, rewriting and erasing lose; adding, injecting and stashing do not."""
    assert first_loss(rows(5), events) == calls


def test_golden_flip() -> None:
    """100 against 110, all after the first loss against nothing: they meet at exactly 10 % more turns."""
    one, other = Standing(spec="a", before=0, after=100), Standing(spec="b", before=110, after=0)
    (flip,) = flips([one, other])
    assert (flip.cheaper, flip.dearer, flip.at) == ("a", "b", Fraction(1, 10))
    assert ranking([one, other], Fraction(9, 100)) == ["a", "b"]
    assert ranking([one, other], Fraction(11, 100)) == ["b", "a"]


def test_a_strategy_that_loses_nothing_is_never_punished() -> None:
    """Extra turns come after a loss only."""
    safe = Standing(spec="null", before=500, after=0)
    assert {safe.at(extra) for extra in EXTRA} == {500}


@given(st.lists(st.tuples(st.integers(0, 10**9), st.integers(0, 10**9)), min_size=2, max_size=6))
def test_places_change_exactly_at_the_flips(costs: list[tuple[int, int]]) -> None:
    """Just before a flip the first is the cheaper one, just after it the dearer; without a flip the order holds to the end."""
    found = [Standing(spec=f"s{n}", before=before, after=after) for n, (before, after) in enumerate(costs)]
    listed = {(flip.cheaper, flip.dearer): flip.at for flip in flips(found)}
    for one in found:
        for other in found:
            if (one.at(Fraction(0)), one.spec) >= (other.at(Fraction(0)), other.spec):
                continue
            at = listed.get((one.spec, other.spec))
            if at is None:
                assert one.at(FARTHEST) <= other.at(FARTHEST)
            else:
                assert one.at(at) == other.at(at)
                assert one.at(at + 1) > other.at(at + 1)


def test_who_did_not_finish_is_not_ranked() -> None:
    """A bill that ends early is no saving; nor is one that is missing, or of fewer traces."""
    courses = [
        Course(spec="whole", trace="t1", after=10),
        Course(spec="whole", trace="t2", after=10),
        Course(spec="dead", trace="t1", after=1, died=True),
        Course(spec="dead", trace="t2", after=1),
        Course(spec="half", trace="t1", after=1),
        Course(spec="poor", trace="t1", reason="no price"),
        Course(spec="poor", trace="t2", after=1),
    ]
    found, left_out = standings(courses)
    assert [one.spec for one in found] == ["whole"]
    assert "every call of 1 of 2" in left_out["dead"]
    assert left_out["half"] == "it has 1 of 2 traces"
    assert left_out["poor"] == "no price"


@pytest.mark.parametrize("threshold", [0.5, 0.8, 3.0])
def test_a_records_course_is_its_bill(threshold: float) -> None:
    """Before and after add up to the whole bill, and pricing the same rows again gives the same course."""
    record = rescore(make_record(threshold=threshold, window=60_000), SHEET, "claude-opus-4-5")
    course = course_of(record)
    assert record.bill is not None
    assert course.before + course.after == record.bill.total
    assert (course.after == 0) == (not record.compactions)
    assert course.died == (record.died_at is not None)
    assert repriced(record, SHEET, "claude-opus-4-5") == course


def test_a_record_without_a_bill_has_a_reason() -> None:
    """No dollars, no rank."""
    record = make_record(priced=False)
    assert course_of(record).reason == record.unpriced
    assert repriced(msgspec.structs.replace(record), SHEET, "nobody-knows-me").reason


def test_an_entry_tells_whether_the_order_is_the_runs() -> None:
    """The same two, the other way round, and too few to tell."""
    courses = [Course(spec="a", trace="t", after=10**12), Course(spec="b", trace="t", before=2 * 10**12)]
    found = entry(Scenario(name="x"), courses, ["a", "b"], ["a note"])
    assert found["order"] == [["a", "b"]] * 3
    assert found["strategies"][0]["usd"] == [1.0, 1.1, 1.2]
    assert found["strategies"][1]["usd"] == [2.0, 2.0, 2.0]
    assert found["same_order_as_run"] is True
    assert found["flips"] == [{"cheaper": "a", "dearer": "b", "extra_turns": 1.0}]
    assert found["notes"] == ["a note"]
    assert entry(Scenario(name="x"), courses, ["b", "a"])["same_order_as_run"] is False
    alone = entry(Scenario(name="x"), courses, ["b"])
    assert alone["same_order_as_run"] is None
    assert alone["reasons"]["same_order_as_run"]


def test_inversions_name_the_pairs() -> None:
    """Only strategies of both orders count."""
    assert inversions(["c", "a", "x", "b"], ["a", "b", "c"]) == [("c", "a"), ("c", "b")]


@pytest.mark.parametrize("scenario", [*PROVIDERS, *PRICE_LISTS], ids=lambda one: one.name)
def test_every_scenario_has_a_cache_and_a_price(scenario: Scenario) -> None:
    """Its policy loads, the sheet prices its model, and a provider's model is sold where its cache is."""
    prices = SHEET.prices(scenario.model)
    assert isinstance(prices, ModelPrices)
    if scenario.resimulate:
        policy = registry.load("caches", scenario.policy)
        same = registry.load("caches", policy_for(prices)).provider
        assert policy.provider in {"", same} or scenario.policy in {"none", "ideal"}


def test_every_provider_with_prices_has_a_scenario() -> None:
    """All cache policies but the bare placements of marks, and the two that no price list sells."""
    covered = {scenario.policy.partition("(")[0] for scenario in PROVIDERS}
    assert set(registry.names("caches")) - covered == {"every_15", "sliding4", "system_only", "vllm", "sglang"}

"""Other habits: nothing changed costs what was billed, and each change touches only what it is about."""

from __future__ import annotations

from typing import Any

import pytest
from autopsy_support import WORDS, Book, opus
from hypothesis import given
from hypothesis import strategies as st

from ullage.habits import Habit, _Walk, _walked, habits_of, resplit
from ullage.pricing import ModelPrices, PriceSheet
from ullage.recorded import Recorded, read_recording
from ullage.spending import prices_by_model
from ullage.types import Row, Usage

SHEET = PriceSheet.load()
OPUS = opus(SHEET)
RATES = OPUS.rates


def session(book: Book, **fields: Any) -> Recorded:
    """The book read with one token a word."""
    trace = book.trace(**fields)
    return read_recording(trace, WORDS, 200_000, trace.overhead_tokens or 0)


def habits(book: Book, **fields: Any) -> dict[str, Habit]:
    """All habits by name."""
    return {habit.name: habit for habit in habits_of(session(book, **fields), SHEET)}


def growing(calls: int, step: int = 10_000, pause_s: float = 10) -> Book:
    """A session that only grows."""
    book = Book().bill(0, step)
    for n in range(1, calls):
        book.bill(n * step, step, pause_s=pause_s)
    return book


def test_a_session_with_nothing_to_change_has_only_the_other_lifetime() -> None:
    """No pause, no switch, no compaction: an hour would have cost more, and nothing would have saved."""
    found = habits(growing(5))
    assert set(found) == {"write everything with a lifetime of an hour"}
    assert found["write everything with a lifetime of an hour"].difference == 50_000 * (RATES.write_1h - RATES.write_5m)


def test_an_answer_in_time_reads_what_the_lapse_sent_again() -> None:
    """Golden: 30,000 tokens were written again after 400 seconds; in time they would have been read."""
    book = growing(3).bill(0, 31_000, pause_s=400)
    found = habits(book)["answer before the cache lapses"]
    assert found.difference == -30_000 * (RATES.write_5m - RATES.read)


def test_an_hour_bridges_the_pause_and_pays_for_every_write() -> None:
    """Golden: the lapse of 30,000 tokens is read, all other writes cost twice the input."""
    book = growing(3).bill(0, 31_000, pause_s=400)
    found = habits(book)["write everything with a lifetime of an hour"]
    before = (30_000 + 31_000) * RATES.write_5m
    after = (30_000 + 1_000) * RATES.write_1h + 30_000 * RATES.read
    assert found.difference == after - before


def test_five_minutes_lose_what_the_hour_kept() -> None:
    """Golden: a pause of ten minutes is bridged by the hour; with five minutes all but the shared prefix is sent again."""
    book = Book(ttl="1h").bill(0, 30_000).bill(30_000, 1_000, pause_s=600)
    found = habits(book)["write everything with a lifetime of 5 minutes"]
    before = 31_000 * RATES.write_1h + 30_000 * RATES.read
    after = (30_000 + 30_000) * RATES.write_5m + 1_000 * RATES.read
    assert found.difference == after - before


def test_a_switch_of_models_is_undone() -> None:
    """What the other model's cache did not hold would have been read."""
    book = growing(3).bill(0, 31_000, model="claude-haiku-4-5")
    haiku = SHEET.prices("claude-haiku-4-5")
    assert isinstance(haiku, ModelPrices)
    assert habits(book)["stay with one model"].difference == -30_000 * (haiku.rates.write_5m - haiku.rates.read)


def test_earlier_compactions_carry_less() -> None:
    """A session that compacted at 160,000 would have paid less at half of that, more without any."""
    book = growing(16).compact(160_000, "word " * 500).bill(1_000, 30_000)
    for n in range(8):
        book.bill(31_000 + n * 1_000, 1_000)
    found = habits(book)
    early = found["compact at 80,000 tokens"]
    assert early.difference is not None
    assert early.difference < 0
    assert early.compactions >= 2
    assert "more than" not in early.detail


def test_never_compacting_is_refused_where_the_window_ends() -> None:
    """Without its compaction the session would not have fitted, and no figure is made up."""
    book = growing(16).compact(160_000, "word " * 500).bill(1_000, 30_000)
    for n in range(9):
        book.bill(31_000 + n * 5_000, 5_000)
    found = habits(book)["never compact"]
    assert (found.cost, found.difference) == (None, None)
    assert "would not have fitted" in found.reason


def test_a_compaction_before_a_long_pause() -> None:
    """Sending the summary again after the pause is cheaper than sending 160,000 tokens again."""
    book = growing(16).compact(160_000, "word " * 500).bill(1_000, 20_000)
    for n in range(10):
        book.bill(21_000 + n * 10_000, 10_000)
    found = habits(book.bill(0, 122_000, pause_s=1_000))["compact before a long pause"]
    assert found.difference is not None
    assert found.difference < 0
    assert found.compactions == 2


@st.composite
def books(draw: st.DrawFn) -> Book:
    """Plausible sessions: growth, lapses, switches and compactions in any order."""
    book, left = Book(ttl=draw(st.sampled_from(["5m", "1h"]))), 0
    for _ in range(draw(st.integers(1, 25))):
        step, kind = draw(st.integers(100, 15_000)), draw(st.integers(0, 9))
        if kind == 0 and left > 40_000:
            book.compact(left, "word " * draw(st.integers(10, 900)))
            book.bill(1_000, 8_000 + step)
            left = 9_000 + step
        elif kind == 1:
            book.bill(0, left + step, pause_s=5_000)
            left += step
        elif left + step < 190_000:
            book.bill(left, step, pause_s=draw(st.sampled_from([5, 290, 900])) if left else 5)
            left += step
    return book if book.calls else book.bill(0, 1_000)


@given(books())
def test_the_same_compactions_cost_what_the_session_cost(book: Book) -> None:
    """Walking again with nothing changed gives the bill, to the pico-dollar."""
    recorded = session(book)
    walk = _Walk(recorded, prices_by_model(recorded, SHEET))
    places = {place for place, row in enumerate(recorded.rows) if row.compactions}
    assert _walked(walk, "same", lambda place, _: place in places).difference == 0


@given(books())
def test_no_pause_never_costs_more(book: Book) -> None:
    """Reading is never dearer than sending again; every habit says what it rests on or why it has no figure."""
    for habit in habits_of(session(book), SHEET):
        assert (habit.cost is None) == bool(habit.reason)
        assert habit.cost is None or habit.detail
        if habit.name in {"answer before the cache lapses", "stay with one model"}:
            assert habit.difference is not None
            assert habit.difference <= 0


@given(st.integers(0, 200_000), st.integers(0, 50_000), st.sampled_from(["", "5m", "1h"]))
def test_a_new_split_keeps_the_prompt(read: int, plain: int, ttl: str) -> None:
    """Whatever is read, the four parts sum to the prompt, and the output stays."""
    row = Row(call=0, prompt_tokens=100_000, usage=Usage(uncached=plain, cache_read=100_000 - plain, output=9), messages=1)
    usage = resplit(row, read=read, ttl=ttl)
    assert usage.prompt == 100_000
    assert usage.output == 9
    assert usage.cache_read == min(read, 100_000)


@pytest.mark.parametrize("model", ["nobody-knows-me", ""])
def test_without_a_price_there_is_no_habit(model: str) -> None:
    """No dollars, no difference."""
    assert habits(Book(model=model).bill(0, 9_000).bill(9_000, 10)) == {}


def test_a_provider_without_lifetimes_offers_none() -> None:
    """Reads-only recordings have pauses but no lifetime to choose."""
    book = Book(model="gpt-5", ttl="")
    book.bill(0, 0, usage=Usage(uncached=50_000)).bill(0, 0, usage=Usage(uncached=51_000), pause_s=4_000)
    found = habits(book, cache="read")
    assert "answer before the cache lapses" in found
    assert not [name for name in found if "lifetime" in name]

"""Build against carry: the closed forms give the published figures, and the books of a replay add up."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.economics import accounts, break_even, summary_break_even, summary_build, write_pays_after
from ullage.pricing import ModelPrices, PriceSheet, Rates
from ullage.types import Compaction, Moment, Row, Usage

SHEET = PriceSheet.load()
NO_USAGE = Usage()


def prices_of(model: str) -> ModelPrices:
    """Prices of a model that the sheet holds."""
    prices = SHEET.prices(model)
    assert isinstance(prices, ModelPrices)
    return prices


@pytest.mark.parametrize(
    ("arm", "build", "turn", "published"),
    [
        ("summarised", ".53", ".000480", 61),
        ("main", ".83", ".000135", 91),
        ("opencode", ".99", ".000204", 110),
        ("codex", ".42", ".000068", 46),
    ],
)
def test_published_break_even_turns(arm: str, build: str, turn: str, published: int) -> None:
    """The cached build column against a full history at .009219 a turn, nothing invalidated (future-os, its table)."""
    turns = break_even(Fraction(build), Fraction(".009219"), Fraction(turn))
    assert turns is not None, arm
    assert round(turns) == published


@pytest.mark.parametrize(
    ("model", "build", "calls"),
    [("claude-sonnet-4-5", 138_750, "3.2"), ("claude-opus-5-5", 155_000, "5.3"), ("claude-fable-5-1", 350_000, "9.7")],
)
def test_break_even_of_a_warm_summary(model: str, build: int, calls: str) -> None:
    """150,000 tokens to 5,000: the build in micro-dollars, and the calls until it has paid."""
    rates = prices_of(model).rates
    assert summary_build(rates, 150_000, 5_000) == build * 1_000_000
    turns = summary_break_even(rates, 150_000, 5_000)
    assert turns is not None
    assert f"{float(turns):.1f}" == calls


def test_a_cold_summary_reads_the_history_at_the_input_price() -> None:
    """Once the cache has lapsed the same request costs ten times as much to read."""
    rates = prices_of("claude-sonnet-4-5").rates
    assert summary_build(rates, 150_000, 5_000, warm=False) - summary_build(rates, 150_000, 5_000) == 150_000 * 2_700_000


def test_a_compaction_that_frees_nothing_never_pays() -> None:
    """No saving, no break-even, whatever it cost."""
    assert break_even(0, 5, 5) is None
    assert break_even(1, 4, 5) is None


@pytest.mark.parametrize(("model", "short", "hour"), [("claude-opus-4-5", 1, 2), ("gpt-5.6", 1, 1), ("gpt-4.1", 0, 0)])
def test_when_a_write_pays(model: str, short: int, hour: int) -> None:
    """A five-minute write after one read, a one-hour write after two; a free write at once."""
    assert write_pays_after(prices_of(model).rates) == short
    assert write_pays_after(prices_of(model).rates, hour=True) == hour


def test_a_cache_without_a_read_discount_never_pays_for_writes() -> None:
    """Reads at the input price earn nothing back."""
    assert write_pays_after(Rates(0, 10, 10, 10, 12, 20)) is None


@given(*[st.integers(0, 10**9)] * 3, st.integers(1, 10**9))
def test_break_even_is_where_both_lines_meet(build: int, rewritten: int, carried: int, saved: int) -> None:
    """After exactly that many calls both ways have cost the same."""
    calls = break_even(build, carried + saved, carried, rewritten=rewritten)
    assert calls is not None
    assert build + rewritten + calls * carried == calls * (carried + saved)


def row(call: int, read: int, write: int, **fields: object) -> Row:
    """A call with this split."""
    return Row(call=call, prompt_tokens=read + write, usage=Usage(cache_read=read, cache_write_5m=write), messages=1, **fields)  # type: ignore[arg-type]  # test builder


def compaction(
    call: int, before: int, after: int, summarizer: Usage = NO_USAGE, moment: Moment = Moment.BEFORE_CALL
) -> Compaction:
    """A decision before a call."""
    return Compaction(
        call=call,
        moment=moment,
        edits=(),
        tokens_before=before,
        tokens_after=after,
        first_changed=1,
        summarizer=summarizer,
        summarizer_calls=bool(summarizer.prompt),
    )


def test_books_of_one_compaction_by_hand() -> None:
    """150k of 160k become 5k at Sonnet prices, warm; the next call writes the 15k kept and 1k new behind a 10k head."""
    events = (compaction(1, 160_000, 25_000, Usage(cache_read=150_000, output=5_000)),)
    rows = (
        row(0, 150_000, 10_000),
        row(1, 10_000, 16_000, compactions=(0,)),
        row(2, 26_000, 1_000),
        row(3, 0, 28_000, break_cause="idle past TTL"),
    )
    (books,) = accounts(rows, events, prices_of("claude-sonnet-4-5"), window=200_000)
    micro = 1_000_000
    assert (books.freed, books.rewritten, books.calls, books.warm) == (135_000, 15_000, 3, True)
    assert books.summariser == (45_000 + 75_000) * micro
    assert books.rewrite == 15_000 * 3_450_000
    assert books.saved_per_call == 40_500 * micro
    assert books.break_even == Fraction(120_000 + 51_750, 40_500)
    assert books.saved == (2 * 40_500 + 135_000 * 3.75) * micro
    assert books.reached_after == 3


def test_a_second_compaction_closes_the_first_ones_books() -> None:
    """What the first one saves afterwards is the second one's merit."""
    events = (compaction(1, 160_000, 20_000), compaction(2, 60_000, 20_000))
    rows = (
        row(0, 150_000, 10_000),
        row(1, 10_000, 10_000, compactions=(0,)),
        row(2, 10_000, 10_000, compactions=(1,)),
        row(3, 20_000, 1),
    )
    first, second = accounts(rows, events, prices_of("claude-sonnet-4-5"), window=200_000)
    assert (first.calls, second.calls) == (1, 2)
    assert first.warm is None
    assert first.summariser == 0


def test_small_edits_and_arrivals_keep_no_books() -> None:
    """Below 2 % of the window, or on a message that was never sent, there is no compaction to account for."""
    events = (compaction(1, 100_000, 96_001), compaction(1, 100_000, 50_000, moment=Moment.ARRIVAL))
    assert (
        accounts((row(0, 0, 100), row(1, 0, 100, compactions=(0, 1))), events, prices_of("claude-sonnet-4-5"), window=200_000)
        == ()
    )

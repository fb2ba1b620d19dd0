"""A recording as rows: its breaks with their causes, the unrecorded summary requests, and what its money was paid for."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from autopsy_support import MINUTE, WORDS, Book, opus
from hypothesis import given
from hypothesis import strategies as st
from tests_support import real_traces

from ullage.breaks import by_cause
from ullage.calibration import calibrate
from ullage.economics import accounts
from ullage.pricing import ModelPrices, PriceSheet
from ullage.recorded import Recorded, read_recording, recorded_breaks
from ullage.spending import AGAIN, COMPACTED, NEW, OUTPUT, READ, SMALL, START, spending_of
from ullage.tokens import Counter, tiktoken_counter
from ullage.traces import import_file
from ullage.types import Trace, Usage

SHEET = PriceSheet.load()
OPUS = opus(SHEET)
RATES = OPUS.rates


def recorded(trace: Trace, window: int = 200_000) -> Recorded:
    """The recording read with one token a word."""
    return read_recording(trace, WORDS, window, trace.overhead_tokens or 0)


def cause_of(book: Book, **fields: Any) -> tuple[str, int]:
    """Cause and tokens of the break at the last call (empty: none)."""
    row = recorded(book.trace(**fields)).rows[-1]
    return row.break_cause, row.break_tokens


@pytest.mark.parametrize(
    ("between", "call", "cause"),
    [
        (lambda b: b, {"pause_s": 10}, "unexplained"),
        (lambda b: b, {"pause_s": 301}, "idle past TTL"),
        (lambda b: b, {"pause_s": 10, "model": "claude-haiku-4-5"}, "model change"),
        (lambda b: b.compact(None, kind="clearing", cleared=("t0",)), {"pause_s": 10}, "recorded clearing"),
        (lambda b: b.event("api_error", "529"), {"pause_s": 10}, "API error"),
        (lambda b: b.event("setting_change", "thinkingLevel high"), {"pause_s": 10}, "setting change"),
        (lambda b: b.event("rewind", "responses abandoned: 2"), {"pause_s": 10}, "rewind"),
        (lambda b: b.say("<command-name>/exit</command-name>"), {"pause_s": 10}, "client restart"),
        (lambda b: b.say("<command-name>/review</command-name>"), {"pause_s": 10}, "changed request"),
    ],
)
def test_each_cause_is_found(between: Callable[[Book], Book], call: dict[str, Any], cause: str) -> None:
    """50,000 tokens were left and 1,000 are read: the strongest sign in between is the cause."""
    book = between(Book().bill(0, 50_000))
    assert cause_of(book.bill(1_000, 50_000, **call)) == (cause, 49_000)


def test_a_shorter_prompt_is_named_as_such() -> None:
    """Nothing was recorded, but the prompt is 20,000 tokens smaller than before."""
    assert cause_of(Book().bill(0, 50_000).bill(1_000, 29_000)) == ("prompt shrank", 49_000)


def test_an_hour_of_life_bridges_a_pause_of_ten_minutes() -> None:
    """The lifetime is that of the call that wrote; past it the same pause is the cause."""
    assert cause_of(Book(ttl="1h").bill(0, 50_000).bill(50_000, 10, pause_s=600)) == ("", 0)
    assert cause_of(Book(ttl="1h").bill(0, 50_000).bill(0, 50_010, pause_s=3_601))[0] == "idle past TTL"
    assert cause_of(Book(ttl="1h").bill(0, 50_000).bill(0, 50_010, pause_s=600))[0] == "unexplained"


def test_a_summary_announces_its_loss() -> None:
    """After a compaction the stable prefix is read: no break; reading less than that is one, of its own cause."""
    whole = Book().bill(0, 100_000).compact(100_000).bill(1_000, 20_000)
    assert cause_of(whole) == ("", 0)
    lost = Book().bill(0, 100_000).compact(100_000).bill(0, 21_000)
    assert cause_of(lost, overhead=10_000) == ("compaction", 10_000)


def test_a_provider_that_reports_reads_only_keeps_whole_prompts() -> None:
    """What was not read is charged as input and kept all the same, so losing it is a break."""
    book = Book(model="gpt-5", ttl="")
    book.bill(0, 0, usage=Usage(uncached=30_000)).bill(0, 0, usage=Usage(uncached=31_000), pause_s=5)
    assert cause_of(book, cache="read") == ("best effort", 30_000)


def test_the_unrecorded_request_reads_the_cache_while_it_lives() -> None:
    """Warm: what the call before left is read and the rest written; cold: all of it is written; the output is the summary."""
    warm = recorded(Book().bill(0, 90_000).compact(100_000, "one two three").bill(1_000, 5_000).trace())
    assert warm.compactions[0].summarizer == Usage(cache_read=90_000, cache_write_5m=10_000, output=3)
    book = Book(ttl="1h").bill(0, 90_000)
    book.now += 61 * MINUTE
    cold = recorded(book.compact(100_000, "one two three").bill(1_000, 5_000).trace())
    assert cold.compactions[0].summarizer == Usage(cache_write_1h=100_000, output=3)


def test_sizes_that_no_client_recorded_come_from_the_calls_around() -> None:
    """Before: the last prompt. After: the next prompt less what arrived behind the compaction."""
    book = Book().bill(0, 100_000).compact(None).say("word " * 6)
    (event,) = recorded(book.bill(1_000, 9_010).trace()).compactions
    assert (event.tokens_before, event.tokens_after) == (100_000, 10_010 - 10)


def test_golden_books_of_a_compaction() -> None:
    """All integers of one compaction: 100,000 tokens to 10,000 for a summary of 3 tokens, five calls later."""
    book = Book().bill(0, 90_000).compact(100_000, "one two three")
    book.bill(1_000, 9_000)
    for read in (10_000, 10_010, 10_020, 10_030):
        book.bill(read, 10)
    session = recorded(book.trace())
    (account,) = accounts(session.rows, session.compactions, OPUS, 200_000, fresh=session.fresh)
    request = 90_000 * RATES.read + 10_000 * RATES.write_5m + 3 * RATES.output
    assert account.freed == 90_000
    assert account.summariser == request
    assert (account.rewritten, account.rewrite) == (9_000, 9_000 * (RATES.write_5m - RATES.read))
    assert account.saved_per_call == 90_000 * RATES.read
    assert account.calls == 5
    assert account.saved == 5 * 90_000 * RATES.read


def test_what_the_money_was_paid_for() -> None:
    """Start, growth, reads, output, one lapse and one compaction, to the token and the pico-dollar."""
    book = Book().bill(0, 50_000, output=7)
    book.bill(50_000, 1_000, output=7)
    book.bill(0, 52_000, output=7, pause_s=400)
    book.compact(52_000).bill(1_000, 9_000, output=7)
    spending = spending_of(recorded(book.trace()), SHEET)
    found = {spent.reason: (spent.tokens, spent.cost) for spent in spending.reasons}
    write = RATES.write_5m
    assert found[START] == (50_000, 50_000 * write)
    assert found[READ] == (51_000, 51_000 * RATES.read)
    assert found[OUTPUT] == (28, 28 * RATES.output)
    assert found[f"{AGAIN}idle past TTL"] == (51_000, 51_000 * write)
    assert found[NEW] == (2_000, 2_000 * write)
    assert found[COMPACTED] == (9_000, 9_000 * write)
    assert spending.money is not None
    assert sum(cost for _, cost in found.values()) == spending.money.total


@st.composite
def books(draw: st.DrawFn) -> Book:
    """Sessions of any bill: reads, writes, plain input, pauses, other models, compactions and errors."""
    book = Book(ttl=draw(st.sampled_from(["5m", "1h"])))
    sizes = st.integers(0, 150_000)
    for _ in range(draw(st.integers(1, 12))):
        if draw(st.integers(0, 5)) == 0:
            book.compact(draw(st.one_of(st.none(), st.integers(50_000, 170_000))))
        usage = Usage(
            uncached=draw(sizes) // 50, cache_read=draw(sizes), cache_write_5m=draw(sizes) + 1, output=draw(sizes) // 90
        )
        model = draw(st.sampled_from(["claude-opus-4-5", "claude-haiku-4-5"]))
        book.bill(0, 0, usage=usage, pause_s=draw(st.sampled_from([1, 200, 400, 4_000])), model=model)
    return book


@given(books())
def test_every_token_and_every_dollar_has_one_reason(book: Book) -> None:
    """Reasons add up to the bill, whatever it holds; and no break costs more than the call that it broke."""
    session = recorded(book.trace())
    spending = spending_of(session, SHEET)
    assert spending.money is not None
    assert sum(spent.cost for spent in spending.reasons) == spending.money.total
    assert sum(spent.tokens for spent in spending.reasons) == session.usage.prompt + session.usage.output
    rows = {row.call: row for row in session.rows}
    for found in recorded_breaks(session, SHEET):
        prices = SHEET.prices(rows[found.lost.call].model)
        assert isinstance(prices, ModelPrices)
        assert found.lost.cost is not None
        assert 0 <= found.lost.cost <= prices.price(rows[found.lost.call].usage).total


def test_a_small_rewrite_is_no_break_but_is_counted() -> None:
    """1,500 tokens sent again are below the threshold: they are their own reason."""
    spending = spending_of(recorded(Book().bill(0, 50_000).bill(48_500, 2_000).trace()), SHEET)
    assert {spent.reason: spent.tokens for spent in spending.reasons}[SMALL] == 1_500


def test_a_model_without_a_price_leaves_tokens_and_a_reason() -> None:
    """No dollars, no guess."""
    spending = spending_of(recorded(Book(model="nobody-knows-me").bill(0, 5_000).trace()), SHEET)
    assert spending.money is None
    assert "nobody-knows-me" in spending.reason
    assert sum(spent.tokens for spent in spending.reasons) == 5_005


def test_a_recording_without_usage_has_no_rows() -> None:
    """And says why."""
    session = recorded(Book().bill(0, 0, usage=None).trace())
    assert session.rows == ()
    assert session.unbilled == 1
    assert "usage" in session.law


@pytest.mark.parametrize(
    ("name", "summaries", "kept"),
    [("cli-cd-95adddad32-0", 3, 34_260), ("cli-43-2b48f6b6e6-0", 2, 16_606), ("cli-b8-659b3a4dd4-0", 2, 27_992)],
)
def test_real_sessions_pay_for_idle_time(name: str, summaries: int, kept: int) -> None:
    """Their compactions are no breaks, their pauses are, and every dollar has a reason."""
    path = real_traces("claude-code", f"{name}.jsonl.gz")
    (trace,) = import_file(Path(path)).traces
    raw = Counter(count_text=tiktoken_counter())
    calibration = calibrate(trace, raw)
    session = read_recording(trace, raw.scaled_by(calibration.factor), 200_000, calibration.overhead)
    causes = by_cause(found.lost for found in recorded_breaks(session, SHEET))
    assert session.stable == kept
    assert len(session.compactions) == summaries
    assert "compaction" not in causes
    assert causes["idle past TTL"][0] >= 1
    spending = spending_of(session, SHEET)
    assert spending.money is not None
    assert sum(spent.cost for spent in spending.reasons) == spending.money.total

"""A record's books: breaks with the decision behind each, and compactions with what they cost and saved, in JSON and report."""

from __future__ import annotations

import msgspec
import pytest

from ullage import registry
from ullage.billing import Replayed, bill_replay
from ullage.books import accounts_of, breaks_by_cause, breaks_of_record, build_carry
from ullage.cache import CacheRules
from ullage.pricing import PriceSheet
from ullage.records import Bill, RunRecord
from ullage.replay import Ports, Setup, replay
from ullage.report import render
from ullage.store import MemoryBackend, Session
from ullage.tables import run_summary
from ullage.testing import FakeDecider, FakeSummarizer, make_record, make_trace
from ullage.tokens import Counter
from ullage.types import Compaction

SHEET = PriceSheet.load()


def replayed(spec: str, *, window: int = 60_000, gap_ms: int = 20_000) -> RunRecord:
    """A record whose rows and decisions come from a real replay, priced."""
    setup = Setup(
        trace=make_trace(calls=80, result_words=900, gap_ms=gap_ms),
        strategies=registry.load_strategies(spec),
        counter=Counter(count_text=lambda text: len(text.split())),
        window=window,
        reserve=100,
        overhead=5_000,
        cache=registry.load("caches", "claude_code").open(CacheRules()),
        ports=Ports(
            summarize=FakeSummarizer(), decide=FakeDecider(), store=Session(backend=MemoryBackend(), tenant="t", session="s")
        ),
    )
    steps = list(replay(setup))
    rows = tuple(step.row for step in steps if step.row is not None)
    events: tuple[Compaction, ...] = tuple(event for step in steps for event in step.compactions)
    bill = bill_replay(Replayed(rows, events), SHEET, "")
    assert isinstance(bill, Bill)
    base = make_record(spec=spec, calls=80, window=window)
    return msgspec.structs.replace(base, rows=rows, compactions=events, bill=bill, exams=(), answers=(), losses=())


def test_breaks_name_message_block_and_decision() -> None:
    """Each break of a sliding edit shows the result that left the window, and what the strategy said."""
    record = replayed("sliding_stub(keep=4)", window=900_000)
    found = breaks_of_record(record)
    assert len(found) > 30
    assert all(one.lost.message and one.lost.edit == "rewrite" and one.lost.block == 0 for one in found)
    assert all(one.tier == "stub" and "left the window" in one.reason for one in found)
    assert [one.lost.cost for one in found] == sorted((one.lost.cost or 0 for one in found), reverse=True)


def test_causes_add_up_over_records() -> None:
    """Counts, tokens and dollars of two records are those of both."""
    one, other = replayed("sliding_stub(keep=4)"), replayed("null", window=900_000, gap_ms=400_000)
    both, single = breaks_by_cause([one, other]), [breaks_by_cause([one]), breaks_by_cause([other])]
    for cause, (count, tokens, cost) in both.items():
        parts = [found[cause] for found in single if cause in found]
        assert count == sum(part[0] for part in parts)
        assert tokens == sum(part[1] for part in parts)
        assert cost == sum(part[2] or 0 for part in parts)
    assert "idle past TTL" in both


def test_the_sum_over_compactions_is_the_strategys() -> None:
    """Costs, savings and net add up from the events; reached and not reached are all of them."""
    found = build_carry([replayed("auto(threshold=0.7)")])
    assert found is not None
    events = found["events"]
    assert found["compactions"] == len(events) > 1
    assert found["cost_usd"] == pytest.approx(sum(event["cost_usd"] for event in events), abs=1e-5)
    assert found["saved_usd"] == pytest.approx(sum(event["saved_usd"] for event in events), abs=1e-5)
    assert found["net_usd"] == pytest.approx(found["saved_usd"] - found["cost_usd"], abs=1e-5)
    assert found["reached"] + found["not_reached"] == found["compactions"]
    for event in events:
        assert (event["reached_after"] is not None) == (event["saved_usd"] >= event["cost_usd"])
        assert event["reached_after"] is None or 1 <= event["reached_after"] <= event["calls"]


def test_a_record_without_price_has_breaks_and_no_books() -> None:
    """Tokens are known, dollars are null with the reason of the bill."""
    record = msgspec.structs.replace(replayed("sliding_stub(keep=4)"), bill=None, unpriced="no price for this model")
    assert accounts_of(record) == ()
    assert build_carry([record]) is None
    assert all(one.lost.cost is None for one in breaks_of_record(record))
    (entry,) = run_summary([record])["strategies"]
    assert entry["build_carry"] is None
    assert "no price for this model" in entry["reasons"]["build_carry"]
    assert entry["breaks_by_cause"][0]["usd"] is None


def test_the_summary_of_a_bound_has_the_keys_too() -> None:
    """Null with the reason, never left out."""
    bound = msgspec.structs.replace(make_record(spec="oracle"), kind="bound", bill=None, rows=(), compactions=())
    (entry,) = run_summary([bound])["strategies"]
    assert entry["build_carry"] is None
    assert entry["breaks_by_cause"] is None
    assert entry["reasons"]["build_carry"]


def test_the_report_lists_breaks_and_books() -> None:
    """Page and Markdown name the causes, the first change and whether compactions paid off."""
    files = render([replayed("sliding_stub(keep=4)", window=900_000), replayed("auto(threshold=0.7)")], png=False)
    page, text = files["report.html"].decode(), files["report.md"].decode()
    assert "rewrite of made-" in page
    assert "Build against carry" in page
    assert "results left the window" in page
    assert "| `auto(threshold=0.7)` |" in text
    assert "break-even, calls" in text

"""What a cache charges for keeping content enters every bill: whole, in part, rescored, and on the page."""

from __future__ import annotations

from itertools import pairwise

import msgspec
import pytest

from ullage import registry
from ullage.billing import Replayed, bill_of_first, bill_replay
from ullage.cache import CacheRules, storage_of
from ullage.pricing import PriceSheet, usd
from ullage.records import Bill, RunRecord
from ullage.replay import Ports, Setup, replay
from ullage.report import render
from ullage.rescoring import rescore
from ullage.store import MemoryBackend, Session
from ullage.tables import run_summary
from ullage.testing import FakeDecider, FakeSummarizer, make_record, make_trace
from ullage.tokens import Counter

SHEET = PriceSheet.load()
MODEL = "gemini-2.5-pro"


def replayed(policy: str, gap_ms: int = 60_000) -> tuple[RunRecord, int]:
    """A record of a growing session under a policy, and what its cache says it charged for storage."""
    cache = registry.load("caches", policy).open(CacheRules())
    setup = Setup(
        trace=make_trace(calls=40, result_words=900, gap_ms=gap_ms),
        strategies=registry.load_strategies("null"),
        counter=Counter(count_text=lambda text: len(text.split())),
        window=900_000,
        reserve=100,
        overhead=5_000,
        cache=cache,
        ports=Ports(
            summarize=FakeSummarizer(), decide=FakeDecider(), store=Session(backend=MemoryBackend(), tenant="t", session="s")
        ),
    )
    rows = tuple(step.row for step in replay(setup) if step.row is not None)
    bill = bill_replay(Replayed(rows, ()), SHEET, MODEL)
    assert isinstance(bill, Bill)
    record = msgspec.structs.replace(make_record(calls=40), rows=rows, compactions=(), bill=bill, exams=(), answers=(), losses=())
    return record, storage_of(cache)


def test_storage_is_a_part_of_the_bill() -> None:
    """Golden law: the rows' charges are the session's, and the bill is calls plus storage."""
    record, charged = replayed("gemini_explicit")
    assert record.bill is not None
    assert charged > 0
    assert record.bill.storage == charged
    assert record.bill.total == record.bill.agent.total + charged
    assert charged / record.bill.total > 0.01


def test_the_first_calls_pay_for_their_own_time() -> None:
    """A bill cut after some calls holds the storage up to there; of all calls it is the whole."""
    record, _ = replayed("gemini_explicit")
    assert record.bill is not None
    parts = [bill_of_first(record, calls) for calls in range(1, 41)]
    assert parts[-1] == record.bill.total
    assert all(a is not None and b is not None and a < b for a, b in pairwise(parts))


def test_rescoring_keeps_it() -> None:
    """New prices change the calls' part; what the cache charged stays."""
    record, charged = replayed("gemini_explicit")
    again = rescore(record, SHEET, "gemini-2.5-flash")
    assert again.bill is not None
    assert record.bill is not None
    assert again.bill.storage == charged
    assert again.bill.agent.total < record.bill.agent.total


@pytest.mark.parametrize("policy", ["claude_code", "gemini_implicit", "openai"])
def test_other_caches_charge_nothing(policy: str) -> None:
    """No storage, and nothing on the page about it."""
    record, charged = replayed(policy)
    assert charged == 0
    assert record.bill is not None
    assert record.bill.storage == 0
    assert "storage</li>" not in render([record], png=False)["report.html"].decode()


def test_summary_and_page_show_it() -> None:
    """The split adds up to the bill, and the chart of the cost split has a part for it."""
    record, charged = replayed("gemini_explicit")
    (entry,) = run_summary([record])["strategies"]
    assert entry["usd_split"]["storage"] == pytest.approx(usd(charged), abs=1e-6)
    assert sum(entry["usd_split"].values()) == pytest.approx(entry["usd"], abs=1e-5)
    assert "storage</li>" in render([record], png=False)["report.html"].decode()

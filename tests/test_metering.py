"""Requests beside the recorded calls: the agent's own context turns, and summaries that changed nothing, are paid for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import msgspec
import pytest

from ullage.billing import Replayed, bill_of_first, bill_replay
from ullage.cache import CacheRules
from ullage.caches.claude_code import ClaudeCode
from ullage.caches.none import NoCache
from ullage.errors import CannotShrink
from ullage.pricing import PriceSheet
from ullage.records import Bill
from ullage.replay import Ports, Setup, replay
from ullage.step import Step
from ullage.store import MemoryBackend, Session
from ullage.strategies.agentic import Agentic
from ullage.strategy import UNCHANGED, Strategy, SummaryRequest, ToolRequest, View
from ullage.testing import FakeDecider, FakeSummarizer, make_record, make_trace, tool_call
from ullage.tokens import Counter
from ullage.types import Decision, Moment, Usage

COUNTER = Counter(count_text=lambda text: len(text.split()))
INPUT, OUTPUT = 5_000_000, 25_000_000
"""Pico-dollars a token of claude-opus-4-5."""
PIN = (ToolRequest(name="pin_context", arguments='{"select":[0]}'),)


def walk(strategy: Strategy, *, window: int = 50_000, decider: FakeDecider | None = None, **fields: Any) -> list[Step]:
    """All steps of a replay of twelve calls with 200-word results."""
    ports = Ports(
        summarize=fields.pop("summarize", FakeSummarizer(reply="one two three")),
        decide=decider or FakeDecider(),
        store=Session(backend=MemoryBackend(), tenant="t", session="s"),
    )
    setup = Setup(
        trace=make_trace(calls=12, result_words=200, gap_ms=fields.pop("gap_ms", 20_000)),
        strategies=(strategy,),
        counter=COUNTER,
        window=window,
        reserve=0,
        overhead=3_000,
        cache=fields.pop("cache", NoCache().open(CacheRules())),
        ports=ports,
    )
    return list(replay(setup))


def test_a_call_of_a_context_tool_is_a_request_of_its_own() -> None:
    """It sends what the call would have sent, with the status line, and answers with the tool call alone."""
    calm = walk(Agentic(), decider=FakeDecider())
    acted = walk(Agentic(), decider=FakeDecider(script=[(), (), (), PIN]))
    assert [len(step.requests) for step in calm] == [0] * 12
    assert [len(step.requests) for step in acted] == [0, 0, 0, 1, *[0] * 8]
    (request,) = acted[3].requests
    assert (request.call, request.moment, request.kind) == (3, Moment.BEFORE_CALL, "decision")
    assert calm[3].row is not None
    assert request.usage == Usage(
        uncached=calm[3].row.prompt_tokens, output=COUNTER(tool_call("", "", name="pin_context", select=[0]))
    )


def test_a_turn_on_the_context_warms_the_cache_for_the_call_behind_it() -> None:
    """Behind an hour of idle time the turn pays the lapsed prefix once; the call reads what the turn wrote."""
    cache = ClaudeCode().open(CacheRules())
    steps = walk(Agentic(), decider=FakeDecider(script=[(), (), (), PIN]), cache=cache, gap_ms=3_700_000)
    (request,) = steps[3].requests
    row = steps[3].row
    assert row is not None
    assert request.usage.cache_read == 0
    assert row.usage.cache_read > 3_500
    assert (row.gap, row.break_cause) == (3_700_000, "idle past TTL")


def test_a_model_is_not_asked_when_the_request_does_not_fit() -> None:
    """Its safety net has to act first: a request that is over the window gets an error, not a decision."""
    decider = FakeDecider()
    walk(Agentic(), window=4_000, decider=decider)
    assert decider.requests
    assert max(sum(map(COUNTER, request.messages)) + COUNTER.text(request.status) for request in decider.requests) <= 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Wasteful(Strategy):
    """Pays for a summary at call 2 and does nothing with it; says why by ``end``."""

    end: str = "unchanged"
    moments: ClassVar[frozenset[Moment]] = frozenset({Moment.BEFORE_CALL})

    def decide(self, view: View) -> Decision:
        """Ask, then fail, refuse or change nothing."""
        if view.call == 2:
            view.summarize(SummaryRequest(messages=view.context[:1]))
            if self.end == "raises":
                raise ValueError("the summary is bad")
            if self.end == "refuses":
                raise CannotShrink("the summary is as long")
        return UNCHANGED


@pytest.mark.parametrize("end", ["unchanged", "raises", "refuses"])
def test_a_summary_that_changes_nothing_is_paid_all_the_same(end: str) -> None:
    """It stands in the record as a request of its own, and in the bill under the summariser."""
    steps = walk(Wasteful(end=end))
    requests = tuple(request for step in steps for request in step.requests)
    read = COUNTER(make_trace(calls=12).messages[0])
    assert [(r.call, r.kind, r.usage) for r in requests] == [(2, "summary", Usage(uncached=read, output=3))]
    rows = tuple(step.row for step in steps if step.row is not None)
    bill = bill_replay(Replayed(rows, (), requests), PriceSheet.load(), "claude-opus-4-5")
    assert isinstance(bill, Bill)
    assert bill.summariser.total == read * INPUT + 3 * OUTPUT
    assert bill.total == bill.agent.total + bill.summariser.total


def test_a_bill_of_the_first_calls_holds_the_turns_before_them() -> None:
    """Cut behind the turn it is in; cut before it is not; and the whole is the sum of its parts."""
    steps = walk(Agentic(), decider=FakeDecider(script=[(), (), (), PIN]))
    rows = tuple(step.row for step in steps if step.row is not None)
    requests = tuple(request for step in steps for request in step.requests)
    bill = bill_replay(Replayed(rows, (), requests), PriceSheet.load(), "claude-opus-4-5")
    assert isinstance(bill, Bill)
    record = msgspec.structs.replace(make_record(calls=12), rows=rows, compactions=(), requests=requests, bill=bill)
    three, four = bill_of_first(record, 3), bill_of_first(record, 4)
    assert three is not None
    assert four is not None
    fourth = rows[3].usage.uncached * INPUT + rows[3].usage.output * OUTPUT
    assert four - three == fourth + bill.deciding.total
    assert bill.deciding.total == requests[0].usage.uncached * INPUT + requests[0].usage.output * OUTPUT

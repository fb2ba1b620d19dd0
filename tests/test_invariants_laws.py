"""Laws of the checks: looking only at what changed finds what looking at everything would, and at once."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ullage import registry
from ullage.apis import APIS
from ullage.cache import CacheRules
from ullage.caches.none import NoCache
from ullage.checking import Checkers
from ullage.invariants._scan import Scanner, TurnRule
from ullage.replay import Ports, Setup, replay
from ullage.step import Step
from ullage.store import MemoryBackend, Session
from ullage.strategy import Strategy, View
from ullage.testing import FakeDecider, FakeSummarizer, assistant, make_trace, make_varied_trace, tool_call, tool_result, user
from ullage.tokens import Counter
from ullage.types import (
    Block,
    Call,
    Decision,
    Drop,
    Edit,
    Erase,
    Inject,
    Insert,
    Message,
    Moment,
    Rewrite,
    Text,
    Thinking,
    ToolUse,
    Trace,
)

INVARIANTS = [registry.load("invariants", name) for name in registry.names("invariants")]
RULES = [invariant for invariant in INVARIANTS if isinstance(invariant, TurnRule)]
SHAPES: tuple[tuple[Block, ...], ...] = (
    (Text(text=" "),),
    (),
    (Text(text="ok"),),
    (Thinking(text="new"), ToolUse(id="varied-t1-0", name="shell")),
    tool_result("", **{"varied-t2-0": "x"}).blocks,
    (*tool_call("", "fresh").blocks, Text(text="behind")),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Restless(Strategy):
    """Edits at random, drawn by the test, before and after every call."""

    draw: Any = field(default=None)
    moments: ClassVar[frozenset[Moment]] = frozenset({Moment.BEFORE_CALL, Moment.AFTER_CALL})

    def decide(self, view: View) -> Decision:
        """A few edits of messages chosen at random."""
        chosen = self.draw(st.lists(st.sampled_from([m.id for m in view.context]), max_size=2, unique=True))
        return Decision(edits=tuple(self._edit(view, message_id, n) for n, message_id in enumerate(chosen)))

    def _edit(self, view: View, message_id: str, n: int) -> Edit:
        verb = self.draw(st.sampled_from(("drop", "rewrite", "insert", "erase", "inject")))
        blocks = self.draw(st.sampled_from(SHAPES))
        role = self.draw(st.sampled_from(("user", "assistant", "system")))
        new = Message(id=f"new-{view.call}-{view.moment}-{n}", role=role, blocks=blocks)
        edits: dict[str, Edit] = {
            "drop": Drop(ids=(message_id,)),
            "rewrite": Rewrite(id=message_id, blocks=blocks),
            "insert": Insert(after=message_id, message=new, sources=(message_id,)),
            "erase": Erase(id=message_id),
            "inject": Inject(blocks=blocks),
        }
        return edits[verb]


def steps_of(trace: Trace, *strategies: Strategy) -> Iterator[Step]:
    """A replay without window or cache."""
    ports = Ports(
        summarize=FakeSummarizer(), decide=FakeDecider(), store=Session(backend=MemoryBackend(), tenant="t", session="s")
    )
    setup = Setup(
        trace=trace,
        strategies=strategies,
        counter=Counter(count_text=lambda text: len(text.split())),
        window=10**9,
        reserve=0,
        overhead=10,
        cache=NoCache().open(CacheRules()),
        ports=ports,
    )
    return replay(setup)


def standing(scanner: Scanner) -> list[tuple[str, str, str, bool]]:
    """All findings that hold now."""
    return sorted(key for turn in scanner._turns for key in turn.findings)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_looking_at_what_changed_finds_what_looking_at_everything_finds(data: st.DataObject) -> None:
    """After any edits at any calls the standing findings are those of a scanner that has seen this request only."""
    trace = make_varied_trace(calls=10, seed=data.draw(st.integers(0, 3)))
    scanner = Scanner(RULES, trace)
    for step in steps_of(trace, Restless(draw=data.draw)):
        before = standing(scanner)
        found = scanner.check(step)
        fresh = Scanner(RULES, trace)
        fresh.check(replace(step, changed_from=0, compactions=()))
        assert standing(scanner) == standing(fresh)
        assert len(found) == len(set(standing(scanner)) - set(before))
        assert [turn.start for turn in scanner._turns] == [turn.start for turn in fresh._turns]
        assert scanner._calls == fresh._calls


@dataclass(frozen=True, slots=True, kw_only=True)
class InjectsTwice(Strategy):
    """Sends the same call beside one request twice."""

    moments: ClassVar[frozenset[Moment]] = frozenset({Moment.BEFORE_CALL})

    def decide(self, view: View) -> Decision:
        """Inject at the second call."""
        return Decision(edits=(Inject(blocks=SHAPES[3]), Inject(blocks=SHAPES[3])) if view.call == 1 else ())


def test_one_fault_at_one_message_is_reported_once_a_request() -> None:
    """A call that is injected twice goes unanswered twice, at one message and with one id: that is one finding."""
    trace = make_varied_trace(calls=3, seed=0)
    scanner = Scanner(RULES, trace)
    found = [scanner.check(step) for step in steps_of(trace, InjectsTwice())][1]
    said = [(one.invariant, one.messages) for one in found]
    assert said.count(("a03_tool_use_answered", ("injected",))) == 1


@st.composite
def recordings(draw: st.DrawFn) -> Trace:
    """Recordings with every fault that a broken client can leave: any roles, any blocks, a call after each message."""
    made: list[Message] = []
    for n in range(draw(st.integers(1, 12))):
        kind = draw(st.sampled_from(("user", "assistant", "call", "result", "system", "odd")))
        made.append(
            {
                "user": user("go on", str(n)),
                "assistant": assistant("done", str(n)),
                "call": tool_call(str(n), f"t{n % 4}"),
                "result": tool_result(str(n), **{f"t{(n - 1) % 4}": "out"}),
                "system": Message(id=str(n), role="system", blocks=(Text(text="mind"),)),
                "odd": Message(
                    id=str(n), role=draw(st.sampled_from(("user", "assistant"))), blocks=draw(st.sampled_from(SHAPES))
                ),
            }[kind]
        )
    calls = tuple(Call(id=f"c{n}", upto=n + 1) for n in range(len(made)))
    return Trace(id="odd", messages=tuple(made), calls=calls)


@pytest.mark.parametrize("api", APIS)
@settings(max_examples=60, deadline=None)
@given(trace=recordings())
def test_who_changes_nothing_breaks_nothing(trace: Trace, api: str) -> None:
    """Whatever a recording breaks by itself in any API, a strategy without edits is never blamed."""
    checkers = Checkers(INVARIANTS, trace, promises=("no_rewrite_twice",), api=api)
    assert [violation for step in steps_of(trace) for violation in checkers.check(step)] == []
    assert all(violation.evidence.startswith("recorded: ") for violation in checkers.recorded)


@settings(max_examples=60, deadline=None)
@given(recordings())
def test_one_rule_alone_finds_what_it_finds_among_all(trace: Trace) -> None:
    """Sharing a scanner changes nothing."""
    together = Scanner(RULES, trace)
    alone = [rule.open(trace) for rule in RULES]
    for step in steps_of(trace):
        shared = together.check(step)
        apart = [violation for checker in alone for violation in checker.check(step)]
        assert sorted(map(repr, shared)) == sorted(map(repr, apart))


def spent(calls: int) -> float:
    """Seconds that all checks take for each call of a session without edits; the best of five tries."""
    trace = make_trace(calls=calls)
    tries: list[float] = []
    for _ in range(5):
        checkers, total = Checkers(INVARIANTS, trace, promises=("no_rewrite_twice",)), 0.0
        for step in steps_of(trace):
            start = time.perf_counter()
            checkers.check(step)
            total += time.perf_counter() - start
        tries.append(total / calls)
    return min(tries)


@pytest.mark.speed
def test_a_call_without_edits_costs_its_new_messages_only() -> None:
    """At 5,000 calls a check takes no longer than at 500."""
    few, many = spent(500), spent(5_000)
    assert many < 1.5 * few + 1e-5, (few, many)


def test_the_steps_of_a_quiet_session_change_at_their_end() -> None:
    """What the checks rely on: without edits the first changed position is the length of the request before."""
    lengths = [(len(step.context), step.changed_from) for step in steps_of(make_trace(calls=5))]
    assert [changed for _, changed in lengths[1:]] == [length for length, _ in lengths[:-1]]

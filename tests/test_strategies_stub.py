"""Clearing old tool results: at every step, and in few big steps."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from strategies_support import walked

from ullage.errors import CannotShrink, SpecError
from ullage.registry import load_strategies
from ullage.step import Step
from ullage.strategies.shared.stubs import CLEARED
from ullage.testing import make_trace, tool_call, tool_result, usage, user, view_of
from ullage.types import Message, Moment, Rewrite, Text, ToolResult


def cleared(message: Message) -> bool:
    """Tell whether the results of a message are stubs."""
    return any(isinstance(b, ToolResult) and b.content == (Text(text=CLEARED),) for b in message.blocks)


def test_the_sliding_stub_keeps_exactly_the_newest_results_at_every_call() -> None:
    """One more result is cleared at each tool step, and the first message never."""
    trace = make_trace(calls=60)
    stubs: list[int] = []

    def see(step: Step) -> None:
        results = [m for m in step.context if m.tool_result_ids]
        kept = [m for m in results if not cleared(m)]
        assert kept == results[-5:]
        assert step.context[0] == trace.messages[0]
        stubs.append(len(results) - len(kept))

    steps = walked("sliding_stub(keep=5)", trace, 100_000, see)
    assert all(b - a in (0, 1) for a, b in pairwise(stubs))
    assert sum(len(step.compactions) for step in steps) == stubs[-1] > 40


def test_the_monotone_stub_moves_rarely_and_rewrites_nothing_twice() -> None:
    """Each step clears a batch; a cleared result never changes again."""
    seen: dict[str, int] = {}
    changes: list[int] = []

    def see(step: Step) -> None:
        changes.append(sum(1 for m in step.context if cleared(m) and seen.get(m.id) != 1))
        seen.update((m.id, 1) for m in step.context if cleared(m))
        assert all(cleared(m) for m in step.context if seen.get(m.id) == 1)

    steps = walked("monotone_stub(keep=5, free=1000, threshold=0.2)", make_trace(calls=200), 20_000, see)
    edits = [edit for step in steps for compaction in step.compactions for edit in compaction.edits]
    assert len({edit.id for edit in edits if isinstance(edit, Rewrite)}) == len(edits)
    moves = [n for n in changes if n]
    assert 2 <= len(moves) <= 12
    assert min(moves) >= 10


def test_below_the_threshold_the_monotone_stub_does_nothing() -> None:
    """A calm window is left alone, whatever could be freed."""
    steps = walked("monotone_stub(keep=1, free=0, threshold=0.9)", make_trace(calls=60), 1_000_000)
    assert not any(step.compactions for step in steps)


def test_at_an_overflow_the_monotone_stub_clears_first_down_to_keep_then_to_one_and_then_gives_up() -> None:
    """Nothing is too little to free when the call does not fit."""
    messages = [user("task", "task")]
    for n in range(4):
        messages += [tool_call(f"c{n}", f"t{n}"), tool_result(f"r{n}", **{f"t{n}": "word " * 40})]
    (strategy,) = load_strategies("monotone_stub(keep=2, free=10**9)".replace("10**9", "1000000000"))
    view: Any = view_of(messages, moment=Moment.OVERFLOW, window=10)
    first = strategy.decide(view)
    assert [edit.id for edit in first.edits if isinstance(edit, Rewrite)] == ["r0", "r1"]
    context = view.context.apply(first.edits).context
    second = strategy.decide(view_of(tuple(context), moment=Moment.OVERFLOW, window=10, state=first.state))
    assert [edit.id for edit in second.edits if isinstance(edit, Rewrite)] == ["r2"]
    last = tuple(context.apply(second.edits).context)
    with pytest.raises(CannotShrink):
        strategy.decide(view_of(last, moment=Moment.OVERFLOW, window=10, state=second.state))


def test_results_hardly_longer_than_the_stub_pinned_and_protected_ones_stay() -> None:
    """Clearing must free something, and never what the user holds on to."""
    messages = [
        user("task", "task"),
        tool_call("c0", "t0"), tool_result("short", t0="ok"),
        tool_call("c1", "t1"), tool_result("long", t1="word " * 40),
        tool_call("c2", "t2"), tool_result("new", t2="word " * 40),
    ]  # fmt: skip
    (strategy,) = load_strategies("sliding_stub(keep=1)")
    decision = strategy.decide(view_of(messages))
    assert [edit.id for edit in decision.edits if isinstance(edit, Rewrite)] == ["long"]
    held = [*messages[:4], tool_result("long", t1="word " * 40), *messages[5:]]
    held[4] = Message(id="long", role="user", blocks=held[4].blocks, pinned=True)
    assert not strategy.decide(view_of(held)).edits


def test_a_message_with_a_result_among_the_newest_stays_whole() -> None:
    """Parallel results in one message are kept or cleared together."""
    messages = [
        user("task", "task"),
        tool_call("c0", "a", "b"), tool_result("both", a="word " * 40, b="word " * 40),
        tool_call("c1", "c"), tool_result("new", c="word " * 40),
    ]  # fmt: skip
    (two,) = load_strategies("sliding_stub(keep=2)")
    assert not two.decide(view_of(messages)).edits
    (one,) = load_strategies("sliding_stub(keep=1)")
    assert [edit.id for edit in one.decide(view_of(messages)).edits if isinstance(edit, Rewrite)] == ["both"]


def test_a_quiet_call_of_the_monotone_stub_reads_only_the_tail() -> None:
    """Below the threshold the context is not walked: slices before the last reply would raise here."""
    messages = [user("task", "task"), tool_call("c", "t"), tool_result("r", t="x")]
    view = view_of(messages, window=1000, usage=usage(10, 1), usage_at=2)
    (strategy,) = load_strategies("monotone_stub")
    decision = strategy.decide(view)
    assert (decision.edits, decision.estimate) == ((), 12)


@pytest.mark.parametrize(
    "spec", ["sliding_stub(keep=0)", "monotone_stub(keep=0)", "monotone_stub(free=-1)", "monotone_stub(threshold=2)"]
)
def test_impossible_parameters_are_refused(spec: str) -> None:
    """One clear line."""
    with pytest.raises(SpecError, match="found"):
        load_strategies(spec)

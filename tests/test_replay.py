"""The loop: who is asked when, what is applied, what is billed, and how it ends."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ullage.cache import CacheRules
from ullage.caches.claude_code import ClaudeCode
from ullage.caches.none import NoCache
from ullage.errors import CannotShrink
from ullage.replay import OVERFLOW_CAP, Forced, Ports, Setup, replay
from ullage.step import Step
from ullage.store import MemoryBackend, Session
from ullage.strategy import UNCHANGED, Strategy, SummaryRequest, View
from ullage.testing import FakeDecider, FakeSummarizer, assistant, count_words, make_trace, tool_call, tool_result, user
from ullage.tokens import Counter
from ullage.types import Call, Decision, Drop, Edit, Erase, Inject, Insert, Moment, Rewrite, Stash, Text, Trace, Usage


def words(text: str) -> int:
    """One token a word."""
    return len(text.split())


COUNTER = Counter(count_text=words)


def setup_of(trace: Trace, *strategies: Strategy, window: int = 100_000, reserve: int = 0, **fields: Any) -> Setup:
    """A replay setup with fakes for every port and no cache."""
    ports = Ports(
        summarize=fields.pop("summarize", FakeSummarizer()),
        decide=FakeDecider(),
        store=fields.pop("store", Session(backend=MemoryBackend(), tenant="t", session="s")),
    )
    cache = fields.pop("cache", NoCache().open(CacheRules()))
    return Setup(
        trace=trace,
        strategies=strategies,
        counter=COUNTER,
        window=window,
        reserve=reserve,
        overhead=10,
        cache=cache,
        ports=ports,
        **fields,
    )


def walk(*args: Any, **fields: Any) -> list[Step]:
    """All steps of a replay."""
    return list(replay(setup_of(*args, **fields)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Scripted(Strategy):
    """Plays edits by moment and call; notes every view that it was shown."""

    script: dict[tuple[Moment, int], tuple[Edit, ...]] = field(default_factory=dict)
    seen: list[View] = field(default_factory=list)
    moments: ClassVar[frozenset[Moment]] = frozenset(Moment)

    def decide(self, view: View) -> Decision:
        """Play the script."""
        self.seen.append(view)
        return Decision(edits=self.script.get((view.moment, view.call), ()))


@dataclass(frozen=True, slots=True, kw_only=True)
class Halves(Strategy):
    """Drops the older half at an overflow."""

    moments: ClassVar[frozenset[Moment]] = frozenset({Moment.OVERFLOW})

    def decide(self, view: View) -> Decision:
        """Drop the older half, or say that nothing is left to drop."""
        if len(view.context) < 2:
            raise CannotShrink("one message is left")
        return Decision(edits=(Drop(ids=tuple(m.id for m in view.context[: len(view.context) // 2])),))


@dataclass(frozen=True, slots=True, kw_only=True)
class Raises(Strategy):
    """Fails at every call."""

    moments: ClassVar[frozenset[Moment]] = frozenset({Moment.BEFORE_CALL})

    def decide(self, view: View) -> Decision:
        """Fail, after some state would have been returned."""
        raise ZeroDivisionError(f"call {view.call}\nsecond line")


TURN = Trace(
    id="t",
    messages=(
        user("do the task", "u0"),
        tool_call("a1", "x"),
        tool_result("r2", x="out put"),
        assistant("all done", "a3"),
        user("next", "u4"),
    ),
    calls=(Call(id="c0", upto=1, reply=1, at=1000), Call(id="c1", upto=3, reply=3, at=3000)),
)


def test_moments_come_in_the_order_of_the_loop() -> None:
    """Arrivals, before the call, after it, and the end of a turn only after a reply without tool calls."""
    strategy = Scripted()
    walk(TURN, strategy)
    assert [(v.moment.value, v.call, len(v.context)) for v in strategy.seen] == [
        ("arrival", 0, 1),
        ("before_call", 0, 1),
        ("after_call", 0, 2),
        ("arrival", 1, 3),
        ("before_call", 1, 3),
        ("after_call", 1, 4),
        ("turn_end", 1, 4),
    ]
    assert [v.now for v in strategy.seen[:2]] == [1000, 1000]


def test_a_strategy_sees_the_past_only() -> None:
    """At no moment does the transcript hold a message that had not arrived."""
    strategy = Scripted()
    walk(TURN, strategy)
    assert [len(v.transcript) for v in strategy.seen] == [1, 1, 2, 3, 3, 4, 4]


def test_usage_shown_is_that_of_the_last_simulated_call() -> None:
    """Before the first call there is none; later it is the row's, and the reply's place is known."""
    strategy = Scripted()
    steps = walk(TURN, strategy)
    before = [v for v in strategy.seen if v.moment is Moment.BEFORE_CALL]
    first = steps[0].row
    assert first is not None
    assert (before[0].usage, before[0].usage_at) == (None, None)
    assert (before[1].usage, before[1].usage_at) == (first.usage, 2)


def test_edits_are_applied_and_recorded_with_both_sizes() -> None:
    """A rewrite before a call shrinks that call's prompt; sizes, first changed position and stubs are exact."""
    stub = Rewrite(id="r2", blocks=tool_result("r2", x="stub").blocks)
    steps = walk(TURN, Scripted(script={(Moment.BEFORE_CALL, 1): (stub,)}))
    full = walk(TURN)
    assert full[1].prompt_tokens - steps[1].prompt_tokens == 1
    row, (event,) = steps[1].row, steps[1].compactions
    assert row is not None
    assert (row.stubs, row.last_stub, row.messages, row.first_changed) == (1, 2, 3, None)
    assert (event.tokens_before, event.tokens_after, event.first_changed) == (full[1].prompt_tokens, steps[1].prompt_tokens, 2)


def test_a_change_to_what_was_sent_names_its_first_position() -> None:
    """A drop of the first message at the second call changes position 0 of what the first call had sent."""
    steps = walk(TURN, Scripted(script={(Moment.BEFORE_CALL, 1): (Drop(ids=("u0",)),)}))
    assert steps[1].row is not None
    assert (steps[1].row.first_changed, steps[1].changed_from) == (0, 0)


def test_injected_blocks_are_sent_once_and_never_kept() -> None:
    """The injected block counts in its request only."""
    blocks = (Text(text="status is fine"),)
    steps = walk(TURN, Scripted(script={(Moment.BEFORE_CALL, 0): (Inject(blocks=blocks),)}))
    plain = walk(TURN)
    rows = [step.row for step in steps]
    assert rows[0] is not None
    assert rows[0].injected == steps[0].prompt_tokens - plain[0].prompt_tokens > 0
    assert steps[1].prompt_tokens == plain[1].prompt_tokens
    assert steps[0].injected == blocks
    assert steps[1].injected == ()
    assert steps[0].compactions == ()


def test_erased_results_shrink_the_prompt_without_changing_bytes() -> None:
    """An erase frees tokens and leaves the first changed position none."""
    steps = walk(TURN, Scripted(script={(Moment.BEFORE_CALL, 1): (Erase(id="r2"),)}))
    (event,) = steps[1].compactions
    assert event.first_changed is None
    assert event.tokens_before - event.tokens_after == 2
    assert steps[1].row is not None
    assert steps[1].row.first_changed is None


def test_stashed_content_reaches_the_store() -> None:
    """A stash edit is the way to write there."""
    store = Session(backend=MemoryBackend(), tenant="t", session="s")
    walk(TURN, Scripted(script={(Moment.BEFORE_CALL, 0): (Stash(ref="k", content="v"),)}), store=store)
    assert store.get("k") == "v"


def test_an_exception_is_a_fault_row_and_the_run_goes_on() -> None:
    """Every call is made, every fault is one line, nothing changed."""
    steps = walk(TURN, Raises())
    assert [(f.kind, f.text, f.call) for step in steps for f in step.faults] == [
        ("ZeroDivisionError", "call 0 second line", 0),
        ("ZeroDivisionError", "call 1 second line", 1),
    ]
    assert [s.prompt_tokens for s in steps] == [s.prompt_tokens for s in walk(TURN)]


def test_edits_that_cannot_be_applied_are_a_fault_and_change_nothing() -> None:
    """An edit that names no living message leaves context and state as they were."""
    steps = walk(TURN, Scripted(script={(Moment.BEFORE_CALL, 1): (Drop(ids=("u0",)), Drop(ids=("nowhere",)))}))
    assert [f.kind for f in steps[1].faults] == ["EditError"]
    assert steps[1].prompt_tokens == walk(TURN)[1].prompt_tokens


def test_an_overflow_that_cannot_be_cured_ends_the_replay_as_a_fact() -> None:
    """The dying call has no row; the reason says how large the prompt was."""
    steps = walk(make_trace(calls=10), window=300, reserve=50)
    assert steps[-1].row is None
    assert steps[-1].died.startswith("prompt is too long: ")
    assert steps[-1].faults == ()
    assert all(step.row is not None for step in steps[:-1])


def test_an_overflow_is_prompt_plus_reserve_above_the_window() -> None:
    """At the window exactly it fits; one token less and it does not."""
    need = walk(TURN)[1].prompt_tokens
    assert walk(TURN, window=need + 7, reserve=7)[-1].died == ""
    assert walk(TURN, window=need + 6, reserve=7)[-1].died != ""


def test_overflows_are_retried_until_the_prompt_fits() -> None:
    """Each attempt is counted in the row, and every request that is made fits."""
    steps = walk(make_trace(calls=40), Halves(), window=400, reserve=50)
    assert len(steps) == 40
    assert all(step.prompt_tokens + 50 <= 400 for step in steps)
    assert sum(step.row.overflows for step in steps if step.row) == sum(len(step.compactions) for step in steps) > 0


def test_a_strategy_that_never_converges_dies_at_the_cap() -> None:
    """Endless small edits at an overflow are cut off."""

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Fidgets(Strategy):
        """Renames one word at each overflow."""

        moments: ClassVar[frozenset[Moment]] = frozenset({Moment.OVERFLOW})

        def decide(self, view: View) -> Decision:
            """Change something without shrinking."""
            n = (view.state or 0) + 1
            return Decision(edits=(Rewrite(id=view.context[0].id, blocks=(Text(text=f"word{n} " * 9),)),), state=n)

    steps = walk(make_trace(calls=10), Fidgets(), window=300, reserve=50)
    assert steps[-1].died
    assert len(steps[-1].compactions) == OVERFLOW_CAP


def test_forced_mode_asks_only_at_its_calls_and_with_the_budget_as_window() -> None:
    """Own triggers are off; before a forced call the prompt is shrunk to the budget."""
    strategy, trace = Scripted(), make_trace(calls=12)
    steps = walk(trace, strategy, Halves(), forced=Forced(budget=260, calls=frozenset({5, 11})))
    assert {(v.moment, v.call, v.window, v.forced) for v in strategy.seen} == {
        (Moment.OVERFLOW, 5, 260, True),
        (Moment.OVERFLOW, 11, 260, True),
    }
    assert all(steps[n].prompt_tokens <= 260 for n in (5, 11))
    assert [bool(step.compactions) for step in steps] == [n in (5, 11) for n in range(12)]
    assert len(steps) == 12


def test_summary_requests_are_charged_to_the_strategy() -> None:
    """A cold request pays for all that it reads; the summary's words are its output."""

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Sums(Strategy):
        """Replaces everything by a summary at the second call."""

        moments: ClassVar[frozenset[Moment]] = frozenset({Moment.BEFORE_CALL})

        def decide(self, view: View) -> Decision:
            """Summarise."""
            if view.call != 1:
                return UNCHANGED
            summary = view.summarize(SummaryRequest(messages=tuple(view.context), instructions="be short"))
            drop = Drop(ids=tuple(m.id for m in view.context))
            return Decision(edits=(drop, Insert(after=None, message=user(summary.text, "s"), sources=drop.ids)))

    steps = walk(TURN, Sums(), summarize=FakeSummarizer(reply="one two three"))
    (event,) = steps[1].compactions
    read = sum(COUNTER(m) for m in TURN.messages[:3]) + 2
    assert (event.summarizer, event.summarizer_calls) == (Usage(uncached=read, output=3), 1)
    assert steps[1].context.sources("s") == ("u0", "a1", "r2")


def test_compositions_are_asked_in_order_each_on_what_the_one_before_left() -> None:
    """The second strategy sees the context without what the first dropped."""
    first = Scripted(script={(Moment.BEFORE_CALL, 1): (Drop(ids=("u0",)),)})
    second = Scripted()
    walk(TURN, first, second)
    view = next(v for v in second.seen if v.moment is Moment.BEFORE_CALL and v.call == 1)
    assert len(view.compactions) == 1
    assert first.seen[4].call == 1


@settings(max_examples=25, deadline=None)
@given(calls=st.integers(1, 40), seed=st.integers(0, 99))
def test_without_compaction_the_prompt_is_the_whole_history_and_writes_equal_the_last_prompt(calls: int, seed: int) -> None:
    """Each prompt is overhead plus all messages so far; an unbroken cache writes each token once."""
    trace = make_trace(calls=calls, seed=seed)
    steps = walk(trace, cache=ClaudeCode().open(CacheRules(minimum=0)))
    for step in steps:
        assert step.prompt_tokens == 10 + sum(COUNTER(m) for m in trace.messages[: step.call.upto])
    assert sum(step.row.usage.cache_write for step in steps if step.row) == steps[-1].prompt_tokens


def test_view_count_is_refused_to_strategies_that_estimate() -> None:
    """The true count is only for those that declare it."""
    strategy = Scripted()
    walk(TURN, strategy)
    with pytest.raises(PermissionError, match="trigger_unit"):
        strategy.seen[0].count(())


def test_words_are_what_the_test_counter_counts() -> None:
    """The public word counter counts texts, arguments and results."""
    assert count_words(tool_result("r", x="a b c")) == 3
    assert count_words(user("", "e")) == 1


def test_an_arm_that_did_not_shrink_to_the_budget_is_named() -> None:
    """Forced mode compares at equal size; an examination above the budget stands in the notes."""
    from ullage.tables import run_summary, table_notes
    from ullage.testing import make_record

    record = make_record(spec="null")
    exams = tuple(msgspec.structs.replace(exam, tokens=5000, dead=False) for exam in record.exams)
    forced = msgspec.structs.replace(record, mode="forced", budget=4999, exams=exams)
    notes = table_notes(run_summary([forced]))
    assert f"null was over the budget at {len(exams)} of {len(exams)} examinations" in notes
    fitting = msgspec.structs.replace(forced, budget=5000)
    assert not any("over the budget" in note for note in table_notes(run_summary([fitting])))


def test_injected_blocks_count_in_an_overflow() -> None:
    """A request that only the injected block makes too long is an overflow like any other."""
    inject = Scripted(script={(Moment.BEFORE_CALL, 1): (Inject(blocks=(Text(text="one two three four five"),)),)})
    need = walk(TURN)[1].prompt_tokens
    assert walk(TURN, inject, window=need + 3)[-1].died != ""
    assert walk(TURN, window=need + 3)[-1].died == ""

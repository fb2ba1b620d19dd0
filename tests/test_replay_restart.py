"""A session that a new process resumes behind a long pause: who is asked, with what, and what a modelled system loses there."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import msgspec

from ullage.cache import CacheRules
from ullage.caches.none import NoCache
from ullage.replay import Ports, Setup, replay
from ullage.step import Step
from ullage.store import MemoryBackend, Session
from ullage.strategies.context_manager import ContextManager
from ullage.strategies.summarizing import Summarizing
from ullage.strategy import Strategy, View
from ullage.testing import FakeDecider, FakeSummarizer, make_trace
from ullage.tokens import Counter
from ullage.types import Decision, Moment, Trace

HOUR_MS = 3_600_000


def paused(calls: int, at: int) -> Trace:
    """A session with a pause of two hours before one call."""
    trace = make_trace(calls=calls, result_words=100)
    moved = tuple(
        msgspec.structs.replace(call, at=(call.at or 0) + (2 * HOUR_MS if index >= at else 0))
        for index, call in enumerate(trace.calls)
    )
    return msgspec.structs.replace(trace, calls=moved)


def walk(trace: Trace, strategy: Strategy, *, after: int | None = HOUR_MS, window: int = 100_000, fail: str = "") -> list[Step]:
    """All steps of a replay whose process ends behind a pause of more than ``after``."""
    setup = Setup(
        trace=trace,
        strategies=(strategy,),
        counter=Counter(count_text=lambda text: len(text.split())),
        window=window,
        reserve=0,
        overhead=0,
        cache=NoCache().open(CacheRules()),
        ports=Ports(
            summarize=FakeSummarizer(reply="what was summarised", fail=fail),
            decide=FakeDecider(),
            store=Session(backend=MemoryBackend(), tenant="t", session="s"),
        ),
        restart_after_ms=after,
    )
    return list(replay(setup))


@dataclass(frozen=True, slots=True, kw_only=True)
class Remembers(Strategy):
    """Keeps a tuple in its state and notes what it is shown when it is restored."""

    seen: list[tuple[int, Any, int]] = field(default_factory=list)
    moments: ClassVar[frozenset[Moment]] = frozenset({Moment.BEFORE_CALL, Moment.RESTORE})

    def decide(self, view: View) -> Decision:
        """Note a restore; else count the calls."""
        if view.moment is Moment.RESTORE:
            self.seen.append((view.call, view.state, len(view.transcript)))
        return Decision(state={"calls": (view.call,)})


def test_a_new_process_is_asked_before_anything_arrives_and_knows_what_json_keeps() -> None:
    """It is shown the stored log and the state of the last call, its tuple a list now."""
    strategy = Remembers()
    walk(paused(8, at=5), strategy)
    assert strategy.seen == [(5, {"calls": [4]}, 10)]


def test_without_the_option_and_without_a_pause_nothing_restarts() -> None:
    """One process by default; and gaps of twenty seconds end none."""
    for trace, after in ((paused(8, at=5), None), (make_trace(calls=8), HOUR_MS)):
        strategy = Remembers()
        walk(trace, strategy, after=after)
        assert strategy.seen == []


def test_a_summarised_session_comes_back_as_it_was() -> None:
    """Count and summary agree, so the restored history is the one that was live."""
    steps = walk(paused(40, at=30), Summarizing(), window=2_000)
    live = walk(paused(40, at=30), Summarizing(), window=2_000, after=None)
    assert any(step.compactions for step in steps[:30])
    assert steps[30].prompt_tokens == live[30].prompt_tokens < 2_000


def test_failed_summaries_empty_the_session_that_is_resumed() -> None:
    """The counter rises before the model is asked: what a swallowed failure left in the prompt is gone after a restart."""
    strategy = Summarizing(threshold=0.3)
    kept = walk(paused(24, at=20), strategy, window=4_000, fail="no model", after=None)
    lost = walk(paused(24, at=20), strategy, window=4_000, fail="no model")
    assert len(kept[20].context) == 41
    assert len(lost[20].context) < 41
    (event,) = (event for step in lost for event in step.compactions)
    assert (event.moment, event.call, event.tier) == (Moment.RESTORE, 20, "restore")


def test_the_pipeline_resumes_with_the_unreduced_log() -> None:
    """Reductions of the 1.62 context manager are not written back: the new process holds every message again."""
    steps = walk(paused(60, at=50), ContextManager(), window=4_000)
    before, resumed = steps[49].context, steps[50].compactions[0]
    assert len(before) < 99
    assert (resumed.moment, resumed.tier) == (Moment.RESTORE, "restore")
    assert resumed.tokens_after > resumed.tokens_before

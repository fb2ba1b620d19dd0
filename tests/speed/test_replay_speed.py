"""How fast a replay runs, and that its time per call does not grow with the trace. Ratios are judged, never absolute times."""

from __future__ import annotations

import gc
import time
import tracemalloc
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import pytest

from ullage import registry
from ullage.cache import CacheRules
from ullage.replay import Ports, Setup, replay, transcript_of
from ullage.store import MemoryBackend, Session
from ullage.testing import FakeDecider, FakeSummarizer, make_trace
from ullage.tokens import Counter
from ullage.types import Trace

pytestmark = pytest.mark.speed

COUNTER = Counter(count_text=lambda text: len(text) // 4)
TOKENS_A_CALL = 100
"""About what a call of ``make_trace`` adds; the window is three fifths of the whole, so that strategies act."""


@cache
def prepared(calls: int) -> tuple[Trace, Any]:
    """A trace of so many calls, its tokens counted."""
    trace = make_trace(calls=calls)
    return trace, transcript_of(trace, COUNTER)


def setup_of(spec: str, calls: int, *, whole: bool = False) -> Setup:
    """A replay of a made trace under a strategy, with a window that scales with it."""
    trace, transcript = prepared(calls)
    window = calls * TOKENS_A_CALL * (10 if whole else 3) // 5
    return Setup(
        trace=trace,
        strategies=registry.load_strategies(spec),
        counter=COUNTER,
        window=window,
        reserve=100,
        overhead=100,
        cache=registry.load("caches", "claude_code").open(CacheRules()),
        ports=Ports(
            summarize=FakeSummarizer(), decide=FakeDecider(), store=Session(backend=MemoryBackend(), tenant="t", session="s")
        ),
        transcript=transcript,
    )


def walk(setup: Setup) -> int:
    """Replay to the end; returns the calls made."""
    made = 0
    for step in replay(setup):
        made += step.row is not None
    return made


def per_call(makes: Sequence[Callable[[], Setup]], repeats: int = 5) -> list[float]:
    """Least seconds a call of each kind of replay, taken in turns so that a busy machine slows all of them alike."""
    best = [float("inf")] * len(makes)
    for _ in range(repeats):
        for n, make in enumerate(makes):
            setup = make()
            gc.collect()
            gc.disable()
            start = time.perf_counter()
            made = walk(setup)
            best[n] = min(best[n], (time.perf_counter() - start) / made)
            gc.enable()
    return best


@pytest.mark.parametrize("calls", [1_000, 10_000])
@pytest.mark.parametrize("spec", ["null", "monotone_stub", "auto", "sliding_stub"])
def test_replayed_calls_a_second(benchmark: Any, spec: str, calls: int) -> None:
    """One replay of a made trace."""
    made = walk(setup_of(spec, calls, whole=spec == "null"))

    def fresh() -> tuple[tuple[Setup], dict[str, Any]]:
        return (setup_of(spec, calls, whole=spec == "null"),), {}

    assert benchmark.pedantic(walk, setup=fresh, rounds=5) == made == calls
    benchmark.extra_info["calls_per_second"] = round(calls / benchmark.stats.stats.median)


@pytest.mark.parametrize("spec", ["null", "monotone_stub"])
def test_time_a_call_does_not_grow_with_the_trace(benchmark: Any, spec: str) -> None:
    """At 10,000 calls a call takes at most 1.5 times what it takes at 1,000."""
    whole = spec == "null"
    short, long = per_call([lambda: setup_of(spec, 1_000, whole=whole), lambda: setup_of(spec, 10_000, whole=whole)])
    benchmark.extra_info["ratio"] = round(long / short, 2)
    benchmark.pedantic(lambda: None, rounds=1)
    assert long / short <= 1.5


def test_memory_of_a_replay_grows_with_its_trace_only(benchmark: Any) -> None:
    """Ten times the calls take at most twelve times the memory at its peak."""

    def peak(calls: int) -> int:
        setup = setup_of("null", calls, whole=True)
        tracemalloc.start()
        walk(setup)
        size = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return size

    small, large = peak(1_000), peak(10_000)
    benchmark.extra_info["peak_mb_at_10000"] = round(large / 1e6, 1)
    benchmark.pedantic(lambda: None, rounds=1)
    assert large <= 12 * small

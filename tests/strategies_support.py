"""A short replay of one spec over one trace, for the tests of strategies."""

from __future__ import annotations

from collections.abc import Callable

from ullage.cache import CacheRules
from ullage.registry import load, load_strategies
from ullage.replay import Ports, Setup, replay
from ullage.step import Step
from ullage.store import MemoryBackend, Session
from ullage.strategy import Decider, Summarizer
from ullage.testing import FakeDecider, FakeSummarizer
from ullage.tokens import Counter
from ullage.types import Trace


def walked(
    spec: str,
    trace: Trace,
    window: int,
    see: Callable[[Step], None] = lambda _: None,
    *,
    summarize: Summarizer | None = None,
    decide: Decider | None = None,
) -> list[Step]:
    """Replay a trace with four characters to a token; ``see`` gets each step while its context is valid."""
    setup = Setup(
        trace=trace,
        strategies=load_strategies(spec),
        counter=Counter(count_text=lambda text: len(text) // 4),
        window=window,
        reserve=0,
        overhead=100,
        cache=load("caches", "ideal").open(CacheRules()),
        ports=Ports(
            summarize=summarize or FakeSummarizer(),
            decide=decide or FakeDecider(),
            store=Session(backend=MemoryBackend(), tenant="test", session="test"),
        ),
    )
    steps = []
    for step in replay(setup):
        see(step)
        steps.append(step)
    return steps

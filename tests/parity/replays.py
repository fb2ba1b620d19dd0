"""Whole replays with the real package behind ``strands_real`` and with our strategies; executed in the isolated environment.

Prints one JSON list: for each pair of specs the number of calls, and of those whose request differed.
"""

from __future__ import annotations

import json
import sys

from ullage.cache import CacheRules
from ullage.registry import load, load_strategies
from ullage.replay import Ports, Setup, replay
from ullage.store import MemoryBackend, Session
from ullage.testing import FakeDecider, FakeSummarizer, make_trace
from ullage.testing_traces import make_varied_trace
from ullage.tokens import Counter
from ullage.types import Trace

CLASSIC = (
    ("sliding_window", "strands_real"),
    ("sliding_window(window_size=12, pin_first=1, threshold=0.5)", "strands_real(window_size=12, pin_first=1, threshold=0.5)"),
    ("sliding_window(per_turn=3)", "strands_real(per_turn=3)"),
    ("summarizing", "strands_real(manager='summarizing')"),
    ("summarizing(threshold=0.5, pin_first=2)", "strands_real(manager='summarizing', threshold=0.5, pin_first=2)"),
)
PIPELINES = (("auto(profile='1.62')", "strands_real(manager='auto')"),)
TRACES: tuple[tuple[Trace, int], ...] = (
    (make_trace(calls=120), 5_000),
    (make_trace(calls=80, turn=1000, result_words=400), 6_000),
    *((make_varied_trace(seed=seed), 16_000) for seed in range(8)),
)
"""Sessions with a window, in tokens of four characters, that they exceed."""


def requests(spec: str, trace: Trace, window: int) -> list[object]:
    """What each call of a replay would send, and how it ended."""
    setup = Setup(
        trace=trace,
        strategies=load_strategies(spec),
        counter=Counter(count_text=lambda text: len(text) // 4),
        window=window,
        reserve=500,
        overhead=100,
        cache=load("caches", "ideal").open(CacheRules()),
        ports=Ports(
            summarize=FakeSummarizer(reply="word " * 40),
            decide=FakeDecider(),
            store=Session(backend=MemoryBackend(), tenant="parity", session=trace.id),
        ),
    )
    return [([(m.role, m.blocks) for m in step.context], step.died, [f.kind for f in step.faults]) for step in replay(setup)]


def main() -> None:
    """Walk every session with both specs of every pair that the release has."""
    lines = []
    for ours, real in CLASSIC + (PIPELINES if "--pipelines" in sys.argv else ()):
        calls = different = 0
        for trace, window in TRACES:
            left, right = requests(ours, trace, window), requests(real, trace, window)
            calls += max(len(left), len(right))
            different += sum(a != b for a, b in zip(left, right, strict=False)) + abs(len(left) - len(right))
        lines.append({"spec": ours, "calls": calls, "different": different})
    print(json.dumps(lines))


if __name__ == "__main__":
    main()

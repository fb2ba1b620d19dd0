"""How hard the default window presses: how often ``auto`` compacts each trace at it."""

from __future__ import annotations

from collections.abc import Iterable
from statistics import median

from ullage.options import RunOptions
from ullage.tables import compactions_of
from ullage.types import ProbeBank, Trace
from ullage.worker import run_trace

PRESSED = "auto"
"""The strategy that the default window is defined by: at it the median trace has to compact at least three times."""


def compactions(trace: Trace) -> int:
    """Compactions of ``auto`` on a trace, deployed at the trace's own window; no question is asked."""
    options = RunOptions(strategies=(PRESSED,), audits=0)
    nothing = ProbeBank(trace=trace.id, trace_digest=trace.digest)
    (finished,) = run_trace(trace, options, options.strategies, nothing)
    return compactions_of(finished.record)


def pressure(traces: Iterable[Trace]) -> str:
    """One sentence a window for the card: how many traces have it, and how often the median one compacts."""
    found: dict[int, list[int]] = {}
    counted = []
    for trace in traces:
        counted.append(compactions(trace))
        found.setdefault(trace.meta.window or 0, []).append(counted[-1])
    parts = [f"{window:,} tokens for {len(counts)} traces" for window, counts in sorted(found.items())]
    return (
        f"`meta.window`: {', '.join(parts)}. At it the median trace compacts {median(counted):g} times under `{PRESSED}` "
        f"(fewest {min(counted)}, most {max(counted)}; {sum(count >= 3 for count in counted)} of {len(counted)} at least three times)."
    )

"""Sizes held against the bill: one factor a trace, and the two sizes that the file does not hold.

The factor is the median of billed growth over counted growth between consecutive growing calls of the main model. A
regression on totals would absorb the unseen prefix into the factor; growth cancels it.
"""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Sequence
from itertools import pairwise
from statistics import median

import msgspec
from msgspec import Struct

from ullage.tokens import Counter
from ullage.types import Call, Message, Text, Trace

MINIMUM_GROWTH = 200
"""Counted tokens below which a growth says more about rounding and reminders than about the tokenizer."""
MINIMUM_PAIRS = 8
"""Fewer growing pairs than this give no factor: the tokenizer's own count is used and the method says so."""
HELD_OUT = 5
"""Every fifth pair is left out of the factor and predicted with it."""
LIFETIME_MS = {"": 300_000, "5m": 300_000, "1h": 3_600_000}


class Calibration(Struct, frozen=True, kw_only=True):
    """How one trace's counts relate to its bill.

    ``low`` and ``high`` are the 10th and 90th percentile of the ratios over ``pairs`` growing pairs; ``error`` is the
    median relative error of predicted growth on the pairs left out (none: no such pair). ``overhead`` and
    ``unrecorded`` are true tokens; ``overhead_method`` names where the first comes from.
    """

    factor: float
    method: str
    low: float | None = None
    high: float | None = None
    error: float | None = None
    pairs: int = 0
    overhead: int = 0
    overhead_method: str = ""
    unrecorded: int = 0


def calibrate(trace: Trace, counter: Counter) -> Calibration:
    """Hold the counter against the recorded usage of a trace; without usage the factor is 1."""
    ratios = growth_ratios(trace, counter)
    if len(ratios) < MINIMUM_PAIRS:
        method = f"tokenizer alone ({len(ratios)} growing pairs, {MINIMUM_PAIRS} needed)"
        return _with_sizes(trace, counter, Calibration(factor=1.0, method=method, pairs=len(ratios)))
    held = ratios[HELD_OUT - 1 :: HELD_OUT]
    kept = [ratio for n, ratio in enumerate(ratios, 1) if n % HELD_OUT]
    ordered = sorted(ratios)
    factor = median(kept)
    found = Calibration(
        factor=round(factor, 4),
        method="median growth",
        low=round(ordered[len(ordered) // 10], 4),
        high=round(ordered[len(ordered) * 9 // 10], 4),
        error=round(median(abs(factor / ratio - 1) for ratio in held), 4) if held else None,
        pairs=len(ratios),
    )
    return _with_sizes(trace, counter, found)


def growth_ratios(trace: Trace, counter: Counter) -> list[float]:
    """Billed growth over counted growth for consecutive growing calls of the main model, in order."""
    models = Tally(call.model for call in trace.calls if call.usage is not None)
    if not models:
        return []
    model = max(sorted(models), key=lambda name: models[name])
    reset = {event.call for event in trace.compactions}
    ratios = []
    for n, (before, after) in enumerate(pairwise(trace.calls), 1):
        if n in reset or before.model != model or after.model != model:
            continue
        counted = sum(counter.parts(m)[0] for m in trace.messages[before.upto : after.upto])
        exact = sum(counter.parts(m)[1] for m in trace.messages[before.upto : after.upto])
        billed = _prompt(after) - _prompt(before) - exact
        if counted >= MINIMUM_GROWTH and billed > 0:
            ratios.append(billed / counted)
    return ratios


def _prompt(call: Call) -> int:
    return call.usage.prompt if call.usage is not None else 0


def _with_sizes(trace: Trace, counter: Counter, found: Calibration) -> Calibration:
    scaled = counter.scaled_by(found.factor)
    overhead, method = overhead_of(trace, scaled)
    left = _unrecorded(trace, scaled, overhead)
    return msgspec.structs.replace(found, overhead=overhead, overhead_method=method, unrecorded=left)


def overhead_of(trace: Trace, counter: Counter) -> tuple[int, str]:
    """Tokens that every request carries and the messages do not hold, and the method that found them."""
    if trace.overhead_tokens is not None:
        return trace.overhead_tokens, trace.overhead_method or "declared"
    after = [
        _read(trace.calls[event.call]) for event in trace.compactions if event.kind == "summary" and event.call < len(trace.calls)
    ]
    kept = [read for read in after if read > 0]
    if kept:
        return min(kept), "prefix kept at a compaction"
    first = next((call for call in trace.calls if call.usage is not None and call.usage.prompt), None)
    cold = [read for read in map(_read, _cold_starts(trace.calls)) if first is not None and 0 < read <= _prompt(first)]
    if cold:
        return min(cold), "smallest cold-start read"
    if first is not None:
        text = sum(map(counter, trace.messages[: first.upto]))
        return max(0, _prompt(first) - text), "first prompt less its recorded text"
    return counted_overhead(trace, counter), "counted from system and tools"


def counted_overhead(trace: Trace, counter: Counter) -> int:
    """Tokens of the recorded system prompt and tool definitions."""
    parts = [trace.system, *(part for tool in trace.tools for part in (tool.name, tool.description, tool.schema))]
    blocks = tuple(Text(text=part) for part in parts if part)
    return counter(Message(id="overhead", role="system", blocks=blocks)) if blocks else 0


def _read(call: Call) -> int:
    return call.usage.cache_read if call.usage is not None else 0


def _cold_starts(calls: Sequence[Call]) -> list[Call]:
    """The first call, and every call after a pause longer than the cache's lifetime that did lose its prefix."""
    cold = list(calls[:1])
    for before, after in pairwise(calls):
        idle = before.at is not None and after.at is not None and after.at - before.at > LIFETIME_MS[before.ttl]
        left = 0 if before.usage is None else before.usage.cache_read + before.usage.cache_write
        if idle and _read(after) < left:
            cold.append(after)
    return cold


def _unrecorded(trace: Trace, counter: Counter, overhead: int) -> int:
    """What the first billed prompt holds beyond the overhead and the recorded text."""
    if trace.unrecorded_tokens:
        return trace.unrecorded_tokens
    first = next((call for call in trace.calls if call.usage is not None and call.usage.prompt), None)
    if first is None:
        return 0
    return max(0, _prompt(first) - overhead - sum(map(counter, trace.messages[: first.upto])))

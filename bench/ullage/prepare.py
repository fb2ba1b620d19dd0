"""One trace made ready: counted, calibrated, sized, its checkpoints set. Everything here is the same for every strategy."""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Sequence
from dataclasses import dataclass

from ullage.cache import CachePolicy, CacheRules
from ullage.calibration import Calibration
from ullage.context import Context
from ullage.options import RunOptions
from ullage.replay import DEFAULT_RESERVE
from ullage.tokens import Counter
from ullage.types import ProbeBank, Trace

FALLBACK_WINDOW = 200_000
"""The input limit of the models that the modelled systems were built for; used when nothing says otherwise, and noted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A trace with what every replay of it shares. ``transcript`` is the uncompacted history in true tokens."""

    trace: Trace
    counter: Counter
    calibration: Calibration
    transcript: Context
    bank: ProbeBank
    window: int
    window_source: str
    reserve: int
    model: str
    model_source: str
    policy: CachePolicy
    policy_spec: str
    rules: CacheRules
    checkpoints: tuple[tuple[float, int], ...]
    notes: tuple[str, ...] = ()

    @property
    def offset(self) -> int:
        """Messages that the history holds before the first recorded one."""
        return 1 if self.calibration.unrecorded else 0

    def history(self, call: int) -> int:
        """How many messages of the transcript stand before a call."""
        return self.trace.calls[call].upto + self.offset


def checkpoint_calls(trace: Trace, transcript: Context, offset: int, shares: Sequence[float]) -> tuple[tuple[float, int], ...]:
    """For each share the first call whose uncompacted history holds that share of the last call's."""
    if not trace.calls:
        return ()
    held = [transcript.tokens(0, call.upto + offset) for call in trace.calls]
    whole = held[-1]
    return tuple((share, next(n for n, tokens in enumerate(held) if tokens >= share * whole)) for share in shares)


def choose_window(trace: Trace, options: RunOptions, input_limit: int | None) -> tuple[int, str]:
    """The window in tokens and where it comes from: the option, the trace or its card, the model's input limit."""
    if options.window is not None:
        return options.window, "option"
    if trace.meta.window is not None:
        return trace.meta.window, "trace"
    if input_limit:
        return input_limit, "model"
    return FALLBACK_WINDOW, "fallback"


def choose_reserve(trace: Trace, window: int) -> int:
    """Output room inside the window: the client's own where known, never more than a tenth of the window."""
    return min(trace.meta.reserve if trace.meta.reserve is not None else DEFAULT_RESERVE, window // 10)


def choose_model(trace: Trace, options: RunOptions) -> tuple[str, str]:
    """The model that prices the run and where it comes from: the option, the recording, or nothing."""
    if options.model:
        return options.model, "option"
    recorded = Tally(call.model for call in trace.calls if call.model)
    if recorded:
        return max(sorted(recorded), key=lambda name: recorded[name]), "recorded"
    return (trace.meta.model, "trace") if trace.meta.model else ("", "unknown")

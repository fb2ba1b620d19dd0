"""Counts held against bills: the factor, the overhead, and what the file does not hold."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests_support import real_traces

from ullage.calibration import MINIMUM_PAIRS, calibrate
from ullage.exams import is_compaction
from ullage.replay import transcript_of
from ullage.testing import make_trace
from ullage.tokens import Counter, tiktoken_counter
from ullage.traces import load_traces
from ullage.types import Call, RecordedCompaction, Trace, Usage

COUNTER = Counter(count_text=lambda text: len(text.split()))


def billed(trace: Trace, factor: float, overhead: int, extra: int = 0, read: int = 0) -> Trace:
    """The trace with usage as a provider would bill it: ``factor`` times the counts above an overhead and an unseen start."""
    scaled = COUNTER.scaled_by(factor)
    calls, held, done = [], overhead + extra, 0
    for n, call in enumerate(trace.calls):
        held += sum(map(scaled, trace.messages[done : call.upto]))
        done = call.upto
        usage = Usage(cache_read=read, cache_write_5m=held - read) if n == 0 else Usage(cache_read=held - 7, uncached=7)
        calls.append(msgspec.structs.replace(call, usage=usage))
    return msgspec.structs.replace(trace, calls=tuple(calls), overhead_tokens=None)


@settings(max_examples=20, deadline=None)
@given(factor=st.floats(1.0, 1.6), overhead=st.integers(0, 40_000), seed=st.integers(0, 50))
def test_the_factor_behind_a_bill_is_found(factor: float, overhead: int, seed: int) -> None:
    """Whatever prefix each request carries, growth gives the factor back, up to the rounding of single messages."""
    found = calibrate(billed(make_trace(calls=40, result_words=300, seed=seed), factor, overhead), COUNTER)
    assert found.factor == pytest.approx(factor, rel=0.01)
    assert found.error is not None
    assert found.error < 0.02


def test_too_few_growing_pairs_give_no_factor() -> None:
    """The tokenizer's own count is used, and the method says why."""
    found = calibrate(billed(make_trace(calls=4, result_words=300), 1.3, 100), COUNTER)
    assert found.factor == 1.0
    assert found.method == f"tokenizer alone ({found.pairs} growing pairs, {MINIMUM_PAIRS} needed)"


def test_without_usage_the_overhead_is_counted_from_system_and_tools() -> None:
    """A trace that declares no overhead and was never billed has what its prompt's text counts."""
    trace = msgspec.structs.replace(make_trace(calls=3), overhead_tokens=None)
    found = calibrate(trace, COUNTER)
    assert (found.overhead, found.overhead_method) == (9, "counted from system and tools")


def test_the_overhead_is_the_prefix_kept_at_a_compaction_before_anything_else() -> None:
    """The read of the call after a recorded compaction names it; clearings do not."""
    trace = billed(make_trace(calls=30, result_words=300), 1.2, 5_000, read=4_000)
    after = msgspec.structs.replace(trace.calls[20], usage=Usage(cache_read=5_000, cache_write_5m=9_000))
    calls = (*trace.calls[:20], after, *trace.calls[21:])
    events = (
        RecordedCompaction(kind="clearing", call=10, position=10),
        RecordedCompaction(call=20, position=trace.calls[20].upto),
    )
    found = calibrate(msgspec.structs.replace(trace, calls=calls, compactions=events), COUNTER)
    assert (found.overhead, found.overhead_method) == (5_000, "prefix kept at a compaction")


def test_a_warm_first_call_names_the_overhead_and_the_rest_is_unrecorded() -> None:
    """What the first prompt holds beyond overhead and text is history that the file does not hold."""
    trace = billed(make_trace(calls=30, result_words=300), 1.2, 5_000, extra=70_000, read=5_000)
    found = calibrate(trace, COUNTER)
    assert (found.overhead, found.overhead_method) == (5_000, "smallest cold-start read")
    assert found.unrecorded == pytest.approx(70_000, abs=20)


def test_a_pause_that_lost_nothing_is_no_cold_start() -> None:
    """A read of the whole prefix after a long pause says nothing about the overhead."""
    trace = billed(make_trace(calls=30, result_words=300, gap_ms=400_000), 1.2, 5_000)
    assert calibrate(trace, COUNTER).overhead_method == "first prompt less its recorded text"


@pytest.mark.parametrize("folder", ["claude-code"])
def test_real_sessions_reach_their_recorded_compaction_at_the_recorded_size(folder: str) -> None:
    """At the first recorded compaction the uncompacted prompt is within 10 % of what was billed plus the silent falls."""
    traces = load_traces([real_traces(folder)]).traces
    checked = 0
    for trace in traces:
        found = calibrate(trace, Counter(count_text=tiktoken_counter()))
        assert 1.1 < found.factor < 1.4
        event = next((e for e in trace.compactions if e.kind == "summary"), None)
        if event is None or event.tokens_before is None:
            continue
        transcript = transcript_of(trace, Counter(count_text=tiktoken_counter()).scaled_by(found.factor), found.unrecorded)
        prompt = found.overhead + transcript.tokens(0, event.position + bool(found.unrecorded))
        prompts = [_prompt(call) for call in trace.calls[: event.call]]
        falls = sum(max(0, a - b) for a, b in pairwise(prompts))
        assert prompt == pytest.approx(event.tokens_before + falls, rel=0.10), trace.id
        checked += 1
    assert checked >= 1


def _prompt(call: Call) -> int:
    return call.usage.prompt if call.usage else 0


def test_small_edits_and_arrivals_are_no_compactions() -> None:
    """A compaction frees 2 % of the window from what was already sent."""
    from ullage.types import Compaction, Moment

    def event(moment: Moment, freed: int) -> Compaction:
        return Compaction(call=0, moment=moment, edits=(), tokens_before=10_000, tokens_after=10_000 - freed)

    assert is_compaction(event(Moment.BEFORE_CALL, 2_000), 100_000)
    assert not is_compaction(event(Moment.BEFORE_CALL, 1_999), 100_000)
    assert not is_compaction(event(Moment.ARRIVAL, 9_000), 100_000)


def test_bundled_folder_of_real_traces_is_found_by_its_variable() -> None:
    """The helper gives a folder that exists."""
    assert Path(real_traces("claude-code")).is_dir()

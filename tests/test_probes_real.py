"""Real recordings: mined in time, asked by nobody's rule of thumb, answered from the whole and never from nothing."""

from __future__ import annotations

import os
import time
from collections import Counter
from functools import cache
from pathlib import Path

import pytest
from probes_support import ask

from ullage.probes import block_text, mine, survives
from ullage.terms import fold
from ullage.traces import load_traces
from ullage.types import ProbeBank, Trace

ROOT = os.environ.get("ULLAGE_REAL_TRACES", "")
FILES = sorted(Path(ROOT).glob("claude-code/*.jsonl*")) if ROOT else []
pytestmark = pytest.mark.skipif(not FILES, reason="ULLAGE_REAL_TRACES names no folder of recordings")


@cache
def mined(path: Path) -> tuple[Trace, ProbeBank, float]:
    """A recording, its bank, and the seconds that mining took."""
    trace = load_traces([path]).traces[0]
    start = time.process_time()
    bank = mine(trace)
    return trace, bank, time.process_time() - start


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name[:6])
def test_a_recording_gives_a_mixed_bank_in_time(path: Path) -> None:
    """At least 30 probes of at least five types within 1.5 s; no question holds its answer; evidence lies inside the trace."""
    trace, bank, seconds = mined(path)
    assert seconds <= 1.5
    assert len(bank.probes) >= 30
    assert len({probe.type for probe in bank.probes}) >= 5
    blocks = {message.id: message.blocks for message in trace.messages}
    for probe in bank.probes:
        assert probe.grader == "choice" or not any(fold(g).lower() in fold(probe.question).lower() for g in probe.accept)
        for span in probe.evidence:
            assert 0 <= span.start < span.end <= len(block_text(blocks[span.message][span.block])), probe.question


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name[:6])
def test_the_reader_knows_the_whole_and_nothing_of_nothing(path: Path) -> None:
    """Ceiling at least 0.8 of the facts, floor 0, everything survives in the whole."""
    trace, bank, _ = mined(path)
    facts = [probe for probe in bank.probes if probe.grader != "abstain"]
    whole = [outcome for outcome, _ in ask(trace.messages, facts)]
    assert whole.count("correct") >= 0.8 * len(facts)
    assert all(text is None for _, text in ask((), facts))
    assert all(survives(facts, trace.messages, trace.messages).values())


def test_at_most_one_decoy_in_twenty_is_answered() -> None:
    """False memories of the reader itself, over all recordings."""
    outcomes: Counter[str] = Counter()
    for path in FILES:
        trace, bank, _ = mined(path)
        decoys = [probe for probe in bank.probes if probe.grader == "abstain"]
        outcomes.update(outcome for outcome, _ in ask(trace.messages, decoys))
    assert sum(outcomes.values()) >= 5 * len(FILES)
    assert outcomes["wrong"] <= 0.05 * sum(outcomes.values())


@pytest.mark.parametrize("path", FILES[:4], ids=lambda path: path.name[:6])
def test_the_tail_alone_knows_little_of_the_rest(path: Path) -> None:
    """There is room between a context that lost things and one that did not: of the facts whose words are gone, few are known."""
    trace, bank, _ = mined(path)
    facts = [probe for probe in bank.probes if probe.grader != "abstain"]
    tail = trace.messages[len(trace.messages) * 3 // 4 :]
    alive = survives(facts, trace.messages, tail)
    lost = [probe for probe in facts if not alive[probe.id]]
    assert len(lost) >= 10
    right = sum(outcome == "correct" for outcome, _ in ask(tail, lost))
    assert right <= 0.15 * len(lost)

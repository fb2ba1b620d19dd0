"""Laws that a provider's rules give: no prefix below the minimum is cached, another thinking level loses the messages."""

from __future__ import annotations

from pathlib import Path

import pytest
from autopsy_support import WORDS, Book
from tests_support import real_traces

from ullage.audit import audit
from ullage.pricing import PriceSheet
from ullage.tokens import Counter, tiktoken_counter
from ullage.traces import import_file
from ullage.types import Trace

SHEET = PriceSheet.load()


def predicted(trace: Trace) -> list[tuple[int, str]]:
    """What the law says of each call but the first, and by which rule."""
    return [(pair.predicted, pair.rule) for pair in audit(trace, WORDS, SHEET).pairs]


@pytest.mark.parametrize(("start", "read"), [(3_000, 0), (4_095, 0), (4_096, 4_096), (16_000, 16_000)])
def test_a_prefix_below_the_models_minimum_is_not_read_after_a_compaction(start: int, read: int) -> None:
    """Opus 4.5 caches 4,096 tokens at least: a client with a short system prompt reads nothing after its compactions."""
    book = Book().bill(start, 60_000).bill(60_000 + start, 100).compact(60_000)
    assert predicted(book.bill(read, 9_000).trace())[-1] == (read, "compaction")


def test_a_model_with_a_smaller_minimum_reads_it() -> None:
    """The same short prefix is cached by a model whose minimum is 1,024."""
    book = Book(model="claude-sonnet-4-5").bill(3_000, 60_000).compact(60_000)
    assert predicted(book.bill(3_000, 9_000).trace())[-1] == (3_000, "compaction")


def test_another_thinking_level_loses_the_messages() -> None:
    """The change is recorded before the call that pays for it; the calls after that read as ever."""
    book = Book().bill(10_000, 50_000).bill(60_000, 100)
    book.event("setting_change", "thinkingLevel low").event("setting_change", "thinkingLevel high")
    book.bill(10_000, 50_200).bill(60_200, 100)
    assert predicted(book.trace()) == [(60_000, "growth"), (10_000, "setting change"), (60_200, "growth")]


def test_a_level_that_was_tried_and_taken_back_loses_nothing() -> None:
    """What counts is the level at the call, against that of the call before."""
    book = Book().event("setting_change", "thinkingLevel high").bill(10_000, 50_000)
    book.event("setting_change", "thinkingLevel low").event("setting_change", "thinkingLevel high").bill(60_000, 100)
    assert predicted(book.trace()) == [(60_000, "growth")]


def test_other_settings_change_nothing() -> None:
    """A recorded choice of model speaks through the calls' models."""
    book = Book().bill(10_000, 50_000).event("setting_change", "modelId claude-opus-4-5").bill(60_000, 100)
    assert predicted(book.trace()) == [(60_000, "growth")]


@pytest.mark.parametrize(
    ("name", "share", "dollars"),
    [
        ("pi/before-compaction.jsonl.gz", 0.98, 0.15),
        ("codex/skills-d5-c56be24cc0-0.jsonl.gz", 0.97, 0.01),
        ("mini-swe-agent/pvlib__pvlib-python-1606.traj.json.gz", 0.99, 0.01),
        ("mini-swe-agent/django__django-12470.traj.json.gz", 0.70, 0.07),
    ],
)
def test_real_sessions_of_other_clients(name: str, share: float, dollars: float) -> None:
    """Shares within 1 % and dollar errors: best where the provider guarantees its cache, and named where it does not."""
    (trace,) = import_file(Path(real_traces(*name.split("/")))).traces
    found = audit(trace, Counter(count_text=tiktoken_counter()), SHEET)
    assert sum(pair.close for pair in found.pairs) / len(found.pairs) >= share
    assert found.error is not None
    assert abs(found.error) <= dollars
    assert all(pair.cause for pair in found.pairs if not pair.close)

"""Real recordings: calls, compactions and usage sums against the index that was written beside them.

The index gives thousands cut off (``13k``) and millions to one decimal (``24.0M``); a sum agrees when it lies within
one unit of the last digit shown.
"""

from __future__ import annotations

import re
import time
from functools import cache
from pathlib import Path
from typing import NamedTuple

import msgspec
from tests_support import real_traces

from ullage import registry
from ullage.formats import Imported, Source
from ullage.formats.ullage_jsonl import encode_traces
from ullage.traces import LAST, import_file
from ullage.types import Trace, Usage

_FIGURE = re.compile(r"\b(in|read|write|out|cached) ([\d.]+)([kM]?)")
_UNIT = {"": 1, "k": 1_000, "M": 100_000}
_SCALE = {"": 1, "k": 1_000, "M": 1_000_000}


class Row(NamedTuple):
    """One line of the index."""

    file: str
    messages: str
    calls: str
    tokens: str
    compaction: str

    def agrees(self, name: str, value: int) -> bool:
        """Whether a sum is the figure of this name, to the index's rounding."""
        for found, digits, suffix in _FIGURE.findall(self.tokens):
            if found == name:
                shown = round(float(digits) * _SCALE[suffix])
                return value == shown if not suffix else abs(value - shown) < _UNIT[suffix]
        raise AssertionError(f"{self.file}: the index names no figure {name!r}")


@cache
def rows(folder: str) -> tuple[Row, ...]:
    """The lines of the index about one folder."""
    lines = real_traces("INDEX.md").read_text(encoding="utf-8").splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith(f"| {folder}/")]
    return tuple(Row(file=c[0], messages=c[5], calls=c[6], tokens=c[7], compaction=c[9]) for c in cells)


@cache
def load(file: str) -> Imported:
    """The import of one real file, once for all tests."""
    return import_file(real_traces(*file.split("/")))


def total(traces: tuple[Trace, ...]) -> Usage:
    """The recorded usage of all calls of the traces, children left out."""
    return sum((call.usage for trace in traces for call in trace.calls if call.usage is not None), Usage())


def summaries(traces: tuple[Trace, ...]) -> int:
    """Recorded compactions, clearings left out."""
    return sum(event.kind == "summary" for trace in traces for event in trace.compactions)


def check_order(trace: Trace) -> None:
    """What every replay relies on."""
    ids = [message.id for message in trace.messages]
    assert len(set(ids)) == len(ids)
    before = 0
    for call in trace.calls:
        assert before <= call.upto <= len(ids)
        assert call.reply is None or (call.upto <= call.reply and trace.messages[call.reply].role == "assistant")
        before = call.upto
    for event in trace.compactions:
        assert 0 <= event.call <= len(trace.calls)
        assert 0 <= event.position <= len(ids)
    for child in trace.children:
        check_order(child)


def test_claude_code_sessions_agree_with_the_index() -> None:
    """All files: one session each, calls and compactions exact, four sums to the index's rounding."""
    assert rows("claude-code")
    for row in rows("claude-code"):
        traces = load(row.file).traces
        usage = total(traces)
        assert len(traces) == 1, row.file
        assert len(traces[0].calls) == int(row.calls), row.file
        assert summaries(traces) == (0 if row.compaction == "no" else int(row.compaction)), row.file
        sums = {"in": usage.uncached, "read": usage.cache_read, "write": usage.cache_write, "out": usage.output}
        for name, value in sums.items():
            assert row.agrees(name, value), (row.file, name, value)


def test_claude_code_messages_pair_and_stand_in_order() -> None:
    """Every result follows its call at once, whatever was written between them."""
    for row in rows("claude-code"):
        (trace,) = load(row.file).traces
        check_order(trace)
        for place, message in enumerate(trace.messages):
            if message.tool_result_ids:
                assert set(message.tool_result_ids) <= set(trace.messages[place - 1].tool_use_ids), (row.file, place)


def test_claude_code_compactions_hold_their_summaries() -> None:
    """Sizes before, a summary of thousands of characters, and neither stands in the history."""
    events = [(trace, event) for row in rows("claude-code") for trace in load(row.file).traces for event in trace.compactions]
    whole = [(trace, event) for trace, event in events if event.kind == "summary"]
    assert whole
    for trace, event in whole:
        assert event.tokens_before is not None
        assert event.tokens_before > 100_000
        assert len(event.summary) > 4_000
        assert not any(event.summary[:400] in message.text for message in trace.messages)
    for trace, event in events:
        if event.kind == "clearing":
            held = {result for message in trace.messages for result in message.tool_result_ids}
            assert event.cleared
            assert set(event.cleared) <= held


def test_claude_code_files_import_fast() -> None:
    """All of them together well under ten seconds."""
    files = [real_traces(*row.file.split("/")) for row in rows("claude-code")]
    start = time.process_time()
    for path in files:
        import_file(path)
    assert time.process_time() - start < 10


def test_codex_rollouts_agree_with_the_index() -> None:
    """The index counts cached tokens inside the input."""
    assert rows("codex")
    for row in rows("codex"):
        (trace,) = load(row.file).traces
        usage = total((trace,))
        check_order(trace)
        assert len(trace.calls) == int(row.calls), row.file
        assert summaries((trace,)) == (0 if row.compaction == "no" else int(row.compaction))
        assert row.agrees("in", usage.prompt), row.file
        assert row.agrees("cached", usage.cache_read), row.file
        assert row.agrees("out", usage.output), row.file


def test_pi_sessions_agree_with_the_index() -> None:
    """The index counts all assistant lines; aborted ones without usage are events here, not calls."""
    assert rows("pi")
    for row in rows("pi"):
        (trace,) = load(row.file).traces
        usage = total((trace,))
        check_order(trace)
        unbilled = sum(event.kind in ("aborted", "api_error") for event in trace.events) - sum(
            not call.output_reliable for call in trace.calls
        )
        assert len(trace.calls) + unbilled == int(row.calls), row.file
        assert summaries((trace,)) == int(row.compaction)
        sums = {"in": usage.uncached, "read": usage.cache_read, "write": usage.cache_write, "out": usage.output}
        for name, value in sums.items():
            assert row.agrees(name, value), (row.file, name, value)


def test_mini_swe_agent_runs_agree_with_the_index() -> None:
    """Cached tokens inside the input; the old list has no usage at all."""
    assert rows("mini-swe-agent")
    for row in rows("mini-swe-agent"):
        (trace,) = load(row.file).traces
        usage = total((trace,))
        check_order(trace)
        assert len(trace.calls) == int(row.calls), row.file
        for name, value in {"in": usage.prompt, "cached": usage.cache_read, "out": usage.output}.items():
            assert row.agrees(name, value), (row.file, name, value)


def test_openai_messages_agree_with_the_index() -> None:
    """Conversations, calls and messages."""
    for row in rows("openai-messages"):
        traces = load(row.file).traces
        assert sum(len(trace.calls) for trace in traces) == int(row.calls), row.file
        for trace in traces:
            check_order(trace)


def every_file() -> list[Path]:
    """All real files but the index."""
    return sorted(path for path in real_traces().rglob("*") if path.is_file() and path.suffix != ".md")


def test_each_real_file_has_one_importer_of_its_own() -> None:
    """Formats that know their own marks never claim the same file."""
    named = [name for name in registry.names("formats") if name not in LAST]
    for path in every_file():
        source = Source(path)
        known = [name for name in named if registry.load("formats", name).matches(source)]
        assert len(known) <= 1, (path.name, known)


def test_real_traces_survive_the_canonical_form() -> None:
    """Written and read back, they are the same."""
    for folder in ("claude-code", "codex", "pi", "mini-swe-agent"):
        for row in rows(folder)[:2]:
            for trace in load(row.file).traces:
                (line,) = encode_traces([trace]).splitlines()
                assert msgspec.json.decode(line, type=Trace) == trace


def test_swe_agent_runs_agree_with_the_index() -> None:
    """Calls exact; usage is the run's total, absent in a replayed demonstration."""
    assert rows("swe-agent")
    for row in rows("swe-agent"):
        (trace,) = load(row.file).traces
        check_order(trace)
        usage = trace.total_usage or Usage()
        assert len(trace.calls) == int(row.calls), row.file
        assert row.agrees("in", usage.prompt), row.file
        assert row.agrees("out", usage.output), row.file


def test_tau_bench_episodes_agree_with_the_index() -> None:
    """Calls and conversations."""
    for row in rows("tau-bench-v1"):
        traces = load(row.file).traces
        assert sum(len(trace.calls) for trace in traces) == int(row.calls), row.file
        for trace in traces:
            check_order(trace)


def test_tau2_simulations_agree_with_the_index() -> None:
    """The index counts the canned greeting of each simulation as a call; the sums are the agent's alone."""
    assert rows("tau2")
    for row in rows("tau2"):
        traces = load(row.file).traces
        usage = total(traces)
        assert sum(len(trace.calls) for trace in traces) + len(traces) == int(row.calls), row.file
        if row.tokens != "none":
            assert row.agrees("in", usage.prompt), row.file
            assert row.agrees("out", usage.output), row.file
        for trace in traces:
            check_order(trace)
            assert all(message.role == "assistant" for message in trace.messages if message.tool_use_ids), row.file


def test_inspect_logs_agree_with_the_index() -> None:
    """Model events of graders are children; the sample's total covers all of them."""
    assert rows("inspect")
    for row in rows("inspect"):
        traces = load(row.file).traces
        children = tuple(child for trace in traces for child in trace.children)
        if row.calls != "-":
            assert sum(len(trace.calls) for trace in (*traces, *children)) == int(row.calls), row.file
        stated = sum((trace.total_usage for trace in traces if trace.total_usage is not None), Usage())
        assert total((*traces, *children)) == stated, row.file
        for name, value in {"in": stated.prompt, "cached": stated.cache_read, "out": stated.output}.items():
            assert row.agrees(name, value), (row.file, name, value)
        for trace in traces:
            check_order(trace)


def test_gemini_chats_agree_with_the_index() -> None:
    """The index counts every reply as a call and leaves thoughts out of the output."""
    real = [row for row in rows("gemini-cli") if "fixture" not in row.file]
    assert real
    for row in real:
        (trace,) = load(row.file).traces
        check_order(trace)
        usage = total((trace,))
        thoughts = sum(msgspec.json.decode(call.extra)["thoughts"] for call in trace.calls if call.extra)
        assert sum(message.role == "assistant" for message in trace.messages) == int(row.calls), row.file
        for name, value in {"in": usage.prompt, "cached": usage.cache_read, "out": usage.output - thoughts}.items():
            assert row.agrees(name, value), (row.file, name, value)


def test_openhands_runs_agree_with_the_index() -> None:
    """One call for each reply of the agent."""
    for row in rows("openhands"):
        traces = load(row.file).traces
        assert sum(len(trace.calls) for trace in traces) == int(row.calls), row.file
        for trace in traces:
            check_order(trace)

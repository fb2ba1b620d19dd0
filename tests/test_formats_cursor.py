"""Cursor and Antigravity transcripts: calls without ids, no usage, no models."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from formats_support import imported, only, shape
from tests_support import real_traces

from ullage.errors import TraceError
from ullage.traces import import_file
from ullage.types import Text, ToolResult


def cursor(role: str, *content: dict[str, Any]) -> dict[str, Any]:
    """A line of a Cursor transcript."""
    return {"role": role, "message": {"content": list(content)}}


def step(kind: str, source: str = "MODEL", **keys: Any) -> dict[str, Any]:
    """A step of Antigravity."""
    return {"step_index": 0, "source": source, "type": kind, "status": "DONE", "created_at": "2026-01-05T10:00:00Z", **keys}


def test_cursor_results_answer_calls_without_ids_in_order(tmp_path: Path) -> None:
    """The ids of the results are of no call that is recorded; a line says that the pairs are by order."""
    uses: list[dict[str, Any]] = [{"type": "tool_use", "name": name, "input": {}} for name in ("Read", "Bash")]
    results = [{"type": "tool_result", "tool_use_id": f"t{n}", "content": str(n)} for n in (1, 2)]
    rows = [cursor("user", {"type": "text", "text": "go"}), cursor("assistant", *uses), *(cursor("user", one) for one in results)]
    result = imported(tmp_path, rows, "abc.jsonl")
    trace = only(result)
    assert (result.format, trace.id, trace.provenance.usage) == ("cursor", "abc", "none")
    assert shape(trace) == [("user", "Text"), ("assistant", "ToolUse", "ToolUse"), ("user", "ToolResult", "ToolResult")]
    assert trace.messages[2].tool_result_ids == trace.messages[1].tool_use_ids
    assert trace.messages[0].human
    assert "2 tool calls have no id" in result.problems[0]


def test_cursor_lines_without_a_reply_are_one_line_of_error(tmp_path: Path) -> None:
    """Found and expected."""
    with pytest.raises(TraceError, match="found no reply of a model; expected Cursor transcript lines"):
        imported(tmp_path, [cursor("user", {"type": "text", "text": "go"})])


def test_antigravity_steps_are_calls_results_and_compactions(tmp_path: Path) -> None:
    """A checkpoint is a compaction whose text is on the event; a result too many is text."""
    rows = [
        step("USER_INPUT", "USER_EXPLICIT", content="go"),
        step("PLANNER_RESPONSE", thinking="hm", tool_calls=[{"name": "list_dir", "args": {"path": "/"}}]),
        step("LIST_DIRECTORY", content="a.txt"),
        step("VIEW_FILE", content="too many"),
        step("CHECKPOINT", "SYSTEM", content="So far."),
        step("PLANNER_RESPONSE", content="done", truncated_fields=["content"]),
        step("CONVERSATION_HISTORY", "SYSTEM"),
    ]
    result = imported(tmp_path, rows)
    trace = only(result)
    assert (result.format, len(trace.calls), result.lines.opaque) == ("antigravity", 2, 1)
    (name,) = trace.messages[1].tool_use_ids
    assert trace.messages[2].blocks == (ToolResult(tool_use_id=name, content=(Text(text="a.txt"),)),)
    assert [(event.call, event.position, event.summary) for event in trace.compactions] == [(1, 4, "So far.")]
    assert trace.calls[0].at == 1_767_607_200_000
    told = " | ".join(result.problems)
    assert all(text in told for text in ("1 tool calls have no id", "1 results answer no recorded call", "1 steps were cut"))


def test_real_transcripts_are_imported_without_usage() -> None:
    """Both fixtures: calls by hand count, and no figure that is not recorded."""
    for name, calls in (("fixture-cursor-large.jsonl", 5), ("fixture-antigravity-cli_small.jsonl", 3)):
        (trace,) = import_file(real_traces("fixtures-other", name)).traces
        assert len(trace.calls) == calls
        assert (trace.provenance.usage, trace.provenance.cache, trace.meta.model) == ("none", "none", "")

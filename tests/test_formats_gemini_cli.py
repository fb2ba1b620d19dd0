"""Gemini CLI chats: calls, thoughts billed as output, tool steps, and patched lines."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from formats_support import ONE_STEP, imported, only, shape

from ullage.errors import TraceError
from ullage.formats import Imported
from ullage.traces import import_file
from ullage.types import Text, Thinking, ToolResult, ToolUse, Usage

HEADER = {"sessionId": "g1", "projectHash": "h", "startTime": "2026-01-05T10:00:00Z"}


def row(name: str, kind: str, content: str, **keys: Any) -> dict[str, Any]:
    """A message of a chat."""
    return {"id": name, "type": kind, "content": content, "timestamp": "2026-01-05T10:00:00Z", **keys}


def tokens(prompt: int = 100, cached: int = 60, output: int = 5, thoughts: int = 7) -> dict[str, int]:
    """Recorded tokens."""
    return {
        "input": prompt,
        "cached": cached,
        "output": output,
        "thoughts": thoughts,
        "tool": 0,
        "total": prompt + output + thoughts,
    }


def chat(folder: Path, *rows: dict[str, Any]) -> Imported:
    """The import of a chat file."""
    path = folder / "chat.json"
    path.write_text(json.dumps(HEADER | {"messages": list(rows)}, indent=1), encoding="utf-8")
    return import_file(path)


def tool(name: str, **keys: Any) -> dict[str, Any]:
    """A tool call with its result inside."""
    answer = {"functionResponse": {"id": name, "name": "ls", "response": {"output": "a.py"}}}
    return {
        "id": name,
        "name": "ls",
        "args": {"dir": "."},
        "result": [answer],
        "resultDisplay": "a.py, shown",
        "status": "success",
    } | keys


def test_one_message_is_one_call_with_its_results_behind(tmp_path: Path) -> None:
    """Input includes cached tokens; thoughts are output too; the screen's copy of a result is not read."""
    thought = {"subject": "Look", "description": "at it"}
    rows = [
        row("a", "user", "go"),
        row("b", "gemini", "I look.", thoughts=[thought], toolCalls=[tool("t1")], tokens=tokens(), model="gemini-x"),
    ]
    outcome = chat(
        tmp_path,
        *rows,
        row("c", "gemini", "Done.", tokens=tokens(), model="gemini-x"),
        row("d", "info", "bye"),
        row("e", "error", "429"),
    )
    trace = only(outcome)
    assert (outcome.format, trace.id, trace.meta.model) == ("gemini_cli", "g1", "gemini-x")
    assert shape(trace) == ONE_STEP
    assert trace.messages[1].blocks == (
        Thinking(text="Look\nat it"),
        Text(text="I look."),
        ToolUse(id="t1", name="ls", arguments='{"dir":"."}'),
    )
    assert trace.messages[2].blocks == (ToolResult(tool_use_id="t1", content=(Text(text="a.py"),)),)
    assert [call.usage for call in trace.calls] == [Usage(uncached=40, cache_read=60, output=12)] * 2
    assert trace.calls[0].extra == '{"thoughts":7}'
    assert [(event.kind, event.call) for event in trace.events] == [("api_error", 2)]
    assert outcome.lines.opaque == 2


def test_a_message_with_zero_tokens_is_a_step_and_no_call(tmp_path: Path) -> None:
    """A tool that ran without a request of its own; where no tokens are recorded at all, the bill is unknown."""
    zero = row("b", "gemini", "", toolCalls=[tool("t1", status="error")], tokens=tokens(0, 0, 0, 0))
    trace = only(chat(tmp_path, row("a", "user", "go"), zero, row("c", "gemini", "ok")))
    assert [(call.id, call.usage) for call in trace.calls] == [("c", None)]
    assert trace.messages[2].blocks == (ToolResult(tool_use_id="t1", content=(Text(text="a.py"),), is_error=True),)


def test_lines_are_patched_in_order(tmp_path: Path) -> None:
    """A message comes again when it grows; a patch may replace the header or the history."""
    rows = [
        HEADER,
        row("a", "user", "go"),
        row("b", "gemini", "I"),
        row("b", "gemini", "I look.", tokens=tokens()),
        {"$set": {"lastUpdated": "x"}},
    ]
    trace = only(imported(tmp_path, rows))
    assert [message.text for message in trace.messages] == ["go", "I look."]
    replaced = only(imported(tmp_path, [*rows, {"$set": {"messages": [row("z", "user", "short"), row("y", "gemini", "ok")]}}]))
    assert [message.text for message in replaced.messages] == ["short", "ok"]


def test_a_chat_without_replies_is_refused(tmp_path: Path) -> None:
    """Nothing was called."""
    with pytest.raises(TraceError, match="found no reply of a model"):
        chat(tmp_path, row("a", "user", "go"))

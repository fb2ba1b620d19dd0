"""OpenCode exports: a step is a call, its parts hold call, result and bill together."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from formats_support import shape

from ullage.errors import TraceError
from ullage.formats import Imported
from ullage.traces import import_file
from ullage.types import Text, ToolResult, Usage

BILL = {"input": 3, "output": 5, "reasoning": 2, "cache": {"read": 10, "write": 4}}


def text(value: str, **keys: Any) -> dict[str, Any]:
    """A text part."""
    return {"type": "text", "text": value, **keys}


def tool(name: str, output: str = "x", **time: int) -> dict[str, Any]:
    """A tool part that is done."""
    state = {"status": "completed", "input": {"a": 1}, "output": output, "time": {"start": 1, "end": 2, **time}}
    return {"type": "tool", "callID": name, "tool": "bash", "state": state}


def finish() -> dict[str, Any]:
    """The end of a step with its bill."""
    return {"type": "step-finish", "reason": "stop", "tokens": BILL}


def message(role: str, at: int, *parts: dict[str, Any], **info: Any) -> dict[str, Any]:
    """A message of an export."""
    held = {"id": f"msg{at}", "role": role, "time": {"created": 1_767_607_200_000 + at}, "modelID": "m", **info}
    return {"info": held, "parts": list(parts)}


def read(folder: Path, *messages: dict[str, Any]) -> Imported:
    """The import of an export of these messages."""
    path = folder / "export.json"
    path.write_text(json.dumps({"info": {"id": "ses", "version": "1.17", "directory": "/p"}, "messages": list(messages)}))
    return import_file(path)


def test_steps_are_calls_and_input_excludes_the_cache(tmp_path: Path) -> None:
    """Two steps in one message are two calls, each with the results of its own tools behind it."""
    result = read(tmp_path, message("user", 0, text("go")), message("assistant", 1, tool("c1"), finish(), text("done"), finish()))
    (trace,) = result.traces
    assert (result.format, trace.id, trace.meta.client, trace.provenance.cache) == (
        "opencode",
        "ses",
        "opencode 1.17",
        "read_write",
    )
    assert shape(trace) == [("user", "Text"), ("assistant", "ToolUse"), ("user", "ToolResult"), ("assistant", "Text")]
    assert [call.usage for call in trace.calls] == [Usage(uncached=3, cache_read=10, cache_write_5m=4, output=7)] * 2
    assert (trace.messages[0].human, result.problems) == (True, ())


def test_a_summary_is_an_event_with_what_was_kept(tmp_path: Path) -> None:
    """Its request is billed beside the conversation and neither it nor the summary is a message."""
    asked = {"type": "compaction", "auto": True, "tail_start_id": "msg2"}
    rows = [message("user", 0, text("go")), message("assistant", 1, text("a"), finish()), message("user", 2, text("more"))]
    rows += [message("user", 3, asked), message("assistant", 4, text("So far."), summary=True, tokens=BILL)]
    (trace,) = read(tmp_path, *rows, message("assistant", 5, text("b"), finish())).traces
    assert [one.text for one in trace.messages] == ["go", "a", "more", "b"]
    (event,) = trace.compactions
    assert (event.call, event.position, event.trigger, event.summary, event.kept_from) == (1, 3, "auto", "So far.", 2)
    assert [one.kind for one in trace.events] == ["side_request"]


def test_a_cleared_result_comes_back_whole(tmp_path: Path) -> None:
    """The clearing is an event before the first call after its time."""
    cleared = tool("c1", "long", compacted=1_767_607_200_004)
    rows = [
        message("user", 0, text("go")),
        message("assistant", 1, cleared, finish()),
        message("assistant", 5, text("b"), finish()),
    ]
    (trace,) = read(tmp_path, *rows).traces
    assert trace.messages[2].blocks == (ToolResult(tool_use_id="c1", content=(Text(text="long"),)),)
    assert [(one.kind, one.call, one.position, one.cleared) for one in trace.compactions] == [("clearing", 1, 3, ("c1",))]


def test_an_export_without_a_reply_is_one_line_of_error(tmp_path: Path) -> None:
    """Found and expected."""
    with pytest.raises(TraceError, match="found no reply of a model; expected an OpenCode export"):
        read(tmp_path, message("user", 0, text("go")))

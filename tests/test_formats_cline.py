"""Cline and Roo tasks: Anthropic messages with their time, model and metrics."""

from __future__ import annotations

import json
from pathlib import Path

from ullage.traces import import_file
from ullage.types import Usage


def test_a_task_has_its_calls_with_model_time_and_usage(tmp_path: Path) -> None:
    """The prompt includes what was cached; a result as text is no word of a person; a summary is an event."""
    metrics = {"tokens": {"prompt": 100, "completion": 7, "cached": 60}}
    rows = [
        {"role": "user", "content": [{"type": "text", "text": "<task>go</task>"}], "ts": 1_767_607_200_000},
        {"role": "assistant", "content": [{"type": "text", "text": "a"}], "ts": 1_767_607_201_000, "modelInfo": {"modelId": "m"}},
        {"role": "user", "content": [{"type": "text", "text": "[read_file] Result: x"}], "ts": 1_767_607_202_000},
        {"role": "user", "content": "So far.", "isSummary": True, "ts": 1_767_607_203_000},
        {"role": "assistant", "content": "b", "metrics": metrics, "ts": 1_767_607_204_000},
    ]
    (tmp_path / "task-1").mkdir()
    path = tmp_path / "task-1" / "api_conversation_history.json"
    path.write_text(json.dumps(rows), encoding="utf-8")
    result = import_file(path)
    (trace,) = result.traces
    assert (result.format, trace.id, trace.meta.model) == ("cline", "task-1", "m")
    assert [call.usage for call in trace.calls] == [None, Usage(uncached=40, cache_read=60, output=7)]
    assert [message.human for message in trace.messages] == [True, False, False, False]
    assert [(event.call, event.position, event.summary) for event in trace.compactions] == [(1, 3, "So far.")]

"""OpenHands outputs: events in pairs or in a row, calls grouped by response, condensations kept as events."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from formats_support import imported, only, shape

from ullage.errors import TraceError
from ullage.types import Text, ToolResult, ToolUse, Usage


def action(number: int, kind: str, source: str = "agent", **args: Any) -> dict[str, Any]:
    """An action event; ``tool`` becomes its metadata."""
    told = args.pop("tool", None)
    event = {"id": number, "timestamp": "2026-01-05T10:00:00.5", "source": source, "action": kind, "args": args}
    return event | ({"tool_call_metadata": told} if told else {})


def observation(number: int, cause: int | None, content: str, kind: str = "run") -> dict[str, Any]:
    """An observation event."""
    return {
        "id": number,
        "source": "agent",
        "observation": kind,
        "content": content,
        "cause": cause,
        "extras": {"command": "copy"},
    }


def run(history: list[Any], **keys: Any) -> dict[str, Any]:
    """A line of an output file."""
    return {
        "instance_id": "lib-1",
        "instruction": "fix",
        "git_patch": "",
        "history": history,
        "metrics": {},
        "error": None,
    } | keys


NULL = {"observation": "null", "content": "", "extras": {}}


def test_pairs_are_calls_with_results(tmp_path: Path) -> None:
    """The thought is text, the rest of the arguments the tool's; one cost a call stands beside it."""
    history = [
        [action(0, "message", "user", content="fix it"), NULL],
        [action(1, "run", command="ls", thought="I look.", keep_prompt=True), observation(2, 1, "a.py")],
        [action(3, "finish", thought="Done."), NULL],
    ]
    outcome = imported(tmp_path, [run(history, metrics={"costs": [0.5, 0.25]})])
    trace = only(outcome)
    assert (outcome.format, trace.id) == ("openhands", "lib-1#1")
    assert shape(trace) == [("user", "Text"), ("assistant", "Text", "ToolUse"), ("user", "ToolResult"), ("assistant", "Text")]
    assert trace.messages[0].human
    use = trace.messages[1].blocks[1]
    assert isinstance(use, ToolUse)
    assert (use.name, use.arguments) == ("run", '{"command":"ls"}')
    assert trace.messages[2].blocks == (ToolResult(tool_use_id=use.id, content=(Text(text="a.py"),)),)
    assert [(call.upto, call.extra) for call in trace.calls] == [(1, '{"cost":0.5}'), (3, '{"cost":0.25}')]
    assert trace.calls[0].at == 1_767_607_200_500
    assert outcome.lines.opaque == 2


def test_events_without_ids_pair_by_order(tmp_path: Path) -> None:
    """The minimal dump keeps none."""
    history = [
        action(0, "message", "user", content="go"),
        action(1, "run", command="ls"),
        observation(2, 1, "x"),
        action(3, "run", command="pwd"),
        observation(4, 3, "y"),
    ]
    for event in history:
        del event["id"]
        event.pop("cause", None)
    trace = only(imported(tmp_path, [run(history)]))
    pairs = [(m.tool_use_ids, n.tool_result_ids) for m, n in zip(trace.messages[1::2], trace.messages[2::2], strict=True)]
    assert all(uses == results for uses, results in pairs)
    assert len({uses for uses, _ in pairs}) == 2


def test_actions_of_one_response_are_one_call(tmp_path: Path) -> None:
    """Its usage is counted once."""
    usage = {"prompt_tokens": 100, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 64}}
    tools = [
        {"tool_call_id": f"c{n}", "function_name": "bash", "model_response": {"id": "r1", "model": "m", "usage": usage}}
        for n in (1, 2)
    ]
    results = [observation(n + 2, n, "out") | {"tool_call_metadata": tools[n - 1]} for n in (1, 2)]
    history = [
        action(0, "message", "user", content="go"),
        *(action(n, "run", command="ls", tool=tools[n - 1]) for n in (1, 2)),
        *results,
    ]
    trace = only(imported(tmp_path, [run(history)]))
    assert shape(trace)[1:] == [("assistant", "ToolUse", "ToolUse"), ("user", "ToolResult", "ToolResult")]
    assert [(call.usage, call.model) for call in trace.calls] == [(Usage(uncached=36, cache_read=64, output=5), "m")]
    assert trace.provenance.cache == "read"


def test_a_condensation_is_an_event(tmp_path: Path) -> None:
    """What was forgotten stays; the system prompt is told by its own event."""
    history = [
        action(0, "system", content="Be brief."),
        action(1, "message", "user", content="go"),
        action(2, "run", command="ls"),
        observation(3, 2, "x"),
        action(4, "condensation", forgotten_event_ids=[2, 3], summary="Looked."),
        action(5, "message", content="ok"),
    ]
    trace = only(imported(tmp_path, [run(history)]))
    (event,) = trace.compactions
    assert (trace.system, event.summary, event.call, event.position) == ("Be brief.", "Looked.", 1, 3)
    assert event.cleared == trace.messages[1].tool_use_ids
    assert len(trace.calls) == 2


def test_runs_without_a_reply_are_refused_and_named(tmp_path: Path) -> None:
    """The others are imported; with none left the file is refused."""
    good, bad = run([action(1, "message", content="hi")]), run([action(0, "message", "user", content="go")])
    outcome = imported(tmp_path, [good, bad])
    assert (len(outcome.traces), outcome.lines.refused) == (1, 1)
    with pytest.raises(TraceError, match="found no reply of an agent"):
        imported(tmp_path, [json.dumps(bad)])

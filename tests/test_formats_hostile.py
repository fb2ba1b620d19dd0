"""Hostile recordings: whatever stands in a file, an import ends in traces that hold together or in one line of error."""

from __future__ import annotations

import copy
import json
import tempfile
from pathlib import Path
from typing import Any

import msgspec
import pytest
from formats_support import ClaudeLines, claude_usage, text, thinking, use
from hypothesis import given, settings
from hypothesis import strategies as st

from ullage.errors import TraceError
from ullage.formats import Imported
from ullage.formats.ullage_jsonl import encode_traces
from ullage.testing import make_trace
from ullage.traces import import_file, report
from ullage.types import Trace


def claude_rows() -> list[Any]:
    """A session with most kinds of line."""
    lines = ClaudeLines().user("go").reply("m1", thinking("t"), use("t1"), usage=claude_usage(read=5)).result("t1")
    data = {"type": "agent_progress", "agentId": "a1", "message": {"type": "user", "uuid": "c0", "message": {"content": "look"}}}
    lines.line("progress", data=data, parentToolUseID="t1").line("queue-operation", operation="enqueue", content="x")
    lines.line("attachment", attachment={"type": "file", "content": {"file": {"content": "x"}}}).boundary().summary().user("more")
    return lines.reply("m2", text("a"), stop="end_turn").rows


def chat_row() -> dict[str, Any]:
    """A chat with a tool call."""
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    return {
        "messages": [
            {"role": "system", "content": "s"},
            {"role": "user", "content": [{"type": "text", "text": "hi"}]},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c1", "content": "x"},
        ],
        "tools": [{"type": "function", "function": {"name": "f", "parameters": {}}}],
    }


CODEX = [
    {"timestamp": "2026-01-05T10:00:00Z", "type": "session_meta", "payload": {"id": "c", "base_instructions": {"text": "s"}}},
    {"type": "response_item", "payload": {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "go"}]}},
    {"type": "response_item", "payload": {"type": "reasoning", "summary": [{"text": "t"}]}},
    {"type": "response_item", "payload": {"type": "function_call", "name": "f", "arguments": "{}", "call_id": "x"}},
    {
        "type": "event_msg",
        "payload": {"type": "token_count", "info": {"total_token_usage": {"n": 1}, "last_token_usage": {"input_tokens": 5}}},
    },
    {"type": "response_item", "payload": {"type": "function_call_output", "call_id": "x", "output": "y"}},
    {
        "type": "compacted",
        "payload": {"message": "m", "replacement_history": [{"type": "message", "role": "user", "content": []}]},
    },
]
PI = [
    {"type": "session", "id": "p", "cwd": "/", "timestamp": "2026-01-05T10:00:00Z"},
    {"type": "message", "message": {"role": "user", "content": "go"}},
    {
        "type": "message",
        "message": {
            "role": "assistant",
            "content": [{"type": "toolCall", "id": "t", "name": "n", "arguments": {}}],
            "usage": {"input": 1, "output": 2},
        },
    },
    {"type": "message", "message": {"role": "toolResult", "toolCallId": "t", "content": [{"type": "text", "text": "x"}]}},
    {"type": "compaction", "summary": "s", "firstKeptEntryIndex": 2, "tokensBefore": 9},
]
MINI = {
    "info": {"mini_version": "2", "model_stats": {"api_calls": 1}},
    "messages": [
        {"role": "user", "content": "t"},
        {"role": "assistant", "content": "a", "extra": {"response": {"model": "m", "usage": {"prompt_tokens": 4}}}},
    ],
}
SWE = {
    "trajectory": [{"action": "a", "observation": "o", "response": "r"}],
    "history": [{"role": "user", "content": "t"}, {"role": "assistant", "content": "a"}],
    "info": {},
}
TAU2 = {
    "info": {"agent_info": {"llm": "m"}, "user_info": {}, "environment_info": {"policy": "p", "tool_defs": []}},
    "simulations": [
        {
            "id": "s",
            "messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "a", "usage": {"prompt_tokens": 4}}],
        }
    ],
}
INSPECT = {
    "version": 2,
    "eval": {"task": "t", "run_id": "r", "model": "openai/x"},
    "samples": [
        {
            "id": 1,
            "messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "a"}],
            "events": [
                {
                    "event": "model",
                    "input": [{"role": "user", "content": "hi"}],
                    "output": {"choices": [{"message": {"content": "a"}}], "usage": {"input_tokens": 4}},
                }
            ],
            "attachments": {"k": "v"},
            "model_usage": {"openai/x": {"input_tokens": 4}},
        }
    ],
}
GEMINI = {
    "sessionId": "g",
    "projectHash": "h",
    "messages": [
        {"id": "a", "type": "user", "content": "go"},
        {
            "id": "b",
            "type": "gemini",
            "content": "x",
            "thoughts": [{"subject": "s"}],
            "toolCalls": [{"id": "t", "name": "n", "args": {}, "result": [{"text": "r"}]}],
            "tokens": {"input": 4},
        },
    ],
}
OPENHANDS = [
    {
        "instance_id": "o",
        "instruction": "i",
        "history": [
            [{"id": 0, "source": "user", "action": "message", "args": {"content": "go"}}, {"observation": "null"}],
            [
                {"id": 1, "source": "agent", "action": "run", "args": {"command": "ls"}},
                {"id": 2, "observation": "run", "content": "x", "cause": 1},
            ],
        ],
        "metrics": {"costs": [1.0]},
    }
]
KIMI = [
    {"type": "metadata", "protocol_version": "1"},
    {
        "type": "context.append_message",
        "message": {"role": "user", "content": [{"type": "text", "text": "go"}], "origin": {"kind": "user"}},
    },
    {"type": "context.append_loop_event", "event": {"type": "tool.call", "toolCallId": "t", "name": "n", "args": {}}},
    {"type": "context.append_loop_event", "event": {"type": "tool.result", "toolCallId": "t", "result": {"output": "x"}}},
    {"type": "context.append_loop_event", "event": {"type": "step.end", "usage": {"inputOther": 4}}},
]
COPILOT = [
    {"type": "session.start", "data": {"sessionId": "s"}},
    {"type": "assistant.message", "data": {"content": "a", "toolRequests": [{"toolCallId": "t", "name": "n", "arguments": {}}]}},
    {"type": "tool.execution_complete", "data": {"toolCallId": "t", "result": {"content": "x"}}},
]
DROID = [
    {"type": "session_start", "id": "d"},
    {"type": "message", "id": "a", "message": {"role": "assistant", "content": [{"type": "text", "text": "x"}]}},
]
CURSOR = [
    {"role": "user", "message": {"content": [{"type": "text", "text": "go"}]}},
    {"role": "assistant", "message": {"content": [{"type": "tool_use", "name": "n", "input": {}}]}},
    {"role": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": "t", "content": "x"}]}},
]
CLINE = [
    {"role": "user", "content": [{"type": "text", "text": "go"}], "ts": 1_767_607_200_000},
    {
        "role": "assistant",
        "content": [{"type": "tool_use", "id": "t", "name": "n", "input": {}}],
        "ts": 1_767_607_201_000,
        "modelInfo": {"modelId": "m"},
        "metrics": {"tokens": {"prompt": 4, "completion": 1, "cached": 2}},
    },
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "x"}], "ts": 1_767_607_202_000},
    {"role": "user", "content": "s", "isSummary": True, "ts": 1_767_607_203_000},
]
_STEP = {"step_index": 0, "source": "MODEL", "status": "DONE", "created_at": "2026-01-05T10:00:00Z"}
ANTIGRAVITY = [
    _STEP | {"type": "USER_INPUT", "source": "USER_EXPLICIT", "content": "go"},
    _STEP | {"type": "PLANNER_RESPONSE", "thinking": "t", "tool_calls": [{"name": "n", "args": {}}]},
    _STEP | {"type": "VIEW_FILE", "content": "x"},
    _STEP | {"type": "CHECKPOINT", "source": "SYSTEM", "content": "s"},
]
ATIF = {
    "schema_version": "ATIF-v1.7",
    "session_id": "s",
    "agent": {"name": "a", "model_name": "m", "tool_definitions": []},
    "steps": [
        {"source": "user", "message": "go"},
        {
            "source": "agent",
            "message": "x",
            "tool_calls": [{"tool_call_id": "c", "function_name": "f", "arguments": {}}],
            "observation": {"results": [{"content": "r", "subagent_trajectory_ref": [{"session_id": "z"}]}]},
            "metrics": {"prompt_tokens": 4, "cached_tokens": 1},
        },
        {
            "source": "system",
            "message": "summary",
            "observation": {"results": [{"subagent_trajectory_ref": [{"trajectory_id": "t"}]}]},
        },
        {"source": "user", "message": "handed over"},
    ],
    "subagent_trajectories": [{"session_id": "s", "trajectory_id": "t", "steps": [{"source": "agent", "message": "y"}]}],
    "final_metrics": {"total_prompt_tokens": 4},
    "continued_trajectory_ref": "next.json",
}
_BILL = {"input": 3, "output": 5, "cache": {"read": 1, "write": 1}}
OPENCODE = {
    "info": {"id": "ses", "version": "1"},
    "messages": [
        {"info": {"id": "a", "role": "user", "time": {"created": 1}}, "parts": [{"type": "text", "text": "go"}]},
        {
            "info": {"id": "b", "role": "assistant", "modelID": "m", "time": {"created": 2}},
            "parts": [
                {"type": "tool", "callID": "c", "tool": "f", "state": {"input": {}, "output": "x", "time": {"compacted": 9}}},
                {"type": "step-finish", "tokens": _BILL},
            ],
        },
        {"info": {"id": "c", "role": "user"}, "parts": [{"type": "compaction", "auto": True, "tail_start_id": "a"}]},
        {"info": {"id": "d", "role": "assistant", "summary": True, "tokens": _BILL}, "parts": [{"type": "text", "text": "s"}]},
    ],
}

SAMPLES: dict[str, tuple[str, Any]] = {
    "cline": ("s.json", CLINE),
    "cursor": ("s.jsonl", CURSOR),
    "antigravity": ("s.jsonl", ANTIGRAVITY),
    "atif": ("s.json", ATIF),
    "opencode": ("s.json", OPENCODE),
    "claude_code": ("s.jsonl", claude_rows()),
    "openai_messages": ("s.jsonl", [chat_row(), chat_row()]),
    "codex": ("s.jsonl", CODEX),
    "pi": ("s.jsonl", PI),
    "mini_swe_agent": ("s.traj.json", MINI),
    "swe_agent": ("s.traj", SWE),
    "tau_bench": ("s.json", [{"task_id": 1, "traj": chat_row()["messages"]}]),
    "tau2": ("s.json", TAU2),
    "inspect": ("s.json", INSPECT),
    "gemini_cli": ("s.json", GEMINI),
    "openhands": ("s.jsonl", OPENHANDS),
    "kimi_code": ("s.jsonl", KIMI),
    "copilot_cli": ("s.jsonl", COPILOT),
    "droid": ("s.jsonl", DROID),
    "ullage_jsonl": ("s.jsonl", [msgspec.json.decode(encode_traces([make_trace(calls=3)]))]),
}
STRANGE: list[Any] = [
    None,
    True,
    -1,
    1.5,
    10**30,
    "",
    "x",
    "\ud83d",
    [],
    ["x"],
    {},
    {"type": 7},
    [[]],
    [None],
    {"content": {"a": [1]}},
]


def dumped(name: str, value: Any) -> str:
    """The text of a sample: a line for each row, or one document."""
    if name.endswith(".jsonl"):
        return "\n".join(json.dumps(row) for row in value) + "\n"
    return json.dumps(value)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths of all values inside a JSON value."""
    inner = enumerate(value) if isinstance(value, list) else value.items() if isinstance(value, dict) else ()
    return [path] * bool(path) + [deeper for key, item in inner for deeper in places(item, (*path, key))]


def replaced(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    """A copy of a JSON value with another value at one path; the mark ``...`` removes it."""
    made = copy.deepcopy(value)
    holder = made
    for key in path[:-1]:
        holder = holder[key]
    if new is ...:
        del holder[path[-1]]
    else:
        holder[path[-1]] = new
    return made


def flaws_of(trace: Trace) -> list[str]:
    """Where a trace breaks what every reader of it relies on."""
    held, ids = len(trace.messages), [message.id for message in trace.messages]
    found = [] if len(set(ids)) == held else ["two messages with one id"]
    for call in trace.calls:
        if not (0 <= call.upto <= held and (call.reply is None or call.upto <= call.reply < held)):
            found.append(f"call {call.id} outside the messages")
        if call.usage is not None and min(msgspec.structs.astuple(call.usage)) < 0:
            found.append(f"call {call.id} with negative usage")
    inside = [0 <= event.call <= len(trace.calls) and 0 <= event.position <= held for event in trace.compactions]
    found += [] if all(inside) else ["a compaction outside the trace"]
    if msgspec.json.decode(encode_traces([trace]), type=Trace) != trace:
        found.append("the canonical form loses something")
    return found + [flaw for child in trace.children for flaw in flaws_of(child)]


def attempt(name: str, content: bytes) -> tuple[Imported | None, list[str]]:
    """Import some bytes: the import, or none after an error; and what is wrong with either."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(content)
        try:
            result = import_file(path)
        except TraceError as error:
            return None, ["an error of several lines"] if "\n" in str(error) else []
    json.dumps(report(result), allow_nan=False)
    return result, [flaw for trace in result.traces for flaw in flaws_of(trace)]


@pytest.mark.parametrize("form", sorted(SAMPLES))
def test_the_samples_are_what_they_say(form: str) -> None:
    """Each is imported by its own importer and has a call."""
    name, value = SAMPLES[form]
    result, flaws = attempt(name, dumped(name, value).encode())
    assert flaws == []
    assert result is not None
    assert result.format == form
    assert result.traces[0].calls


@settings(max_examples=250, deadline=None)
@given(st.data())
def test_a_value_of_the_wrong_kind_never_breaks_an_import(data: st.DataObject) -> None:
    """Any value of any sample replaced by something strange, or taken out."""
    name, value = SAMPLES[data.draw(st.sampled_from(sorted(SAMPLES)))]
    path = data.draw(st.sampled_from(places(value)))
    new = data.draw(st.sampled_from([*STRANGE, ...]))
    assert attempt(name, dumped(name, replaced(value, path, new)).encode())[1] == []


@settings(max_examples=120, deadline=None)
@given(st.data())
def test_a_file_cut_or_spoiled_anywhere_never_breaks_an_import(data: st.DataObject) -> None:
    """Cut at any byte, or with any few bytes put in."""
    name, value = SAMPLES[data.draw(st.sampled_from(sorted(SAMPLES)))]
    content = dumped(name, value).encode()
    at = data.draw(st.integers(0, len(content)))
    spoiled = content[:at] + data.draw(st.binary(max_size=4)) + content[at:]
    assert attempt(name, content[:at])[1] == []
    assert attempt(name, spoiled)[1] == []


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_lines_in_another_order_never_break_an_import(data: st.DataObject) -> None:
    """Files that were merged or sorted by hand."""
    name, value = SAMPLES[
        data.draw(st.sampled_from([form for form, (name, _) in sorted(SAMPLES.items()) if name.endswith(".jsonl")]))
    ]
    assert attempt(name, dumped(name, data.draw(st.permutations(value))).encode())[1] == []

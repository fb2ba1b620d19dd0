"""Kimi Code wire logs, Copilot CLI events and Droid sessions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from formats_support import imported, only, shape

from ullage.types import Text, Thinking, ToolResult, ToolUse, Usage

KIMI_HEAD = [
    {"type": "metadata", "protocol_version": "1.5", "created_at": 7},
    {"type": "config.update", "systemPrompt": "Be brief.", "modelAlias": "kimi-x"},
    {"type": "llm.tools_snapshot", "tools": [{"name": "Bash", "description": "d", "parameters": {}}]},
]
BILL = {"inputOther": 3, "output": 7, "inputCacheRead": 10, "inputCacheCreation": 5}


def kimi_user(text: str, kind: str = "user") -> dict[str, Any]:
    """A message put into the context."""
    message = {"role": "user", "content": [{"type": "text", "text": text}], "toolCalls": [], "origin": {"kind": kind}}
    return {"type": "context.append_message", "message": message, "time": 1_767_607_200_000}


def step(kind: str, **keys: Any) -> dict[str, Any]:
    """An event of a step."""
    return {"type": "context.append_loop_event", "event": {"type": kind, **keys}, "time": 1_767_607_201_000}


def kimi_step(*parts: dict[str, Any], usage: dict[str, int] | None = None) -> list[dict[str, Any]]:
    """A whole step."""
    return [step("step.begin"), *parts, step("step.end", usage=usage)]


def test_kimi_steps_are_calls_billed_once(tmp_path: Path) -> None:
    """Usage stands at the end of the step and again in a record; where the first is missing the record pays."""
    think = step("content.part", part={"type": "think", "think": "hm"})
    call = step("tool.call", toolCallId="c1", name="Bash", args={"command": "ls"})
    result = step("tool.result", toolCallId="c1", result={"output": "a.py", "isError": True})
    record = {"type": "usage.record", "usageScope": "turn", "usage": BILL}
    rows = [*KIMI_HEAD, kimi_user("go"), *kimi_step(think, call, result, usage=BILL), record]
    rows += [*kimi_step(step("content.part", part={"type": "text", "text": "ok"})), record]
    trace = only(imported(tmp_path, rows, "wire.jsonl"))
    assert (trace.id, trace.system, trace.meta.model, trace.tools[0].name) == ("wire-7", "Be brief.", "kimi-x", "Bash")
    assert shape(trace) == [("user", "Text"), ("assistant", "Thinking", "ToolUse"), ("user", "ToolResult"), ("assistant", "Text")]
    assert trace.messages[1].blocks == (Thinking(text="hm"), ToolUse(id="c1", name="Bash", arguments='{"command":"ls"}'))
    assert trace.messages[2].blocks == (ToolResult(tool_use_id="c1", content=(Text(text="a.py"),), is_error=True),)
    assert [call.usage for call in trace.calls] == [Usage(uncached=3, cache_read=10, cache_write_5m=5, output=7)] * 2
    assert [call.upto for call in trace.calls] == [1, 3]
    assert trace.messages[0].human
    assert (trace.provenance.cache, trace.provenance.prompt_complete) == ("read_write", True)


def test_kimi_faults_compactions_and_side_requests_are_events(tmp_path: Path) -> None:
    """A step broken off is a call without a bill only where it left something."""
    text = step("content.part", part={"type": "text", "text": "half"})
    rows = [
        *KIMI_HEAD,
        kimi_user("go"),
        step("step.begin"),
        {"type": "llm.request", "model": "k", "attempt": "2/10"},
        kimi_user("again"),
    ]
    rows += [step("step.begin"), text, kimi_user("note", "system")]
    rows += [{"type": "usage.record", "usageScope": "session", "usage": BILL}]
    rows += [
        {"type": "context.apply_compaction", "summary": "s", "contextSummary": "whole", "tokensBefore": 90, "tokensAfter": 9}
    ]
    trace = only(imported(tmp_path, [*rows, {"type": "context.undo", "count": 1}, {"type": "turn.cancel"}], "wire.jsonl"))
    assert [message.text for message in trace.messages] == ["go", "again", "half", "note"]
    assert [message.human for message in trace.messages] == [True, True, False, False]
    assert [call.usage for call in trace.calls] == [None]
    assert [(event.kind, event.call) for event in trace.events] == [("api_error", 0), ("rewind", 1), ("side_request", 1)]
    (event,) = trace.compactions
    assert (event.call, event.position, event.summary, event.tokens_before, event.tokens_after) == (1, 4, "whole", 90, 9)


def copilot(kind: str, **data: Any) -> dict[str, Any]:
    """An event of Copilot CLI."""
    return {"type": kind, "data": data, "id": "e", "parentId": None, "timestamp": "2026-01-05T10:00:00Z"}


def test_copilot_messages_are_calls_without_a_bill(tmp_path: Path) -> None:
    """The prompt as sent wins over the one typed; sub-agents are children; truncations are events."""
    rows = [
        copilot("session.start", sessionId="s1", copilotVersion="1.0"),
        copilot("session.model_change", newModel="gpt-x"),
        copilot("system.message", content="Be brief."),
        copilot("user.message", content="go", transformedContent="go, please"),
        copilot(
            "assistant.message",
            content="",
            toolRequests=[{"toolCallId": "c1", "name": "task", "arguments": {"q": 1}}],
            outputTokens=9,
        ),
        copilot("assistant.message", content="side", toolRequests=[], parentToolCallId="c1"),
        copilot("tool.execution_start", toolCallId="c1"),
        copilot("tool.execution_complete", toolCallId="c1", success=False, error={"message": "no"}),
        copilot(
            "session.truncation",
            preTruncationTokensInMessages=90,
            postTruncationTokensInMessages=60,
            tokensRemovedDuringTruncation=30,
        ),
        copilot("session.compaction_complete", preCompactionTokens=80, summaryContent="They went."),
        copilot("session.error", message="429"),
        copilot("assistant.message", content="ok", toolRequests=[]),
    ]
    outcome = imported(tmp_path, rows)
    trace = only(outcome)
    assert (outcome.format, trace.id, trace.system, trace.meta.client) == ("copilot_cli", "s1", "Be brief.", "copilot-cli 1.0")
    assert shape(trace) == [("user", "Text"), ("assistant", "ToolUse"), ("user", "ToolResult"), ("assistant", "Text")]
    assert trace.messages[0].text == "go, please"
    assert trace.messages[2].blocks == (ToolResult(tool_use_id="c1", content=(Text(text="no"),), is_error=True),)
    assert [(call.upto, call.usage, call.model, call.extra) for call in trace.calls] == [
        (1, None, "gpt-x", '{"output_tokens":9}'),
        (3, None, "gpt-x", ""),
    ]
    assert [(one.kind, one.call, one.tokens_before, one.tokens_saved) for one in trace.compactions] == [
        ("clearing", 1, 90, 30),
        ("summary", 1, 80, None),
    ]
    assert [(event.kind, event.call) for event in trace.events] == [("api_error", 1)]
    (child,) = trace.children
    assert (child.id, child.parent, child.messages[0].text) == ("s1/c1", "c1", "side")
    assert trace.provenance.usage == "none"
    assert outcome.lines.opaque == 1


def test_droid_messages_are_anthropic_blocks(tmp_path: Path) -> None:
    """Parallel results become one message; times are kept; nothing is billed."""

    def line(name: str, role: str, *blocks: dict[str, Any]) -> dict[str, Any]:
        return {
            "type": "message",
            "id": name,
            "timestamp": "2026-01-05T10:00:00Z",
            "message": {"role": role, "content": list(blocks)},
        }

    uses: list[dict[str, Any]] = [{"type": "tool_use", "id": name, "name": "Execute", "input": {}} for name in ("t1", "t2")]
    results: list[dict[str, Any]] = [{"type": "tool_result", "tool_use_id": name, "content": "x"} for name in ("t1", "t2")]
    rows = [
        {"type": "session_start", "id": "d1", "cwd": "/p", "version": "0.8"},
        line("a", "user", {"type": "text", "text": "go"}),
    ]
    rows += [line("b", "assistant", *uses), line("c", "user", results[0]), line("d", "user", results[1]), {"type": "todo"}]
    outcome = imported(tmp_path, rows)
    trace = only(outcome)
    assert (outcome.format, trace.id, trace.meta.cwd, outcome.lines.opaque) == ("droid", "d1", "/p", 1)
    assert shape(trace) == [("user", "Text"), ("assistant", "ToolUse", "ToolUse"), ("user", "ToolResult", "ToolResult")]
    assert [(call.upto, call.at, call.usage) for call in trace.calls] == [(1, 1_767_607_200_000, None)]
    assert [message.human for message in trace.messages] == [True, False, False]

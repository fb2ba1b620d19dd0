"""Codex rollouts: calls from running totals, messages from response items, compactions that keep user turns."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from formats_support import imported, only, shape

from ullage.types import Opaque, Text, Thinking, ToolResult, ToolUse, Usage

META = {"id": "c1", "cwd": "/project", "cli_version": "0.125.0", "base_instructions": {"text": "Be careful."}}


class Lines:
    """Writes the lines of a rollout, a second apart, with a running total."""

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []
        self.total = 0
        self.line("session_meta", META).line("turn_context", {"model": "gpt-x", "effort": "medium"})

    def line(self, kind: str, payload: dict[str, Any]) -> Lines:
        self.rows.append({"timestamp": f"2026-01-05T10:00:{len(self.rows):02d}.000Z", "type": kind, "payload": payload})
        return self

    def item(self, kind: str, **keys: Any) -> Lines:
        return self.line("response_item", {"type": kind, **keys})

    def said(self, role: str, value: str) -> Lines:
        part = {"type": "output_text" if role == "assistant" else "input_text", "text": value}
        return self.item("message", role=role, content=[part])

    def typed(self, value: str) -> Lines:
        return self.said("user", value).line("event_msg", {"type": "user_message", "message": value})

    def call(self, name: str) -> Lines:
        return self.item("function_call", name="exec_command", arguments='{"cmd":  "ls"}', call_id=name)

    def output(self, name: str, value: Any = "files") -> Lines:
        return self.item("function_call_output", call_id=name, output=value)

    def count(self, prompt: int = 100, cached: int = 64, output: int = 5, *, again: bool = False) -> Lines:
        self.total += 0 if again else prompt + output
        last = {"input_tokens": prompt, "cached_input_tokens": cached, "output_tokens": output, "total_tokens": prompt + output}
        info = {"total_token_usage": {"total_tokens": self.total}, "last_token_usage": last, "model_context_window": 258_400}
        return self.line("event_msg", {"type": "token_count", "info": info})


def test_items_until_the_total_changes_are_one_call(tmp_path: Path) -> None:
    """Cached tokens are part of the input; results come after the count of their call."""
    lines = Lines().said("developer", "rules").typed("fix it")
    lines.item("reasoning", summary=[{"type": "summary_text", "text": "think"}], encrypted_content="zz").said(
        "assistant", "I look."
    )
    lines.call("t1").call("t2").count().output("t2").output("t1").said("assistant", "Done.").count(200, 128, 9)
    trace = only(imported(tmp_path, lines.rows))
    assert shape(trace) == [
        ("system", "Text"),
        ("user", "Text"),
        ("assistant", "Thinking", "Text", "ToolUse", "ToolUse"),
        ("user", "ToolResult", "ToolResult"),
        ("assistant", "Text"),
    ]
    assert [call.usage for call in trace.calls] == [
        Usage(uncached=36, cache_read=64, output=5),
        Usage(uncached=72, cache_read=128, output=9),
    ]
    assert [(call.upto, call.reply, call.model) for call in trace.calls] == [(2, 2, "gpt-x"), (4, 4, "gpt-x")]
    assert trace.messages[2].blocks[0] == Thinking(text="think", redacted="zz")
    assert trace.messages[2].blocks[2] == ToolUse(id="t1", name="exec_command", arguments='{"cmd":  "ls"}')
    assert (trace.id, trace.system, trace.meta.window) == ("c1", "Be careful.", 258_400)
    assert (trace.provenance.usage, trace.provenance.cache, trace.provenance.output_reliable) == ("per_call", "read", True)


def test_a_repeated_total_is_no_call(tmp_path: Path) -> None:
    """Rate limits are refreshed with the same figures."""
    lines = (
        Lines()
        .typed("go")
        .said("assistant", "a")
        .count()
        .count(again=True)
        .typed("on")
        .count(again=True)
        .said("assistant", "b")
        .count()
    )
    assert len(only(imported(tmp_path, lines.rows)).calls) == 2


def test_an_empty_count_before_the_first_call_is_passed_over(tmp_path: Path) -> None:
    """Its info is null."""
    lines = Lines().typed("go").line("event_msg", {"type": "token_count", "info": None}).said("assistant", "a").count()
    assert len(only(imported(tmp_path, lines.rows)).calls) == 1


def test_a_count_after_the_results_still_pays_its_call(tmp_path: Path) -> None:
    """Some versions write it late; a reply that no count follows has no bill and is named."""
    lines = Lines().typed("go").call("t1").output("t1").count().said("assistant", "b")
    outcome = imported(tmp_path, lines.rows)
    trace = only(outcome)
    assert [call.usage for call in trace.calls] == [Usage(uncached=36, cache_read=64, output=5), None]
    assert trace.provenance.usage == "total"
    assert any("1 replies have no token count" in line for line in outcome.problems)


def test_only_typed_messages_are_human(tmp_path: Path) -> None:
    """Instructions and environment come as user messages too; the interface log tells them apart."""
    lines = Lines().said("user", "<environment_context>x</environment_context>").typed("fix it").said("assistant", "a").count()
    assert [message.human for message in only(imported(tmp_path, lines.rows)).messages] == [False, True, False]


def test_a_compaction_keeps_its_replacement_beside_the_history(tmp_path: Path) -> None:
    """The history before it stays; sizes come from the calls and counts around it."""
    lines = Lines().typed("go").said("assistant", "a").count(1000, 0, 10)
    kept = [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "go"}]},
        {"type": "compaction", "encrypted_content": "zz"},
    ]
    lines.line("compacted", {"message": "They went.", "replacement_history": kept})
    info = {"total_token_usage": {"total_tokens": lines.total}, "last_token_usage": {"input_tokens": 0, "total_tokens": 77}}
    lines.line("event_msg", {"type": "token_count", "info": info}).line("event_msg", {"type": "context_compacted"})
    trace = only(imported(tmp_path, lines.said("assistant", "b").count().rows))
    (event,) = trace.compactions
    assert (event.call, event.position, event.summary) == (1, 2, "They went.")
    assert (event.tokens_before, event.tokens_after) == (1010, 77)
    assert event.attached[0].text == "go"
    assert event.attached[1].blocks == (Opaque(kind="compaction", data='{"encrypted_content":"zz","type":"compaction"}'),)
    assert len(trace.calls) == 2
    assert [message.text for message in trace.messages] == ["go", "a", "b"]


def test_all_kinds_of_tools_are_paired_and_unknown_items_kept(tmp_path: Path) -> None:
    """Patches, shells, server-side searches and structured outputs."""
    lines = Lines().typed("go")
    lines.item("custom_tool_call", name="apply_patch", input="*** Begin", call_id="p1").item(
        "local_shell_call", call_id="s1", action={"command": ["ls"]}
    )
    lines.item("web_search_call", action={"query": "x"}).count()
    lines.item("custom_tool_call_output", call_id="p1", output="ok").output("s1", {"content": "no", "success": False})
    lines.item("hologram", depth=3).said("assistant", "a").count()
    trace = only(imported(tmp_path, lines.rows))
    patch, shell, search = trace.messages[1].blocks
    assert patch == ToolUse(id="p1", name="apply_patch", arguments='{"input":"*** Begin"}')
    assert shell == ToolUse(id="s1", name="local_shell_call", arguments='{"command":["ls"]}')
    assert isinstance(search, Opaque)
    assert trace.messages[2].blocks == (
        ToolResult(tool_use_id="p1", content=(Text(text="ok"),)),
        ToolResult(tool_use_id="s1", content=(Text(text="no"),), is_error=True),
    )
    assert trace.messages[3].blocks == (Opaque(kind="hologram", data='{"depth":3,"type":"hologram"}'),)


def test_interface_events_are_not_imported_twice(tmp_path: Path) -> None:
    """They repeat messages and outputs; only faults and settings become events."""
    lines = Lines().typed("go").said("assistant", "a").line("event_msg", {"type": "agent_message", "message": "a"}).count()
    lines.line("event_msg", {"type": "turn_aborted", "reason": "interrupted"}).line(
        "turn_context", {"model": "gpt-y", "effort": "high"}
    )
    lines.typed("on").said("assistant", "b").count()
    outcome = imported(tmp_path, lines.rows)
    trace = only(outcome)
    assert [message.text for message in trace.messages] == ["go", "a", "on", "b"]
    assert sorted((event.kind, event.call) for event in trace.events) == [
        ("aborted", 1),
        ("model_change", 1),
        ("setting_change", 1),
    ]
    assert outcome.lines.opaque == 1


def test_copied_history_of_another_session_is_named(tmp_path: Path) -> None:
    """A fork repeats the header of the session that it came from."""
    lines = Lines().line("session_meta", META | {"id": "older"}).typed("go").said("assistant", "a").count()
    outcome = imported(tmp_path, [*lines.rows, json.dumps(lines.rows[-1])[:20]])
    assert only(outcome).id == "c1"
    assert any("2 session headers" in line for line in outcome.problems)
    assert outcome.lines.repaired == 1

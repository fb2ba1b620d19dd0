"""Result files of benchmarks: SWE-agent, tau-bench, tau2-bench and Inspect."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from formats_support import shape

from ullage.errors import TraceError
from ullage.formats import Imported
from ullage.formats._inspect_sample import model_usage
from ullage.traces import import_file
from ullage.types import Text, ToolResult, Usage


def load(folder: Path, name: str, value: Any) -> Imported:
    """The import of a file of this value."""
    path = folder / name
    path.write_text(json.dumps(value), encoding="utf-8")
    return import_file(path)


def swe_run(history: list[dict[str, Any]], calls: int = 1) -> dict[str, Any]:
    """A SWE-agent run over this history."""
    step = {"action": "ls", "observation": "a.py", "response": "I look.", "thought": "I look.", "state": {}}
    stats = {"instance_cost": 1.0, "tokens_sent": 900, "tokens_received": 30, "api_calls": calls}
    return {"environment": "e", "trajectory": [step], "history": history, "info": {"model_stats": stats}}


def test_swe_agent_demonstrations_are_prompt_and_not_run(tmp_path: Path) -> None:
    """The task is the first user message that is none; usage is the run's total."""
    history: list[dict[str, Any]] = [
        {"role": "system", "content": "S", "agent": "main"},
        {"role": "user", "content": "demo task", "is_demo": True},
        {"role": "assistant", "content": "demo step", "is_demo": True, "thought": "x", "action": "y"},
        {"role": "user", "content": "the task"},
        {"role": "assistant", "content": "I look.\n```\nls\n```", "thought": "I look.", "action": "ls"},
        {"role": "user", "content": "a.py"},
    ]
    (trace,) = load(tmp_path, "run.traj", swe_run(history)).traces
    assert (trace.id, trace.system) == ("run", "S")
    assert [message.human for message in trace.messages] == [False, False, True, False, False]
    assert [(call.upto, call.reply, call.usage) for call in trace.calls] == [(3, 3, None)]
    assert trace.total_usage == Usage(uncached=900, output=30)
    assert (trace.provenance.usage, trace.provenance.prompt_complete) == ("total", True)
    assert json.loads(trace.messages[0].extra) == {"is_demo": True}


def test_swe_agent_function_calls_are_paired(tmp_path: Path) -> None:
    """Observations name the calls that they answer in a list; the steps' own messages do not mislead."""
    call = {"id": "c1", "type": "function", "function": {"name": "bash", "arguments": "{}"}}
    history: list[dict[str, Any]] = [
        {"role": "system", "content": "S"},
        {"role": "user", "content": "task"},
        {"role": "assistant", "content": "look", "tool_calls": [call]},
        {"role": "tool", "content": "a.py", "tool_call_ids": ["c1"]},
    ]
    run = swe_run(history, calls=3)
    run["trajectory"][0]["messages"] = history
    outcome = load(tmp_path, "run.traj", run)
    assert outcome.format == "swe_agent"
    (trace,) = outcome.traces
    assert trace.messages[2].blocks == (ToolResult(tool_use_id="c1", content=(Text(text="a.py"),)),)
    assert not trace.provenance.prompt_complete
    assert "found 1 replies; the run itself counts 3 calls" in outcome.problems[0]


def test_swe_agent_history_without_replies_is_refused(tmp_path: Path) -> None:
    """A demonstration alone is no run."""
    with pytest.raises(TraceError, match="no reply of a model in its history"):
        load(tmp_path, "run.traj", swe_run([{"role": "assistant", "content": "x", "is_demo": True}]))


def test_tau_bench_episodes_are_traces(tmp_path: Path) -> None:
    """The policy is the system prompt; nothing is billed; an episode without messages is refused."""
    talk = [{"role": "system", "content": "policy"}, {"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]
    outcome = load(
        tmp_path, "r.json", [{"task_id": 3, "trial": 1, "reward": 1.0, "info": {}, "traj": talk}, {"task_id": 4, "traj": []}]
    )
    (trace,) = outcome.traces
    assert (outcome.format, trace.id, trace.system) == ("tau_bench", "r#1", "policy")
    assert json.loads(trace.meta.extra) == {"reward": 1.0, "task_id": 3, "trial": 1}
    assert trace.meta.group == "r/3"
    assert trace.provenance.usage == "none"
    assert (outcome.lines.refused, len(outcome.problems)) == (1, 1)


def tau2_row(role: str, content: str | None, **keys: Any) -> dict[str, Any]:
    """A message of a simulation."""
    return {"role": role, "content": content, "tool_calls": None, "timestamp": "2026-01-05T10:00:00.5", **keys}


def test_tau2_shows_the_agents_view_alone(tmp_path: Path) -> None:
    """The greeting is canned, the user's own tools are hidden, and the user's usage is not the agent's."""
    tool = {"id": "c1", "name": "find", "arguments": {"q": 1}, "requestor": "assistant"}
    usage = {"prompt_tokens": 100, "completion_tokens": 5}
    messages = [
        tau2_row("assistant", "Hi!"),
        tau2_row("user", "help", usage={"prompt_tokens": 9, "completion_tokens": 9}),
        tau2_row("assistant", None, tool_calls=[tool], usage=usage, cost=0.25),
        tau2_row("tool", "no", id="c1", requestor="assistant", error=True),
        tau2_row("user", None, tool_calls=[{"id": "u1", "name": "toggle", "arguments": {}, "requestor": "user"}], usage=usage),
        tau2_row("tool", "on", id="u1", requestor="user"),
        tau2_row("user", "done"),
        tau2_row("assistant", "bye", usage=usage),
    ]
    info = {
        "agent_info": {"llm": "gpt-x"},
        "user_info": {},
        "environment_info": {"domain_name": "telecom", "policy": "P", "tool_defs": None},
    }
    value = {
        "info": info,
        "tasks": [],
        "simulations": [{"id": "s1", "task_id": "t", "messages": messages, "reward_info": {"reward": 0.0}}],
    }
    outcome = load(tmp_path, "r.json", value)
    (trace,) = outcome.traces
    assert (outcome.format, trace.id, trace.system, trace.meta.model) == ("tau2", "s1", "P", "gpt-x")
    assert shape(trace) == [
        ("assistant", "Text"),
        ("user", "Text"),
        ("assistant", "ToolUse"),
        ("user", "ToolResult"),
        ("user", "Text"),
        ("assistant", "Text"),
    ]
    assert [call.usage for call in trace.calls] == [Usage(uncached=100, output=5)] * 2
    assert (trace.calls[0].at, trace.calls[0].extra) == (1_767_607_200_500, '{"cost":0.25}')
    assert trace.messages[3].blocks == (ToolResult(tool_use_id="c1", content=(Text(text="no"),), is_error=True),)
    assert (trace.provenance.usage, trace.provenance.cache) == ("per_call", "none")
    assert outcome.lines.opaque == 2
    assert json.loads(trace.meta.extra)["reward"] == 0.0


def inspect_message(name: str, role: str, content: Any, **keys: Any) -> dict[str, Any]:
    """A message of a sample."""
    return {"id": name, "role": role, "content": content, **keys}


def model_event(given: list[dict[str, Any]], reply: dict[str, Any], **keys: Any) -> dict[str, Any]:
    """A model event over this input."""
    usage = {"input_tokens": 100, "output_tokens": 5, "input_tokens_cache_read": 64}
    output = {"choices": [{"message": reply}], "usage": usage}
    return {
        "event": "model",
        "model": "openai/gpt-x",
        "timestamp": "2026-01-05T10:00:00+00:00",
        "input": given,
        "output": output,
    } | keys


def inspect_log(sample: dict[str, Any]) -> dict[str, Any]:
    """A log of one sample."""
    return {
        "version": 2,
        "eval": {"task": "demo", "run_id": "r", "model": "openai/gpt-x"},
        "samples": [{"id": 1, "epoch": 1} | sample],
    }


SYSTEM = inspect_message("m0", "system", "Be brief.")
ASK = inspect_message("m1", "user", "attachment://abc", source="input")
CALL = inspect_message(
    "m2", "assistant", "", source="generate", tool_calls=[{"id": "c1", "function": "look", "arguments": {"q": 1}}]
)
FOUND = inspect_message("m3", "tool", "found", tool_call_id="c1", function="look")
DONE = inspect_message("m4", "assistant", "done", source="generate")


def test_inspect_calls_come_from_model_events(tmp_path: Path) -> None:
    """Each event holds its whole input; attachments are put back; another conversation is a child."""
    tool = {"name": "look", "description": "d", "parameters": {"type": "object"}}
    grade = model_event([inspect_message("g0", "user", "Grade this.")], inspect_message("g1", "assistant", "C"))
    events = [model_event([SYSTEM, ASK], CALL, tools=[tool]), model_event([SYSTEM, ASK, CALL, FOUND], DONE), grade]
    total = {"openai/gpt-x": {"input_tokens": 300, "output_tokens": 15, "input_tokens_cache_read": 192}}
    sample = {
        "messages": [SYSTEM, ASK, CALL, FOUND, DONE],
        "events": events,
        "attachments": {"abc": "What is it?"},
        "model_usage": total,
    }
    outcome = load(tmp_path, "log.json", inspect_log(sample))
    (trace,) = outcome.traces
    assert (outcome.format, trace.id, trace.system, trace.tools[0].name) == ("inspect", "demo-1-1", "Be brief.", "look")
    assert [message.text for message in trace.messages] == ["What is it?", "", "", "done"]
    assert [(call.upto, call.usage) for call in trace.calls] == [
        (1, Usage(uncached=36, cache_read=64, output=5)),
        (3, Usage(uncached=36, cache_read=64, output=5)),
    ]
    assert trace.total_usage == Usage(uncached=108, cache_read=192, output=15)
    assert trace.provenance.prompt_complete
    (child,) = trace.children
    assert (child.messages[0].text, len(child.calls)) == ("Grade this.", 1)
    assert [message.human for message in trace.messages] == [True, False, False, False]
    assert not any(message.human for message in child.messages)


def test_inspect_messages_that_a_call_did_not_send_stay_in_the_history(tmp_path: Path) -> None:
    """An agent that trims its context: the trim is an event, the history whole."""
    events = [model_event([SYSTEM, ASK], CALL), model_event([SYSTEM, ASK, FOUND], DONE)]
    (trace,) = load(tmp_path, "log.json", inspect_log({"messages": [SYSTEM, ASK, FOUND, DONE], "events": events})).traces
    assert len(trace.messages) == 4
    assert [(event.kind, event.call) for event in trace.events] == [("context_trimmed", 1)]


def test_inspect_input_may_point_into_a_pool(tmp_path: Path) -> None:
    """Newer logs store each message once."""
    event = model_event([], DONE, input_refs=[[0, 2]])
    (trace,) = load(
        tmp_path, "log.json", inspect_log({"messages": [SYSTEM, ASK, DONE], "events": [event], "message_pool": [SYSTEM, ASK]})
    ).traces
    assert [call.upto for call in trace.calls] == [1]


def test_inspect_without_events_has_the_samples_total(tmp_path: Path) -> None:
    """Replies are calls without a bill of their own."""
    usage = {
        "anthropic/claude-x": {
            "input_tokens": 3,
            "output_tokens": 5,
            "input_tokens_cache_read": 64,
            "input_tokens_cache_write": 7,
        }
    }
    (trace,) = load(tmp_path, "log.json", inspect_log({"messages": [SYSTEM, ASK, DONE], "model_usage": usage})).traces
    assert [call.usage for call in trace.calls] == [None]
    assert trace.total_usage == Usage(uncached=3, cache_read=64, cache_write_5m=7, output=5)
    assert trace.provenance.usage == "total"


@pytest.mark.parametrize(
    ("model", "uncached"),
    [("openai/gpt-x", 29), ("google/gemini", 29), ("anthropic/claude-x", 100), ("bedrock/us.anthropic.claude", 100)],
)
def test_inspect_input_includes_cached_tokens_by_provider(model: str, uncached: int) -> None:
    """Claude's figure excludes them."""
    raw = {"input_tokens": 100, "output_tokens": 5, "input_tokens_cache_read": 64, "input_tokens_cache_write": 7}
    assert model_usage(raw, model) == Usage(uncached=uncached, cache_read=64, cache_write_5m=7, output=5)


def archive(path: Path, members: dict[str, bytes]) -> Path:
    """A ZIP archive of these members."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in members.items():
            file.writestr(name, data)
    return path


def test_inspect_archives_are_read_member_by_member(tmp_path: Path) -> None:
    """Header and samples stand apart."""
    log = inspect_log({"messages": [SYSTEM, ASK, DONE]})
    members = {
        "header.json": json.dumps({"version": 2, "eval": log["eval"]}).encode(),
        "samples/1_epoch_1.json": json.dumps(log["samples"][0]).encode(),
    }
    outcome = import_file(archive(tmp_path / "log.eval", members))
    assert (outcome.format, outcome.traces[0].id) == ("inspect", "demo-1-1")


@pytest.mark.parametrize(
    ("members", "found"),
    [
        ({"header.json": b"{}", "samples/1.json": b"[1"}, r"log\.eval:samples/1\.json: found JSON that cannot be read"),
        ({"header.json": b"{}"}, "found no sample with messages"),
    ],
)
def test_inspect_archives_that_are_broken_are_refused(tmp_path: Path, members: dict[str, bytes], found: str) -> None:
    """With the member."""
    with pytest.raises(TraceError, match=found):
        import_file(archive(tmp_path / "log.eval", members))


def test_inspect_archives_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An archive that unpacks to more than a recording ever holds is refused unread."""
    monkeypatch.setattr("ullage.formats.inspect.MAX_BYTES", 1000)
    with pytest.raises(TraceError, match="a log of bounded size"):
        import_file(archive(tmp_path / "log.eval", {"header.json": b"{}", "samples/1.json": b" " * 5000}))


def test_an_archive_cut_short_is_refused(tmp_path: Path) -> None:
    """Its directory stands at the end."""
    whole = archive(tmp_path / "log.eval", {"header.json": b"{}", "samples/1.json": b"{}"})
    whole.write_bytes(whole.read_bytes()[:-30])
    with pytest.raises(TraceError, match="an archive that cannot be read"):
        import_file(whole)

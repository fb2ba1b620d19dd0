"""ATIF trajectories: results beside their calls, compactions by sub-agents, continuations and embedded sub-agents."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from formats_support import ONE_STEP, shape

from ullage.errors import TraceError
from ullage.formats import HEAD_BYTES, Imported
from ullage.traces import import_file, load_traces
from ullage.types import Image, Text, Thinking, ToolResult, ToolUse, Usage

AGENT = {"name": "terminus-2", "version": "2.0", "model_name": "m-1"}


def user(text: Any = "fix it", **keys: Any) -> dict[str, Any]:
    """A step of the user."""
    return {"source": "user", "message": text, **keys}


def agent(text: str = "", *calls: dict[str, Any], results: list[dict[str, Any]] | None = None, **keys: Any) -> dict[str, Any]:
    """A step of the agent, with results where there are any."""
    step: dict[str, Any] = {
        "source": "agent",
        "message": text,
        "metrics": {"prompt_tokens": 100, "completion_tokens": 7, "cached_tokens": 60},
    }
    step |= {"tool_calls": [*calls]} if calls else {}
    return step | ({"observation": {"results": results}} if results is not None else {}) | keys


def call(name: str | None, command: str = "ls") -> dict[str, Any]:
    """A tool call."""
    return {"tool_call_id": name, "function_name": "bash", "arguments": {"command": command}}


def document(*steps: dict[str, Any], session: str = "s", **keys: Any) -> dict[str, Any]:
    """A trajectory of these steps, numbered."""
    numbered = [{"step_id": number, **step} for number, step in enumerate(steps, 1)]
    return {"schema_version": "ATIF-v1.5", "session_id": session, "agent": AGENT, "steps": numbered, **keys}


def written(folder: Path, value: Any, name: str = "trajectory.json") -> Path:
    """A file of one document."""
    path = folder / name
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


def read(folder: Path, *steps: dict[str, Any], **keys: Any) -> Imported:
    """The import of a trajectory of these steps."""
    return import_file(written(folder, document(*steps, **keys)))


def test_a_step_is_a_call_with_its_results_behind_it(tmp_path: Path) -> None:
    """Input includes what was read from the cache; reasoning, model, time and cost stand where they belong."""
    step = agent("ok", call("c1"), results=[{"source_call_id": "c1", "content": "a.py"}], reasoning_content="hm")
    step |= {"timestamp": "2026-01-05T10:00:00Z", "metrics": step["metrics"] | {"cost_usd": 0.5, "logprobs": [-0.1]}}
    result = read(tmp_path, {"source": "system", "message": "Be brief."}, user(), step, agent("done"))
    (trace,) = result.traces
    assert (result.format, trace.id, trace.system, trace.meta.model, trace.meta.client) == (
        "atif",
        "s",
        "Be brief.",
        "m-1",
        "terminus-2 2.0",
    )
    assert shape(trace) == ONE_STEP
    assert trace.messages[1].blocks == (
        Thinking(text="hm"),
        Text(text="ok"),
        ToolUse(id="c1", name="bash", arguments='{"command":"ls"}'),
    )
    assert [call.usage for call in trace.calls] == [Usage(uncached=40, cache_read=60, output=7)] * 2
    assert (trace.calls[0].at, trace.calls[0].extra, trace.calls[1].model) == (1_767_607_200_000, '{"cost_usd":0.5}', "m-1")
    assert (trace.provenance.usage, trace.provenance.cache, trace.messages[0].human) == ("per_call", "read", True)
    assert result.problems == ()


def test_results_without_a_call_id_are_paired_in_order_and_counted(tmp_path: Path) -> None:
    """One that is named keeps its call, the others take the calls that are left, and what is over is text."""
    results = [{"content": "first"}, {"source_call_id": "c1", "content": "named"}, {"content": "screen"}]
    result = read(tmp_path, user(), agent("", call("c1"), call("c2"), results=results))
    (trace,) = result.traces
    assert trace.messages[2].blocks == (
        ToolResult(tool_use_id="c2", content=(Text(text="first"),)),
        ToolResult(tool_use_id="c1", content=(Text(text="named"),)),
    )
    assert (trace.messages[3].text, trace.messages[3].human) == ("screen", False)
    assert [text.partition(": ")[2] for text in result.problems] == [
        "1 results name no tool call; paired in the order of the calls of their step"
    ]


def test_a_call_without_id_gets_its_place_and_a_line_says_so(tmp_path: Path) -> None:
    """No id is invented silently; a call without any result is told as well."""
    result = read(tmp_path, user(), agent("", call(None), results=[{"content": "x"}]), agent("", call("c2")))
    assert result.traces[0].messages[1].tool_use_ids == ("s/1/call-0",)
    told = " | ".join(result.problems)
    assert "1 tool calls have no id; named by their place" in told
    assert "1 tool calls have no result" in told


def test_cache_writes_stand_in_the_extra_metrics(tmp_path: Path) -> None:
    """A provider's own count of written tokens is part of the prompt, too."""
    metrics = {"prompt_tokens": 100, "completion_tokens": 1, "cached_tokens": 60, "extra": {"cache_creation_input_tokens": 30}}
    (trace,) = read(tmp_path, user(), agent("a", metrics=metrics)).traces
    assert trace.calls[0].usage == Usage(uncached=10, cache_read=60, cache_write_5m=30, output=1)
    assert trace.provenance.cache == "read_write"


def test_a_compaction_by_sub_agents_is_an_event_with_the_handed_over_text(tmp_path: Path) -> None:
    """The three requests that made it are children, read from the files beside the trajectory."""
    names = ["summary", "questions", "answers"]
    refs = [{"session_id": f"s-{name}", "trajectory_path": f"trajectory.{name}.json"} for name in names]
    for name in names:
        written(tmp_path, document(user("tell"), agent(name), session=f"s-{name}"), f"trajectory.{name}.json")
    made = {
        "source": "system",
        "message": "Performed context summarization and handoff to continue task.",
        "observation": {"results": [{"subagent_trajectory_ref": [ref]} for ref in refs]},
    }
    result = read(tmp_path, user(), agent("a"), made, user("So far: x."), agent("b"), final_metrics={"total_prompt_tokens": 500})
    (trace,) = result.traces
    assert [message.text for message in trace.messages] == ["fix it", "a", "b"]
    (event,) = trace.compactions
    assert (event.kind, event.call, event.position, event.summary) == ("summary", 1, 2, "So far: x.")
    assert [(child.id, len(child.calls), child.parent) for child in trace.children] == [
        ("s-summary", 1, ""),
        ("s-questions", 1, ""),
        ("s-answers", 1, ""),
    ]
    assert result.problems == ()
    loaded = load_traces([tmp_path])
    assert [one.id for one in loaded.traces] == ["s"]


def test_a_sub_agent_that_is_nowhere_is_an_event(tmp_path: Path) -> None:
    """Its cost is in no call; a path that leads out of the folder is not followed."""
    (tmp_path / "deep").mkdir()
    written(tmp_path, document(user(), agent("x"), session="other"), "secret.json")
    ref = [{"session_id": "other", "trajectory_path": "../secret.json"}]
    results = [{"source_call_id": "c1", "content": "done", "subagent_trajectory_ref": ref}]
    path = written(tmp_path / "deep", document(user(), agent("", call("c1"), results=results)))
    result = import_file(path)
    (trace,) = result.traces
    assert (trace.children, [event.kind for event in trace.events]) == ((), ["unrecorded_agent"])
    assert "1 sub-agents are recorded elsewhere; their calls are not here" in result.problems[0]


def test_embedded_sub_agents_hang_on_the_call_that_started_them(tmp_path: Path) -> None:
    """Since 1.7 they stand in the file; siblings may share the session and keep names of their own."""
    inner = [document(user(), agent(one), session="s", trajectory_id=f"t{one}") for one in ("1", "2")]
    refs = [{"trajectory_id": "t1"}], [{"trajectory_id": "t2"}]
    results = [{"source_call_id": f"c{n}", "content": "ok", "subagent_trajectory_ref": ref} for n, ref in enumerate(refs)]
    step = agent("", call("c0"), call("c1"), results=results)
    (trace,) = read(tmp_path, user(), step, subagent_trajectories=inner).traces
    assert [(child.id, child.parent) for child in trace.children] == [("t1", "c0"), ("t2", "c1")]


def test_a_continuation_is_read_on_and_its_copied_context_counted_once(tmp_path: Path) -> None:
    """What it copies is what the client kept: it belongs to the compaction, and alone it is no second run."""
    first = document(user(), agent("a"), agent("b"), agent("b2"), continued_trajectory_ref="trajectory.cont-1.json")
    copied = [user(is_copied_context=True), agent("questions", is_copied_context=True), user("Answers.", is_copied_context=True)]
    written(tmp_path, document(*copied, agent("c"), session="s-cont-1"), "trajectory.cont-1.json")
    path = written(tmp_path, first)
    (trace,) = import_file(path).traces
    assert [message.text for message in trace.messages] == ["fix it", "a", "b", "b2", "c"]
    assert (len(trace.calls), trace.starts_midway) == (4, False)
    (event,) = trace.compactions
    assert (event.call, event.position, event.summary) == (3, 4, "Answers.")
    assert [message.text for message in event.attached] == ["fix it", "questions"]
    (alone,) = import_file(tmp_path / "trajectory.cont-1.json").traces
    assert (alone.id, len(alone.calls), len(alone.messages), alone.starts_midway) == ("s", 1, 4, True)
    loaded = load_traces([tmp_path])
    assert [(one.id, len(one.calls)) for one in loaded.traces] == [("s", 4)]


def test_a_continuation_that_is_missing_is_told(tmp_path: Path) -> None:
    """The calls that are here are imported."""
    result = read(tmp_path, user(), agent("a"), continued_trajectory_ref="gone.json")
    assert len(result.traces[0].calls) == 1
    assert "continues in 'gone.json', which is not beside it" in result.problems[0]


def test_a_total_alone_is_a_total(tmp_path: Path) -> None:
    """Steps without metrics have no usage; the run's sum is kept as such. A sum that differs from the steps is told."""
    final = {"total_prompt_tokens": 90, "total_completion_tokens": 5, "total_cached_tokens": None}
    (trace,) = read(tmp_path, user(), agent("a", metrics=None), final_metrics=final).traces
    assert (trace.calls[0].usage, trace.provenance.usage, trace.total_usage) == (None, "total", Usage(uncached=90, output=5))
    told = read(tmp_path, user(), agent("a"), final_metrics=final).problems
    assert "the calls hold 100 prompt tokens with those of sub-agents; the run itself counts 90" in told[0]


def test_steps_that_are_no_single_request_are_told_apart(tmp_path: Path) -> None:
    """A step without a request is no call, one that stands for several is named; a marked step is a sub-agent's."""
    side = agent("inner", extra={"is_sidechain": True})
    result = read(tmp_path, user(), agent("fixed", llm_call_count=0), agent("thrice", llm_call_count=3), side)
    (trace,) = result.traces
    assert ([message.text for message in trace.messages], len(trace.calls)) == (["fix it", "fixed", "thrice"], 1)
    assert [(child.id, len(child.calls)) for child in trace.children] == [("s/sidechain", 1)]
    assert "1 steps stand for several requests each" in result.problems[0]


def test_unknown_keys_and_images_are_kept(tmp_path: Path) -> None:
    """Verbatim on the message; an image by its path."""
    parts = [{"type": "text", "text": "see"}, {"type": "image", "source": {"media_type": "image/png", "path": "images/a.png"}}]
    results = [{"source_call_id": "c1", "content": "x", "extra": {"exit": 1}}]
    step = agent("", call("c1"), results=results, reasoning_effort="low", brand_new=1)
    result = read(tmp_path, user(parts), step, {"source": "weather", "message": "sun"}, notes="n")
    (trace,) = result.traces
    assert trace.messages[0].blocks == (Text(text="see"), Image(url="images/a.png"))
    assert json.loads(trace.messages[1].extra) == {
        "brand_new": 1,
        "observation": {"results": [{"extra": {"exit": 1}}]},
        "reasoning_effort": "low",
    }
    assert json.loads(trace.meta.extra) == {"notes": "n"}
    assert (result.lines.opaque, "1 steps are of no known source" in result.problems[-1]) == (1, True)


def test_a_long_trajectory_is_known_by_its_beginning(tmp_path: Path) -> None:
    """The head may end inside the first step."""
    (trace,) = read(tmp_path, user("x" * (HEAD_BYTES + 10)), agent("a")).traces
    assert len(trace.calls) == 1


def test_a_trajectory_without_an_agent_is_one_line_of_error(tmp_path: Path) -> None:
    """File, what was found, what was expected."""
    with pytest.raises(TraceError, match=r"trajectory\.json: found no step of an agent; expected an ATIF trajectory"):
        read(tmp_path, user())

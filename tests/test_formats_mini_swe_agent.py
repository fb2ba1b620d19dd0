"""mini-swe-agent runs: raw responses beside replies, observations that are no people, and bare lists."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ullage.errors import TraceError
from ullage.formats import Imported
from ullage.traces import import_file
from ullage.types import Usage


def reply(content: str, usage: dict[str, Any] | None = None, **keys: Any) -> dict[str, Any]:
    """A reply with the provider's raw response."""
    raw = {
        "prompt_tokens": 100,
        "completion_tokens": 5,
        "prompt_tokens_details": {"cached_tokens": 64},
        "prompt_cache_hit_tokens": 64,
    }
    response = {"model": "deepseek-x", "created": 1_767_607_200, "usage": usage or raw}
    return {
        "role": "assistant",
        "content": content,
        "extra": {"response": response, "cost": 0.1, "timestamp": 1_767_607_203.5, "actions": []},
        **keys,
    }


def run(folder: Path, value: Any, name: str = "x.traj.json") -> Imported:
    """The import of a file of this value."""
    path = folder / name
    path.write_text(json.dumps(value), encoding="utf-8")
    return import_file(path)


def trajectory(*messages: dict[str, Any], calls: int = 2) -> dict[str, Any]:
    """A whole run."""
    info = {"model_stats": {"api_calls": calls}, "mini_version": "2.2.7"}
    return {"info": info, "messages": list(messages), "trajectory_format": "mini-swe-agent-1.1", "instance_id": "lib-1"}


def test_replies_carry_the_providers_usage(tmp_path: Path) -> None:
    """Cached tokens are part of the prompt figure; copies of output and response are not kept."""
    call = {"id": "c1", "type": "function", "function": {"name": "bash", "arguments": "{}"}}
    tool = {
        "role": "tool",
        "content": "seen",
        "tool_call_id": "c1",
        "extra": {"raw_output": "seen twice", "returncode": 0, "timestamp": 1.0},
    }
    rows = [
        {"role": "system", "content": "S"},
        {"role": "user", "content": "task"},
        reply("a", tool_calls=[call]),
        tool,
        reply("b"),
        {"role": "exit", "content": "patch"},
    ]
    outcome = run(tmp_path, trajectory(*rows))
    (trace,) = outcome.traces
    assert outcome.format == "mini_swe_agent"
    assert (trace.id, trace.system, trace.meta.model, trace.meta.client) == ("lib-1", "S", "deepseek-x", "mini-swe-agent 2.2.7")
    assert [one.usage for one in trace.calls] == [Usage(uncached=36, cache_read=64, output=5)] * 2
    assert (trace.calls[0].at, trace.calls[0].upto, trace.calls[1].upto) == (1_767_607_200_000, 1, 3)
    assert [message.human for message in trace.messages] == [True, False, False, False]
    assert json.loads(trace.messages[2].extra) == {"extra": {"returncode": 0}}
    assert (trace.provenance.cache, trace.provenance.output_reliable) == ("read", True)
    assert (outcome.lines.opaque, outcome.problems) == (1, ())


def test_writes_are_kept_where_the_provider_tells_them(tmp_path: Path) -> None:
    """Anthropic through litellm: the prompt figure holds reads and writes."""
    usage = {"prompt_tokens": 100, "completion_tokens": 5, "cache_read_input_tokens": 60, "cache_creation_input_tokens": 30}
    (trace,) = run(tmp_path, trajectory({"role": "user", "content": "t"}, reply("a", usage), calls=1)).traces
    assert trace.calls[0].usage == Usage(uncached=10, cache_read=60, cache_write_5m=30, output=5)
    assert trace.provenance.cache == "read_write"


def test_a_bare_list_is_an_older_run(tmp_path: Path) -> None:
    """Known by the file's ending; observations come as user messages."""
    rows = [
        {"role": "system", "content": "S"},
        {"role": "user", "content": "task"},
        {"role": "assistant", "content": "ls"},
        {"role": "user", "content": "a.py"},
    ]
    outcome = run(tmp_path, rows)
    assert outcome.format == "mini_swe_agent"
    assert [message.human for message in outcome.traces[0].messages] == [True, False, False]
    assert outcome.traces[0].provenance.usage == "none"
    assert run(tmp_path, rows, "list.json").format == "openai_messages"


def test_a_count_that_disagrees_is_told(tmp_path: Path) -> None:
    """The run itself counts its calls."""
    outcome = run(tmp_path, trajectory({"role": "user", "content": "t"}, reply("a"), calls=5))
    assert "found 1 replies; the run itself counts 5 calls" in outcome.problems[0]


@pytest.mark.parametrize(
    "spoil", [lambda text: text[:-30], lambda text: text.replace('"assistant"', '"nobody"')], ids=["cut", "no reply"]
)
def test_a_run_that_is_not_whole_is_refused(tmp_path: Path, spoil: Any) -> None:
    """One line with what was found."""
    path = tmp_path / "x.traj.json"
    path.write_text(spoil(json.dumps(trajectory({"role": "user", "content": "t"}, reply("a")))), encoding="utf-8")
    with pytest.raises(TraceError, match=r"found (JSON that breaks off|no reply of a model)"):
        import_file(path)

"""Chat-completion and Anthropic message lists: what becomes of tools, results, system text and unknown parts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from formats_support import imported, only, shape

from ullage.errors import TraceError
from ullage.formats._usage import included_usage
from ullage.traces import import_file
from ullage.types import Image, Opaque, Text, Thinking, ToolResult, ToolSpec, ToolUse, Usage

TOOL = {"type": "function", "function": {"name": "look", "description": "Look it up.", "parameters": {"type": "object"}}}


def call(name: str, arguments: Any = '{"q": 1}', call_id: str | None = "c1") -> dict[str, Any]:
    """A tool call in the chat form."""
    made = {"type": "function", "function": {"name": name, "arguments": arguments}}
    return made | ({"id": call_id} if call_id else {})


def conversation(*rows: dict[str, Any], **keys: Any) -> dict[str, Any]:
    """A row of a conversation file."""
    return {"messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "hi"}, *rows], **keys}


def test_each_assistant_message_is_a_call_and_the_system_prompt_leaves_the_history(tmp_path: Path) -> None:
    """Tools come from the row; consecutive tool messages become one user message."""
    row = conversation(
        {"role": "assistant", "content": None, "tool_calls": [call("look"), call("look", call_id="c2")]},
        {"role": "tool", "tool_call_id": "c1", "content": "one"},
        {"role": "tool", "tool_call_id": "c2", "content": [{"type": "text", "text": "two"}]},
        {"role": "assistant", "content": "done"},
        tools=[TOOL],
        id="row-7",
        model="gpt-x",
    )
    trace = only(imported(tmp_path, [row]))
    assert (trace.id, trace.system, trace.meta.model) == ("row-7", "Be brief.", "gpt-x")
    assert trace.tools == (ToolSpec(name="look", description="Look it up.", schema='{"type":"object"}'),)
    assert shape(trace) == [
        ("user", "Text"),
        ("assistant", "ToolUse", "ToolUse"),
        ("user", "ToolResult", "ToolResult"),
        ("assistant", "Text"),
    ]
    assert [(one.upto, one.reply, one.model) for one in trace.calls] == [(1, 1, "gpt-x"), (3, 3, "gpt-x")]
    assert trace.messages[2].blocks == (
        ToolResult(tool_use_id="c1", content=(Text(text="one"),)),
        ToolResult(tool_use_id="c2", content=(Text(text="two"),)),
    )
    assert trace.provenance.prompt_complete
    assert trace.provenance.usage == "none"


@pytest.mark.parametrize("arguments", ['{"a":  1}', {"a": 1}, None])
def test_arguments_stay_as_the_model_gave_them(tmp_path: Path, arguments: object) -> None:
    """Text is kept to the letter, an object is encoded, nothing is an empty object."""
    row = conversation({"role": "assistant", "tool_calls": [call("look", arguments)], "content": ""})
    (block,) = only(imported(tmp_path, [row])).messages[1].blocks
    assert isinstance(block, ToolUse)
    assert block.arguments == {'{"a":  1}': '{"a":  1}'}.get(str(arguments), '{"a":1}' if arguments else "{}")


def test_results_without_an_id_answer_the_open_calls_in_order(tmp_path: Path) -> None:
    """Old function calls and some recorders give none; ids stay unique over the conversation."""
    turn: list[dict[str, Any]] = [
        {"role": "assistant", "content": "", "function_call": {"name": "look", "arguments": "{}"}},
        {"role": "function", "name": "look", "content": "x"},
    ]
    trace = only(
        imported(
            tmp_path,
            [
                conversation(
                    *turn,
                    *turn,
                    {"role": "assistant", "tool_calls": [call("a", call_id=None), call("b", call_id=None)], "content": ""},
                    {"role": "tool", "content": "1"},
                    {"role": "tool", "content": "2"},
                )
            ],
        )
    )
    uses = [name for message in trace.messages for name in message.tool_use_ids]
    assert len(set(uses)) == 4
    assert [name for message in trace.messages for name in message.tool_result_ids] == uses


def test_unknown_parts_and_keys_are_kept(tmp_path: Path) -> None:
    """Reasoning becomes thinking, a refusal text, audio stays as it is."""
    audio = {"type": "input_audio", "input_audio": {"data": "zz"}}
    row = conversation(
        {
            "role": "user",
            "content": [audio, {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}],
            "weight": 0.5,
        },
        {"role": "assistant", "content": None, "refusal": "no", "reasoning_content": "hm"},
        {"role": "developer", "content": "be careful"},
    )
    trace = only(imported(tmp_path, [row]))
    first, picture = trace.messages[1].blocks
    assert first == Opaque(kind="input_audio", data='{"input_audio":{"data":"zz"},"type":"input_audio"}')
    assert picture == Image(url="https://example.org/a.png")
    assert json.loads(trace.messages[1].extra) == {"weight": 0.5}
    assert trace.messages[2].blocks == (Thinking(text="hm"), Text(text="no"))
    assert trace.messages[3].role == "system"


@pytest.mark.parametrize(
    ("content", "names"),
    [
        (json.dumps([{"role": "user", "content": "hi"}]), ["file"]),
        (json.dumps({"messages": json.dumps([{"role": "user", "content": "hi"}]), "tools": json.dumps([TOOL])}), ["file"]),
        (json.dumps({"trajectory": [{"role": "user", "content": "hi"}], "instance_id": "x-1"}), ["x-1"]),
        (json.dumps([conversation(), conversation()]), ["file#1", "file#2"]),
        (json.dumps(conversation()) + "\n\n" + json.dumps(conversation()), ["file#1", "file#3"]),
        (json.dumps(conversation(), indent=1), ["file"]),
    ],
    ids=["bare list", "JSON inside JSON", "trajectory", "list of rows", "lines", "pretty"],
)
def test_all_shapes_of_file_are_read(tmp_path: Path, content: str, names: list[str]) -> None:
    """Named by their own id, else by the file and the line."""
    path = tmp_path / "file.json"
    path.write_text(content, encoding="utf-8")
    assert [trace.id for trace in import_file(path).traces] == names


def test_a_conversation_longer_than_the_head_of_the_file_is_recognised(tmp_path: Path) -> None:
    """The first value of a large file is cut; its first message tells."""
    row = {"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "x" * 400_000}]}
    assert len(only(imported(tmp_path, [row])).messages) == 2


def test_rows_of_another_kind_are_refused_and_named(tmp_path: Path) -> None:
    """In a list the others run; on lines the file is refused with the line."""
    path = tmp_path / "rows.json"
    path.write_text(json.dumps([conversation(), {"weather": 1}]), encoding="utf-8")
    result = import_file(path)
    assert (len(result.traces), result.lines.refused) == (1, 1)
    assert "item 2 is an object with keys weather" in result.problems[0]
    with pytest.raises(TraceError, match=r"session\.jsonl:2: found an object with keys weather"):
        imported(tmp_path, [conversation(), {"weather": 1}])


@pytest.mark.parametrize(
    ("prompt", "cached", "expected"),
    [(100, 60, Usage(uncached=40, cache_read=60, output=5)), (100, 130, Usage(cache_read=100, output=5))],
)
def test_cached_tokens_are_part_of_the_prompt_figure(prompt: int, cached: int, expected: Usage) -> None:
    """As OpenAI and its kin report it; the prompt is never counted twice."""
    assert included_usage(prompt, cached, 5) == expected
    assert included_usage(prompt, cached, 5).prompt == prompt


def test_anthropic_blocks_are_recognised_without_a_wrapper(tmp_path: Path) -> None:
    """System, tools and usage stand beside the messages; runs of results become one user message."""
    row = {
        "system": [{"type": "text", "text": "Be brief."}],
        "tools": [{"name": "look", "description": "d", "input_schema": {"type": "object"}}],
        "model": "claude-x",
        "messages": [
            {"role": "user", "content": "hi"},
            {
                "role": "assistant",
                "content": [{"type": "tool_use", "id": "t1", "name": "look", "input": {}}],
                "usage": {"input_tokens": 3, "cache_read_input_tokens": 4, "output_tokens": 5},
            },
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "x"}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t2", "content": "y"}]},
            {"role": "assistant", "content": [{"type": "text", "text": "ok"}]},
        ],
    }
    result = imported(tmp_path, [row])
    trace = only(result)
    assert result.format == "anthropic_messages"
    assert (trace.system, trace.tools[0].name, trace.meta.model) == ("Be brief.", "look", "claude-x")
    assert shape(trace)[2] == ("user", "ToolResult", "ToolResult")
    assert [one.usage for one in trace.calls] == [Usage(uncached=3, cache_read=4, output=5), None]
    assert trace.provenance.usage == "total"
    assert [message.human for message in trace.messages] == [True, False, False, False]

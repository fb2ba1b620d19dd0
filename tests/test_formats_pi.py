"""pi sessions: usage by reply, aborted replies, compactions that say what they kept, branches."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from formats_support import imported, only, shape

from ullage.errors import TraceError
from ullage.types import Image, Text, ToolResult, Usage

HEADER = {"type": "session", "id": "p1", "timestamp": "2026-01-05T09:00:00.000Z", "cwd": "/project", "provider": "anthropic"}


def entry(message: dict[str, Any], **keys: Any) -> dict[str, Any]:
    """A message entry."""
    return {"type": "message", "timestamp": "2026-01-05T10:00:00.000Z", "message": message, **keys}


def user(value: Any, **keys: Any) -> dict[str, Any]:
    """A user entry."""
    return entry({"role": "user", "content": value}, **keys)


def reply(*content: dict[str, Any], stop: str = "stop", usage: dict[str, int] | None = None, **keys: Any) -> dict[str, Any]:
    """A reply with usage; ``keys`` go to the entry."""
    billed = {"input": 3, "output": 7, "cacheRead": 10, "cacheWrite": 5} if usage is None else usage
    message = {"role": "assistant", "content": list(content), "model": "claude-opus-4-5", "usage": billed, "stopReason": stop}
    return entry(message | {"timestamp": 1_767_607_200_000}, **keys)


def text(value: str) -> dict[str, Any]:
    """A text block."""
    return {"type": "text", "text": value}


def call(name: str) -> dict[str, Any]:
    """A tool call."""
    return {"type": "toolCall", "id": name, "name": "bash", "arguments": {"command": "ls"}}


def result(name: str, value: str = "out", **keys: Any) -> dict[str, Any]:
    """A tool result."""
    return entry(
        {
            "role": "toolResult",
            "toolCallId": name,
            "toolName": "bash",
            "content": [text(value)],
            "isError": False,
            "details": {"diff": "long"},
        }
        | keys
    )


def test_each_reply_is_a_call_with_its_own_usage(tmp_path: Path) -> None:
    """Input excludes what was read and written; parallel results become one message."""
    trace = only(
        imported(
            tmp_path,
            [HEADER, user("go"), reply(call("t1"), call("t2"), stop="toolUse"), result("t1"), result("t2"), reply(text("ok"))],
        )
    )
    assert shape(trace) == [
        ("user", "Text"),
        ("assistant", "ToolUse", "ToolUse"),
        ("user", "ToolResult", "ToolResult"),
        ("assistant", "Text"),
    ]
    assert [one.usage for one in trace.calls] == [Usage(uncached=3, cache_read=10, cache_write_5m=5, output=7)] * 2
    assert [(one.upto, one.reply, one.ttl, one.at) for one in trace.calls] == [
        (1, 1, "5m", 1_767_607_200_000),
        (3, 3, "5m", 1_767_607_200_000),
    ]
    assert (trace.id, trace.meta.model, trace.meta.cwd, trace.meta.reserve) == ("p1", "claude-opus-4-5", "/project", 16_384)
    assert trace.messages[0].human
    assert trace.provenance.cache == "read_write"
    assert "long" not in repr(trace)


@pytest.mark.parametrize(
    ("usage", "calls", "reliable"), [({"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0}, 1, True), (None, 2, False)]
)
def test_an_aborted_reply_is_a_call_only_where_it_was_billed(
    tmp_path: Path,
    usage: dict[str, int] | None,
    calls: int,
    reliable: bool,  # noqa: FBT001 - a table
) -> None:
    """Either way it is an event; its partial output figure is not relied on."""
    trace = only(imported(tmp_path, [HEADER, user("go"), reply(stop="aborted", usage=usage), user("again"), reply(text("ok"))]))
    assert len(trace.calls) == calls
    assert trace.calls[0].output_reliable is reliable
    assert [event.kind for event in trace.events] == ["aborted"]
    assert [message.role for message in trace.messages] == ["user", "user", "assistant"]


def test_a_compaction_says_what_it_kept_by_index(tmp_path: Path) -> None:
    """In version 1 the index counts every line of the file, the header too."""
    rows = [
        HEADER,
        user("go"),
        reply(text("a")),
        {"type": "thinking_level_change", "thinkingLevel": "high"},
        user("more"),
        reply(text("b")),
    ]
    rows += [
        {"type": "compaction", "summary": "They went.", "tokensBefore": 175_004, "firstKeptEntryIndex": 4},
        user("on"),
        reply(text("c")),
    ]
    trace = only(imported(tmp_path, rows))
    (event,) = trace.compactions
    assert (event.call, event.position, event.tokens_before, event.summary) == (2, 4, 175_004, "They went.")
    assert event.kept_from == 2
    assert trace.messages[2].text == "more"
    assert [(one.kind, one.detail) for one in trace.events] == [("setting_change", "thinkingLevel high")]


def test_a_compaction_says_what_it_kept_by_id(tmp_path: Path) -> None:
    """From version 2 on entries have ids."""
    rows = [
        HEADER | {"version": 3},
        user("go", id="a", parentId=None),
        reply(text("a"), id="b", parentId="a"),
        user("more", id="c", parentId="b"),
    ]
    rows += [
        {
            "type": "compaction",
            "id": "d",
            "parentId": "c",
            "summary": "s",
            "tokensBefore": 9,
            "firstKeptEntryId": "c",
            "fromHook": True,
        }
    ]
    (event,) = only(imported(tmp_path, rows)).compactions
    assert (event.kept_from, event.trigger) == (2, "extension")


def test_a_branch_in_the_tree_is_a_rewind(tmp_path: Path) -> None:
    """The abandoned reply was billed and stays in the history."""
    rows = [
        HEADER | {"version": 3},
        user("go", id="a", parentId=None),
        reply(text("a"), id="b", parentId="a"),
        reply(text("x"), id="c", parentId="b"),
    ]
    rows += [
        {"type": "branch_summary", "id": "s", "parentId": "b", "fromId": "c", "summary": "tried x"},
        user("other", id="d", parentId="b"),
        reply(text("y"), id="e", parentId="d"),
    ]
    trace = only(imported(tmp_path, rows))
    assert [(event.kind, event.call, event.detail) for event in trace.events] == [("rewind", 2, "responses abandoned: 1")]
    assert [message.text for message in trace.messages] == ["go", "a", "x", "tried x", "other", "y"]
    assert [message.human for message in trace.messages if message.role == "user"] == [True, False, True]


def test_shell_commands_and_extensions_speak_as_users_that_are_no_people(tmp_path: Path) -> None:
    """What a person excluded from the context, and state of extensions, stays out."""
    rows = [
        HEADER,
        user([text("see"), {"type": "image", "data": "", "mimeType": "image/png"}]),
        entry({"role": "bashExecution", "command": "ls", "output": "a.py", "exitCode": 0}),
        entry({"role": "bashExecution", "command": "env", "output": "secret", "excludeFromContext": True}),
        {"type": "custom_message", "customType": "x", "content": "injected", "display": False},
        {"type": "custom", "customType": "x", "data": {"n": 1}},
        {"type": "teleport"},
        reply(text("ok")),
    ]
    outcome = imported(tmp_path, rows)
    trace = only(outcome)
    assert trace.messages[0].blocks == (Text(text="see"), Image(media_type="image/png"))
    assert [message.text for message in trace.messages[1:3]] == ["$ ls\na.py", "injected"]
    assert not any(message.human for message in trace.messages[1:])
    assert outcome.lines.opaque == 3
    assert any("entry type 'teleport' on 1 lines" in line for line in outcome.problems)


def test_failed_results_and_unanswered_calls_are_told(tmp_path: Path) -> None:
    """An aborted tool leaves a call without a result."""
    outcome = imported(tmp_path, [HEADER, user("go"), reply(call("t1"), call("t2")), result("t1", isError=True)])
    assert only(outcome).messages[2].blocks == (ToolResult(tool_use_id="t1", content=(Text(text="out"),), is_error=True),)
    assert any("1 tool calls have no result" in line for line in outcome.problems)


def test_copied_history_of_a_branch_is_named(tmp_path: Path) -> None:
    """Its calls were billed in the session it came from."""
    header = HEADER | {"timestamp": "2026-01-05T11:00:00.000Z", "branchedFrom": "elsewhere.jsonl"}
    outcome = imported(tmp_path, [header, user("go"), reply(text("a"))])
    assert any("1 calls before the branch are copies" in line for line in outcome.problems)


def test_a_session_without_messages_is_refused(tmp_path: Path) -> None:
    """A header alone is no recording."""
    with pytest.raises(TraceError, match="found no message of a session"):
        imported(tmp_path, [HEADER])

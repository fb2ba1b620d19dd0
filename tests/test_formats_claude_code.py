"""Claude Code sessions: every trap of the format, on small sessions written here."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from formats_support import ClaudeLines, claude_usage, imported, only, shape, text, thinking, use, written

from ullage.errors import TraceError
from ullage.types import Image, Opaque, Text, Thinking, ToolResult, ToolUse, Usage


def test_lines_of_one_response_are_one_message_and_one_call(tmp_path: Path) -> None:
    """Usage stands on each line and is counted once; output is the largest figure."""
    lines = ClaudeLines().user("fix the parser")
    lines.reply("m1", thinking("hm"), usage=claude_usage(output=1))
    lines.reply("m1", text("I look."), usage=claude_usage(output=9))
    lines.reply("m1", use("t1"), usage=claude_usage(output=9), stop="tool_use")
    lines.result("t1").reply("m2", text("Done."), stop="end_turn")
    trace = only(imported(tmp_path, lines.rows))
    assert shape(trace)[1] == ("assistant", "Thinking", "Text", "ToolUse")
    assert [call.id for call in trace.calls] == ["m1", "m2"]
    assert trace.calls[0].usage == Usage(uncached=3, cache_write_5m=100, output=9)
    assert [(call.upto, call.reply) for call in trace.calls] == [(1, 1), (3, 3)]
    assert trace.calls[0].output_reliable
    assert trace.calls[0].at == 1_767_607_201_000


def test_results_between_the_blocks_of_a_response_come_after_it(tmp_path: Path) -> None:
    """A tool that ran while the response was still streaming does not cut the response in two."""
    lines = ClaudeLines().user("go").reply("m1", use("t1")).result("t1").reply("m1", use("t2")).result("t2")
    lines.reply("m2", text("ok"))
    trace = only(imported(tmp_path, lines.rows))
    assert shape(trace) == [
        ("user", "Text"),
        ("assistant", "ToolUse", "ToolUse"),
        ("user", "ToolResult", "ToolResult"),
        ("assistant", "Text"),
    ]
    assert trace.calls[1].upto == 3


def test_parallel_results_merge_and_the_merge_is_recorded(tmp_path: Path) -> None:
    """Three lines of results become one user message that names the lines it came from."""
    lines = ClaudeLines().user("go").reply("m1", use("t1"), use("t2"), use("t3"))
    lines.result("t2").result("t1").result("t3").reply("m2", text("ok"))
    trace = only(imported(tmp_path, lines.rows))
    results = trace.messages[2]
    assert results.tool_result_ids == ("t2", "t1", "t3")
    assert sorted(json.loads(results.extra)["merged"]) == ["s1-u3", "s1-u4"]


def test_text_beside_a_result_stays_behind_all_results(tmp_path: Path) -> None:
    """A prompt typed into a result line is human, and a later parallel result goes in front of it."""
    first = [{"type": "tool_result", "tool_use_id": "t1", "content": "a"}, text("use worktree 2 instead")]
    lines = ClaudeLines().user("go").reply("m1", use("t1"), use("t2")).user(first).result("t2").reply("m2", text("ok"))
    results = only(imported(tmp_path, lines.rows)).messages[2]
    assert [type(block).__name__ for block in results.blocks] == ["ToolResult", "ToolResult", "Text"]
    assert results.human


def test_reminders_before_a_result_go_behind_it(tmp_path: Path) -> None:
    """What the client puts in while calls are unanswered was sent after the results."""
    lines = ClaudeLines().user("go").reply("m1", use("t1"))
    lines.user("<system-reminder>note</system-reminder>", isMeta=True).result("t1").reply("m2", text("ok"))
    trace = only(imported(tmp_path, lines.rows))
    assert shape(trace)[2:4] == [("user", "ToolResult"), ("user", "Text")]
    assert trace.calls[1].upto == 4


def test_the_structured_copy_of_a_result_is_never_fed(tmp_path: Path) -> None:
    """``toolUseResult`` repeats the result at greater length."""
    lines = ClaudeLines().user("go").reply("m1", use("t1")).result("t1", text="short").reply("m2", text("ok"))
    result = imported(tmp_path, lines.rows)
    assert only(result).messages[2].blocks == (ToolResult(tool_use_id="t1", content=(Text(text="short"),)),)
    assert "longer structured copy" not in repr(result)


def test_calls_without_a_result_are_kept_and_named(tmp_path: Path) -> None:
    """An interrupted session ends with an unanswered call."""
    result = imported(tmp_path, ClaudeLines().user("go").reply("m1", use("t1")).rows)
    assert only(result).messages[1].tool_use_ids == ("t1",)
    assert any("1 tool calls have no result" in line for line in result.problems)


def test_two_objects_on_one_line_are_both_read(tmp_path: Path) -> None:
    """A crash while appending leaves no line end between two objects."""
    lines = ClaudeLines().user("go").reply("m1", text("a")).user("more").reply("m2", text("b"))
    rows = [json.dumps(row) for row in lines.rows]
    result = imported(tmp_path, [rows[0], rows[1] + rows[2], rows[3]])
    assert len(only(result).calls) == 2
    assert result.lines.repaired == 1
    assert "session.jsonl:2: found 2 objects on one line" in result.problems[0]


def test_half_a_last_line_is_dropped_and_counted(tmp_path: Path) -> None:
    """The session runs without it, and a problem names the line."""
    lines = ClaudeLines().user("go").reply("m1", text("a")).user("never finished")
    rows = [json.dumps(row) for row in lines.rows]
    result = imported(tmp_path, [*rows[:2], rows[2][:40]])
    assert len(only(result).messages) == 2
    assert (result.lines.read, result.lines.repaired) == (3, 1)
    assert "session.jsonl:3: found half a last line" in result.problems[0]


def test_a_broken_line_in_the_middle_is_refused_with_its_number(tmp_path: Path) -> None:
    """Nothing is guessed across a hole."""
    rows = [json.dumps(row) for row in ClaudeLines().user("go").reply("m1", text("a")).user("more").rows]
    with pytest.raises(TraceError, match=r"session\.jsonl:2: found a line that is not JSON") as caught:
        imported(tmp_path, [rows[0], rows[1][:50], rows[2]])
    assert "\n" not in str(caught.value)


def test_empty_lines_and_a_byte_order_mark_do_no_harm(tmp_path: Path) -> None:
    """Both occur in copied files."""
    rows = [json.dumps(row) for row in ClaudeLines().user("go").reply("m1", text("a")).rows]
    result = imported(tmp_path, ["\ufeff" + rows[0], "", "   ", rows[1], ""])
    assert len(only(result).messages) == 2
    assert result.lines.read == 2


def test_half_a_surrogate_pair_is_replaced_and_counted(tmp_path: Path) -> None:
    """Clients cut output in the middle of an emoji; such text cannot be written as UTF-8."""
    rows = [json.dumps(row) for row in ClaudeLines().user("go").reply("m1", text("cut XX here")).rows]
    result = imported(tmp_path, [rows[0], rows[1].replace("XX", "\\ud83d"), rows[0].replace("s1-u0", "s1-u9")])
    assert only(result).messages[1].text == "cut \N{REPLACEMENT CHARACTER} here"
    assert result.lines.repaired == 1


def test_synthetic_replies_are_no_calls_but_events(tmp_path: Path) -> None:
    """The client writes errors and interruptions as replies of a model that does not exist."""
    lines = ClaudeLines().user("go").reply("m1", text("a"))
    lines.reply("x1", text("API Error: 529 overloaded"), model="<synthetic>", isApiErrorMessage=True)
    lines.reply("x2", text("No response requested."), model="<synthetic>")
    lines.line("system", subtype="api_error", error={"status": 529}).user("again").reply(
        "m2", text("b"), model="claude-haiku-4-5"
    )
    trace = only(imported(tmp_path, lines.rows))
    assert [call.id for call in trace.calls] == ["m1", "m2"]
    assert [(event.kind, event.call) for event in trace.events] == [
        ("api_error", 1),
        ("synthetic", 1),
        ("api_error", 1),
        ("model_change", 1),
    ]


def test_titles_are_no_compactions(tmp_path: Path) -> None:
    """A ``summary`` line is the title of this or another session."""
    lines = ClaudeLines().raw({"type": "summary", "summary": "Fix the parser", "leafUuid": "elsewhere"})
    lines.user("go").reply("m1", text("a")).raw({"type": "custom-title", "customTitle": "T", "sessionId": "s1"})
    result = imported(tmp_path, lines.rows)
    assert only(result).compactions == ()
    assert result.lines.opaque == 2
    assert not result.problems


def test_a_compaction_is_an_event_and_the_history_before_it_stays(tmp_path: Path) -> None:
    """Neither the summary nor what was re-attached is a message; positions point at the next call."""
    lines = ClaudeLines().user("go").reply("m1", text("a")).user("more").reply("m2", use("t1")).result("t1")
    lines.boundary(155_000, postTokens=21_000).summary("They fixed the parser.")
    lines.user("the plan file again", isMeta=True)
    lines.line("attachment", attachment={"type": "file", "filename": "/project/a.py", "content": {"file": {"content": "x = 1"}}})
    lines.reply("m3", text("b"), usage=claude_usage(read=20_000))
    trace = only(imported(tmp_path, lines.rows))
    assert shape(trace) == [
        ("user", "Text"),
        ("assistant", "Text"),
        ("user", "Text"),
        ("assistant", "ToolUse"),
        ("user", "ToolResult"),
        ("assistant", "Text"),
    ]
    (event,) = trace.compactions
    assert (event.kind, event.call, event.position, event.trigger) == ("summary", 2, 5, "auto")
    assert (event.tokens_before, event.tokens_after, event.at) == (155_000, 21_000, 1_767_607_205_000)
    assert event.summary == "They fixed the parser."
    assert [message.text for message in event.attached] == ["the plan file again", "x = 1"]
    assert trace.calls[2].upto == 5


def test_messages_that_a_compaction_kept_are_pointed_at(tmp_path: Path) -> None:
    """Newer clients record which lines stayed as they were."""
    lines = ClaudeLines().user("go").reply("m1", text("a")).user("more").reply("m2", text("b"))
    lines.boundary(preservedMessages={"anchorUuid": "x", "uuids": ["s1-u2", "s1-u3"]}).summary().user("on").reply("m3", text("c"))
    assert only(imported(tmp_path, lines.rows)).compactions[0].kept_from == 2


def test_a_clearing_names_its_results_and_leaves_them_whole(tmp_path: Path) -> None:
    """The cleared text stands in the history of a replay."""
    lines = ClaudeLines().user("go").reply("m1", use("t1")).result("t1", text="long output")
    meta = {"trigger": "auto", "preTokens": 60_000, "tokensSaved": 21_000, "compactedToolIds": ["t1"]}
    lines.line("system", subtype="microcompact_boundary", microcompactMetadata=meta).reply("m2", text("b"))
    trace = only(imported(tmp_path, lines.rows))
    (event,) = trace.compactions
    assert (event.kind, event.call, event.position) == ("clearing", 1, 3)
    assert (event.tokens_before, event.tokens_saved, event.cleared) == (60_000, 21_000, ("t1",))
    assert isinstance(trace.messages[2].blocks[0], ToolResult)
    assert trace.messages[2].blocks[0].content == (Text(text="long output"),)


def test_sub_agents_are_children_with_their_own_usage(tmp_path: Path) -> None:
    """Their lines are copied into progress lines, again one line a block."""
    lines = ClaudeLines().user("go").reply("m1", use("task-1", prompt="look around"))
    for number, message in enumerate(
        (
            {"type": "user", "message": {"role": "user", "content": [text("look around")]}},
            {
                "type": "assistant",
                "message": {
                    "id": "c1",
                    "role": "assistant",
                    "model": "claude-haiku-4-5",
                    "content": [use("k1")],
                    "usage": claude_usage(read=5),
                },
            },
            {
                "type": "assistant",
                "message": {
                    "id": "c1",
                    "role": "assistant",
                    "model": "claude-haiku-4-5",
                    "content": [use("k2")],
                    "usage": claude_usage(read=5),
                },
            },
            {
                "type": "user",
                "message": {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "k1", "content": "x"}]},
            },
        )
    ):
        data = {"type": "agent_progress", "agentId": "a1", "prompt": "look around", "message": message | {"uuid": f"c-{number}"}}
        lines.line("progress", data=data, parentToolUseID="task-1")
    lines.line("progress", data={"type": "bash_progress", "output": "..."}, parentToolUseID="task-1")
    lines.result("task-1").reply("m2", text("ok"))
    trace = only(imported(tmp_path, lines.rows))
    assert len(trace.calls) == 2
    (child,) = trace.children
    assert (child.id, child.parent) == ("s1/a1", "task-1")
    assert [call.usage for call in child.calls] == [Usage(uncached=3, cache_read=5, cache_write_5m=100, output=7)]
    assert shape(child) == [("user", "Text"), ("assistant", "ToolUse", "ToolUse"), ("user", "ToolResult")]


def test_side_chain_lines_are_linked_to_the_call_that_holds_their_prompt(tmp_path: Path) -> None:
    """Older clients write sub-agents inline."""
    lines = ClaudeLines().user("go").reply("m1", use("task-1", prompt='find "x"'))
    lines.line("user", isSidechain=True, parentUuid=None, message={"role": "user", "content": 'find "x"'})
    lines.reply("c1", text("found"), isSidechain=True)
    lines.result("task-1").reply("m2", text("ok"))
    (child,) = only(imported(tmp_path, lines.rows)).children
    assert child.parent == "task-1"
    assert [call.id for call in child.calls] == ["c1"]


def test_a_file_of_one_sub_agent_alone_is_a_trace(tmp_path: Path) -> None:
    """Newer clients keep each sub-agent in its own file."""
    lines = (
        ClaudeLines().user("find x", isSidechain=True, agentId="a9").reply("c1", text("found"), isSidechain=True, agentId="a9")
    )
    trace = only(imported(tmp_path, lines.rows, "agent-a9.jsonl"))
    assert (trace.id, len(trace.calls)) == ("s1/a9", 1)


def test_files_of_sub_agents_beside_a_session_are_its_children(tmp_path: Path) -> None:
    """Linked through the result that names the agent; a broken one is named and does not stop the session."""
    folder = tmp_path / "s1" / "subagents"
    folder.mkdir(parents=True)
    written(folder, ClaudeLines().user("find x").reply("c1", text("found")).rows, "agent-a9.jsonl")
    (folder / "agent-b1.jsonl").write_text("broken\n{}\n", encoding="utf-8")
    lines = ClaudeLines().user("go").reply("m1", use("t1")).result("t1", toolUseResult={"agentId": "a9", "totalTokens": 9})
    result = imported(tmp_path, lines.reply("m2", text("ok")).rows, "s1.jsonl")
    trace = only(result)
    (child,) = trace.children
    assert (child.id, child.parent, len(child.calls)) == ("s1/a9", "t1", 1)
    assert trace.events == ()
    assert result.lines.refused == 1
    assert any("agent-b1.jsonl:1: found a line that is not JSON" in line for line in result.problems)


def test_a_sub_agent_of_which_only_the_total_is_left_is_an_event(tmp_path: Path) -> None:
    """Its cost is named as unrecorded."""
    lines = (
        ClaudeLines()
        .user("go")
        .reply("m1", use("task-1"))
        .result("task-1", toolUseResult={"agentId": "a1", "totalTokens": 85_104})
    )
    (event,) = only(imported(tmp_path, lines.reply("m2", text("ok")).rows)).events
    assert (event.kind, event.call) == ("unrecorded_agent", 1)
    assert "85104" in event.detail


@pytest.mark.parametrize(
    ("write_5m", "write_1h", "ttl"),
    [(100, 0, "5m"), (0, 100, "1h"), (0, 0, "5m")],
    ids=["5m", "1h", "nothing written: as before"],
)
def test_the_lifetime_of_writes_is_read_from_the_split(tmp_path: Path, write_5m: int, write_1h: int, ttl: str) -> None:
    """``cache_creation`` tells which lifetime a call's writes had."""
    lines = ClaudeLines().user("go").reply("m1", text("a")).user("on")
    lines.reply("m2", text("b"), usage=claude_usage(read=100, write_5m=write_5m, write_1h=write_1h))
    call = only(imported(tmp_path, lines.rows)).calls[1]
    assert call.ttl == ttl
    assert call.usage == Usage(uncached=3, cache_read=100, cache_write_5m=write_5m, cache_write_1h=write_1h, output=7)


def test_output_is_unreliable_without_a_stop_reason_on_the_last_line(tmp_path: Path) -> None:
    """Older clients wrote the first chunk's count only."""
    lines = ClaudeLines().user("go").reply("m1", text("a"), stop="end_turn").user("on").reply("m2", text("b"))
    trace = only(imported(tmp_path, lines.rows))
    assert [call.output_reliable for call in trace.calls] == [True, False]
    assert not trace.provenance.output_reliable
    assert (trace.provenance.usage, trace.provenance.cache) == ("per_call", "read_write")


def test_repeated_lines_and_responses_count_once(tmp_path: Path) -> None:
    """A resume may copy the history, under the same line ids or under new ones."""
    lines = ClaudeLines().user("go").reply("m1", use("t1")).result("t1").reply("m2", text("b"))
    same = [dict(row) for row in lines.rows if isinstance(row, dict)]
    renamed = [row | {"uuid": f"copy-{n}"} for n, row in enumerate(same)]
    result = imported(tmp_path, [*same, *same, *renamed])
    trace = only(result)
    assert len(trace.messages) == 4
    assert len(trace.calls) == 2
    assert any("8 lines repeat" in line for line in result.problems)


def test_sessions_of_one_file_are_kept_apart_and_pay_once(tmp_path: Path) -> None:
    """A resumed session that repeats a response holds its message, not its bill."""
    first = ClaudeLines("s1").user("go").reply("m1", text("a"))
    second = ClaudeLines("s2").user("go").reply("m1", text("a")).user("on").reply("m2", text("b"))
    result = imported(tmp_path, [*first.rows, *second.rows])
    assert [trace.id for trace in result.traces] == ["s1", "s2"]
    assert [[call.id for call in trace.calls] for trace in result.traces] == [["m1"], ["m2"]]
    assert len(result.traces[1].messages) == 4
    assert any("1 responses were already counted" in line for line in result.problems)


@pytest.mark.parametrize(
    ("rows", "midway"),
    [
        (ClaudeLines().user("go").reply("m1", text("a")).rows, False),
        (ClaudeLines().user("go", parentUuid="elsewhere").reply("m1", text("a")).rows, True),
        (ClaudeLines().boundary(1).summary().user("on").reply("m1", text("a")).rows, False),
        (ClaudeLines().user("go").reply("m1", text("a"), usage=claude_usage(read=112_568)).rows, True),
        (ClaudeLines().user("x" * 112_568).reply("m1", text("a"), usage=claude_usage(read=112_568)).rows, False),
    ],
    ids=["whole", "parent elsewhere", "own root", "first prompt unexplained", "first prompt explained"],
)
def test_a_session_joined_midway_is_marked(tmp_path: Path, rows: list[object], midway: bool) -> None:  # noqa: FBT001 - a table
    """By its first line's parent, or by a first prompt that no text and no client's prefix explains."""
    assert only(imported(tmp_path, rows)).starts_midway is midway


@pytest.mark.parametrize(
    ("content", "keys", "human"),
    [
        ("fix the parser", {}, True),
        ([text("see this"), {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": ""}}], {}, True),
        ("Caveat: The messages below", {"isMeta": True}, False),
        ("<command-name>/exit</command-name>", {}, False),
        ("<bash-stdout>ok</bash-stdout>", {}, False),
        ("[Request interrupted by user]", {}, False),
        ("Base directory for this skill: x", {"isMeta": True}, False),
    ],
)
def test_only_what_a_person_typed_is_human(tmp_path: Path, content: object, keys: dict[str, object], human: bool) -> None:  # noqa: FBT001 - a table
    """Commands, their output, reminders and interruptions are the client's."""
    assert only(imported(tmp_path, ClaudeLines().user(content, **keys).reply("m1", text("a")).rows)).messages[0].human is human


def test_a_queued_prompt_without_a_line_is_put_where_it_was_sent(tmp_path: Path) -> None:
    """Old clients record a prompt that went out with tool results in the queue only."""
    lines = ClaudeLines().user("go").reply("m1", use("t1"))
    lines.line("queue-operation", operation="enqueue", content="and add a test").line("queue-operation", operation="remove")
    lines.result("t1").reply("m2", text("ok"))
    result = imported(tmp_path, lines.rows)
    trace = only(result)
    assert shape(trace)[2:4] == [("user", "ToolResult"), ("user", "Text")]
    queued = trace.messages[3]
    assert (queued.text, queued.queued, queued.human, queued.at) == ("and add a test", True, True, 1_767_607_202_000)
    assert trace.calls[1].upto == 4
    assert any("1 queued messages" in line for line in result.problems)


@pytest.mark.parametrize("operation", ["popAll", "dequeue", None])
def test_a_queued_prompt_that_was_taken_back_or_sent_as_a_turn_is_not_added(tmp_path: Path, operation: str | None) -> None:
    """Taken back into the editor, written as a line of its own, or still in the queue at the end."""
    lines = ClaudeLines().user("go").reply("m1", use("t1")).line("queue-operation", operation="enqueue", content="later")
    if operation:
        lines.line("queue-operation", operation=operation)
    trace = only(imported(tmp_path, lines.result("t1").reply("m2", text("ok")).rows))
    assert not any(message.queued for message in trace.messages)


def test_a_queued_prompt_with_its_own_attachment_is_not_doubled(tmp_path: Path) -> None:
    """Newer clients write what was sent."""
    lines = ClaudeLines().user("go").reply("m1", use("t1")).line("queue-operation", operation="enqueue", content="and a test")
    lines.line("queue-operation", operation="remove").result("t1")
    lines.line("attachment", attachment={"type": "queued_command", "prompt": "and a test", "commandMode": "prompt"})
    trace = only(imported(tmp_path, lines.reply("m2", text("ok")).rows))
    queued = [message for message in trace.messages if message.queued]
    assert [(message.text, message.human) for message in queued] == [("and a test", True)]


def test_attachments_give_the_text_as_sent_where_it_is_recorded(tmp_path: Path) -> None:
    """``rendered`` wins over the parts; settings say nothing; lists are kept verbatim."""
    lines = ClaudeLines().user("go")
    lines.line("attachment", attachment={"type": "date_change", "newDate": "2026-01-05", "rendered": "Today is Monday."})
    lines.line("attachment", attachment={"type": "hook_additional_context", "content": ["a", "b"], "hookName": "x"})
    lines.line("attachment", attachment={"type": "task_reminder", "content": [{"id": "1", "subject": "write"}], "itemCount": 1})
    lines.line("attachment", attachment={"type": "auto_mode"}).reply("m1", text("ok"))
    result = imported(tmp_path, lines.rows)
    sent = only(result).messages[1:4]
    assert [message.text for message in sent[:2]] == ["Today is Monday.", "a\nb"]
    assert isinstance(sent[2].blocks[0], Opaque)
    assert json.loads(sent[2].blocks[0].data) == [{"id": "1", "subject": "write"}]
    assert not any(message.human for message in sent)
    assert result.lines.opaque == 1


def test_unknown_blocks_and_keys_are_kept_verbatim(tmp_path: Path) -> None:
    """Nothing unknown is dropped."""
    strange = {"type": "hologram", "depth": 3}
    lines = (
        ClaudeLines()
        .user("go", todos=[{"content": "x"}])
        .reply("m1", strange, thinking("t"), {"type": "redacted_thinking", "data": "zz"}, novel=1)
    )
    trace = only(imported(tmp_path, lines.rows))
    assert json.loads(trace.messages[0].extra) == {"todos": [{"content": "x"}]}
    opaque, thought, hidden = trace.messages[1].blocks
    assert isinstance(opaque, Opaque)
    assert json.loads(opaque.data) == strange
    assert thought == Thinking(text="t", signature="REDACTED")
    assert hidden == Thinking(redacted="zz")
    assert json.loads(trace.messages[1].extra) == {"novel": 1}
    assert json.loads(trace.calls[0].extra) == {"request": "req-m1"}


def test_images_keep_their_bytes_and_tell_their_size(tmp_path: Path) -> None:
    """A PNG header holds width and height."""
    png = "iVBORw0KGgoAAAANSUhEUgAAAoAAAAHgCAIAAAC6s0uzAAAA"  # the header of a 640 by 480 image
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": png}}
    lines = ClaudeLines().user([picture]).reply("m1", use("t1"))
    lines.user([{"type": "tool_result", "tool_use_id": "t1", "content": [picture]}]).reply("m2", text("ok"))
    trace = only(imported(tmp_path, lines.rows))
    image = Image(media_type="image/png", data=png, width=640, height=480)
    assert trace.messages[0].blocks == (image,)
    assert trace.messages[2].blocks == (ToolResult(tool_use_id="t1", content=(image,)),)


def test_a_prompt_on_an_earlier_line_is_a_rewind(tmp_path: Path) -> None:
    """The abandoned responses were billed and stay; an event says that they left the client's context."""
    lines = ClaudeLines().user("go").reply("m1", text("a")).user("wrong way").reply("m2", text("b")).reply("m3", text("c"))
    lines.user("better", parentUuid="s1-u1").reply("m4", text("d"))
    trace = only(imported(tmp_path, lines.rows))
    assert [(event.kind, event.call, event.detail) for event in trace.events] == [("rewind", 3, "responses abandoned: 2")]
    assert len(trace.calls) == 4


def test_line_types_from_the_future_are_named_once(tmp_path: Path) -> None:
    """They are kept out of the conversation and counted."""
    lines = ClaudeLines().user("go").line("hyper-progress").line("hyper-progress").reply("m1", text("a"))
    result = imported(tmp_path, lines.rows)
    assert result.lines.opaque == 2
    assert [line.partition(": ")[2] for line in result.problems] == [
        "found line type 'hyper-progress' on 2 lines, first on line 2; kept out of the conversation"
    ]


def test_the_trace_says_where_it_comes_from(tmp_path: Path) -> None:
    """Format, file name, model, client, folder and the room that the client keeps free."""
    meta = only(imported(tmp_path, ClaudeLines().user("go").reply("m1", text("a")).rows)).meta
    assert (meta.format, meta.source, meta.model) == ("claude_code", "session.jsonl", "claude-opus-4-5")
    assert (meta.client, meta.cwd, meta.reserve) == ("claude-code 2.1.7", "/project", 20_000)


def test_a_file_of_client_state_alone_is_refused(tmp_path: Path) -> None:
    """It is of the right kind but holds no conversation."""
    with pytest.raises(TraceError, match="found no message of a session"):
        imported(tmp_path, [{"type": "summary", "summary": "T", "leafUuid": "x"}])


def test_arguments_are_canonical_json(tmp_path: Path) -> None:
    """Recorded input objects become text."""
    trace = only(imported(tmp_path, ClaudeLines().user("go").reply("m1", use("t1", b=1, a="ü")).rows))
    assert trace.messages[1].blocks == (ToolUse(id="t1", name="Bash", arguments='{"a":"ü","b":1}'),)

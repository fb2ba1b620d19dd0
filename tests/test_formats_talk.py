"""What every importer does with replies, results and events: one mechanism below all of them."""

from __future__ import annotations

import json

import pytest

from ullage.formats._talk import Talk, counted, from_user, only_results
from ullage.testing import assistant, tool_call, tool_result, user
from ullage.types import Message, Text, ToolResult, TraceMeta, Usage


def results(message_id: str, answered: str, extra: str = "") -> Message:
    """A message with one result."""
    block = ToolResult(tool_use_id=answered, content=(Text(text=f"out of {answered}"),))
    return Message(id=message_id, role="user", blocks=(block,), extra=extra)


def test_results_in_a_row_are_one_message_with_the_unknown_keys_of_both() -> None:
    """As the model was sent them; of a key that both have the first one's value stays."""
    talk = Talk()
    talk.reply(tool_call("a", "x", "y"))
    talk.hear(results("r1", "x", '{"host":"a","took":1}'))
    talk.hear(results("r2", "y", '{"host":"b","mark":2}'))
    talk.hear(user("and now?", "u"))
    assert [message.id for message in talk.messages] == ["a", "r1", "u"]
    assert talk.messages[1].tool_result_ids == ("x", "y")
    assert json.loads(talk.messages[1].extra) == {"host": "a", "took": 1, "mark": 2}


def test_a_reply_without_anything_in_it_is_a_call_alone() -> None:
    """It was billed, but there is no message that a later prompt could hold."""
    talk = Talk()
    talk.hear(user("go", "u"))
    talk.reply(Message(id="a", role="assistant", blocks=()), usage=Usage(uncached=10))
    assert [message.id for message in talk.messages] == ["u"]
    assert [(call.upto, call.reply, call.usage) for call in talk.calls] == [(1, None, Usage(uncached=10))]


@pytest.mark.parametrize(
    ("usage", "reliable", "trusted"), [(None, True, False), (Usage(output=1), True, True), (Usage(output=1), False, False)]
)
def test_an_output_is_trusted_only_where_it_was_billed(usage: Usage | None, reliable: bool, trusted: bool) -> None:  # noqa: FBT001 - a table's columns
    """No bill, no figure; and a reply that broke off was billed for less than it would have said."""
    talk = Talk()
    talk.reply(assistant("done", "a"), usage=usage, reliable=reliable)
    assert talk.calls[0].output_reliable is trusted


def test_events_and_compactions_stand_before_the_next_call() -> None:
    """And the finished trace holds them in order, with a change of model found on the way."""
    talk = Talk()
    talk.hear(user("go", "u"))
    talk.reply(assistant("one", "a"), model="first")
    talk.compacted(5, summary="what was said")
    talk.note("api_error", 6, "x" * 999)
    talk.reply(assistant("two", "b"), model="second")
    trace = talk.finished("t", TraceMeta(format="made"), "none")
    assert [(event.call, event.position, event.summary) for event in trace.compactions] == [(1, 2, "what was said")]
    assert [(event.call, event.kind, len(event.detail)) for event in trace.events] == [
        (1, "model_change", 14),
        (1, "api_error", 200),
    ]


def test_a_person_is_who_sends_text_and_not_results_alone() -> None:
    """Results with a remark are a person's; a lone result is a tool's."""
    lone, mixed = results("r", "x").blocks, (*results("r", "x").blocks, Text(text="look"))
    assert [from_user("m", blocks).human for blocks in (lone, mixed, (Text(text="hi"),))] == [False, True, True]
    assert [only_results(tool_result("r", x="y")), only_results(user("hi", "u"))] == [True, False]
    assert list(counted([(2, "{} odd"), (0, "{} even")])) == ["2 odd"]

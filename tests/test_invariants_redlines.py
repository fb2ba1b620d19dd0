"""The red lines: what must survive every compaction, whatever the provider accepts, and what a strategy may promise."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from invariants_support import LEGAL, RESULTS, Script, broken, rewrite

from ullage.testing import assistant, tool_result, user
from ullage.types import Call, Drop, Edit, Erase, Insert, Message, Text

PINNED = msgspec.structs.replace(
    LEGAL,
    messages=(
        LEGAL.messages[0],
        LEGAL.messages[1],
        LEGAL.messages[2],
        LEGAL.messages[3],
        user("the port is 8443", "u4", pinned=True),
        Message(id="s5", role="system", blocks=(Text(text="answer in short"),)),
        assistant("yes", "a6"),
        user("one more wish", "u7", protected=True),
    ),
    calls=(Call(id="c0", upto=1, reply=1), Call(id="c1", upto=3, reply=3), Call(id="c2", upto=6, reply=6), Call(id="c3", upto=8)),
)


@pytest.mark.parametrize(
    ("edits", "expected"),
    [
        ((Drop(ids=("u4",)),), [("pinned_kept", "u4")]),
        ((rewrite("u4", Text(text="the port")),), [("pinned_kept", "u4")]),
        ((rewrite("u7", Text(text="one")),), [("latest_user_untouched", "u7"), ("pinned_kept", "u7")]),
        ((Drop(ids=("s5",)),), [("system_survives", "s5")]),
        ((rewrite("s5", Text(text="short")),), [("system_survives", "s5")]),
        (
            (Drop(ids=("u4", "s5")), Drop(ids=("a3",)), rewrite("r2", *RESULTS.blocks, *PINNED.messages[4].blocks)),
            [("system_survives", "s5")],
        ),
    ],
)
def test_pins_and_instructions_stand_whole_or_are_missed(edits: tuple[Edit, ...], expected: list[tuple[str, str]]) -> None:
    """Dropped and shortened are found; merged whole into a neighbour of the same role is as good as kept."""
    assert broken(PINNED, {3: edits}) == expected


def test_an_erased_result_of_a_pinned_message_is_missed() -> None:
    """The server deletes it although the client's bytes stay."""
    trace = msgspec.structs.replace(
        LEGAL, messages=(*LEGAL.messages[:2], msgspec.structs.replace(RESULTS, pinned=True), *LEGAL.messages[3:])
    )
    assert broken(trace, {3: (Erase(id="r2"),)}) == [("pinned_kept", "r2")]


def test_the_task_may_stand_whole_in_what_stands_for_it() -> None:
    """A summary that quotes the task holds it, until it is replaced by one that does not."""
    quoting = Insert(after=None, message=user("The user said: do the task", "s"), sources=("u0", "a1", "r2"))
    forgetting = Insert(after=None, message=user("Some of it", "s2"), sources=("s",))
    unrelated = Insert(after=None, message=user("Try to do the task", "s"), sources=("a1", "r2"))
    gone = Drop(ids=("u0", "a1", "r2"))
    assert broken(LEGAL, {2: (gone, quoting)}) == []
    assert broken(LEGAL, {2: (gone, quoting), 3: (Drop(ids=("s",)), forgetting)}) == [("task_survives", "u0")]
    assert broken(LEGAL, {2: (gone, unrelated)}) == [("task_survives", "u0")]


def test_what_a_person_wrote_is_told_from_what_the_client_put_there() -> None:
    """Where the recording marks messages of a person, the first and the last of those count."""
    trace = msgspec.structs.replace(
        LEGAL,
        messages=(
            LEGAL.messages[0],
            *LEGAL.messages[1:4],
            msgspec.structs.replace(LEGAL.messages[4], human=True),
            *LEGAL.messages[5:],
        ),
    )
    assert broken(trace, {3: (rewrite("u0", Text(text="do")),)}) == []
    assert broken(trace, {3: (rewrite("u4", Text(text="next")),)}) == [("latest_user_untouched", "u4"), ("task_survives", "u4")]


def test_replacements_are_final_for_strategies_that_promise_it() -> None:
    """The same bytes again are no change; other bytes, and an id that returns with other content, are."""
    stub, other = tool_result("", x="a", y="b").blocks, tool_result("", x="c", y="d").blocks
    promise: dict[str, Any] = {"promises": ("no_rewrite_twice",)}
    again = [("no_rewrite_twice", "r2")]
    assert broken(LEGAL, {1: (rewrite("r2", *stub),), 3: (rewrite("r2", *stub),)}, **promise) == []
    assert broken(LEGAL, {1: (rewrite("r2", *RESULTS.blocks),), 2: (rewrite("r2", *stub),)}, **promise) == []
    twice: Script = {1: (rewrite("r2", *stub),), 3: (rewrite("r2", *other), rewrite("a3", Text(text="ok")))}
    assert broken(LEGAL, twice, **promise) == again
    assert broken(LEGAL, twice) == []
    back: Script = {
        1: (rewrite("r2", *stub),),
        3: (Drop(ids=("r2",)), Insert(after="a1", message=tool_result("r2", x="c", y="d")), rewrite("a3", Text(text="ok"))),
    }
    assert broken(LEGAL, back, **promise) == again
    assert broken(LEGAL, {1: (rewrite("r2", *stub),), 3: (Erase(id="r2"),)}, **promise) == again

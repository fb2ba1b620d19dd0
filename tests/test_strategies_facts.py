"""Facts that the modelled package's own unit tests pin down, as tables over the public doors."""

from __future__ import annotations

from typing import Any

import pytest

from ullage.errors import SpecError
from ullage.registry import load_strategies
from ullage.testing import agentic_tool, reduce

Dict = dict[str, Any]
OVERFLOW = "ContextWindowOverflowException"


def U(text: str = "hi") -> Dict:  # noqa: N802 - the shorthand of the fact tables
    """A user text."""
    return {"role": "user", "content": [{"text": text}]}


def A(text: str = "ok") -> Dict:  # noqa: N802 - likewise
    """An assistant text."""
    return {"role": "assistant", "content": [{"text": text}]}


def TU(*ids: str) -> Dict:  # noqa: N802 - likewise
    """An assistant message that calls a tool for each id."""
    return {"role": "assistant", "content": [{"toolUse": {"toolUseId": i, "name": "shell", "input": {}}} for i in ids]}


def TR(*ids: str, text: str = "result", status: str = "success") -> Dict:  # noqa: N802 - likewise
    """A user message that answers these calls."""
    results = [{"toolResult": {"toolUseId": i, "status": status, "content": [{"text": text}]}} for i in ids]
    return {"role": "user", "content": results}


def pinned(message: Dict) -> Dict:
    """The message with a pin."""
    return {**message, "metadata": {"custom": {"pinned": True}}}


def shape(messages: list[Dict]) -> str:
    """A history in letters: U, A, calls and results with their ids."""
    words = []
    for message in messages:
        block = message["content"][0] if message["content"] else {"text": ""}
        ids = [b[k]["toolUseId"] for b in message["content"] for k in ("toolUse", "toolResult") if k in b]
        kind = "TU" if "toolUse" in block else "TR" if "toolResult" in block else message["role"][0].upper()
        words.append(kind + ",".join(ids))
    return " ".join(words)


TALK = [U("First"), A("First"), U("Second"), A("Second")]
TOOL_LOOP = [U(), *[m for n in "1234" for m in (TU(n), TR(n))]]
MIXED = [
    U(), TU("1"), TR("1", text="x" * 1000), TU("2"), TR("2", text="y" * 50), A(), U(), TU("3"), TR("3", text="z" * 900), A(),
]  # fmt: skip

SLIDING: list[tuple[str, str, list[Dict], str, int]] = [
    # parameters, moment, history, what is left, messages removed
    ("window_size=2", "turn_end", TALK, "U A", 2),
    ("window_size=3", "turn_end", [U(), A(), U(), TU("1")], "U TU1", 2),
    ("window_size=2", "turn_end", [U(), TU("1"), TR("1"), A(), U()], "U", 4),
    ("window_size=3", "turn_end", [U(), TU("1"), TR("1"), A(), U()], "U", 4),
    ("window_size=4", "turn_end", [U(), TU("1"), TR("1"), TU("2"), TR("2"), A(), U()], "U", 6),
    ("window_size=4", "turn_end", [TR("1")], "TR1", 0),
    ("window_size=4", "turn_end", [TU("1")], "TU1", 0),
    ("window_size=4", "turn_end", [TR("1"), TU("1")], "TR1 TU1", 0),
    ("window_size=3", "turn_end", [U(), A(), U(), A(), U()], "U A U", 2),
    ("window_size=3", "turn_end", [U(), A(), U(), A(), U(), A(), U(), A()], "U A", 6),
    ("window_size=1", "turn_end", [TU("456"), TR("789")], "TU456 TR789", 0),
    ("window_size=4", "turn_end", TOOL_LOOP, "TU3 TR3 TU4 TR4", 5),
    ("window_size=1", "turn_end", TOOL_LOOP, "U TU1 TR1 TU2 TR2 TU3 TR3 TU4 TR4", 0),
    ("window_size=4, pin_first=1", "turn_end", [U(), A(), U(), A(), U(), A(), U(), A()], "U U A U A", 3),
    ("window_size=8", "turn_end", [U(), *[m for n in range(10) for m in (TU(f"{n}"), TR(f"{n}"))], A(), U()], "U", 22),
    ("window_size=4", "turn_end", MIXED, "U TU3 TR3 A", 6),
    ("window_size=6", "turn_end", MIXED, "U TU3 TR3 A", 6),
    ("window_size=0", "turn_end", MIXED, "", 10),
    ("window_size=0", "overflow", TALK, "", 4),
    ("window_size=0", "turn_end", [pinned(U()), A(), U()], "U", 2),
    ("window_size=4, should_truncate_results=False", "overflow",
     [U(), TU("1"), TR("1"), TU("2"), TR("2"), TU("3"), TR("3"), A()], "TU3 TR3 A", 5),
    ("window_size=2", "turn_end", [U(), pinned(A()), U(), A(), U(), A()], "A U A", 3),
    ("window_size=2, pin_first=50", "turn_end", TALK, "U A U A", 0),
    ("window_size=4, dialect='typescript'", "turn_end", TOOL_LOOP, "U TU1 TR1 TU2 TR2 TU3 TR3 TU4 TR4", 0),
]  # fmt: skip


@pytest.mark.parametrize(("parameters", "moment", "history", "left", "removed"), SLIDING)
def test_a_sliding_window_keeps(parameters: str, moment: str, history: list[Dict], left: str, removed: int) -> None:
    """The window leaves the documented messages and counts what it removed."""
    done = reduce(f"sliding_window({parameters})", history, moment=moment)
    assert shape(done.messages) == left
    assert done.state["removed_message_count"] == removed
    assert done.exception is None


def test_a_reactive_window_that_cannot_trim_raises_and_changes_nothing() -> None:
    """With one pair and a window of 1 an overflow has no way out."""
    history = [TU("456"), TR("789")]
    done = reduce("sliding_window(window_size=1)", history, moment="overflow")
    assert (done.exception, done.messages) == (OVERFLOW, history)


def test_reactive_truncation_keeps_two_hundred_characters_at_either_end() -> None:
    """A long result is cut in place, keeps its status, and only the oldest is looked at."""
    text = "A" * 400 + "B" * 100 + "C" * 400
    history = [U(), TU("1"), TR("1", text=text, status="error"), TU("2"), TR("2", text=text), A()]
    done = reduce("sliding_window", history, moment="overflow")
    result = done.messages[2]["content"][0]["toolResult"]
    cut = result["content"][0]["text"]
    assert cut.startswith("A" * 200)
    assert cut.endswith("C" * 200)
    assert "... [truncated: 500 chars removed] ..." in cut
    assert result["status"] == "error"
    assert done.messages[4] == history[4]
    again = reduce("sliding_window(window_size=4)", done.messages, moment="overflow")
    assert len(again.messages) < len(history)


@pytest.mark.parametrize(("length", "after"), [(400, 400), (401, 446), (900, 448)])
def test_a_result_of_401_characters_grows_when_it_is_cut(length: int, after: int) -> None:
    """Up to 400 characters nothing happens; just above, the marker is longer than what it replaces."""
    done = reduce("sliding_window", [U(), TU("1"), TR("1", text="x" * length), pinned(A())], moment="overflow")
    results = [m["content"][0]["toolResult"] for m in done.messages if "toolResult" in m["content"][0]]
    assert [len(result["content"][0]["text"]) for result in results] == [after]


def test_reactive_steps_alternate_between_cutting_and_trimming() -> None:
    """Four overflows of one history: cut, trim, cut, and then there is nothing left to do."""
    messages: list[Dict] = MIXED
    seen: list[tuple[int, str | None]] = []
    for _ in range(4):
        done = reduce("sliding_window(window_size=4)", messages, moment="overflow")
        messages = done.messages
        seen.append((len(messages), done.exception))
    assert seen == [(10, None), (4, None), (4, None), (4, OVERFLOW)]


def test_images_in_results_become_a_placeholder_with_their_size() -> None:
    """An image says its format and its bytes."""
    result = {"toolUseId": "1", "status": "success", "content": [{"image": {"format": "png", "source": {"bytes": b"12345"}}}]}
    done = reduce("sliding_window", [U(), TU("1"), {"role": "user", "content": [{"toolResult": result}]}], moment="overflow")
    assert done.messages[2]["content"][0]["toolResult"]["content"] == [{"text": "[image: png, 5 bytes]"}]


@pytest.mark.parametrize("spec", ["sliding_window(per_turn=0)", "sliding_window(per_turn=-1)", "sliding_window(window_size=-1)"])
def test_a_window_refuses_impossible_parameters(spec: str) -> None:
    """What the package refuses is a misuse here."""
    with pytest.raises(SpecError):
        load_strategies(spec)


@pytest.mark.parametrize("threshold", ["0.0", "-0.1", "1.01", "7"])
@pytest.mark.parametrize("name", ["sliding_window", "summarizing", "auto"])
def test_a_threshold_is_a_share_of_the_window(name: str, threshold: str) -> None:
    """0 < t <= 1, told in one line."""
    with pytest.raises(SpecError, match=r"0 < threshold <= 1") as error:
        load_strategies(f"{name}(threshold={threshold})")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(("per_turn", "applied"), [("True", [1, 2, 3]), ("3", [3]), ("2", [2]), ("False", [])])
def test_per_turn_counts_calls(per_turn: str, applied: list[int]) -> None:
    """Every call, or every n-th; the counter is in the state, and does not move when it is off."""
    state: Any = None
    acted = []
    for call in (1, 2, 3):
        done = reduce(f"sliding_window(window_size=2, per_turn={per_turn})", TALK, moment="before_call", state=state)
        state = done.state
        if len(done.messages) < len(TALK):
            acted.append(call)
    assert acted == applied
    assert state["model_call_count"] == (0 if per_turn == "False" else 3)


def test_an_old_state_without_a_call_count_loads() -> None:
    """Sessions of before the counter go on at 0."""
    old = {"__name__": "SlidingWindowConversationManager", "removed_message_count": 3}
    done = reduce("sliding_window(window_size=2, per_turn=True)", TALK, moment="before_call", state=old)
    assert (done.state["model_call_count"], done.state["removed_message_count"]) == (1, 5)


@pytest.mark.parametrize(("projected", "acts"), [(699, False), (700, True), (900, True)])
def test_the_threshold_acts_from_its_share_on(projected: int, *, acts: bool) -> None:
    """At the threshold and above, not below."""
    done = reduce(
        "summarizing(threshold=0.7, keep_recent=1)", TALK, moment="before_call", projected_tokens=projected, window=1000
    )
    assert (len(done.messages) < len(TALK) or done.request is not None) is acts


def test_pins_are_applied_at_the_first_reduction_only() -> None:
    """What is first later on is not pinned."""
    spec = "sliding_window(window_size=2, pin_first=1)"
    first = reduce(spec, TALK, moment="turn_end")
    assert [bool(m.get("metadata")) for m in first.messages] == [True, False, False]
    longer = [*first.messages, U("Third"), A("Third")]
    second = reduce(spec, longer, moment="turn_end", state={**first.state, "own": first.memory})
    assert [m.get("metadata") is not None for m in second.messages] == [True, False, False]
    forgotten = reduce(spec, longer[1:], moment="turn_end", state=first.state)
    assert forgotten.messages[0]["content"][0]["text"] == "Second"
    assert forgotten.messages[0]["metadata"] == {"custom": {"pinned": True}}


SPLITS: list[tuple[str, int]] = [("0.05", 1), ("0.1", 1), ("0.3", 3), ("0.5", 5), ("0.8", 8), ("0.95", 8)]


@pytest.mark.parametrize(("ratio", "summarized"), SPLITS)
def test_the_summary_takes_its_share_within_bounds(ratio: str, summarized: int) -> None:
    """The ratio is held between 0.1 and 0.8; the request holds the messages and a closing one, no tools."""
    history = [m for n in range(5) for m in (U(f"q{n}"), A(f"a{n}"))]
    done = reduce(f"summarizing(ratio={ratio}, keep_recent=0)", history, moment="overflow", summarize="SUMMARY")
    assert done.request is not None
    assert len(done.request["messages"]) == summarized + 1
    assert done.request["messages"][:-1] == history[:summarized]
    assert done.request["messages"][-1]["role"] == "user"
    assert done.request["tool_specs"] is None
    assert done.messages[0] == {"role": "user", "content": [{"text": "SUMMARY"}]}
    assert done.messages[1:] == history[summarized:]
    assert done.state["summary_message"] == done.messages[0]


@pytest.mark.parametrize("ratio", ["0.05", "0.95"])
def test_the_typescript_dialect_refuses_a_ratio_out_of_bounds(ratio: str) -> None:
    """Python clamps it, TypeScript refuses it."""
    with pytest.raises(SpecError, match="ratio"):
        load_strategies(f"summarizing(ratio={ratio}, dialect='typescript')")


@pytest.mark.parametrize("count", [0, 1, 2, 10])
def test_the_default_manager_cannot_help_a_short_history(count: int) -> None:
    """With ten or fewer messages all are recent: an overflow is not curable."""
    history = [m for n in range(5) for m in (U(f"q{n}"), A(f"a{n}"))][:count]
    done = reduce("summarizing", history, moment="overflow")
    assert (done.exception, done.messages, done.request) == (OVERFLOW, history, None)


def test_repeated_overflows_never_get_below_eleven_messages() -> None:
    """14 short messages become 11, and then every summary is a summary of the last one, for ever."""
    messages = [m for n in range(7) for m in (U(f"q{n}"), A(f"a{n}"))]
    sizes, state = [], None
    for _ in range(4):
        done = reduce("summarizing", messages, moment="overflow", state=state)
        messages, state = done.messages, done.state
        assert done.exception is None
        sizes.append(len(messages))
    assert sizes == [11, 11, 11, 11]
    assert state is not None
    assert state["removed_message_count"] == 4


def test_a_failed_proactive_summary_is_swallowed_and_inflates_the_counter() -> None:
    """Three failed attempts on 12 messages count 9 as removed; a resumed session then finds 3, and no summary."""
    history = [m for n in range(6) for m in (U(f"q{n}"), A(f"a{n}"))]
    state: Any = None
    for _ in range(3):
        done = reduce(
            "summarizing(threshold=0.5, keep_recent=2)", history, moment="before_call", projected_tokens=900, window=1000,
            summarize=RuntimeError("down"), state=state,
        )  # fmt: skip
        state = done.state
        assert (done.exception, done.messages) == (None, history)
    assert state["removed_message_count"] == 9
    resumed = reduce("summarizing", history, moment="restore", state=state)
    assert resumed.messages == history[9:]


def test_a_failed_reactive_summary_raises_its_own_error() -> None:
    """The summariser's exception comes out, not the overflow."""
    history = [m for n in range(6) for m in (U(f"q{n}"), A(f"a{n}"))]
    done = reduce("summarizing(keep_recent=2)", history, moment="overflow", summarize=ValueError("down"))
    assert (done.exception, done.messages) == ("ValueError", history)


REPLIES: list[tuple[str, Any, str | None, Any]] = [
    ("1.62", [{"text": "a"}, {"text": "b"}], None, [{"text": "a"}, {"text": "b"}]),
    ("1.62", [{"reasoningContent": {"reasoningText": {"text": "why"}}}, {"text": "a"}], None, [{"text": "a"}]),
    ("1.62", [{"citationsContent": {"content": [{"text": "cited"}], "citations": []}}], None, [{"text": "cited"}]),
    ("1.62", [{"text": " \n "}], None, [{"text": " \n "}]),
    ("1.62", [{"toolUse": {"toolUseId": "x", "name": "n", "input": {}}}], "RuntimeError", None),
    ("1.62", [], "RuntimeError", None),
    ("1.54", [], None, []),
    ("1.54", [{"toolUse": {"toolUseId": "x", "name": "n", "input": {}}}], None,
     [{"toolUse": {"toolUseId": "x", "name": "n", "input": {}}}]),
]  # fmt: skip


@pytest.mark.parametrize(("profile", "reply", "exception", "content"), REPLIES)
def test_what_of_a_reply_becomes_the_summary(profile: str, reply: Any, exception: str | None, content: Any) -> None:
    """Since 1.57 only text; before, the reply as it is, even when it is empty."""
    history = [m for n in range(6) for m in (U(f"q{n}"), A(f"a{n}"))]
    done = reduce(f"summarizing(keep_recent=2, profile={profile!r})", history, moment="overflow", summarize=reply)
    assert done.exception == exception
    if exception is None:
        assert done.messages[0]["content"] == content


def test_the_summary_may_stand_before_a_user_message() -> None:
    """With half of five messages two user messages follow each other; with a pinned task as well."""
    history = [U(), A(), U(), A(), U(), A()]
    assert shape(reduce("summarizing(ratio=0.3, keep_recent=1)", history, moment="overflow").messages) == "U A U A U A"
    assert shape(reduce("summarizing(ratio=0.4, keep_recent=1)", history, moment="overflow").messages) == "U U A U A"
    assert (
        shape(reduce("summarizing(ratio=0.4, keep_recent=1, pin_first=1)", history, moment="overflow").messages) == "U U U A U A"
    )


def test_everything_pinned_cannot_be_summarised() -> None:
    """An overflow says so, and the pins that it set stay."""
    history = [m for n in range(6) for m in (U(f"q{n}"), A(f"a{n}"))]
    done = reduce("summarizing(pin_first=50, keep_recent=2)", history, moment="overflow")
    assert done.exception == OVERFLOW
    assert all(message["metadata"]["custom"]["pinned"] for message in done.messages)


def test_null_never_acts() -> None:
    """It hands an overflow back and does nothing else."""
    for moment in ("turn_end", "before_call"):
        assert reduce("null", TALK, moment=moment).messages == TALK
    done = reduce("null", TALK, moment="overflow")
    assert (done.messages, done.exception) == (TALK, OVERFLOW)


def test_the_state_of_another_manager_is_refused_on_restore() -> None:
    """A class name that differs is a ValueError."""
    done = reduce("summarizing", TALK, moment="restore", state={"__name__": "Other", "removed_message_count": 0})
    assert done.exception == "ValueError"


def test_a_resumed_session_puts_the_summary_before_the_stored_rest() -> None:
    """The log is read from the removed count on."""
    summary = {"role": "user", "content": [{"text": "EARLIER"}]}
    state = {"__name__": "SummarizingConversationManager", "removed_message_count": 2, "summary_message": summary}
    done = reduce("summarizing", TALK, moment="restore", state=state)
    assert [m["content"][0]["text"] for m in done.messages] == ["EARLIER", "Second", "Second"]


def test_a_pin_makes_a_resumed_session_lose_the_task() -> None:
    """The count says how many went, not which: with a pinned head the offset skips the task and brings back what went."""
    history = [U("task"), *[m for n in range(6) for m in (A(f"a{n}"), U(f"q{n}"))]]
    done = reduce("summarizing(pin_first=1, keep_recent=5, ratio=0.5)", history, moment="overflow", summarize="SUMMARY")
    assert done.messages[0]["content"][0]["text"] == "task"
    resumed = reduce("summarizing(pin_first=1)", history, moment="restore", state=done.state)
    texts = [m["content"][0]["text"] for m in resumed.messages]
    assert "task" not in texts
    assert texts[:2] == ["SUMMARY", "a2"]


PINS: list[tuple[Dict, str]] = [
    ({"select": "last_turn"}, "U A U* A*"),
    ({"select": 1}, "U A U A*"),
    ({"select": 99}, "U* A* U* A*"),
    ({"select": 0}, "U A U A"),
    ({"select": -1}, "U A U A"),
    ({"select": [0, 2, -1, 9]}, "U* A U* A"),
    ({"select": [77]}, "U A U A"),
    ({"select": 99, "filter": "user"}, "U* A U* A"),
    ({"select": 99, "filter": "tools"}, "U A U A"),
]


@pytest.mark.parametrize(("arguments", "expected"), PINS)
def test_the_pin_tool_selects(arguments: Dict, expected: str) -> None:
    """The current turn, the last N, or indices, narrowed by a filter; nothing found is a sentence, not an error."""
    done = agentic_tool("pin_context", arguments, TALK)
    marks = ["*" if m.get("metadata") else "" for m in done.messages]
    assert " ".join(s + m for s, m in zip(shape(done.messages).split(), marks, strict=True)) == expected
    assert done.exception is None
    assert done.text


def test_the_first_user_message_stays_even_when_it_answers_a_call_that_goes() -> None:
    """A history that begins with a tool pair keeps an orphan result at its head."""
    history = [TU("1"), TR("1"), A(), U(), A(), U(), A()]
    assert shape(agentic_tool("truncate_context", {"keep_recent": 2}, history).messages) == "TR1 U A"


def test_a_pure_tool_loop_can_never_be_truncated_by_the_tool() -> None:
    """There is no plain user message to cut at, and the tool says what to try instead."""
    done = agentic_tool("truncate_context", {"keep_recent": 4}, TOOL_LOOP)
    assert done.messages == TOOL_LOOP
    assert "summarize_context" in done.text


@pytest.mark.parametrize("keep", [-1, 0, 1, 2])
def test_the_tools_keep_at_least_two_messages(keep: int) -> None:
    """Less than two is taken for two: the calling message must stay."""
    history = [U("task"), A(), U(), A(), U(), A()]
    assert shape(agentic_tool("truncate_context", {"keep_recent": keep}, history).messages) == "U U A"


def test_a_failing_summariser_is_told_to_the_model() -> None:
    """The summary tool never raises."""
    history = [m for n in range(9) for m in (U(f"q{n}"), A(f"a{n}"))]
    done = agentic_tool("summarize_context", {}, history, summarize=RuntimeError("the model is down"))
    assert (done.exception, done.messages) == (None, history)
    assert "the model is down" in done.text

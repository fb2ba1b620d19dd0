"""Vectors on which our strategies once differed from the real package; they need no package."""

from __future__ import annotations

from typing import Any

from ullage.testing import agentic_tool, reduce

Dict = dict[str, Any]
NULL = {"metadata": {"custom": None}}


def text(role: str, words: str, **extra: Any) -> Dict:
    """A message with one text."""
    return {"role": role, "content": [{"text": words}], **extra}


def call(*ids: str) -> Dict:
    """A message with one call for each id."""
    return {"role": "assistant", "content": [{"toolUse": {"toolUseId": i, "name": "shell", "input": {}}} for i in ids]}


def result(*ids: str, words: str = "done", **extra: Any) -> Dict:
    """A message that answers these calls."""
    blocks = [{"toolResult": {"toolUseId": i, "status": "success", "content": [{"text": words}]}} for i in ids]
    return {"role": "user", "content": blocks, **extra}


def without_status(*ids: str, words: str = "done") -> Dict:
    """Answers that came without a status."""
    made = result(*ids, words=words)
    for block in made["content"]:
        del block["toolResult"]["status"]
    return made


def test_the_search_for_the_oldest_result_reads_every_pin_even_without_truncation() -> None:
    """A broken pin far behind the cut stops a reactive reduction whose truncation is off."""
    history = [text("user", "a"), text("assistant", "b"), text("user", "c"), text("assistant", "d"), text("user", "e", **NULL)]
    done = reduce("sliding_window(window_size=2, should_truncate_results=False)", history, moment="overflow")
    assert (done.exception, done.messages) == ("AttributeError", history)
    routine = reduce("sliding_window(window_size=2)", history, moment="turn_end")
    assert routine.exception is None


def test_a_broken_pin_stops_pin_first_and_earlier_pins_stay() -> None:
    """Pinning null metadata is a TypeError; the messages before it are pinned by then."""
    history = [text("user", "a"), text("assistant", "b"), text("user", "c", **NULL), text("assistant", "d")]
    done = reduce("sliding_window(window_size=2, pin_first=50)", history, moment="turn_end")
    assert done.exception == "TypeError"
    assert [bool((m.get("metadata") or {}).get("custom")) for m in done.messages] == [True, True, False, False]


def test_unpinning_removes_flags_that_were_no_pins_and_empty_containers() -> None:
    """``pinned: yes`` and an empty custom go with their containers."""
    history = [text("user", "a", metadata={"custom": {"pinned": "yes"}}), text("user", "b", metadata={"custom": {}})]
    done = agentic_tool("pin_context", {"select": 2, "action": "unpin"}, history)
    assert done.messages == [text("user", "a"), text("user", "b")]


def test_a_result_without_status_stops_a_step_even_when_it_is_small() -> None:
    """The target is checked before the size, so the large result behind it is not shortened in this pass."""
    history = [
        text("user", "task"), call("1"), without_status("1"), call("2"), result("2", words="x" * 9000), text("assistant", "end"),
    ]  # fmt: skip
    done = reduce("auto(profile='1.62')", history, moment="before_call", projected_tokens=10)
    assert done.messages == history
    fixed = [*history[:2], result("1"), *history[3:]]
    assert reduce("auto(profile='1.62')", fixed, moment="before_call", projected_tokens=10).messages != fixed


def test_a_pinned_result_without_status_does_not_stop_the_summary() -> None:
    """Pins are checked before the target when nothing recent is spared."""
    spec = "context_manager(strategies=(\"summarize(target='tool_results', utilization=0.5)\",))"
    pin = {"metadata": {"custom": {"pinned": True}}}
    history = [
        text("user", "task"), call("1"), {**without_status("1"), **pin}, call("2"), result("2"), call("3"), result("3"),
        text("assistant", "end"),
    ]  # fmt: skip
    done = reduce(spec, history, moment="before_call", projected_tokens=900, window=1000)
    assert done.request is not None
    assert any("[Summarized: 4 messages" in b.get("text", "") for m in done.messages for b in m["content"])


def test_a_result_that_is_not_shortened_needs_no_status() -> None:
    """Only the shortened form is built with one."""
    spec = "context_manager(strategies=(\"truncate(target=('tool::shell',), threshold=1, preview_tokens=0)\",))"
    history = [text("user", "task"), call("1"), without_status("1", words="x" * 8), text("assistant", "end")]
    assert reduce(spec, history, moment="before_call", projected_tokens=10).messages == history


def test_a_broken_pin_leaves_the_merge_of_roles_half_done() -> None:
    """Neighbours of one role are merged in place from the front; what raises on the way leaves a message twice."""
    history = [
        text("user", "task"), text("assistant", "a"), text("user", "b"), text("assistant", "c"), text("user", "d"),
        text("user", "d2"), text("assistant", "x"), text("user", "e", **NULL), text("user", "f"), text("assistant", "g"),
    ]  # fmt: skip
    done = reduce("context_manager(strategies=())", history, moment="overflow")
    texts = [[block["text"] for block in message["content"]] for message in done.messages]
    assert done.exception == "ContextWindowOverflowException"
    assert texts == [["task"], ["c", "[... 2 messages elided ...]"], ["d", "d2"], ["x"], ["e"], ["e"], ["f"], ["g"]]


def test_answers_of_the_retrieval_tool_are_stored_when_the_call_was_not_seen() -> None:
    """A history given as a whole is stored with them; the call is known only when it was added while the agent ran."""
    retrieval = {"role": "assistant", "content": [{"toolUse": {"toolUseId": "r", "name": "retrieve_context", "input": {}}}]}
    history = [text("user", "task"), retrieval, result("r", words="found"), text("assistant", "end")]
    done = reduce("auto(profile='1.62')", history, moment="before_call", projected_tokens=10)
    assert done.stashed["r_0"] == '{"text": "found"}'
    seen = reduce("auto(profile='1.62')", history[:2], moment="arrival")
    added = reduce("auto(profile='1.62')", history[:3], moment="arrival", state={"own": seen.memory})
    assert "r_0" not in added.stashed


def test_a_message_that_arrives_after_a_pass_does_not_make_the_stash_store_markers() -> None:
    """The history is stored once, before the first pass; markers that passes leave are not."""
    history = [m for n in range(6) for m in (text("user", f"q{n}"), text("assistant", f"a{n}"))]
    first = reduce("context_manager(strategies=())", history, moment="overflow")
    second = reduce(
        "context_manager(strategies=())", first.messages, moment="arrival", state={**first.state, "own": first.memory},
        store=first.stashed,
    )  # fmt: skip
    third = reduce(
        "context_manager(strategies=())", second.messages, moment="overflow", state={**second.state, "own": second.memory},
        store={**first.stashed, **second.stashed},
    )  # fmt: skip
    assert not any("elided" in content for content in third.stashed.values())


def test_messages_without_tracking_ids_share_their_references() -> None:
    """The first text stored under ``unknown_0`` wins, so references lead to another message's text."""
    history = [text("user", "task"), text("assistant", "second"), text("user", "third")]
    done = reduce("auto(profile='1.62')", history, moment="before_call", projected_tokens=10)
    assert done.stashed == {"unknown_0": '{"text": "task"}'}


def test_older_releases_mend_only_a_leading_orphan_result() -> None:
    """1.62 removes every result without a call before it, 1.54 the first message only, and that whole."""
    history = [result("0"), text("user", "task"), text("assistant", "a"), result("1"), text("assistant", "b")]
    state = {"__name__": "SlidingWindowConversationManager", "removed_message_count": 0}
    old = reduce("sliding_window(profile='1.54')", history, moment="restore", state=state)
    new = reduce("sliding_window(profile='1.62')", history, moment="restore", state=state)
    assert old.messages == history[1:]
    assert new.messages == [history[1], history[2], history[4]]


def test_a_call_that_nobody_answered_gets_an_error_when_the_session_resumes() -> None:
    """A missing answer is made up, a stale one goes, the last message is left alone."""
    history = [text("user", "task"), call("1", "2"), result("1", "9"), call("3"), text("user", "go on"), call("4")]
    state = {"__name__": "SlidingWindowConversationManager", "removed_message_count": 0}
    done = reduce("sliding_window", history, moment="restore", state=state)
    ids = [[b["toolResult"]["toolUseId"] for b in m["content"] if "toolResult" in b] for m in done.messages]
    assert ids == [[], [], ["1", "2"], [], ["3"], [], []]
    assert done.messages[2]["content"][1]["toolResult"]["status"] == "error"


def test_items_that_store_nothing_leave_full_texts_behind_the_preview() -> None:
    """At 1.62 an empty text or an unknown kind shifts the references, and what has none is put back whole."""
    content = [{"text": ""}, {"text": "x" * 48}, {"text": ""}]
    history = [
        call("1"),
        {"role": "user", "content": [{"toolResult": {"toolUseId": "1", "status": "success", "content": content}}]},
    ]
    limits = "max_result_tokens=10, preview_tokens=5"
    new = reduce(f"offloader({limits})", history, moment="arrival").messages[1]["content"][0]["toolResult"]["content"]
    old = reduce(f"offloader({limits}, profile='1.54')", history, moment="arrival").messages[1]["content"][0]["toolResult"][
        "content"
    ]
    assert [len(item["text"]) for item in new[1:]] == [48, 0]
    assert len(old) == 1
    assert old[0]["text"].startswith("[Offloaded: 3 blocks, ~12 tokens]\n")
    assert old[0]["text"].endswith("\n\nxxxxxxxxxxxxxxxxxxxx\n\n[Stored references:]\n  mem_1_1_1 (text, 48 chars)")


def test_three_zeros_of_usage_are_a_baseline() -> None:
    """A model that reports nothing makes the projection fall to the newest messages, and nothing is ever due."""
    zeros = {"metadata": {"usage": {"inputTokens": 0, "outputTokens": 0, "totalTokens": 0}}}
    history = [m for n in range(9) for m in (text("user", "q" * 400), text("assistant", "a" * 400, **zeros))]
    history.append(text("user", "now"))
    spec = "summarizing(threshold=0.5, keep_recent=2)"
    assert reduce(spec, history, moment="before_call", window=2000).messages == history
    for message in history:
        message.pop("metadata", None)
    assert reduce(spec, history, moment="before_call", window=2000).messages != history


def twice(spec: str, history: list[Dict], moment: str) -> tuple[Any, Any]:
    """The same moment two times, with all that a running process remembers."""
    first = reduce(spec, history, moment=moment, projected_tokens=900, window=1000, summarize="SUM")
    state = {**first.state, "own": first.memory}
    return first, reduce(
        spec, first.messages, moment=moment, projected_tokens=900, window=1000, summarize="SUM", state=state, store=first.stashed
    )


def test_a_message_that_a_broken_merge_left_twice_is_found_at_its_last_place() -> None:
    """The next pass shows it to the summariser twice and removes it once, where it stands last."""
    spec = (
        "context_manager(strategies=(\"summarize(target='assistant_text', utilization=0.5, preserve_recent=3)\",), stash=False)"
    )
    history = [
        text("user", "task"), text("assistant", "a1"), text("user", "b"), text("assistant", "a2"), text("user", "d"),
        text("user", "d2"), text("assistant", "a3"), text("user", "X"), text("user", "e", **NULL), text("assistant", "g"),
        text("user", "h"), text("assistant", "i"),
    ]  # fmt: skip
    first, second = twice(spec, history, "before_call")
    left = ["task", "[Summarized: 2 messages, ~2 tokens]\n\nSUM", "b", "a3", "X", "a3", "X", "e", "g", "h", "i"]
    assert [message["content"][0]["text"] for message in first.messages] == left
    texts = [[block["text"] for block in message["content"]] for message in second.messages]
    assert texts == [
        ["task"], ["[Summarized: 2 messages, ~12 tokens]\n\nSUM"], ["b", "d", "d2"], ["a3"], ["X", "X"], ["X"], ["e"],
        ["g"], ["h"], ["i"],
    ]  # fmt: skip
    asked = [block["text"] for block in second.request["messages"][0]["content"]]
    assert asked.count("a3") == 2


def test_a_message_that_stands_twice_changes_at_both_places() -> None:
    """It is changed in place, and looked at once for each place: the second look sees what the first one left."""
    steps = (
        "truncate(target='assistant_text', utilization=0.5, preserve_recent=3, preview_tokens=4)",
        "summarize(target='assistant_text', threshold=4, preserve_recent=1)",
    )
    history = [
        text("user", "task"), text("assistant", "a1"), text("user", "b"), text("assistant", "a2"), text("user", "d"),
        text("user", "d2"), text("assistant", "a3 is long enough to be asked about"), text("user", "X"),
        text("user", "e", **NULL), text("assistant", "g"), text("user", "h"), text("assistant", "i"),
    ]  # fmt: skip
    spec = f"context_manager(strategies={steps!r}, stash=False)"
    done = reduce(spec, history, moment="before_call", projected_tokens=900, window=1000, summarize="SUM")
    again = "[Summarized: text block, ~10 tokens]\n\nSUM"
    assert [message["content"][0]["text"] for message in done.messages] == [
        "task", "[Summarized: text block, ~7 tokens]\n\nSUM", "b", again, "X", again, "X", "e", "g", "h", "i",
    ]  # fmt: skip
    assert [request["messages"][0]["content"][1]["text"] for request in done.requests] == [
        "[... 2 messages elided ...]", "a3 is long enough to be asked about", "[Summarized: text block, ~9 tokens]\n\nSUM",
    ]  # fmt: skip


def test_a_repeated_answer_that_is_rebuilt_keeps_what_it_came_without() -> None:
    """Of two answers to one call the last stays, in the first one's place, and still has no status."""
    twice = {"role": "user", "content": [*result("t1")["content"], *without_status("t1", words="again")["content"]]}
    log = [text("user", "q"), call("t1", "t2"), twice, text("assistant", "end")]
    state = {"__name__": "SummarizingConversationManager", "removed_message_count": 0, "summary_message": None}
    done = reduce("summarizing", log, moment="restore", state=state)
    first, second = (block["toolResult"] for block in done.messages[2]["content"])
    assert first == {"toolUseId": "t1", "content": [{"text": "again"}]}
    assert (second["toolUseId"], second["status"]) == ("t2", "error")


def test_a_marker_that_is_dropped_later_is_kept_under_no_id_of_its_own() -> None:
    """Only what an agent appends is tracked: a pipeline's own markers are stashed as unknown."""
    steps = ("drop(target='user_text', threshold=0, utilization=0.1, preserve_recent=2.5)", "drop(target='*')")
    history = [text("user", f"word {n} " * 40) for n in range(6)]
    done = reduce(f"context_manager(strategies={steps!r})", history, moment="before_call", projected_tokens=900, window=1000)
    assert [(message["role"], [block["text"] for block in message["content"]]) for message in done.messages] == [
        ("user", ["[Dropped] [ref: unknown_0]"]),
        ("assistant", ["[Dropped] [ref: unknown_0]"]),
        ("user", ["[Dropped] [ref: unknown_0]", "[Dropped] [ref: unknown_1]"]),
    ]

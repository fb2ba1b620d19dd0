"""The shared engine: where a history may be cut, what is pinned, what estimators count."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from ullage.converse import converse_of, messages_of
from ullage.errors import CannotShrink
from ullage.strategies.shared import (
    ContextWindowOverflowException,
    adjust_split_point_for_tool_pairs,
    find_valid_trim_point,
    is_pinned,
    matches_message_type,
    partition_pinned,
    pin_message,
    unpin_message,
)
from ullage.strategies.shared.estimators import (
    chars_over_3,
    chars_over_4,
    cjk_aware,
    projected_tokens,
    strands_message_tokens,
    usage_plus_tail,
)
from ullage.strategies.shared.turns import Turns
from ullage.testing import assistant, context_of, make_history, tool_call, tool_result, usage, user, view_of
from ullage.types import Drop, Insert, Message, Opaque, Rewrite, Text, Thinking, ToolResult, ToolUse

T, TUSE, TRES, ANSWER = "T", "TU", "TR", "A"


def history(*kinds: str) -> list[Message]:
    """Messages by kind; ``TU`` and ``TR`` may carry an id: ``TU9``."""
    made = []
    for at, kind in enumerate(kinds):
        if kind.startswith(TUSE):
            made.append(tool_call(f"m{at}", kind[2:] or "x"))
        elif kind.startswith(TRES):
            made.append(tool_result(f"m{at}", **{kind[2:] or "x": "result"}))
        else:
            made.append(user("text", f"m{at}") if kind == T else assistant("text", f"m{at}"))
    return made


SPLITS: list[tuple[tuple[str, ...], int, int | None]] = [
    ((T, T), 0, 0),
    ((TRES, T), 0, 1),
    ((TUSE, T), 0, 1),
    ((TUSE, TRES, T), 0, 0),
    ((TRES, TRES, T), 0, 2),
    ((TRES,), 0, None),
    ((TRES, TRES), 0, None),
    ((T, T), 2, 2),
    ((T, T), 5, None),
    ((T, ANSWER, TUSE), 2, 2),
    ((T, "TU9", "TR8", T), 1, 1),
]


@pytest.mark.parametrize("dicts", [False, True], ids=["nouns", "dicts"])
@pytest.mark.parametrize(("kinds", "split", "expected"), SPLITS)
def test_a_split_point_moves_forward_to_whole_pairs(kinds: tuple[str, ...], split: int, expected: int | None, dicts: Any) -> None:
    """The fact table of the split point; none means that it raises."""
    messages: Any = [converse_of(m) for m in history(*kinds)] if dicts else history(*kinds)
    if expected is None:
        with pytest.raises(ContextWindowOverflowException):
            adjust_split_point_for_tool_pairs(messages, split)
    else:
        assert adjust_split_point_for_tool_pairs(messages, split) == expected


def test_the_typescript_dialect_gives_a_point_beyond_the_end_back() -> None:
    """Python raises there."""
    assert adjust_split_point_for_tool_pairs(history(T, T), 5, "typescript") == 5
    assert issubclass(ContextWindowOverflowException, CannotShrink)


TRIMS: list[tuple[tuple[str, ...], int, int]] = [
    ((), 0, 0),
    ((), 1, 1),
    ((T, ANSWER, T), 0, 0),
    ((T, ANSWER, T), 1, 2),
    ((T, TUSE, TRES), 1, 3),
    ((TRES, T), 0, 1),
    ((T, ANSWER), 7, 7),
]


@pytest.mark.parametrize(("kinds", "start", "expected"), TRIMS)
def test_a_history_may_begin_only_at_a_plain_user_message(kinds: tuple[str, ...], start: int, expected: int) -> None:
    """The length when there is none; a start beyond the end comes back."""
    assert find_valid_trim_point(history(*kinds), start) == expected


def test_a_pin_protects_the_neighbour_that_shares_the_call_and_no_other() -> None:
    """With the results of one message in two, only the first is protected."""
    messages = [tool_call("a", "1", "2"), tool_result("b", **{"1": "x"}), tool_result("c", **{"2": "x"})]
    messages[0] = msgspec.structs.replace(messages[0], pinned=True)
    assert [is_pinned(messages, at) for at in range(3)] == [True, True, False]
    assert partition_pinned(messages, 0, 3) == ([messages[0], messages[1]], [messages[2]])


@pytest.mark.parametrize("value", [False, "yes", 1, None])
def test_only_true_is_a_pin(value: Any) -> None:
    """Other values of the flag mean nothing."""
    message = {"role": "user", "content": [], "metadata": {"custom": {"pinned": value}}}
    assert not is_pinned([message], 0)


def test_unpinning_removes_the_containers_that_it_empties_and_leaves_partners() -> None:
    """The key goes, then empty metadata; a pinned partner still protects."""
    plain: dict[str, Any] = {"role": "assistant", "content": [{"toolUse": {"toolUseId": "1", "name": "n", "input": {}}}]}
    result = {"toolResult": {"toolUseId": "1", "status": "success", "content": []}}
    messages: list[dict[str, Any]] = [dict(plain), {"role": "user", "content": [result]}]
    pin_message(messages, 0)
    pin_message(messages, 1)
    unpin_message(messages, 0)
    assert messages[0] == plain
    assert is_pinned(messages, 0)
    messages[1]["metadata"]["usage"] = {"inputTokens": 1}
    unpin_message(messages, 1)
    assert messages[1]["metadata"] == {"usage": {"inputTokens": 1}}


@pytest.mark.parametrize("index", [0, 1])
def test_null_custom_metadata_fails_as_in_the_package(index: int) -> None:
    """Reading a pin is an AttributeError, also for the partner; pinning a TypeError; unpinning accepts it."""
    use = {
        "role": "assistant",
        "content": [{"toolUse": {"toolUseId": "1", "name": "n", "input": {}}}],
        "metadata": {"custom": None},
    }
    result = {"role": "user", "content": [{"toolResult": {"toolUseId": "1", "status": "success", "content": []}}]}
    for messages in ([use, result], list(messages_of([use, result]))):
        broken: Any = messages
        with pytest.raises(AttributeError):
            is_pinned(broken, index)
        with pytest.raises(TypeError):
            pin_message(broken, 0)
        unpin_message(broken, 0)


def test_message_types_divide_a_history() -> None:
    """Tool traffic, everything else, all."""
    messages = history(T, TUSE, TRES, ANSWER)
    for kind, expected in (("tools", [1, 2]), ("messages", [0, 3]), ("all", [0, 1, 2, 3])):
        assert [at for at, m in enumerate(messages) if matches_message_type(m, kind)] == expected  # type: ignore[arg-type]  # the kind is a table entry


def test_estimators_differ_where_the_text_is_not_english() -> None:
    """Characters / 3 and / 4 count Chinese like English; the CJK-aware one does not."""
    english, chinese = user("a" * 120, "e"), user("缓" * 120, "c")
    assert [f(english) for f in (chars_over_3, chars_over_4, cjk_aware)] == [40, 30, 30]
    assert [f(chinese) for f in (chars_over_3, chars_over_4, cjk_aware)] == [40, 30, 180]
    mixed = user("a" * 10 + "缓" * 10, "m")
    assert cjk_aware(mixed) == 18  # 10 / 4 + 10 × 1.5, rounded up


def test_the_length_third_misses_a_trigger_that_the_real_count_would_pull() -> None:
    """70 % by estimate was 92 % by the bill: mixed text is a third larger than its characters say."""
    text = user("修改缓存索引并运行测试 run the suite again " * 40, "m")
    assert cjk_aware(text) * 70 > chars_over_3(text) * 92


COUNTS: list[tuple[Any, int]] = [
    (Text(text="12345"), 2),
    (Text(text=""), 0),
    (Thinking(text="12345678"), 2),
    (ToolUse(id="1", name="shell", arguments='{"a":1}'), 2 + 4),
    (ToolResult(tool_use_id="1", content=(Text(text="1234"), Opaque(kind="json", data='{"a": 1}'))), 1 + 4),
    (Opaque(kind="image", data="{}"), 0),
    (Opaque(kind="cachePoint", data="{}"), 0),
    (Opaque(kind="guardContent", data='{"text": {"text": "12345"}}'), 2),
    (Opaque(kind="citationsContent", data='{"content": [{"text": "1234"}, {"text": "1"}]}'), 2),
]


@pytest.mark.parametrize(("block", "tokens"), COUNTS)
def test_the_package_counts(block: Any, tokens: int) -> None:
    """Texts by quarters, JSON by halves, media not at all."""
    assert strands_message_tokens(Message(id="m", role="user", blocks=(block,))) == tokens


def test_the_projection_is_the_last_usage_plus_the_tail() -> None:
    """After a reply the tail is estimated; before the first everything is counted, with system and tools."""
    messages = [user("a" * 40, "u"), assistant("b" * 40, "r"), user("c" * 40, "v")]
    cold = view_of(messages, system="s" * 8)
    assert projected_tokens(cold, messages) == 2 + 30
    assert usage_plus_tail(cold, strands_message_tokens) is None
    warm = view_of(messages, usage=usage(500, 20), usage_at=2)
    assert projected_tokens(warm, messages) == usage_plus_tail(warm, strands_message_tokens) == 530


def test_the_projection_stays_stale_after_a_reduction() -> None:
    """The surviving reply still carries the usage of the history before it; without it everything is counted."""
    messages = [user("a" * 4000, "u"), assistant("b", "r"), user("c" * 40, "v")]
    view = view_of(messages, usage=usage(5000, 20), usage_at=2)
    assert projected_tokens(view, messages[1:]) == 5030
    assert projected_tokens(view, messages[2:]) == 10


def test_results_in_neighbouring_messages_are_merged_and_edits_spread_again() -> None:
    """What stands in several user messages is one for the pair rules; a drop takes all, a rewrite gives each its share."""
    messages = [tool_call("a", "1", "2"), tool_result("b", **{"1": "x"}), tool_result("c", **{"2": "y"}), assistant("z", "d")]
    turns = Turns.of(context_of(messages))
    assert [m.id for m in turns.messages] == ["a", "b", "d"]
    assert turns.messages[1].tool_result_ids == ("1", "2")
    assert turns.spread([Drop(ids=("a", "b"))]) == (Drop(ids=("a", "b", "c")),)
    inserted = Insert(after="b", message=assistant("s", "s"), sources=("b",))
    assert turns.spread([inserted]) == (Insert(after="c", message=inserted.message, sources=("b", "c")),)
    blocks = tuple(msgspec.structs.replace(b, content=(Text(text="cut"),)) for b in turns.messages[1].blocks)
    spread = turns.spread([Rewrite(id="b", blocks=blocks)])
    assert spread == (Rewrite(id="b", blocks=blocks[:1]), Rewrite(id="c", blocks=blocks[1:]))
    fewer = turns.spread([Rewrite(id="b", blocks=blocks[:1])])
    assert fewer == (Rewrite(id="b", blocks=blocks[:1]), Drop(ids=("c",)))


@pytest.mark.parametrize("seed", range(300))
def test_converse_messages_survive_the_way_to_nouns_and_back(seed: int) -> None:
    """Nothing of a generated history is lost: ids, metadata, missing statuses, bytes, unknown kinds."""
    given = make_history(seed)
    assert [converse_of(message) for message in messages_of(given)] == given


ODD: list[dict[str, Any]] = [
    {"role": "user", "content": [{"text": "a", "note": 1}], "extra": {"b": b"bytes"}},
    {"role": "user", "content": [{"image": {"format": "png", "source": {"s3Location": {"uri": "s3://x"}}}}]},
    {"role": "assistant", "content": [{"reasoningContent": {"redactedContent": b"\x00\x01"}}]},
    {"role": "assistant", "content": [{"reasoningContent": {"reasoningText": {"text": "a"}}}]},
    {"role": "assistant", "content": [{"toolUse": {"toolUseId": "1", "name": "n", "input": [1], "reasoningSignature": "s"}}]},
    {"role": "user", "content": [{"toolResult": {"toolUseId": "1", "status": "pending", "content": [{"new": 1}], "type": "t"}}]},
    {"role": "user", "content": [], "metadata": {"custom": None}, "tracking_id": ""},
]


@pytest.mark.parametrize("message", ODD)
def test_odd_converse_messages_survive_too(message: dict[str, Any]) -> None:
    """Unknown keys, unknown kinds and unknown statuses are kept."""
    assert converse_of(messages_of([message])[0]) == message

"""Laws of the context: whatever edits are applied, the new context is what its messages say, and nothing before moves."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ullage.context import ERASED, Context
from ullage.errors import EditError, StaleContext
from ullage.testing import assistant, context_of, count_words, tool_call, tool_result, user
from ullage.types import Drop, Edit, Erase, Inject, Insert, Message, Opaque, Rewrite, Stash, Text, ToolResult

WORDS = st.lists(st.sampled_from(["red", "green", "blue", "4711", ""]), min_size=0, max_size=6).map(" ".join)


@st.composite
def histories(draw: st.DrawFn, minimum: int = 1, maximum: int = 9) -> list[Message]:
    """Messages of all kinds with ids ``0``, ``1`` …; not necessarily a legal conversation."""
    made = []
    for n in range(draw(st.integers(minimum, maximum))):
        kind = draw(st.sampled_from(("user", "assistant", "call", "result", "both", "empty")))
        text = draw(WORDS)
        made.append(
            {
                "user": user(text, str(n)),
                "assistant": assistant(text, str(n)),
                "call": tool_call(str(n), f"t{n}", f"s{n}", text="go"),
                "result": tool_result(str(n), **{f"t{n - 1}": text}),
                "both": msgspec.structs.replace(tool_result(str(n), **{f"t{n - 1}": text, f"s{n - 1}": "x"}), pinned=True),
                "empty": Message(id=str(n), role="user"),
            }[kind]
        )
    return made


@st.composite
def edits_of(draw: st.DrawFn, messages: list[Message], tag: str = "n") -> tuple[Edit, ...]:
    """Edits that can be applied: every message is dropped, rewritten, erased or left alone; some get a new neighbour."""
    found: list[Edit] = []
    for message in messages:
        verb = draw(st.sampled_from(("keep", "keep", "keep", "drop", "rewrite", "erase", "insert")))
        if verb == "drop":
            found.append(Drop(ids=(message.id,)))
        elif verb == "rewrite":
            found.append(Rewrite(id=message.id, blocks=draw(st.sampled_from((message.blocks, (Text(text="stub"),))))))
        elif verb == "erase":
            found.append(Erase(id=message.id))
        elif verb == "insert":
            after = draw(st.sampled_from([None, message.id]))
            found.append(Insert(after=after, message=user(draw(WORDS), f"{tag}{len(found)}"), sources=(message.id,)))
    return tuple(draw(st.permutations(found)))


def expected(messages: list[Message], edits: tuple[Edit, ...]) -> list[Message]:
    """The messages after these edits, by the plainest reading of their descriptions."""
    dropped = {i for e in edits if isinstance(e, Drop) for i in e.ids}
    rewritten = {e.id: e.blocks for e in edits if isinstance(e, Rewrite)}
    erased = {e.id for e in edits if isinstance(e, Erase)}
    made = [e.message for e in edits if isinstance(e, Insert) and e.after is None]
    for message in messages:
        if message.id not in dropped:
            made.append(_edited(message, rewritten, erased))
        made += [e.message for e in edits if isinstance(e, Insert) and e.after == message.id]
    return made


def _edited(message: Message, rewritten: dict[str, Any], erased: set[str]) -> Message:
    blocks = rewritten.get(message.id, message.blocks)
    if message.id in erased:
        gone = (Opaque(kind=ERASED, tokens=0),)
        blocks = tuple(msgspec.structs.replace(b, content=gone) if isinstance(b, ToolResult) else b for b in message.blocks)
    if blocks == message.blocks:
        return message
    return msgspec.structs.replace(message, blocks=blocks, stub=message.stub or bool(message.tool_result_ids))


def facts(context: Context, *, hashes: bool = True) -> dict[str, Any]:
    """All that a context says about itself."""
    length = len(context)
    told: dict[str, Any] = {
        "messages": list(context),
        "index": [context.position(m.id) for m in context],
        "tokens": [context.tokens(0, n) for n in range(length + 1)],
        "positions": [context.cache_positions(n) for n in range(length + 1)],
        "results": list(context.result_positions),
        "stubs": list(context.stub_positions),
        "fits": [context.fits(n) for n in range(0, 40, 3)],
    }
    if hashes:
        told["hashes"] = [context.prefix_hash(n) for n in range(length + 1)]
        told["keys"] = [context.sent_key(n) for n in range(length)]
    return told


CASES = histories().flatmap(lambda messages: st.tuples(st.just(messages), edits_of(messages)))


@settings(deadline=None)
@given(CASES)
def test_an_edited_context_is_what_a_fresh_one_over_its_messages_would_be(case: tuple[list[Message], tuple[Edit, ...]]) -> None:
    """Messages by the plain reading; index, token sums, cache positions, result and stub positions as built anew."""
    messages, edits = case
    after = context_of(messages).apply(edits).context
    assert list(after) == expected(messages, edits)
    assert facts(after, hashes=False) == facts(context_of(list(after)), hashes=False)
    if not any(isinstance(edit, Erase) for edit in edits):
        assert facts(after) == facts(context_of(list(after)))


@settings(deadline=None)
@given(CASES)
def test_nothing_before_the_first_changed_position_moves(case: tuple[list[Message], tuple[Edit, ...]]) -> None:
    """Below it prefix hashes, tokens and sent keys are as before; at it the sent bytes differ; ids stay unique."""
    messages, edits = case
    old = context_of(messages)
    before = facts(old)
    applied = old.apply(edits)
    new, first = applied.context, applied.first_changed
    same = len(messages) if first is None else first
    assert [new.prefix_hash(n) for n in range(same + 1)] == before["hashes"][: same + 1]
    assert [m.id for m in new][:same] == [m.id for m in messages][:same]
    assert len({m.id for m in new}) == len(new)
    if first is None:
        assert len(new) == len(messages)
    elif first < min(len(messages), len(new)):
        moved = new[first].id != messages[first].id or new.sent_key(first) != before["keys"][first]
        assert moved or new.prefix_hash(first + 1) != before["hashes"][first + 1] or new[first] is not messages[first]


@settings(deadline=None)
@given(CASES)
def test_erased_results_keep_every_prefix_hash(case: tuple[list[Message], tuple[Edit, ...]]) -> None:
    """The client's bytes do not change when the server deletes results; only tokens fall."""
    messages, _ = case
    old = context_of(messages)
    hashes, size = facts(old)["hashes"], old.tokens()
    applied = old.apply(tuple(Erase(id=m.id) for m in messages))
    assert applied.first_changed is None
    assert facts(applied.context)["hashes"] == hashes
    assert applied.context.tokens() <= size


@settings(deadline=None)
@given(CASES, st.data())
def test_sources_lead_through_any_number_of_summaries_to_recorded_messages(
    case: tuple[list[Message], tuple[Edit, ...]], data: st.DataObject
) -> None:
    """An inserted message stands for recorded ids only, also when what it replaces was itself inserted."""
    messages, edits = case
    recorded = {m.id for m in messages}
    once = context_of(messages).apply(edits).context
    direct = {e.message.id: e.sources for e in edits if isinstance(e, Insert)}
    assert all(once.sources(i) == tuple(dict.fromkeys(sources)) for i, sources in direct.items())
    chosen = data.draw(st.lists(st.sampled_from([m.id for m in once] or [messages[0].id]), min_size=1, unique=True))
    living = [i for i in chosen if once.position(i) is not None]
    twice = once.apply((Drop(ids=tuple(living)), Insert(after=None, message=user("all", "sum"), sources=tuple(chosen)))).context
    whole = [origin for i in chosen for origin in direct.get(i, (i,))]
    assert twice.sources("sum") == tuple(dict.fromkeys(whole))
    assert set(twice.sources("sum")) <= recorded


@settings(deadline=None)
@given(histories(minimum=2), st.data())
def test_many_edits_and_appends_in_a_row_equal_a_fresh_build(messages: list[Message], data: st.DataObject) -> None:
    """Appending after an edit, and editing after that, keep every array in step."""
    context = context_of(messages)
    for n in range(3):
        context = context.apply(data.draw(edits_of(list(context), tag=f"n{n}-"))).context
        context = context.append(tool_result(f"late{n}", x="a b"))
    assert context[-1].id == "late2"
    assert facts(context, hashes=False) == facts(context_of(list(context)), hashes=False)


@settings(deadline=None)
@given(CASES)
def test_views_from_before_an_edit_show_the_past_or_raise(case: tuple[list[Message], tuple[Edit, ...]]) -> None:
    """A view below the cut still reads the same messages; one above it raises instead of showing others."""
    messages, edits = case
    old = context_of(messages)
    views = [old.upto(n) for n in range(len(messages) + 1)]
    applied = old.apply(edits)
    touched = applied.context is not old
    for view in views:
        try:
            assert list(view) == messages[: len(view)]
        except StaleContext:
            assert touched
    if applied.first_changed is not None and applied.first_changed < len(messages):
        with pytest.raises(StaleContext):
            list(views[-1])
        with pytest.raises(StaleContext):
            old.append(user("more", "more"))


@pytest.mark.parametrize(
    "edits",
    [
        (Drop(ids=("9",)),),
        (Rewrite(id="9", blocks=()),),
        (Erase(id="9"),),
        (Insert(after="9", message=user("x", "n")),),
        (Insert(after="0", message=user("x", "1")),),
        (Insert(after="0", message=user("x", "n")), Insert(after="1", message=user("x", "n"))),
        (Drop(ids=("0", "0")),),
        (Drop(ids=("0",)), Rewrite(id="0", blocks=(Text(text="x"),))),
        (Rewrite(id="0", blocks=(Text(text="x"),)), Rewrite(id="0", blocks=(Text(text="y"),))),
        (Drop(ids=("1",)), Drop(ids=("9",))),
    ],
)
def test_edits_that_cannot_be_meant_are_refused_and_change_nothing(edits: tuple[Edit, ...]) -> None:
    """Unknown, repeated or contradictory ids raise before anything has changed."""
    context = context_of([user("a", "0"), user("b", "1")])
    before = facts(context)
    with pytest.raises(EditError):
        context.apply(edits)
    assert facts(context) == before
    assert len(context.append(user("c", "2"))) == 3


def test_edits_that_touch_no_message_leave_the_context_itself() -> None:
    """Injected blocks and stashed texts come back beside the same context."""
    context = context_of([user("a", "0")])
    inject, stash = Inject(blocks=(Text(text="now"),)), Stash(ref="k", content="v")
    applied = context.apply((inject, stash))
    assert applied == (context, None, inject.blocks, (stash,))


def test_a_message_inserted_behind_one_that_stays_is_there() -> None:
    """Also behind the last one."""
    for after, order in (("0", ["0", "n", "1"]), ("1", ["0", "1", "n"])):
        applied = context_of([user("a", "0"), user("b", "1")]).apply((Insert(after=after, message=user("x", "n")),))
        assert ([m.id for m in applied.context], applied.first_changed) == (order, order.index("n"))


def test_a_message_that_takes_a_dropped_ones_id_is_sent_with_its_own_bytes() -> None:
    """An erased message keeps its old bytes; one that replaces it later does not."""
    context = context_of([user("a", "0"), tool_result("1", x="long old text")])
    old = context.sent_key(1)
    erased = context.apply((Erase(id="1"),)).context
    assert erased.sent_key(1) == old
    new = user("another", "1")
    replaced = erased.apply((Drop(ids=("1",)), Insert(after="0", message=new)))
    assert replaced.context.sent_key(1) == new.key
    assert replaced.first_changed == 1


def test_a_rewrite_of_an_erased_message_sends_new_bytes() -> None:
    """What the server deleted and the client then rewrote has changed."""
    erased = context_of([tool_result("0", x="old")]).apply((Erase(id="0"),)).context
    applied = erased.apply((Rewrite(id="0", blocks=(Text(text="new"),)),))
    assert applied.first_changed == 0
    assert applied.context.sent_key(0) == applied.context[0].key


@pytest.mark.parametrize("read", ["tokens", "prefix_hash", "sent_key", "cache_positions", "index", "upto"])
def test_a_view_shows_nothing_of_what_the_log_holds_behind_it(read: str) -> None:
    """The past only: sizes and keys of later messages are refused like the messages themselves."""
    view = context_of([user("a", "0"), user("b c d", "1")]).upto(1)
    reads: dict[str, Any] = {
        "tokens": lambda: view.tokens(0, 2),
        "prefix_hash": lambda: view.prefix_hash(2),
        "sent_key": lambda: view.sent_key(1),
        "cache_positions": lambda: view.cache_positions(2),
        "index": lambda: view[1],
        "upto": lambda: view.upto(2),
    }
    with pytest.raises(IndexError, match="of a context of 1"):
        reads[read]()
    assert (view.tokens(), view.position("1"), view.fits(99), [m.id for m in view]) == (count_words(view[0]), None, 1, ["0"])

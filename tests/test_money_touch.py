"""The first change of a decision: position, message, kind of edit and block, found before the edits are applied."""

from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from ullage import registry
from ullage.breaks import breaks_of, first_touch
from ullage.cache import CacheRules
from ullage.context import Context
from ullage.replay import Ports, Setup, replay
from ullage.store import MemoryBackend, Session
from ullage.testing import FakeDecider, FakeSummarizer, count_words, make_trace, tool_call, tool_result, user
from ullage.tokens import Counter
from ullage.types import Drop, Edit, Erase, Inject, Insert, Message, Rewrite, Text

LENGTH = 12


def history() -> list[Message]:
    """A task, then calls and results in turn."""
    found = [user("the task", "m0")]
    for n in range(1, LENGTH, 2):
        found += [tool_call(f"m{n}", f"t{n}", text="I look"), tool_result(f"m{n + 1}", **{f"t{n}": f"output {n}"})]
    return found[:LENGTH]


@st.composite
def edit_lists(draw: st.DrawFn) -> tuple[Edit, ...]:
    """Legal edits of the history: each message touched once, inserts anywhere."""
    ids = draw(st.lists(st.sampled_from([f"m{n}" for n in range(LENGTH)]), unique=True, max_size=6))
    kinds = draw(st.lists(st.sampled_from(["drop", "rewrite", "same", "erase", "insert"]), min_size=len(ids), max_size=len(ids)))
    blocks = {message.id: message.blocks for message in history()}
    made: list[Edit] = []
    for name, kind in zip(ids, kinds, strict=True):
        if kind == "drop":
            made.append(Drop(ids=(name,)))
        elif kind == "rewrite":
            made.append(Rewrite(id=name, blocks=(*blocks[name][:-1], Text(text="changed"))))
        elif kind == "same":
            made.append(Rewrite(id=name, blocks=blocks[name]))
        elif kind == "erase":
            made.append(Erase(id=name))
        else:
            made.append(Insert(after=name, message=user("new", f"new-{name}")))
    return (*made, Inject(blocks=(Text(text="status"),)))


@given(edit_lists())
def test_the_touch_is_where_the_context_changes(edits: tuple[Edit, ...]) -> None:
    """Its position is the first position that applying the edits changes, its message the one that stood there."""
    context = Context.of(history(), count_words)
    names = [message.id for message in context]
    touch = first_touch(context, edits)
    first = context.apply(edits).first_changed
    assert (None if touch is None else touch.position) == first
    if touch is not None and first is not None:
        assert touch.message == (names[first] if first < len(names) else "")
        assert touch.edit in {"drop", "rewrite", "insert"}


def test_the_block_is_the_first_that_differs() -> None:
    """A call whose text stays and whose arguments change differs from its second block on."""
    context = Context.of(history(), count_words)
    blocks = context[1].blocks
    touch = first_touch(context, (Rewrite(id="m1", blocks=(blocks[0], Text(text="else"))),))
    assert touch is not None
    assert (touch.message, touch.edit, touch.block) == ("m1", "rewrite", 1)


def test_breaks_need_no_messages_once_the_decisions_name_them() -> None:
    """A record's breaks name the same message with the trace at hand and without it, also for records of old."""
    trace = make_trace(calls=40, result_words=900)
    setup = Setup(
        trace=trace,
        strategies=registry.load_strategies("sliding_stub(keep=4)"),
        counter=Counter(count_text=lambda text: len(text.split())),
        window=200_000,
        reserve=100,
        overhead=5_000,
        cache=registry.load("caches", "claude_code").open(CacheRules()),
        ports=Ports(
            summarize=FakeSummarizer(), decide=FakeDecider(), store=Session(backend=MemoryBackend(), tenant="t", session="s")
        ),
    )
    steps = list(replay(setup))
    rows, events = [step.row for step in steps if step.row], [event for step in steps for event in step.compactions]
    found = breaks_of(rows, events)
    assert len(found) > 10
    assert all(one.message.startswith("made-") and one.edit == "rewrite" for one in found)
    old = [msgspec.structs.replace(event, first_message="", first_edit="", first_block=None) for event in events]
    assert breaks_of(rows, old, trace.messages) == found

"""The cures for the sliding border: a border that moves at every n-th result only, and deletion on the server."""

from __future__ import annotations

from itertools import pairwise

import pytest
from strategies_support import walked

from ullage.errors import CannotShrink, SpecError
from ullage.registry import load_strategies
from ullage.step import Step
from ullage.testing import make_trace, tool_call, tool_result, user, view_of
from ullage.types import Erase, Message, Moment, Rewrite, ToolResult

LONG = "many words of output " * 40


def erased(message: Message) -> bool:
    """Whether the server deleted the results of a message."""
    return any(isinstance(b, ToolResult) and b.content and getattr(b.content[0], "kind", "") == "erased" for b in message.blocks)


def cleared(message: Message) -> bool:
    """Whether the results of a message are stubs."""
    return message.stub and not erased(message)


@pytest.mark.parametrize("polling", [1, 4, 10])
def test_polling_keeps_between_n_and_n_plus_polling(polling: int) -> None:
    """The border moves at every polling-th result, to exactly the newest n."""
    kept: list[int] = []

    def see(step: Step) -> None:
        results = [m for m in step.context if m.tool_result_ids]
        kept.append(sum(not cleared(m) for m in results))

    steps = walked(f"sliding_stub(keep=5, polling={polling})", make_trace(calls=90, result_words=90), 10**6, see)
    whole = kept[kept.index(max(kept)) :]
    assert set(whole) == set(range(5, 5 + polling))
    moves = sum(
        b < a or (polling == 1 and bool(step.compactions)) for (a, b), step in zip(pairwise(kept), steps[1:], strict=False)
    )
    assert moves == pytest.approx(80 / polling, abs=80 / polling * 0.2 + 1)


def test_one_is_the_sliding_border_itself() -> None:
    """With polling of 1 every decision is that of the plain strategy."""
    plain = [s.compactions for s in walked("sliding_stub(keep=5)", make_trace(calls=50), 10**6)]
    assert [s.compactions for s in walked("sliding_stub(keep=5, polling=1)", make_trace(calls=50), 10**6)] == plain


def test_the_server_deletes_and_no_byte_changes() -> None:
    """Prefixes stay as they were sent, so that nothing is read less than was kept, and the prompt gets smaller."""
    steps = walked("cache_edits(keep=5, trigger=10)", make_trace(calls=80, result_words=900), 10**6)
    events = [event for step in steps for event in step.compactions]
    assert len(events) >= 8
    assert all(event.first_changed is None and event.tokens_after < event.tokens_before for event in events)
    assert all(isinstance(edit, Erase) for event in events for edit in event.edits)
    assert not [step.row for step in steps if step.row is not None and step.row.break_cause]
    ids = [edit.id for event in events for edit in event.edits if isinstance(edit, Erase)]
    assert len(ids) == len(set(ids))


def test_deletion_waits_for_the_trigger() -> None:
    """Ten whole results are left alone, the eleventh makes six go."""
    messages = [user("task", "m0")]
    for n in range(11):
        messages += [tool_call(f"c{n}", f"t{n}", name="Bash"), tool_result(f"r{n}", **{f"t{n}": LONG})]
    (strategy,) = load_strategies("cache_edits(keep=5, trigger=10)")
    assert strategy.decide(view_of(messages[:-2])).edits == ()
    assert [edit.id for edit in strategy.decide(view_of(messages)).edits if isinstance(edit, Erase)] == [
        f"r{n}" for n in range(6)
    ]


def test_only_results_of_its_tools_go() -> None:
    """A memory server's answer, a protected and a pinned one and a short one stay; with no list every tool counts."""
    messages = [user("task", "m0")]
    answers = {"mcp__memory": LONG, "Read": LONG, "Grep": "ok", "Glob": LONG, "Bash": LONG}
    for n, (name, text) in enumerate(answers.items()):
        result = tool_result(f"r{n}", **{f"t{n}": text})
        messages += [tool_call(f"c{n}", f"t{n}", name=name), result]
    messages[8] = Message(id="r3", role="user", blocks=messages[8].blocks, protected=True)
    view = view_of(messages, moment=Moment.OVERFLOW)
    (listed,) = load_strategies("cache_edits(keep=1, trigger=1)")
    (every,) = load_strategies("cache_edits(keep=1, trigger=1, tools=())")
    assert [edit.id for edit in listed.decide(view).edits if isinstance(edit, Erase)] == ["r1"]
    assert [edit.id for edit in every.decide(view).edits if isinstance(edit, Erase)] == ["r0", "r1"]


def test_at_an_overflow_all_but_the_newest_go_and_then_it_says_so() -> None:
    """The trigger is ignored, keep gives way to one, and what is deleted is not deleted again."""
    messages = [user("task", "m0")]
    for n in range(3):
        messages += [tool_call(f"c{n}", f"t{n}", name="Bash"), tool_result(f"r{n}", **{f"t{n}": LONG})]
    (strategy,) = load_strategies("cache_edits(keep=5, trigger=50)")
    decision = strategy.decide(view_of(messages, moment=Moment.OVERFLOW))
    assert [edit.id for edit in decision.edits if isinstance(edit, Erase)] == ["r0", "r1"]
    with pytest.raises(CannotShrink):
        strategy.decide(view_of(messages, moment=Moment.OVERFLOW, state=decision.state))


@pytest.mark.parametrize("spec", ["cache_edits(keep=0)", "cache_edits(keep=5, trigger=4)", "sliding_stub(polling=0)"])
def test_numbers_that_cannot_be_meant_are_refused(spec: str) -> None:
    """One line that says what was found and what was expected."""
    with pytest.raises(SpecError, match="expected at least"):
        load_strategies(spec)


def test_stubs_and_deletions_are_told_apart() -> None:
    """A rewrite changes what the client sends, an erasure does not."""
    for spec, kind in (("sliding_stub(keep=3)", Rewrite), ("cache_edits(keep=3, trigger=5, tools=())", Erase)):
        steps = walked(spec, make_trace(calls=40, result_words=90), 10**6)
        edits = [edit for step in steps for event in step.compactions for edit in event.edits]
        assert edits
        assert {type(edit) for edit in edits} == {kind}

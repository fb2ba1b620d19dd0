"""Laws of the edits: what a list became is what its edits make of it."""

from __future__ import annotations

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from ullage.context import Context
from ullage.strategies.shared.edits import edits_between
from ullage.testing import assistant, context_of, user
from ullage.types import Insert, Message


def _shuffled(seed: int, size: int) -> tuple[list[Message], list[Message]]:
    """A list, and what drops, rewrites, insertions and moves made of it."""
    rng = random.Random(seed)
    before = [user(f"text {n}", f"m{n}") for n in range(size)]
    after: list[Message] = []
    for message in before:
        draw = rng.random()
        if draw < 0.3:
            continue
        after.append(user("changed", message.id) if draw < 0.4 else message)
        if draw > 0.8:
            after.append(assistant("new", f"new{len(after)}"))
    if rng.random() < 0.3:
        rng.shuffle(after)
    if rng.random() < 0.3:
        after.insert(0, assistant("first", "new-first"))
    return before, after


@settings(max_examples=200, deadline=None)
@given(seed=st.integers(0, 10**6), size=st.integers(0, 12))
def test_edits_between_two_lists_turn_one_into_the_other(seed: int, size: int) -> None:
    """Applying the edits gives exactly the second list, in its order."""
    before, after = _shuffled(seed, size)
    context = context_of(before).apply(edits_between(before, after)).context
    assert [(m.id, m.blocks) for m in context] == [(m.id, m.blocks) for m in after]


def test_a_message_inserted_behind_the_last_one_stands_there() -> None:
    """An insertion alone, behind a message that stays, is not lost."""
    context: Context = context_of([user("a", "1"), user("b", "2")])
    for anchor, expected in (("2", ["1", "2", "x"]), ("1", ["1", "y", "2", "x"])):
        name = expected[-1] if anchor == "2" else "y"
        applied = context.apply([Insert(after=anchor, message=assistant("new", name))])
        context = applied.context
        assert [message.id for message in context] == expected
        assert applied.first_changed == int(anchor)

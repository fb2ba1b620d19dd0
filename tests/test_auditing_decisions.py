"""Audits: a strategy that decides differently on one view, or forgets through JSON, is found; an honest one is not."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import pytest

from ullage.auditing import Auditor
from ullage.errors import CannotShrink
from ullage.strategy import Strategy, Summary, SummaryRequest, ToolRequest, View
from ullage.testing import FakeDecider, user, view_of
from ullage.types import Decision, Drop, Insert, Moment

COUNT = itertools.count()


@dataclass(frozen=True, slots=True, kw_only=True)
class Decides(Strategy):
    """Decides by a function."""

    how: Callable[[View], Any]
    moments: ClassVar[frozenset[Moment]] = frozenset(Moment)

    def decide(self, view: View) -> Decision:
        """Ask the function."""
        decision: Decision = self.how(view)
        return decision


@dataclass(frozen=True, slots=True, kw_only=True)
class Guesses(Decides):
    """Says that it is not deterministic."""

    deterministic: ClassVar[bool] = False


class NewEachTime:
    """A summariser whose every answer is another one, as a live model's may be."""

    def __init__(self) -> None:
        self.asked = 0

    def __call__(self, request: SummaryRequest) -> Summary:
        """Count, and answer with the count."""
        self.asked += 1
        return Summary(text=f"{len(request.messages)} messages, {self.asked}")


MESSAGES = [user("a b", "0"), user("c d", "1")]


def audit(strategy: Strategy, **fields: Any) -> tuple[Any, list[tuple[str, int]]]:
    """The decision of one audited question, and what was found."""
    auditor = Auditor(calls=10, samples=None)
    decision = auditor.ask(strategy, view_of(MESSAGES, call=3, **fields))
    return decision, [(violation.invariant, violation.call) for violation in auditor.violations]


def test_an_honest_strategy_passes() -> None:
    """The first answer counts, and nothing is found."""
    decision = Decision(edits=(Drop(ids=("0",)),), state={"n": [1, "x"]}, reason="why")
    assert audit(Decides(how=lambda _: decision)) == (decision, [])


@pytest.mark.parametrize(
    "how",
    [
        lambda _: Decision(edits=(Insert(after=None, message=user("x", f"id{next(COUNT)}")),)),
        lambda _: Decision(state=next(COUNT)),
        lambda _: Decision(reason=f"reason {next(COUNT)}"),
        lambda _: Decision(estimate=next(COUNT)),
    ],
    ids=["edits", "state", "reason", "estimate"],
)
def test_a_second_answer_that_differs_is_found(how: Callable[[View], Decision]) -> None:
    """In edits, state, reason or estimate: each belongs to the record."""
    assert ("deterministic", 3) in audit(Decides(how=how))[1]


def test_a_strategy_that_says_so_may_differ() -> None:
    """One that declares itself not deterministic is not asked for equal answers on an equal view."""
    found = audit(Guesses(how=lambda _: Decision(reason=f"reason {next(COUNT)}")))[1]
    assert "deterministic" not in dict(found)


@pytest.mark.parametrize(
    ("state", "how"),
    [
        ({"seen": (1, 2)}, lambda view: Decision(reason=type(view.state["seen"]).__name__)),
        ({1: "a"}, lambda view: Decision(reason=str(view.state.get(1)))),
        ({"b": 1, "a": 2}, lambda view: Decision(reason=next(iter(view.state)))),
        ({"k": {1, 2}}, lambda view: Decision(reason=type(view.state["k"]).__name__)),
    ],
    ids=["tuple", "number as key", "order of keys", "set"],
)
def test_a_state_that_json_changes_is_found(state: Any, how: Callable[[View], Decision]) -> None:
    """Tuples become lists, keys become text, keys have no order: a decision must not hang on it."""
    assert audit(Decides(how=how), state=state)[1] == [("state_round_trip", 3)]


@pytest.mark.parametrize("value", [{1}, b"x", object, float("nan")], ids=["set", "bytes", "class", "not a number"])
def test_a_new_state_that_cannot_be_saved_is_found(value: Any) -> None:
    """Although it is the same each time."""
    decision, found = audit(Decides(how=lambda _: Decision(state={"k": value})))
    assert decision.state == {"k": value}
    assert found == [("state_round_trip", 3)]


def test_a_live_summariser_is_asked_once_and_not_blamed_on_the_strategy() -> None:
    """The first answers are replayed to the second and third asking, in order."""

    def twice(view: View) -> Decision:
        texts = [view.summarize(SummaryRequest(messages=tuple(view.context[:n]))).text for n in (1, 2)]
        return Decision(reason=" | ".join(texts))

    summarizer = NewEachTime()
    decision, found = audit(Decides(how=twice), summarize=summarizer)
    assert (decision.reason, found, summarizer.asked) == ("1 messages, 1 | 2 messages, 2", [], 2)


def test_a_summariser_that_failed_fails_again() -> None:
    """Its first failure is replayed like an answer."""

    def careful(view: View) -> Decision:
        try:
            return Decision(reason=view.summarize(SummaryRequest(messages=())).text)
        except ConnectionError as error:
            return Decision(reason=f"failed: {error}")

    asked: list[int] = []

    def failing(_: SummaryRequest) -> Summary:
        asked.append(1)
        raise ConnectionError("down")

    decision, found = audit(Decides(how=careful), summarize=failing)
    assert (decision.reason, found, len(asked)) == ("failed: down", [], 1)


def test_other_requests_on_the_same_view_are_found() -> None:
    """A second asking that wants more of a port than the first is not the same decision."""

    def greedy(view: View) -> Decision:
        for _ in range(next(COUNT) % 5 + 1):
            view.summarize(SummaryRequest(messages=()))
        return Decision(reason=str(next(COUNT)))

    assert ("deterministic", 3) in audit(Decides(how=greedy))[1]


def test_the_deciders_choice_is_replayed() -> None:
    """A model that manages its own context is asked once."""
    decider = FakeDecider(script=[(ToolRequest(name="pin"),)])

    def agentic(view: View) -> Decision:
        calls = view.decide(None)  # type: ignore[arg-type]  # the fake does not read it
        return Decision(reason=",".join(call.name for call in calls))

    decision, found = audit(Decides(how=agentic), decide=decider)
    assert (decision.reason, found, len(decider.requests)) == ("pin", [], 1)


@pytest.mark.parametrize("error", [CannotShrink("full"), ValueError("odd")])
def test_exceptions_are_answers_and_are_raised_again(error: Exception) -> None:
    """The loop must see them; the same one twice is no difference."""

    def raising(_: View) -> Decision:
        raise error

    auditor = Auditor(calls=10, samples=None)
    with pytest.raises(type(error), match=str(error)):
        auditor.ask(Decides(how=raising), view_of(MESSAGES))
    assert auditor.violations == []


def test_only_seeded_calls_are_audited_and_the_choice_is_repeatable() -> None:
    """With three samples of fifty calls a strategy is asked 50 + 3 × 2 times, at the same calls for the same seed."""

    def audited(seed: int) -> list[int]:
        asked: list[int] = []

        def note(view: View) -> Decision:
            asked.append(view.call)
            return Decision()

        auditor = Auditor(calls=50, seed=seed, samples=3)
        for call in range(50):
            auditor.ask(Decides(how=note), view_of(MESSAGES, call=call))
        assert len(asked) == 50 + 3 * 2
        return sorted({call for call in asked if asked.count(call) > 1})

    assert audited(1) == audited(1)
    assert audited(1) != audited(2)


def test_the_stopwatch_measures_first_answers_only() -> None:
    """Audits do not count into a strategy's own time."""
    timed: list[int] = []

    def watch(strategy: Strategy, view: View) -> Decision:
        timed.append(view.call)
        return strategy.decide(view)

    auditor = Auditor(calls=5, samples=None, decide=watch)
    auditor.ask(Decides(how=lambda _: Decision()), view_of(MESSAGES, call=2))
    assert timed == [2]

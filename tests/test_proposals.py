"""What a misbehaving strategy answers is a fault row, whatever it is: the replay goes on and its record can be written."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import msgspec
import pytest
from test_replay import TURN, setup_of

from ullage.auditing import Auditor
from ullage.errors import said_by
from ullage.proposals import checked
from ullage.replay import Setup, replay
from ullage.step import Step
from ullage.strategy import Strategy, View
from ullage.types import Decision, Drop, Inject, Insert, Message, Moment, Opaque, Rewrite, Text


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers(Strategy):
    """Answers whatever a function says, before each call."""

    how: Callable[[View], Any] = field()
    moments: ClassVar[frozenset[Moment]] = frozenset({Moment.BEFORE_CALL})

    def decide(self, view: View) -> Decision:
        """Ask the function."""
        decision: Decision = self.how(view)
        return decision


class Unreadable(Exception):  # noqa: N818 - named for what it is
    """An exception whose own text raises."""

    def __str__(self) -> str:
        raise ZeroDivisionError


def insert(**fields: Any) -> Decision:
    """A decision that inserts one message of these fields at the start."""
    return Decision(edits=(Insert(after=None, message=Message(**({"id": "new", "role": "user", "blocks": ()} | fields))),))


def raising(error: BaseException) -> Callable[[View], Any]:
    """A function that raises."""

    def how(_: View) -> Any:
        raise error

    return how


def steps_of(how: Callable[[View], Any], *, audited: bool) -> list[Step]:
    """All steps under a strategy that answers so, each call audited or none."""
    setup: Setup = setup_of(TURN, Answers(how=how))
    auditor = Auditor(calls=len(TURN.calls), samples=None if audited else 0)
    ports = replace(setup.ports, ask=auditor.ask)
    return list(replay(replace(setup, ports=ports)))


ILL_TYPED = {
    "no edits": Decision(edits=5),  # type: ignore[arg-type]  # ill-typed on purpose
    "a text for an edit": Decision(edits=("drop",)),  # type: ignore[arg-type]  # ill-typed on purpose
    "an id that is no text": Decision(edits=(Drop(ids=(7,)),)),  # type: ignore[arg-type]  # ill-typed on purpose
    "no blocks": Decision(edits=(Rewrite(id="u0", blocks=5),)),  # type: ignore[arg-type]  # ill-typed on purpose
    "a text for a block": insert(blocks=("summary",)),
    "bytes for a text": insert(blocks=(Text(text=b"raw"),)),  # type: ignore[arg-type]  # ill-typed on purpose
    "a lone surrogate": insert(blocks=(Text(text="\ud800"),)),
    "an unknown role": insert(role="narrator"),
    "tokens below zero": insert(blocks=(Opaque(kind="x", tokens=-1_000_000),)),
    "a number injected": Decision(edits=(Inject(blocks=(5,)),)),  # type: ignore[arg-type]  # ill-typed on purpose
    "a tier that is no text": Decision(tier=5),  # type: ignore[arg-type]  # ill-typed on purpose
    "an estimate that is no number": Decision(estimate="many"),  # type: ignore[arg-type]  # ill-typed on purpose
    "an estimate of NaN": Decision(estimate=float("nan")),  # type: ignore[arg-type]  # ill-typed on purpose
    "an estimate beyond 64 bits": Decision(estimate=10**40),
    "nothing": None,
}


@pytest.mark.parametrize("audited", [True, False])
@pytest.mark.parametrize("answer", ILL_TYPED.values(), ids=ILL_TYPED)
def test_an_ill_typed_answer_is_a_fault_and_changes_nothing(answer: Any, *, audited: bool) -> None:
    """One fault a call, and every request as if nobody had been asked."""
    steps = steps_of(lambda _: answer, audited=audited)
    assert [len(step.faults) for step in steps] == [1, 1]
    assert [step.prompt_tokens for step in steps] == [step.prompt_tokens for step in replay(setup_of(TURN))]
    msgspec.json.encode([(step.row, step.faults) for step in steps])


@pytest.mark.parametrize("audited", [True, False])
@pytest.mark.parametrize(
    ("error", "text"),
    [
        (SystemExit(0), "0"),
        (GeneratorExit(), ""),
        (asyncio.CancelledError("late"), "late"),
        (Unreadable(), "its text cannot be read (ZeroDivisionError)"),
        (ValueError("name \udcff"), "name ?"),
    ],
)
def test_whatever_is_raised_is_a_fault_and_the_run_goes_on(error: BaseException, text: str, *, audited: bool) -> None:
    """Also what is not an ``Exception``: a strategy that exits ends neither the replay nor the process."""
    faults = [fault for step in steps_of(raising(error), audited=audited) for fault in step.faults]
    assert [(fault.kind, fault.text) for fault in faults] == [(type(error).__name__, text)] * 2


@pytest.mark.parametrize("audited", [True, False])
def test_an_interrupt_by_the_person_is_no_fault(*, audited: bool) -> None:
    """Control-C during a decision ends the run."""
    with pytest.raises(KeyboardInterrupt):
        steps_of(raising(KeyboardInterrupt()), audited=audited)


def test_a_state_with_a_cycle_is_found_by_the_audit() -> None:
    """A state that no JSON holds is a violation, not an error of the audit."""
    cycle: list[Any] = []
    cycle.append(cycle)
    auditor = Auditor(calls=2, samples=None)
    setup = setup_of(TURN, Answers(how=lambda _: Decision(state=cycle)))
    steps = list(replay(replace(setup, ports=replace(setup.ports, ask=auditor.ask))))
    assert [step.faults for step in steps] == [(), ()]
    assert {violation.invariant for violation in auditor.violations} >= {"state_round_trip"}


def test_a_sound_decision_passes_unchanged() -> None:
    """The check rebuilds an equal value and keeps the very state."""
    state = {"seen": (1, 2)}
    decision = insert(blocks=(Text(text="summary"),))
    decision = msgspec.structs.replace(decision, state=state, tier="summarize", estimate=12)
    assert checked(decision) == decision
    assert checked(decision).state is state


def test_the_text_of_an_exception_is_one_bounded_line() -> None:
    """Long and broken texts are cut to 300 characters on one line."""
    assert said_by(ValueError("a\n b" + "x" * 1000)) == "a b" + "x" * 297

"""Every strategy that the folder holds keeps the laws of strategies; and the laws catch what breaks them."""

from __future__ import annotations

import random
import typing
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import Any, ClassVar

import pytest

from ullage import registry
from ullage.checking import Checkers
from ullage.conformance import FORK, WINDOW, Bench, with_other_future
from ullage.errors import SpecError, UserError
from ullage.specs import Spec, build
from ullage.step import Step
from ullage.strategy import UNCHANGED, Strategy, TriggerUnit, View
from ullage.testing import check_strategy, make_varied_trace
from ullage.types import Decision, Drop, Moment, Rewrite, Text, Violation

VARIANTS = 8
"""Generated parameter values a strategy: one parameter at a time, drawn with a fixed seed from what its types allow."""


def neighbours(hint: Any, value: Any) -> list[Any]:
    """Other values of a parameter: what a person would try next."""
    if typing.get_origin(hint) is typing.Literal:
        return [other for other in typing.get_args(hint) if other != value]
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return [value * 3, max(1, value // 3), 1]
    if isinstance(value, float):
        return [round(value / 2, 3), round((1 + value) / 2, 3), 0.99]
    if value is None:
        kinds = typing.get_args(hint)
        return [2] if int in kinds else [0.4] if float in kinds else []
    return []


def variants(name: str) -> list[str]:
    """Spec texts of a strategy with one parameter changed; none of values that it refuses or of a part not installed."""
    cls = registry.load_class("strategies", name)
    hints = typing.get_type_hints(cls)
    found = []
    for field in fields(cls):
        value = field.default_factory() if field.default_factory is not MISSING else field.default
        for other in neighbours(hints[field.name], value):
            spec = Spec(name, ((field.name, other),))
            try:
                build(cls, spec)
            except UserError:
                continue
            found.append(str(spec))
    return random.Random(name).sample(found, min(VARIANTS, len(found)))


@pytest.mark.parametrize("name", registry.names("strategies"))
def test_strategies_conform_with_their_default_parameters(name: str) -> None:
    """Deterministic, input untouched, past only, legal by its own declaration, spec round trip, restored elsewhere."""
    try:
        registry.load_strategies(name)
    except UserError as missing:
        if "is not installed" not in str(missing):
            raise
        pytest.skip(str(missing))
    assert check_strategy(name) == []


@pytest.mark.parametrize("spec", [spec for name in registry.names("strategies") for spec in variants(name)])
def test_strategies_conform_with_other_parameters(spec: str) -> None:
    """The same laws, all but the other process, with one parameter changed."""
    assert check_strategy(spec, process=False) == []


@dataclass(frozen=True, slots=True, kw_only=True)
class Base(Strategy):
    """What the faulty strategies below share."""

    moments: ClassVar[frozenset[Moment]] = frozenset({Moment.BEFORE_CALL})
    trigger_unit: ClassVar[TriggerUnit] = "count"


@dataclass(frozen=True, slots=True, kw_only=True)
class Honest(Base):
    """Clears the oldest result at every tenth call."""

    every: int = 10

    def decide(self, view: View) -> Decision:
        """Clear one result."""
        if view.call % self.every or not view.context.result_positions:
            return UNCHANGED
        message = view.context[view.context.result_positions[0]]
        blocks = tuple(block for block in message.blocks if not isinstance(block, Text))
        return Decision(edits=(Rewrite(id=message.id, blocks=blocks),), state={"done": [message.id]})


@dataclass(frozen=True, slots=True, kw_only=True)
class Random(Base):
    """Draws from a generator of its own."""

    generator: ClassVar[random.Random] = random.Random(0)

    def decide(self, view: View) -> Decision:
        """Say something else each time."""
        return Decision(reason=f"call {view.call}: {self.generator.random()}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Hashes(Base):
    """Walks over a set of texts, whose order is another one in every process."""

    def decide(self, view: View) -> Decision:
        """Name the ids in the set's order."""
        return Decision(reason=",".join({message.id for message in view.context}))


@dataclass(frozen=True, slots=True, kw_only=True)
class Scribbles(Base):
    """Keeps its state by changing the one that it was shown."""

    def decide(self, view: View) -> Decision:
        """Write into the shown state."""
        if view.state is None:
            return Decision(state={"calls": 0})
        view.state["calls"] = view.call
        return UNCHANGED


@dataclass(frozen=True, slots=True, kw_only=True)
class Peeks(Base):
    """Reads the log behind the transcript, which holds the future."""

    def decide(self, view: View) -> Decision:
        """Report the last recorded message."""
        return Decision(reason=view.transcript._log.messages[-1].id)  # type: ignore[attr-defined]  # this is the offence


@dataclass(frozen=True, slots=True, kw_only=True)
class Forgets(Base):
    """Keys its state by numbers, which JSON turns into texts."""

    def decide(self, view: View) -> Decision:
        """Count calls under a number."""
        count = (view.state or {}).get(0, 0)
        return Decision(state={0: count + 1}, reason=f"asked {count} times before")


@dataclass(frozen=True, slots=True, kw_only=True)
class Orphans(Base):
    """Drops calls and leaves their results."""

    def decide(self, view: View) -> Decision:
        """Drop the first call that is left."""
        if view.call != 20:
            return UNCHANGED
        first = next(message for message in view.context if message.tool_use_ids)
        return Decision(edits=(Drop(ids=(first.id,)),))


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared(Orphans):
    """The same, and says so."""

    known_violations: ClassVar[dict[str, str]] = {
        "a02_role_alternation": "a result follows another",
        "a05_orphan_result": "its calls are dropped",
        "a07_results_first": "the result follows another message of the user",
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Ghosts(Base):
    """Edits a message that is not there."""

    def decide(self, view: View) -> Decision:
        """Drop a stranger."""
        return Decision(edits=(Drop(ids=(f"ghost-{view.call}",)),))


@dataclass(frozen=True, slots=True, kw_only=True)
class Breaks(Base):
    """Promises what it does not keep."""

    promises: ClassVar[tuple[str, ...]] = ("no_rewrite_twice",)

    def decide(self, view: View) -> Decision:
        """Number the first answer anew at each call."""
        message = next((m for m in view.context if m.role == "assistant" and m.text), None)
        if message is None:
            return UNCHANGED
        return Decision(edits=(Rewrite(id=message.id, blocks=(Text(text="x" * (100 - view.call)), *message.blocks[1:])),))


@dataclass(frozen=True, slots=True, kw_only=True)
class Misspells(Base):
    """Declares what does not exist."""

    promises: ClassVar[tuple[str, ...]] = ("never_wrong",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Contradicts(Base):
    """Promises and denies the same."""

    promises: ClassVar[tuple[str, ...]] = ("task_survives",)
    known_violations: ClassVar[dict[str, str]] = {"task_survives": "at times"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Unspellable(Base):
    """Holds what no spec can say."""

    how: Any = None


@dataclass
class Loose(Strategy):
    """Can be changed while it runs."""

    keep: int = 3


FAULTY: list[tuple[Strategy, str]] = [
    (Random(), "deterministic: "),
    (Hashes(), "other process: "),
    (Scribbles(), "input untouched: "),
    (Peeks(), "past only: "),
    (Forgets(), "state_round_trip: "),
    (Orphans(), "a05_orphan_result: "),
    (Ghosts(), "fault: EditError"),
    (Breaks(), "no_rewrite_twice: "),
    (Misspells(), "declared: Misspells.promises: found 'never_wrong'"),
    (Contradicts(), "declared: task_survives is promised and known to be broken"),
    (Unspellable(how=object()), "spec: Unspellable"),
    (Loose(), "declared: Loose is not a frozen, keyword-only dataclass"),
]


@pytest.mark.parametrize(("strategy", "problem"), FAULTY, ids=lambda item: item if isinstance(item, str) else type(item).__name__)
def test_a_faulty_strategy_is_told_its_fault(strategy: Strategy, problem: str) -> None:
    """Each offence has its own line."""
    assert any(line.startswith(problem) for line in check_strategy(strategy)), check_strategy(strategy)


@pytest.mark.parametrize("strategy", [Honest(every=7), Declared()])
def test_a_strategy_that_keeps_the_laws_or_declares_what_it_breaks_has_no_problems(strategy: Strategy) -> None:
    """Also one that lives in a file outside, asked in another process."""
    assert check_strategy(strategy) == []


def test_a_composition_and_a_file_are_checked_like_names(tmp_path: Path) -> None:
    """By spec text: ``a | b``, and ``file.py:Class``."""
    source = tmp_path / "mine.py"
    source.write_text(
        "from dataclasses import dataclass\n"
        "from typing import ClassVar\n"
        "from ullage.strategy import Strategy\n"
        "from ullage.types import Decision, Moment\n"
        "@dataclass(frozen=True, slots=True, kw_only=True)\n"
        "class Mine(Strategy):\n"
        "    keep: int = 5\n"
        "    moments: ClassVar[frozenset[Moment]] = frozenset({Moment.BEFORE_CALL})\n"
        "    def decide(self, view):\n"
        "        return Decision(reason=','.join({str(n) + 'x' for n in range(self.keep)}))\n",
        encoding="utf-8",
    )
    assert check_strategy("sliding_stub(keep=4) | offloader") == []
    assert [line.split(":")[0] for line in check_strategy(f"{source}:Mine(keep=9)")] == ["other process"]


def test_an_unknown_spec_is_a_misuse() -> None:
    """Not a problem of a strategy."""
    with pytest.raises(SpecError, match="unknown strategy"):
        check_strategy("no_such_strategy")


def test_the_other_future_begins_after_the_fork() -> None:
    """Both sessions agree in all that a call before the fork saw, and in nothing that came later."""
    trace = make_varied_trace(seed=1)
    other = with_other_future(trace, FORK)
    upto = trace.calls[FORK].upto
    assert other.messages[:upto] == trace.messages[:upto]
    assert not {m.id for m in other.messages[upto:]} & {m.id for m in trace.messages}
    assert len(other.messages) == len(trace.messages) > upto


@pytest.mark.parametrize("seed", range(4))
def test_the_built_session_is_valid_and_holds_what_strategies_trip_over(seed: int) -> None:
    """No invariant is broken by the session itself; and it outgrows the window that the checks use."""
    trace = make_varied_trace(seed=seed)
    checkers = Checkers([registry.load("invariants", name) for name in registry.names("invariants")], trace)
    found: list[Violation] = []
    sizes: list[int] = []

    def see(step: Step) -> None:
        found.extend(checkers.check(step))
        sizes.append(step.prompt_tokens)

    Bench(strategies=(), trace=trace, window=10**9).walk(see=see)
    kinds = {type(block).__name__ for message in trace.messages for block in message.blocks}
    assert (found, checkers.recorded) == ([], [])
    assert sizes[-1] > 2 * WINDOW
    assert {"Text", "Thinking", "ToolUse", "ToolResult"} <= kinds
    assert {message.role for message in trace.messages} == {"user", "assistant", "system"}
    assert any(message.pinned for message in trace.messages)
    assert any(message.protected for message in trace.messages)
    assert any(len(message.tool_use_ids) == 3 for message in trace.messages)

"""Audits of decisions: decide twice on one view, and once with the state passed through JSON; all three must agree.

The ports' first answers are replayed to the second and third asking, so that a live summariser is neither paid twice
nor blamed on the strategy. Injected in the replay in place of a plain question.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from ullage.errors import CannotShrink, said_by
from ullage.strategy import DeciderRequest, Strategy, Summary, SummaryRequest, ToolRequest, View
from ullage.types import Decision, Violation, canonical_json

Decide = Callable[[Strategy, View], Decision]
DETERMINISTIC, ROUND_TRIP = "deterministic", "state_round_trip"
_UNSAVED = (TypeError, ValueError, RecursionError, msgspec.EncodeError)
"""What encoding raises for a value that JSON cannot hold: other types, lone surrogates, cycles."""


def _plainly(strategy: Strategy, view: View) -> Decision:
    return strategy.decide(view)


@dataclass(slots=True, kw_only=True)
class Auditor:
    """Asks a strategy, and at ``samples`` seeded calls of ``calls`` (all when none) asks it again.

    ``decide`` is how the first question is put (a stopwatch, for example). Violations gather in ``violations``.
    """

    calls: int
    seed: int = 0
    samples: int | None = 3
    decide: Decide = _plainly
    violations: list[Violation] = field(default_factory=list)
    _chosen: frozenset[int] = field(init=False)

    def __post_init__(self) -> None:
        every = range(self.calls)
        few = (
            every if self.samples is None or self.samples >= self.calls else random.Random(self.seed).sample(every, self.samples)
        )
        self._chosen = frozenset(few)

    def ask(self, strategy: Strategy, view: View) -> Decision:
        """Ask once, or three times at a chosen call; the first answer counts."""
        if view.call not in self._chosen:
            return self.decide(strategy, view)
        ports = _Recorder(view)
        first = _outcome(lambda: self.decide(strategy, ports.view))
        if strategy.deterministic:
            self._compare(DETERMINISTIC, view, first, _outcome(lambda: strategy.decide(ports.again(view.state))))
        state = _json_copy(view.state)
        self._compare(ROUND_TRIP, view, first, _outcome(lambda: strategy.decide(ports.again(state))))
        unsaved = _cannot_be_saved(first.decision)
        if unsaved:
            self._found(ROUND_TRIP, view, f"the new state cannot be saved as JSON: {unsaved}")
        return first.result()

    def _compare(self, invariant: str, view: View, first: _Outcome, second: _Outcome) -> None:
        if first.spelling != second.spelling:
            self._found(invariant, view, _difference(first.spelling, second.spelling))

    def _found(self, invariant: str, view: View, what: str) -> None:
        evidence = f"at {view.moment}: {what}"
        self.violations.append(Violation(invariant=invariant, severity="error", call=view.call, evidence=evidence))


@dataclass(frozen=True, slots=True)
class _Outcome:
    """What a question gave: a decision or an exception, with a text that is equal when they are."""

    decision: Decision | None
    error: BaseException | None
    spelling: str

    def result(self) -> Decision:
        """The decision, or the exception raised again."""
        if self.error is not None:
            raise self.error
        return self.decision  # type: ignore[return-value]  # one of the two is set; the replay checks its type


def _outcome(ask: Callable[[], Decision]) -> _Outcome:
    try:
        decision = ask()
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - whatever a strategy raises is compared and raised again
        kind = error.reason if isinstance(error, CannotShrink) else said_by(error)
        return _Outcome(None, error, f"{type(error).__name__}: {kind}")
    return _Outcome(decision, None, spelled(decision))


def spelled(decision: Any) -> str:
    """A text that is equal for equal decisions; says so where one cannot be saved as JSON."""
    try:
        if not isinstance(decision, Decision):
            return repr(type(decision))
        state = "unset" if decision.state is msgspec.UNSET else canonical_json(decision.state)
        return canonical_json([decision.edits, decision.tier, decision.reason, decision.estimate]) + state
    except _UNSAVED as error:
        return f"not JSON: {error}: {decision!r}"


def _cannot_be_saved(decision: Any) -> str:
    """Why JSON cannot hold the new state of a decision; empty when it can (a tuple counts as a list)."""
    state = getattr(decision, "state", msgspec.UNSET)
    if state is msgspec.UNSET:
        return ""
    try:
        json.dumps(state, allow_nan=False)
        canonical_json(state)
    except _UNSAVED as error:
        return str(error)
    return ""


def _json_copy(state: Any) -> Any:
    """The state after a save and a restore; a state that JSON cannot hold comes back as a marker that nothing equals."""
    try:
        return msgspec.json.decode(canonical_json(state))
    except _UNSAVED:
        return {"not": "JSON"}


def _difference(first: str, second: str) -> str:
    at = next((n for n, (a, b) in enumerate(zip(first, second, strict=False)) if a != b), min(len(first), len(second)))
    start = max(0, at - 20)
    return f"first {first[start : at + 60]!r}, then {second[start : at + 60]!r}"


class _Recorder:
    """The ports of one view: asked for real the first time, answered from memory afterwards."""

    def __init__(self, view: View) -> None:
        self._view = view
        self._summaries: list[Summary | Exception] = []
        self._tools: list[tuple[ToolRequest, ...]] = []
        self._first = True
        self._at = [0, 0]
        self.view = self._with(view.state)

    def again(self, state: Any) -> View:
        """The same view with another state, its ports answering what they answered first."""
        self._first, self._at = False, [0, 0]
        return self._with(state)

    def _with(self, state: Any) -> View:
        return replace(self._view, state=state, summarize=self._summarize, decide=self._decide)

    def _summarize(self, request: SummaryRequest) -> Summary:
        if self._first:
            try:
                self._summaries.append(self._view.summarize(request))
            except Exception as error:
                self._summaries.append(error)
                raise
            return self._summaries[-1]  # type: ignore[return-value]  # just appended
        self._at[0] += 1
        if self._at[0] > len(self._summaries):
            raise RuntimeError("the second asking wanted more summaries than the first")
        known = self._summaries[self._at[0] - 1]
        if isinstance(known, Exception):
            raise known
        return known

    def _decide(self, request: DeciderRequest) -> tuple[ToolRequest, ...]:
        if self._first:
            self._tools.append(self._view.decide(request))
            return self._tools[-1]
        self._at[1] += 1
        if self._at[1] > len(self._tools):
            raise RuntimeError("the second asking wanted more tool choices than the first")
        return self._tools[self._at[1] - 1]

"""All invariants of one replay, checked step by step; what the recording itself breaks is told apart from the strategy."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from ullage.invariants import Checker, Invariant
from ullage.step import Step
from ullage.types import Trace, Violation

RECORDED = "recorded"


class Checkers:
    """The checkers that apply to a replay: those for all, for the provider, and those that the strategy promises."""

    def __init__(self, invariants: Sequence[Invariant], trace: Trace, *, promises: Sequence[str] = (), provider: str = "anthropic") -> None:
        self._open: list[Checker] = [
            invariant.open(trace) for invariant in invariants if applies(invariant, promises=promises, provider=provider)
        ]

    def check(self, step: Step) -> tuple[Violation, ...]:
        """New findings at one step, in the order of the invariants."""
        return tuple(violation for checker in self._open for violation in checker.check(step))


def applies(invariant: Invariant, *, promises: Sequence[str], provider: str) -> bool:
    """Tell whether an invariant holds for a strategy with these promises at this provider."""
    if invariant.scope == "declared":
        return type(invariant).__module__.rpartition(".")[2] in promises
    return invariant.scope in ("all", provider)


def as_recorded(violation: Violation) -> Violation:
    """Mark a finding as one of the recording's own."""
    return msgspec.structs.replace(violation, evidence=f"{RECORDED}: {violation.evidence}")

"""All invariants of one replay, checked step by step; what the recording itself breaks is told apart from the strategy.

A finding that the uncompacted history holds as well (see ``invariants``) is not returned: it gathers in ``recorded``,
so that counts of violations are the strategy's doing alone.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from ullage.errors import SpecError
from ullage.invariants import RECORDED, Checker, Invariant
from ullage.invariants._scan import Scanner, TurnRule
from ullage.specs import nearest
from ullage.step import Step
from ullage.types import ToolSpec, Trace, Violation


class Checkers:
    """The checkers that apply to a replay: those for all, for the API, and those that the strategy promises.

    ``offered`` are tools that the strategy adds to every request. ``recorded`` holds the recording's own findings.
    Raises ``SpecError`` for a promise that names no invariant.
    """

    def __init__(
        self,
        invariants: Sequence[Invariant],
        trace: Trace,
        *,
        promises: Sequence[str] = (),
        api: str = "anthropic",
        offered: Sequence[ToolSpec] = (),
    ) -> None:
        check_names(promises, invariants, "promises")
        seen = msgspec.structs.replace(trace, tools=(*trace.tools, *offered)) if offered else trace
        chosen = [invariant for invariant in invariants if applies(invariant, promises=promises, api=api)]
        rules = [invariant for invariant in chosen if isinstance(invariant, TurnRule)]
        self._open: list[Checker] = [invariant.open(seen) for invariant in chosen if not isinstance(invariant, TurnRule)]
        if rules:
            self._open.insert(0, Scanner(rules, seen))
        self.recorded: list[Violation] = []

    def check(self, step: Step) -> tuple[Violation, ...]:
        """New findings at one step that are the strategy's doing."""
        found = [violation for checker in self._open for violation in checker.check(step)]
        if not found:
            return ()
        self.recorded += [violation for violation in found if is_recorded(violation)]
        return tuple(violation for violation in found if not is_recorded(violation))


def applies(invariant: Invariant, *, promises: Sequence[str], api: str) -> bool:
    """Tell whether an invariant is looked for in the requests of a strategy with these promises in this API."""
    if invariant.scope == "declared":
        return invariant.id in promises
    return invariant.scope == "all" or api in invariant.scope.split()


def is_recorded(violation: Violation) -> bool:
    """Tell whether a finding is one of the recording's own."""
    return violation.evidence.startswith(f"{RECORDED}: ")


def check_names(declared: Sequence[str], invariants: Sequence[Invariant], what: str) -> None:
    """Raise ``SpecError`` for a declared name that no invariant has."""
    known = [invariant.id for invariant in invariants]
    for name in declared:
        if name not in known:
            raise SpecError(f"{what}: found {name!r}, which is no invariant; {nearest(name, known)}")

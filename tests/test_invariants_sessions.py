"""Real sessions: what clients sent and providers accepted is not blamed on anybody, and quiet strategies break nothing."""

from __future__ import annotations

import pytest
from invariants_support import INVARIANTS
from tests_support import real_traces

from ullage import registry
from ullage.checking import Checkers
from ullage.conformance import Bench
from ullage.step import Step
from ullage.traces import load_traces
from ullage.types import Trace, Violation


def smallest(folder: str, count: int) -> list[Trace]:
    """The traces of the smallest recordings of a folder."""
    files = sorted((path for path in real_traces(folder).iterdir() if path.is_file()), key=lambda path: path.stat().st_size)
    return [trace for trace in load_traces(files[:count]).traces if trace.calls]


@pytest.mark.parametrize("folder", ["claude-code", "openai-messages"])
@pytest.mark.parametrize("spec", ["", "sliding_stub(keep=3)", "monotone_stub(free=0, threshold=0)"])
def test_strategies_that_break_nothing_are_blamed_for_nothing(folder: str, spec: str) -> None:
    """Stubs keep every pair, role and text; whatever the recordings break by themselves stays apart, and is marked."""
    strategies = registry.load_strategies(spec) if spec else ()
    traces = smallest(folder, 3)
    changed = 0
    for trace in traces:
        checkers = Checkers(INVARIANTS, trace, promises=("no_rewrite_twice",))
        found: list[Violation] = []
        events: list[int] = []

        def see(step: Step, checkers: Checkers = checkers, found: list[Violation] = found, events: list[int] = events) -> None:
            found.extend(checkers.check(step))
            events.append(len(step.compactions))

        Bench(strategies=strategies, trace=trace, window=10**9).walk(see=see)
        assert found == []
        assert all(violation.evidence.startswith("recorded: ") for violation in checkers.recorded)
        changed += sum(events)
    assert traces
    assert bool(changed) == bool(spec)


@pytest.mark.parametrize(("folder", "api"), [("tau2", "openai"), ("codex", "responses")])
def test_what_a_provider_accepted_breaks_none_of_its_rules(folder: str, api: str) -> None:
    """Requests that were answered are legal: a rule that finds something in them is wrong, not the recording."""
    traces = [trace for trace in smallest(folder, 3) if any(call.model.startswith("gpt-") for call in trace.calls)]
    for trace in traces:
        checkers = Checkers(INVARIANTS, trace, api=api)
        found: list[Violation] = []

        def see(step: Step, checkers: Checkers = checkers, found: list[Violation] = found) -> None:
            found.extend(checkers.check(step))

        Bench(strategies=(), trace=trace, window=10**9).walk(see=see)
        assert (found, checkers.recorded) == ([], [])
    assert traces

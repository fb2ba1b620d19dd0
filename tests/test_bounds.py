"""Bounds: the oracle keeps all evidence that fits, truncation keeps whole rounds."""

from __future__ import annotations

import pytest
from probes_support import ask, chinese_story, story

from ullage.bounds import Oracle, Truncate, load_bound
from ullage.errors import SpecError
from ullage.probes import mine, survives
from ullage.specs import parse_one
from ullage.tokens import Counter
from ullage.types import Trace

COUNTER = Counter(count_text=lambda text: len(text) // 4 + 1)


@pytest.mark.parametrize("trace", [story(), chinese_story()], ids=["english", "chinese"])
def test_the_oracle_knows_everything_within_its_budget(trace: Trace) -> None:
    """From the evidence alone every fact is answered and no decoy is, and the budget holds."""
    probes = mine(trace).probes
    kept = Oracle().keep(trace.messages, probes, COUNTER, 5000)
    assert sum(map(COUNTER, kept)) <= 5000
    assert [p.question for p, (outcome, _) in zip(probes, ask(kept, probes), strict=True) if outcome != "correct"] == []
    facts = [probe for probe in probes if probe.evidence]
    assert all(survives(facts, trace.messages, kept).values())


@pytest.mark.parametrize("budget", [10, 60, 150, 400])
def test_a_small_oracle_stays_within_its_budget_and_keeps_pairs(budget: int) -> None:
    """Each result has its call, whatever fits."""
    trace = story()
    kept = Oracle().keep(trace.messages, mine(trace).probes, COUNTER, budget)
    assert sum(map(COUNTER, kept)) <= budget
    calls = {name for message in kept for name in message.tool_use_ids}
    assert {name for message in kept for name in message.tool_result_ids} <= calls


def test_an_oracle_without_probes_keeps_the_task() -> None:
    """With nothing to know there is only the task."""
    trace = story()
    assert [message.id for message in Oracle().keep(trace.messages, (), COUNTER, 1000)] == ["u0"]


def test_truncation_keeps_the_newest_whole_rounds() -> None:
    """No result stands without its call."""
    trace = story()
    for budget in (20, 80, 200, 10_000):
        kept = Truncate().keep(trace.messages, (), COUNTER, budget)
        assert sum(map(COUNTER, kept)) <= budget
        assert tuple(kept) == trace.messages[len(trace.messages) - len(kept) :]
        assert not kept or not kept[0].tool_result_ids


def test_a_bound_takes_a_positive_budget() -> None:
    """Its spec is printed back; nonsense is refused."""
    bound, text = load_bound(parse_one("oracle(budget=500)"))
    assert bound.budget_for(100_000) == 500
    assert text == "oracle(budget=500)"
    assert Oracle().budget_for(1000) == 300
    with pytest.raises(SpecError):
        load_bound(parse_one("truncate(keep_tokens=0)"))

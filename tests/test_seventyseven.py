"""The published $77 session: its printed rows come out exactly, its totals closely, and only under marks."""

from __future__ import annotations

from functools import cache

import pytest

from ullage import registry
from ullage.breaks import breaks_of, by_cause
from ullage.cache import CacheRules
from ullage.pricing import ModelPrices, Money, PriceSheet, usd
from ullage.replay import Ports, Setup, replay
from ullage.seventyseven import CALLS, KEEP, MINUTES, MODEL, OVERHEAD, ROWS, STUB, USD, USD_WRITES, Printed, Rule, rebuild
from ullage.step import Step
from ullage.strategies.shared.stubs import CLEARED
from ullage.testing import FakeDecider, FakeSummarizer
from ullage.tokens import Counter, tiktoken_counter
from ullage.types import Row, Trace


class NoStore:
    """A store that these strategies never write to."""

    def get(self, ref: str) -> str | None:
        """Nothing."""
        raise KeyError(ref)

    def put(self, ref: str, content: str) -> None:
        """Nothing may come."""
        raise AssertionError((ref, content))


def counted(text: str) -> int:
    """One token a word."""
    return len(text.split())


@cache
def steps(strategy: str, policy: str, tokenizer: str = "words") -> tuple[Trace, tuple[Step, ...]]:
    """The rebuilt session replayed."""
    counter = Counter(count_text=counted if tokenizer == "words" else tiktoken_counter())
    trace = rebuild(counter)
    setup = Setup(
        trace=trace,
        strategies=registry.load_strategies(strategy),
        counter=counter,
        window=1_000_000,
        reserve=8_192,
        overhead=OVERHEAD,
        cache=registry.load("caches", policy).open(PriceSheet.load().rules((MODEL,))),
        ports=Ports(summarize=FakeSummarizer(), decide=FakeDecider(), store=NoStore()),
    )
    return trace, tuple(replay(setup))


def rows(strategy: str, policy: str = "claude_code", tokenizer: str = "words") -> list[Row]:
    """All rows of a replay; each call was made."""
    return [row for step in steps(strategy, policy, tokenizer)[1] if (row := step.row) is not None]


def bill(strategy: str, policy: str = "claude_code") -> Money:
    """What a strategy's replay costs."""
    prices, total = PriceSheet.load().prices(MODEL), Money()
    assert isinstance(prices, ModelPrices)
    for row in rows(strategy, policy):
        total = total.plus(prices.price(row.usage))
    return total


def as_printed(row: Row, step: int) -> Printed:
    """A row in the article's columns, where the system prompt is message 0."""
    return Printed(step, row.messages + 1, row.stubs, (row.last_stub or 0) + 1, row.usage.cache_read, row.usage.cache_write)


SLIDING = f"sliding_stub(keep={KEEP})"


@pytest.mark.parametrize("tokenizer", ["words", "o200k"])
def test_the_six_printed_rows_are_exact(tokenizer: str) -> None:
    """Messages, stubs, border, read and write of steps 5 to 9 and 58, whatever counts the tokens."""
    made = rows(SLIDING, tokenizer=tokenizer)
    assert tuple(as_printed(made[printed.call], printed.step) for printed in ROWS) == ROWS


def test_totals_are_within_three_percent() -> None:
    """77.3 dollars, of which 64.8 for cache writes, by a rule that no total entered."""
    total = bill(SLIDING)
    assert usd(total.total) == pytest.approx(USD, rel=0.03)
    assert usd(total.write) == pytest.approx(USD_WRITES, rel=0.03)
    assert 0.82 < total.write / total.total < 0.85


def test_the_session_has_the_printed_shape() -> None:
    """177 steps in four turns and 59 minutes, one new pair of messages a step."""
    trace, made = steps(SLIDING, "claude_code")
    assert len(made) == CALLS == len(trace.calls)
    assert sum(message.human for message in trace.messages) == 4
    first, last = trace.calls[0].at, trace.calls[-1].at
    assert first is not None
    assert last is not None
    assert round((last - first) / 60_000) == MINUTES
    assert not any(step.faults or step.died for step in made)


def test_broken_steps_read_one_constant_and_the_alarm_misses_most() -> None:
    """Every broken step reads what stands before the conversation; a fall against the last read shows a quarter of them."""
    made = rows(SLIDING)
    broken = [row for row in made if row.break_cause]
    assert {row.usage.cache_read for row in broken} == {OVERHEAD}
    assert {row.break_cause for row in broken} == {"edit"}
    assert len(broken) > 120
    assert sum(row.alarm for row in made) < len(broken) / 3


def test_an_ideal_cache_cannot_give_the_rows() -> None:
    """It would read up to the moved border, so its reads rise with it instead of standing still."""
    made = rows(SLIDING, "ideal")
    broken = [made[printed.call].usage.cache_read for printed in ROWS[2:]]
    assert broken == sorted(broken)
    assert len(set(broken)) == len(broken)
    assert min(broken) > OVERHEAD


def test_every_control_costs_less_than_half() -> None:
    """No compaction at all, and a border that moves in big steps, both save more than half of the money."""
    whole = bill(SLIDING).total
    for control in ("null", "monotone_stub(threshold=0.1)"):
        assert bill(control).total * 2 < whole, control


def test_breaks_are_named_by_the_result_that_left_the_window() -> None:
    """At step 7 the first changed message is number 167, and edits are the only cause."""
    trace, made = steps(SLIDING, "claude_code")
    events = [event for step in made for event in step.compactions]
    found = breaks_of([step.row for step in made if step.row], events, trace.messages)
    (seventh,) = [one for one in found if one.call == ROWS[2].call]
    assert (seventh.message, seventh.edit, seventh.block) == ("m167", "rewrite", 0)
    assert list(by_cause(found)) == ["edit"]


@pytest.mark.parametrize("rule", [Rule(result=1_200), Rule(protected=300), Rule(human=20)])
def test_rows_stay_exact_whatever_the_rule_says(rule: Rule) -> None:
    """The rule's three parameters move totals only: rows are solved for, not fitted."""
    counter = Counter(count_text=counted)
    trace = rebuild(counter, rule)
    session = registry.load("caches", "claude_code").open(CacheRules(minimum=4096))
    setup = Setup(
        trace=trace,
        strategies=registry.load_strategies(SLIDING),
        counter=counter,
        window=1_000_000,
        reserve=0,
        overhead=OVERHEAD,
        cache=session,
        ports=Ports(summarize=FakeSummarizer(), decide=FakeDecider(), store=NoStore()),
    )
    made = [step.row for step in replay(setup) if step.row]
    assert tuple(as_printed(made[printed.call], printed.step) for printed in ROWS) == ROWS


def test_the_stub_is_the_strategies() -> None:
    """Sizes are solved with the text that `sliding_stub` really writes."""
    assert STUB == CLEARED


def test_a_rule_with_impossible_sizes_is_refused() -> None:
    """A result smaller than its own structure cannot be built."""
    with pytest.raises(ValueError, match="structure alone"):
        rebuild(Counter(count_text=counted), Rule(protected=3))

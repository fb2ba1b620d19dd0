"""Cache breaks: what counts as one, why it happened, and how it differs from the alarm that clients raise."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage import registry
from ullage.breaks import BreakWatch, Found, Signs, breaks_of, by_cause
from ullage.cache import CacheRules, Prompt
from ullage.context import Context
from ullage.pricing import ModelPrices, PriceSheet
from ullage.testing import count_words, tool_call, tool_result, user
from ullage.types import Compaction, Drop, Edit, Message, Moment, Rewrite, Row, Text, ToolResult, Usage

MINUTE = 60_000
FIVE = 5 * MINUTE


def after(read: int, signs: Signs = Signs(), *, model: str = "m", ttl_ms: int = FIVE, prompt: int = 0) -> Found:  # noqa: B008 - frozen
    """What the second call shows when the first one left 100,000 tokens: 60,000 read and 40,000 written."""
    watch = BreakWatch(window=200_000)
    watch.notice(Usage(cache_read=60_000, cache_write_5m=40_000), Signs(), model="m", ttl_ms=ttl_ms)
    return watch.notice(Usage(cache_read=read, uncached=max(prompt - read, 0)), signs, model=model, ttl_ms=ttl_ms)


@pytest.mark.parametrize(
    ("read", "tokens"),
    [(100_000, 0), (95_000, 0), (94_999, 5_001), (60_000, 40_000), (0, 100_000), (120_000, 0)],
)
def test_more_than_five_percent_of_what_was_left_is_a_break(read: int, tokens: int) -> None:
    """Exactly 5 % is none, one token more is one; the tokens are all that was left and not read."""
    assert after(read, prompt=200_000).tokens == tokens


def test_two_thousand_tokens_are_no_break() -> None:
    """A small cache may be lost whole without a break."""
    for lost, tokens in ((2_000, 0), (2_001, 2_001)):
        watch = BreakWatch(window=200_000)
        watch.notice(Usage(cache_write_5m=lost), Signs(), model="m", ttl_ms=FIVE)
        assert watch.notice(Usage(uncached=9_000), Signs(), model="m", ttl_ms=FIVE).tokens == tokens


def test_the_first_call_never_breaks() -> None:
    """Nothing was left by anybody."""
    assert BreakWatch(window=1).notice(Usage(uncached=50_000), Signs(), model="m", ttl_ms=FIVE) == Found()


@pytest.mark.parametrize(
    ("signs", "model", "prompt", "cause"),
    [
        (Signs(), "m", 150_000, "unexplained"),
        (Signs(), "m", 90_000, "prompt shrank"),
        (Signs(cleared=True), "m", 90_000, "recorded clearing"),
        (Signs(edited=True), "m", 150_000, "edit"),
        (Signs(announced=50_000, edited=True), "m", 90_000, "compaction"),
        (Signs(gap_ms=FIVE + 1, edited=True), "m", 150_000, "idle past TTL"),
        (Signs(gap_ms=FIVE), "m", 150_000, "unexplained"),
        (Signs(gap_ms=FIVE + 1), "n", 150_000, "model change"),
    ],
)
def test_the_strongest_reason_is_the_cause(signs: Signs, model: str, prompt: int, cause: str) -> None:
    """A switched model or a lapsed life has lost the cache before any edit could."""
    assert after(10_000, signs, model=model, prompt=prompt).cause == cause


def test_what_a_compaction_announced_is_no_break() -> None:
    """A summary keeps the prefix before it: reading that much is no break, reading less is one of the rest."""
    assert after(20_000, Signs(announced=20_000)) == Found(0, "", True)
    assert after(0, Signs(announced=20_000)) == Found(20_000, "compaction", True)


def test_what_the_server_erased_is_no_break() -> None:
    """Tokens deleted on request are smaller reads, not lost ones."""
    assert after(70_000, Signs(erased=30_000)).tokens == 0


def test_the_alarm_is_blind_to_a_cache_that_stays_broken() -> None:
    """Each of three calls reads the same little of what the one before left: three breaks, one alarm."""
    watch = BreakWatch(window=200_000)
    watch.notice(Usage(cache_read=170_000, cache_write_5m=500), Signs(), model="m", ttl_ms=FIVE)
    found = [
        watch.notice(Usage(cache_read=100_000, cache_write_5m=75_000), Signs(edited=True), model="m", ttl_ms=FIVE)
        for _ in range(3)
    ]
    assert [one.tokens for one in found] == [70_500, 75_000, 75_000]
    assert [one.alarm for one in found] == [True, False, False]


@given(st.lists(st.tuples(*[st.integers(0, 200_000)] * 3), max_size=30))
def test_no_call_loses_more_than_the_one_before_left(calls: list[tuple[int, int, int]]) -> None:
    """A break's tokens are above the threshold and within what was left; no break, no cause."""
    watch, left = BreakWatch(window=200_000), 0
    for uncached, read, write in calls:
        found = watch.notice(Usage(uncached=uncached, cache_read=read, cache_write_1h=write), Signs(), model="m", ttl_ms=FIVE)
        assert bool(found.cause) == bool(found.tokens)
        assert found.tokens == 0 or 2_000 < found.tokens <= left
        left = read + write


# ----------------------------------------------------------------------------------------------- on a replayed history


def event(edit: tuple[Edit, ...], before: int, now: int, first: int | None, moment: Moment = Moment.BEFORE_CALL) -> Compaction:
    """An applied decision before call 1."""
    return Compaction(call=1, moment=moment, edits=edit, tokens_before=before, tokens_after=now, first_changed=first)


def history() -> list[Message]:
    """A task and six tool rounds of 3,000 words each."""
    rounds = [(tool_call(f"u{n}", f"t{n}"), tool_result(f"r{n}", **{f"t{n}": f"w{n} " * 3_000})) for n in range(6)]
    return [user("task", "a"), *(message for pair in rounds for message in pair)]


def replayed(edits: tuple[Edit, ...], window: int) -> tuple[Found, tuple[Row, Row], tuple[Compaction, ...]]:
    """One call, some edits, another call, as a replay would see them."""
    session, watch = registry.load("caches", "claude_code").open(CacheRules()), BreakWatch(window=window)
    context = Context.of(history(), count_words)
    first = Prompt(5_000, context, 0, 0, "5m", "m")
    used = session.step(first)
    watch.observe(used, first, gap_ms=None, compactions=())
    start = Row(call=0, prompt_tokens=first.tokens, usage=used, messages=len(context))
    before = context.tokens()
    applied = context.apply(edits)
    done = (event(edits, before, applied.context.tokens(), applied.first_changed),)
    prompt = Prompt(5_000, applied.context, 0, 1, "5m", "m")
    usage = session.step(prompt)
    found = watch.observe(usage, prompt, gap_ms=1, compactions=done)
    row = Row(
        call=1,
        prompt_tokens=prompt.tokens,
        usage=usage,
        messages=len(applied.context),
        compactions=(0,),
        break_tokens=found.tokens,
        break_cause=found.cause,
        alarm=found.alarm,
        gap=1,
    )
    return found, (start, row), done


STUB = Rewrite(id="r2", blocks=(ToolResult(tool_use_id="t2", content=(Text(text="cleared"),)),))


def test_a_small_edit_breaks_the_cache_from_its_message_on() -> None:
    """One cleared result of 3,000 tokens in a window of 200,000 is an edit: all that was cached behind the mark is lost."""
    found, (start, row), done = replayed((STUB,), window=200_000)
    assert (found.cause, row.usage.cache_read) == ("edit", 5_000)
    assert found.tokens == 1 + 6 * (1 + 3_000)
    (broken,) = breaks_of((start, row), done, history())
    assert (broken.edit, broken.message, broken.block, broken.event) == ("rewrite", "r2", 0, 0)


def test_the_same_edit_is_a_compaction_in_a_small_window() -> None:
    """In a window of 20,000 it frees more than 2 %: the prefix before it was announced, what lies behind was not."""
    found, (_, row), _ = replayed((STUB,), window=20_000)
    kept = 5_000 + 1 + 2 * 3_001 + 1
    assert (found.cause, found.tokens) == ("compaction", kept - row.usage.cache_read)


def test_the_earliest_of_several_edits_is_named() -> None:
    """Whatever order a decision lists its edits in, the first message that changed is the one to blame."""
    _, rows, done = replayed((STUB, Drop(ids=("u0", "r0"))), window=1_000_000)
    (broken,) = breaks_of(rows, done, history())
    assert (broken.edit, broken.message) == ("drop", "u0")


def test_a_break_costs_the_difference_to_a_read() -> None:
    """Lost tokens were written at 6.25 instead of read at 0.5 dollars a million; groups sum what they hold."""
    prices = PriceSheet.load().prices("claude-opus-4-5")
    assert isinstance(prices, ModelPrices)
    found, (start, row), done = replayed((STUB,), window=200_000)
    rewritten = row.usage.cache_write_5m
    (broken,) = breaks_of((start, row), done, history(), prices)
    assert rewritten == found.tokens - 3_000 + 1
    assert broken.cost == rewritten * (6_250_000 - 500_000)
    assert by_cause([broken, broken]) == {"edit": (2, 2 * found.tokens, 2 * broken.cost)}


def test_edits_of_messages_that_were_never_sent_break_nothing() -> None:
    """A result that is cut down on arrival was not in the cache."""
    watch, context = BreakWatch(window=200_000), Context.of(history(), count_words)
    prompt = Prompt(5_000, context, 0, 0, "5m", "m")
    watch.notice(Usage(cache_write_5m=20_000), Signs(), model="m", ttl_ms=FIVE)
    done = (event((STUB,), 30_000, 20_000, 6, Moment.ARRIVAL),)
    assert watch.observe(Usage(cache_read=100, uncached=30_000), prompt, gap_ms=1, compactions=done).cause == "unexplained"

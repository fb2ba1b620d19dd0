"""Build against carry: what a compaction costs once, what it saves on each later call, and when the two meet.

Amounts are in one unit, whichever the caller uses (pico-dollars from a price sheet, or a published currency): closed
forms are exact fractions and a break-even that never comes is none.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from ullage.breaks import COMPACTION_SHARE, grown
from ullage.pricing import ModelPrices, Rates
from ullage.types import Compaction, Moment, Row

Amount = int | Fraction


def break_even(build: Amount, carried_full: Amount, carried: Amount, *, rewritten: Amount = 0) -> Fraction | None:
    """Calls until a compaction has paid for itself: N* = (B + I (p_w - p_r)) / (q_full - q_s).

    ``build`` is B, ``carried_full`` and ``carried`` are q_full and q_s, what the history costs on each call without
    and with the compaction; ``rewritten`` is I (p_w - p_r), what sending kept tokens again adds. None: never.
    """
    saved = Fraction(carried_full) - Fraction(carried)
    return (Fraction(build) + Fraction(rewritten)) / saved if saved > 0 else None


def summary_build(rates: Rates, history: int, summary: int, *, warm: bool = True) -> int:
    """Cost of a summary of ``history`` tokens: its request, its output, and the first write of it into the cache.

    Warm, the request reads the history from the cache; cold, it is charged as input.
    """
    return history * (rates.read if warm else rates.input) + summary * (rates.output + rates.write_5m)


def summary_break_even(rates: Rates, history: int, summary: int, *, warm: bool = True) -> Fraction | None:
    """Calls after which replacing ``history`` by ``summary`` tokens has paid, while the cache stays warm."""
    return break_even(summary_build(rates, history, summary, warm=warm), history * rates.read, summary * rates.read)


def write_pays_after(rates: Rates, *, hour: bool = False) -> int | None:
    """Reads after which having written a token is cheaper than having sent it in full each time (none: never)."""
    fee, saved = (rates.write_1h if hour else rates.write_5m) - rates.input, rates.input - rates.read
    return None if saved <= 0 else -(-fee // saved)


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """One compaction's books, in tokens and pico-dollars.

    ``summariser`` is what its requests cost, ``rewrite`` what sending the kept tokens again added, ``saved_per_call``
    what each later call saves while the cache is warm, and ``break_even`` the calls after which that has paid (none:
    never). ``calls`` are those until the next compaction or the end, ``saved`` what they really saved, at what each
    would have paid for the freed tokens; ``reached_after`` is the first of them that brought the books to even.
    """

    event: int
    call: int
    freed: int
    summariser: int
    warm: bool | None
    rewritten: int
    rewrite: int
    saved_per_call: int
    break_even: Fraction | None
    calls: int
    saved: int
    reached_after: int | None

    @property
    def cost(self) -> int:
        """What the compaction cost once."""
        return self.summariser + self.rewrite


def accounts(
    rows: Sequence[Row],
    compactions: Sequence[Compaction],
    prices: ModelPrices,
    window: int,
    summarizer: ModelPrices | None = None,
    fresh: Sequence[int] = (),
) -> tuple[Account, ...]:
    """The books of every compaction: decisions before the same call are one, if together they free 2 % of the window.

    ``summarizer`` prices the summary requests where another model made them; ``fresh`` gives for each row the tokens that
    no earlier prompt held, where more is known of that than sizes tell.
    """
    starts = [at for at, row in enumerate(rows) if _freed(row, compactions) * COMPACTION_SHARE >= window]
    ends = [*starts[1:], len(rows)] if starts else []
    return tuple(
        _account(rows, at, end, compactions, (prices, summarizer or prices), fresh[at] if fresh else None)
        for at, end in zip(starts, ends, strict=True)
    )


def _freed(row: Row, compactions: Sequence[Compaction]) -> int:
    return sum(event.tokens_before - event.tokens_after for event in _sent(row, compactions))


def _sent(row: Row, compactions: Sequence[Compaction]) -> Iterable[Compaction]:
    """The decisions before a call that changed what had been sent."""
    return (compactions[index] for index in row.compactions if compactions[index].moment is not Moment.ARRIVAL)


def _account(
    rows: Sequence[Row],
    at: int,
    end: int,
    compactions: Sequence[Compaction],
    sheets: tuple[ModelPrices, ModelPrices],
    fresh: int | None,
) -> Account:
    prices, summarizer = sheets
    row, events = rows[at], tuple(_sent(rows[at], compactions))
    rates, freed = prices.rates_for(row.prompt_tokens), sum(event.tokens_before - event.tokens_after for event in events)
    spent = sum(summarizer.price(event.summarizer, event.summarizer_calls).total for event in events)
    asked = [event.summarizer for event in events if event.summarizer_calls]
    new = grown(rows[at - 1] if at else None, row, compactions) if fresh is None else fresh
    rewritten = max(row.prompt_tokens - row.usage.cache_read - new, 0)
    rewrite = rewritten * (_paid(row, rates) - rates.read)
    saved, reached = _savings(rows[at:end], freed, prices, spent + rewrite)
    return Account(
        event=row.compactions[0],
        call=row.call,
        freed=freed,
        summariser=spent,
        warm=any(usage.cache_read for usage in asked) if asked else None,
        rewritten=rewritten,
        rewrite=rewrite,
        saved_per_call=freed * rates.read,
        break_even=break_even(spent, freed * rates.read, 0, rewritten=rewrite),
        calls=end - at,
        saved=saved,
        reached_after=reached,
    )


def _savings(rows: Sequence[Row], freed: int, prices: ModelPrices, cost: int) -> tuple[int, int | None]:
    """What calls saved by not carrying ``freed`` tokens, and after how many of them the cost was covered."""
    saved, reached = 0, None
    for count, row in enumerate(rows, 1):
        rates = prices.rates_for(row.prompt_tokens + freed)
        lapsed = row.break_cause in {"idle past TTL", "model change"}
        saved += freed * (_paid(row, rates) if lapsed else rates.read)
        if reached is None and saved >= cost:
            reached = count
    return saved, reached


def _paid(row: Row, rates: Rates) -> int:
    """What a token that a call did not read cost there: the rate of its writes, else of plain input."""
    if row.usage.cache_write_1h:
        return rates.write_1h
    return rates.write_5m if row.usage.cache_write_5m else rates.input

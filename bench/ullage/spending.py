"""What the money of a recording was paid for: by kind of token, and by the reason why a token was not read from the cache."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from ullage.pricing import ModelPrices, Money, PriceSheet, Rates, Unpriced
from ullage.recorded import Recorded
from ullage.types import Row, Usage

READ, OUTPUT, START, NEW = "read from the cache", "output", "start of the session", "new in the prompt"
COMPACTED, SMALL = "sent again after a compaction", "sent again, too little for a break"
AGAIN = "sent again: "


class Spent(NamedTuple):
    """Tokens of one reason and what they cost, in pico-dollars."""

    reason: str
    tokens: int
    cost: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Spending:
    """The bill of a recording: OBSERVED usage at the sheet's prices.

    ``money`` is the whole by kind of token, ``reasons`` the same sum by reason, dearest first. ``reason`` says why there
    is no price: then ``money`` is none and ``reasons`` hold tokens alone.
    """

    usage: Usage
    money: Money | None
    reasons: tuple[Spent, ...]
    notes: tuple[str, ...] = ()
    reason: str = ""


def spending_of(recorded: Recorded, sheet: PriceSheet) -> Spending:
    """Price every billed call at its own model's rates and sort its tokens by reason."""
    total, notes, sums = Money(), dict[str, None](), dict[str, tuple[int, int]]()
    unpriced = ""
    for place, row in enumerate(recorded.rows):
        prices = sheet.prices(row.model)
        if isinstance(prices, Unpriced):
            unpriced = unpriced or prices.reason
            rates = Rates(0, 0, 0, 0, 0, 0)
        else:
            rates = prices.rates_for(row.prompt_tokens)
            total = total.plus(prices.price(row.usage))
            notes |= dict.fromkeys(prices.notes)
        for reason, tokens, cost in _spent(recorded, place, rates):
            known = sums.get(reason, (0, 0))
            sums[reason] = known[0] + tokens, known[1] + cost
    order = sorted(sums.items(), key=lambda item: (-item[1][1], -item[1][0], item[0]))
    return Spending(
        usage=recorded.usage,
        money=None if unpriced else total,
        reasons=tuple(Spent(name, tokens, 0 if unpriced else cost) for name, (tokens, cost) in order if tokens),
        notes=tuple(notes),
        reason=unpriced,
    )


def _spent(recorded: Recorded, place: int, rates: Rates) -> Iterator[Spent]:
    row = recorded.rows[place]
    usage, fresh = row.usage, recorded.fresh[place]
    yield Spent(READ, usage.cache_read, usage.cache_read * rates.read)
    yield Spent(OUTPUT, usage.output, usage.output * rates.output)
    for tokens, rate in (
        (usage.uncached, rates.input),
        (usage.cache_write_5m, rates.write_5m),
        (usage.cache_write_1h, rates.write_1h),
    ):
        new = min(tokens, fresh)
        fresh -= new
        yield Spent(NEW if place else START, new, new * rate)
        yield Spent(_reason(row), tokens - new, (tokens - new) * rate)


def _reason(row: Row) -> str:
    """Why tokens that had been sent before were paid for in full again."""
    if row.compactions:
        return COMPACTED
    return AGAIN + row.break_cause if row.break_cause else SMALL


def prices_by_model(recorded: Recorded, sheet: PriceSheet) -> dict[str, ModelPrices]:
    """Prices of the session's models; one without a price is left out."""
    found = {row.model: sheet.prices(row.model) for row in recorded.rows}
    return {model: prices for model, prices in found.items() if isinstance(prices, ModelPrices)}

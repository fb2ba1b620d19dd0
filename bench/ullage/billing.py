"""What a replay cost: each call at the rates of its own prompt size, summaries apart."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ullage.pricing import ModelPrices, Money, PriceSheet, Unpriced
from ullage.records import Bill, Label
from ullage.types import Compaction, Row, Usage

SEVERAL_SUMMARIES = "several summary requests of one compaction priced at their mean size"


def bill_replay(
    rows: Iterable[Row], compactions: Sequence[Compaction], sheet: PriceSheet, model: str, *, summarizer_model: str = ""
) -> Bill | Unpriced:
    """The modelled bill; ``model`` prices every call, unless it is empty: then each row's own model does.

    Summaries are priced as ``summarizer_model``, else as ``model``, else as the model of the call that they came before
    (the last call's where that one could not be made).
    """
    rows = tuple(rows)
    agent = bill_calls(((row.usage, model or row.model) for row in rows), sheet)
    if isinstance(agent, Unpriced):
        return agent
    models = {row.call: row.model for row in rows}
    total, notes = Money(), list(agent.notes)
    for event in compactions:
        if event.summarizer_calls == 0:
            continue
        prices = sheet.prices(summarizer_model or model or models.get(event.call) or next(reversed(models.values()), ""))
        if isinstance(prices, Unpriced):
            return prices
        total = total.plus(_price_summaries(event.summarizer, event.summarizer_calls, prices))
        notes += [*prices.notes, *([SEVERAL_SUMMARIES] if event.summarizer_calls > 1 and len(prices.tiers) > 1 else [])]
    return Bill(agent=agent.agent, summariser=total, notes=tuple(dict.fromkeys(notes)))


def bill_calls(calls: Iterable[tuple[Usage, str]], sheet: PriceSheet, *, label: Label = "MODELLED") -> Bill | Unpriced:
    """The bill of calls given as usage and model; the first model without a price makes the whole bill unknown."""
    total, notes = Money(), list[str]()
    for usage, model in calls:
        prices = sheet.prices(model)
        if isinstance(prices, Unpriced):
            return prices
        total = total.plus(prices.price(usage))
        notes += prices.notes
    return Bill(label=label, agent=total, notes=tuple(dict.fromkeys(notes)))


def _price_summaries(usage: Usage, calls: int, prices: ModelPrices) -> Money:
    """The sum of several requests has one tier only when each has: their mean prompt chooses it."""
    rates = prices.rates_for(usage.prompt // calls)
    return Money(
        usage.uncached * rates.input,
        usage.cache_read * rates.read,
        usage.cache_write_5m * rates.write_5m,
        usage.cache_write_1h * rates.write_1h,
        usage.output * rates.output,
    )

"""What a replay cost: each call at the rates of its own prompt size, summaries and storage apart."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

from ullage.pricing import ModelPrices, Money, PriceSheet, Unpriced
from ullage.records import Bill, Label, RunRecord
from ullage.types import Compaction, Row, Usage

_T = TypeVar("_T")
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
    total, notes, used = Money(), list(agent.notes), list(agent.prices)
    paying = summarizer_model or model
    models = {row.call: row.model for row in rows}
    for event in compactions:
        if event.summarizer_calls == 0:
            continue
        prices = sheet.prices(_summary_model(event, models, paying))
        if isinstance(prices, Unpriced):
            return prices
        total = total.plus(prices.price(event.summarizer, event.summarizer_calls))
        used.append(prices)
        notes += [*prices.notes, *([SEVERAL_SUMMARIES] if event.summarizer_calls > 1 and len(prices.tiers) > 1 else [])]
    return Bill(
        agent=agent.agent,
        summariser=total,
        storage=sum(row.storage for row in rows),
        notes=_once(notes),
        prices=_once(used),
        model=model,
        summariser_model=paying,
    )


def bill_calls(calls: Iterable[tuple[Usage, str]], sheet: PriceSheet, *, label: Label = "MODELLED") -> Bill | Unpriced:
    """The bill of calls given as usage and model; the first model without a price makes the whole bill unknown."""
    total, used = Money(), dict[str, ModelPrices]()
    for usage, model in calls:
        prices = used.get(model) or sheet.prices(model)
        if isinstance(prices, Unpriced):
            return prices
        total = total.plus(prices.price(usage))
        used[model] = prices
    notes = [note for prices in used.values() for note in prices.notes]
    return Bill(label=label, agent=total, notes=_once(notes), prices=tuple(used.values()))


def bill_of_first(record: RunRecord, calls: int) -> int | None:
    """Pico-dollars of the first ``calls`` calls of a record and of the summaries before them; none without a bill."""
    if record.bill is None:
        return None
    if calls >= len(record.rows):
        return record.bill.total
    bill, prices = record.bill, {entry.model: entry for entry in record.bill.prices}
    models = {row.call: row.model for row in record.rows}
    total = 0
    for row in record.rows[:calls]:
        entry = prices.get(bill.model or row.model)
        if entry is None:
            return None
        total += entry.price(row.usage).total + row.storage
    for event in record.compactions:
        if event.call < calls and event.summarizer_calls:
            entry = prices.get(_summary_model(event, models, bill.summariser_model))
            if entry is None:
                return None
            total += entry.price(event.summarizer, event.summarizer_calls).total
    return total


def _summary_model(event: Compaction, models: dict[int, str], given: str) -> str:
    return given or models.get(event.call) or next(reversed(models.values()), "")


def _once(items: Iterable[_T]) -> tuple[_T, ...]:
    return tuple(dict.fromkeys(items))

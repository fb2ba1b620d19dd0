"""What a replay cost: each call at the rates of its own prompt size; context turns, summaries and storage apart."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, TypeVar

from ullage.pricing import ModelPrices, Money, PriceSheet, Unpriced
from ullage.records import Bill, Label, RunRecord
from ullage.types import Compaction, Row, SideRequest, Usage

_T = TypeVar("_T")
SEVERAL_SUMMARIES = "several summary requests of one compaction priced at their mean size"
Charge = tuple[Usage, int, str]
"""Usage, the number of requests that it sums up, and the model that is paid."""


class Replayed(NamedTuple):
    """All that a replay sent: its calls, its compactions with their summaries, and the requests beside them."""

    rows: Sequence[Row]
    compactions: Sequence[Compaction]
    requests: Sequence[SideRequest] = ()

    @classmethod
    def of(cls, record: RunRecord) -> Replayed:
        """What the replay behind a record sent."""
        return cls(record.rows, record.compactions, record.requests)

    def first(self, calls: int) -> Replayed:
        """The first ``calls`` calls and what was sent before them; all of it when there are no more."""
        if calls >= len(self.rows):
            return self
        end = self.rows[calls].call
        events = [event for event in self.compactions if event.call < end]
        return Replayed(self.rows[:calls], events, [request for request in self.requests if request.call < end])

    def summaries(self, paying: str) -> Iterable[Charge]:
        """What the summariser is paid for: as ``paying``, else as the model of the call that a summary came before."""
        models = self._models()
        for event in self.compactions:
            if event.summarizer_calls:
                yield event.summarizer, event.summarizer_calls, paying or models(event.call)
        for request in self.requests:
            if request.kind == "summary":
                yield request.usage, 1, paying or models(request.call)

    def turns(self, model: str) -> Iterable[Charge]:
        """What the agent's model is paid for turns on its own context."""
        models = self._models()
        return [(r.usage, 1, model or models(r.call)) for r in self.requests if r.kind == "decision"]

    def _models(self) -> Callable[[int], str]:
        """The model of a call; the last call's where that one could not be made."""
        models = {row.call: row.model for row in self.rows}
        last = self.rows[-1].model if self.rows else ""
        return lambda call: models.get(call) or last


def bill_replay(replayed: Replayed, sheet: PriceSheet, model: str, *, summarizer_model: str = "") -> Bill | Unpriced:
    """The modelled bill; ``model`` prices every call, unless it is empty: then each row's own model does.

    Summaries are priced as ``summarizer_model``, else as ``model``, else as the model of the call that they came before
    (the last call's where that one could not be made).
    """
    paying = summarizer_model or model
    calls = [(row.usage, 1, model or row.model) for row in replayed.rows]
    parts = [_charged(part, sheet) for part in (calls, replayed.turns(model), replayed.summaries(paying))]
    sums = []
    for part in parts:
        if isinstance(part, Unpriced):
            return part
        sums.append(part)
    agent, deciding, summariser = sums
    return Bill(
        agent=agent.money,
        deciding=deciding.money,
        summariser=summariser.money,
        storage=sum(row.storage for row in replayed.rows),
        notes=_once(note for part in sums for note in part.notes),
        prices=_once(prices for part in sums for prices in part.prices),
        model=model,
        summariser_model=paying,
    )


def bill_calls(calls: Iterable[tuple[Usage, str]], sheet: PriceSheet, *, label: Label = "MODELLED") -> Bill | Unpriced:
    """The bill of calls given as usage and model; the first model without a price makes the whole bill unknown."""
    found = _charged([(usage, 1, model) for usage, model in calls], sheet)
    if isinstance(found, Unpriced):
        return found
    return Bill(label=label, agent=found.money, notes=found.notes, prices=found.prices)


def bill_of_first(record: RunRecord, calls: int) -> int | None:
    """Pico-dollars of the first ``calls`` calls of a record and of what was sent before them; none without a bill."""
    bill = record.bill
    if bill is None or calls >= len(record.rows):
        return None if bill is None else bill.total
    part, prices = Replayed.of(record).first(calls), {entry.model: entry for entry in bill.prices}
    charges = [(row.usage, 1, bill.model or row.model) for row in part.rows]
    charges += [*part.turns(bill.model), *part.summaries(bill.summariser_model)]
    if any(model not in prices for _, _, model in charges):
        return None
    spent = sum(prices[model].price(usage, count).total for usage, count, model in charges)
    return spent + sum(row.storage for row in part.rows)


class _Charged(NamedTuple):
    money: Money
    notes: tuple[str, ...]
    prices: tuple[ModelPrices, ...]


def _charged(charges: Iterable[Charge], sheet: PriceSheet) -> _Charged | Unpriced:
    total, notes, used = Money(), list[str](), dict[str, ModelPrices]()
    for usage, count, model in charges:
        prices = used.get(model) or sheet.prices(model)
        if isinstance(prices, Unpriced):
            return prices
        total = total.plus(prices.price(usage, count))
        used[model] = prices
        notes += [SEVERAL_SUMMARIES] if count > 1 and len(prices.tiers) > 1 else []
    notes = [*(note for prices in used.values() for note in prices.notes), *notes]
    return _Charged(total, _once(notes), tuple(used.values()))


def _once(items: Iterable[_T]) -> tuple[_T, ...]:
    return tuple(dict.fromkeys(items))

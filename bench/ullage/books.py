"""A record's books: its cache breaks with the decision behind each, and what each compaction cost and saved."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

from ullage.breaks import Break, break_cost, breaks_of, by_cause, grown
from ullage.economics import Account, accounts
from ullage.pricing import ModelPrices, usd
from ullage.records import RunRecord
from ullage.types import Row


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordBreak:
    """A break of one record. ``position`` is where the history first changed, ``tier`` and ``reason`` the decision's own words."""

    trace: str
    lost: Break
    position: int | None
    tier: str
    reason: str


def breaks_of_record(record: RunRecord) -> tuple[RecordBreak, ...]:
    """All breaks of a record, the dearest first; the cost is none where the record has no price."""
    costs = _costs(record)
    found = [replace(lost, cost=costs.get(lost.call)) for lost in breaks_of(record.rows, record.compactions)]
    found.sort(key=lambda one: (-(one.cost or 0), -one.tokens, one.call))
    return tuple(_named(record, lost) for lost in found)


def breaks_by_cause(records: Iterable[RunRecord]) -> dict[str, tuple[int, int, int | None]]:
    """Count, tokens and pico-dollars of each cause over several records, the dearest first."""
    return by_cause(found.lost for record in records for found in breaks_of_record(record))


def accounts_of(record: RunRecord) -> tuple[Account, ...]:
    """The account of every compaction, at the prices of the call that it came before; empty without prices."""
    if record.bill is None:
        return ()
    found = []
    for model in dict.fromkeys(row.model for row in record.rows):
        prices, summariser = _prices(record, model), _prices(record, record.bill.summariser_model or model)
        if prices is None or summariser is None:
            continue
        books = accounts(record.rows, record.compactions, prices, record.window, summariser)
        models = {row.call: row.model for row in record.rows}
        found += [book for book in books if models[book.call] == model]
    return tuple(sorted(found, key=lambda book: book.call))


def _named(record: RunRecord, lost: Break) -> RecordBreak:
    event = None if lost.event is None else record.compactions[lost.event]
    return RecordBreak(
        trace=record.trace.id,
        lost=lost,
        position=None if event is None else event.first_changed,
        tier="" if event is None else event.tier,
        reason="" if event is None else event.reason,
    )


def _costs(record: RunRecord) -> dict[int, int]:
    """What each broken call's break added to the bill, by call."""
    found: dict[int, int] = {}
    before: Row | None = None
    for row in record.rows:
        if row.break_cause:
            prices = _prices(record, row.model)
            if prices is not None:
                found[row.call] = break_cost(row, grown(before, row, record.compactions), prices)
        before = row
    return found


def _prices(record: RunRecord, model: str) -> ModelPrices | None:
    """The prices that the bill used for a model; none without a bill."""
    if record.bill is None:
        return None
    wanted = record.bill.model or model
    return next((entry for entry in record.bill.prices if entry.model == wanted), None)


def build_carry(records: Iterable[RunRecord]) -> dict[str, Any] | None:
    """What the compactions of a strategy cost once and saved later, over its traces, in dollars; none without a price.

    ``reached`` of them had paid for themselves before the next one or the end; ``break_even_calls`` is the median of those
    that can.
    """
    records = list(records)
    if any(record.bill is None for record in records):
        return None
    books = [(record.trace.id, book) for record in records for book in accounts_of(record)]
    needed = [float(book.break_even) for _, book in books if book.break_even is not None]
    cost, saved = sum(book.cost for _, book in books), sum(book.saved for _, book in books)
    return {
        "label": "MODELLED",
        "compactions": len(books),
        "freed": sum(book.freed for _, book in books),
        "summariser_usd": _usd(sum(book.summariser for _, book in books)),
        "rewrite_usd": _usd(sum(book.rewrite for _, book in books)),
        "cost_usd": _usd(cost),
        "saved_usd": _usd(saved),
        "net_usd": _usd(saved - cost),
        "break_even_calls": round(median(needed), 3) if needed else None,
        "never": len(books) - len(needed),
        "reached": sum(book.reached_after is not None for _, book in books),
        "not_reached": sum(book.reached_after is None for _, book in books),
        "events": [_event(trace, book) for trace, book in books],
    }


def _event(trace: str, book: Account) -> dict[str, Any]:
    return {
        "trace": trace,
        "call": book.call,
        "freed": book.freed,
        "warm": book.warm,
        "cost_usd": _usd(book.cost),
        "rewritten": book.rewritten,
        "saved_per_call_usd": _usd(book.saved_per_call),
        "break_even_calls": None if book.break_even is None else round(float(book.break_even), 3),
        "calls": book.calls,
        "saved_usd": _usd(book.saved),
        "reached_after": book.reached_after,
    }


def _usd(pico: int) -> float:
    return round(usd(pico), 6)

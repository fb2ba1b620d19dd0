"""Open-book figures: retention when a reader may fetch back what the strategy stored, and what fetching costs.

Recall that is bought by retrieval is never mixed with what the context itself still tells: both stand side by side.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from ullage.lookups import OPEN_BOOK
from ullage.measures import Figure, common, examined, false_memory_rate, retention
from ullage.pricing import usd
from ullage.records import RunRecord
from ullage.types import Answer, Lookup, Usage

NOT_ASKED = "closed book only; run with --open-book N"


def open_book_figures(records: Sequence[RunRecord]) -> dict[str, Any] | str:
    """The object ``open_book`` of a strategy's summary, or the reason why there is none.

    ``asked`` counts the questions of all held examinations, ``looked_up`` those that led to the store, ``opened`` the tool
    calls, ``gone`` those in vain; tokens and dollars are of these calls alone, MODELLED with the examined prompt in the cache.
    """
    if not any(record.open_book for record in records):
        return next((s.reason for record in records for s in record.skipped if s.what == OPEN_BOOK), NOT_ASKED)
    opened = [opened_record(record) for record in records]
    found, false = retention(common(opened)), false_memory_rate(examined(opened))
    lookups = [lookup for record in records for lookup in record.lookups]
    usage = sum((lookup.usage for lookup in lookups), Usage())
    return {
        "retention": found.value,
        "interval": _interval(found),
        "false_memory_rate": false.value,
        "asked": sum(not record.exams[answer.exam].dead for record in records for answer in record.answers),
        "looked_up": len(lookups),
        "opened": sum(lookup.opened for lookup in lookups),
        "gone": sum(lookup.gone for lookup in lookups),
        "tokens": {"input": usage.prompt, "output": usage.output},
        "usd": _dollars(records),
    }


def opened_record(record: RunRecord) -> RunRecord:
    """The record with each answer replaced by what the reader said after it had looked the question up."""
    later = {_place(lookup.answer): lookup.answer for lookup in record.lookups}
    answers = tuple(later.get(_place(answer), answer) for answer in record.answers)
    return msgspec.structs.replace(record, answers=answers)


def retrieved_tokens(records: Iterable[RunRecord]) -> int:
    """Tokens that the store gave back, the calls that asked for them left out."""
    return sum(lookup.usage.uncached - lookup.usage.output for record in records for lookup in record.lookups)


def _place(answer: Answer) -> tuple[int, str, int]:
    return answer.exam, answer.probe, answer.draw


def _interval(figure: Figure) -> list[float] | None:
    if figure.low is None or figure.high is None:
        return None
    return [max(0.0, figure.low), min(1.0, figure.high)]


def _dollars(records: Sequence[RunRecord]) -> float | None:
    """All lookups at the prices that the bill used for the call of their examination; none where one has no price."""
    spent = [_price(record, lookup) for record in records for lookup in record.lookups]
    return None if None in spent else usd(sum(price for price in spent if price is not None))


def _price(record: RunRecord, lookup: Lookup) -> int | None:
    if record.bill is None:
        return None
    call = record.exams[lookup.answer.exam].call
    model = record.bill.model or next((row.model for row in record.rows if row.call == call), "")
    prices = next((entry for entry in record.bill.prices if entry.model == model), None)
    return None if prices is None else prices.price(lookup.usage, lookup.opened).total

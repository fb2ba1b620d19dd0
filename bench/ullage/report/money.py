"""The money section of a report: breaks by cause and one by one, and what compactions cost and saved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ullage.books import RecordBreak, breaks_of_record
from ullage.breaks import by_cause
from ullage.markdown import code, table
from ullage.plain import one_line
from ullage.pricing import usd
from ullage.records import RunRecord
from ullage.report import svg
from ullage.report.figures import Shown
from ullage.tables import UNKNOWN, dollars, thousands, whole

BREAKS_SHOWN = 8
"""Most breaks of one strategy that are listed, the dearest first."""


def money_section(shown: Shown) -> dict[str, Any]:
    """Everything that the page's money section shows."""
    found = {spec: _breaks(shown.groups[spec]) for spec in shown.strategies}
    return {
        "causes": [row for spec, breaks in found.items() for row in _cause_rows(spec, breaks, shown)],
        "listed": [_listed(spec, breaks, shown) for spec, breaks in found.items() if breaks],
        "books": [_book_row(spec, shown.summaries[spec], shown) for spec in shown.strategies],
    }


def money_markdown(shown: Shown) -> str:
    """The same two tables for Markdown."""
    found = {spec: _breaks(shown.groups[spec]) for spec in shown.strategies}
    causes = [row for spec, breaks in found.items() for row in _cause_rows(spec, breaks, shown)]
    first = table(
        ("strategy", "cause", "breaks", "tokens lost", "dollars more"),
        [(code(row["spec"]), row["cause"], row["count"], row["tokens"], row["usd"]) for row in causes],
        right=(2, 3, 4),
    )
    keys = ("compactions", "freed", "request", "rewrite", "break_even", "reached", "saved", "net")
    rows = [(code(row["spec"]), *(row[key] for key in keys)) for row in (_book_row(s, shown.summaries[s], shown) for s in found)]
    header = ("strategy", "compactions", "freed", "requests", "sent again", "break-even, calls", "paid off", "saved", "net")
    second = table(header, rows, right=range(1, len(header)))
    return f"{first if causes else 'No cache break.'}\n\n{second}"


def _breaks(records: Sequence[RunRecord]) -> list[RecordBreak]:
    """Breaks of all traces, the dearest first."""
    found = [one for record in records for one in breaks_of_record(record)]
    return sorted(found, key=lambda one: (-(one.lost.cost or 0), -one.lost.tokens, one.trace, one.lost.call))


def _cause_rows(spec: str, breaks: Sequence[RecordBreak], shown: Shown) -> list[dict[str, Any]]:
    groups = by_cause(one.lost for one in breaks)
    return [
        {
            "spec": spec,
            "swatch": svg.swatch(shown.styles[spec]),
            "cause": cause,
            "count": f"{count:,}",
            "tokens": thousands(tokens),
            "usd": UNKNOWN if cost is None else dollars(usd(cost)),
        }
        for cause, (count, tokens, cost) in groups.items()
    ]


def _listed(spec: str, breaks: Sequence[RecordBreak], shown: Shown) -> dict[str, Any]:
    more = f", {BREAKS_SHOWN} dearest listed" if len(breaks) > BREAKS_SHOWN else ""
    return {
        "spec": spec,
        "swatch": svg.swatch(shown.styles[spec]),
        "headline": f"{len(breaks):,} break{'s' if len(breaks) != 1 else ''}{more}",
        "rows": [_row(one) for one in breaks[:BREAKS_SHOWN]],
    }


def _row(one: RecordBreak) -> dict[str, str]:
    lost = one.lost
    place = "" if one.position is None else f"position {one.position:,}"
    where = f"{lost.message}, block {lost.block}" if lost.message and lost.block is not None else lost.message
    return {
        "trace": one.trace,
        "call": f"{lost.call:,}",
        "cause": lost.cause,
        "tokens": thousands(lost.tokens),
        "usd": UNKNOWN if lost.cost is None else dollars(usd(lost.cost)),
        "edit": f"{lost.edit} of {where}" if lost.edit and where else lost.edit,
        "place": place,
        "why": one_line(": ".join(part for part in (one.tier, one.reason) if part), 160),
        "gap": "" if lost.gap_ms is None else f"{lost.gap_ms / 1000:,.0f} s",
    }


def _book_row(spec: str, entry: Mapping[str, Any], shown: Shown) -> dict[str, Any]:
    found = entry["build_carry"]
    cells = dict.fromkeys(("compactions", "freed", "request", "rewrite", "break_even", "reached", "saved", "net"), UNKNOWN)
    if found is not None:
        cells = {
            "compactions": whole(found["compactions"]),
            "freed": thousands(found["freed"]),
            "request": dollars(found["summariser_usd"]),
            "rewrite": dollars(found["rewrite_usd"]),
            "break_even": UNKNOWN if found["break_even_calls"] is None else f"{found['break_even_calls']:.1f}",
            "reached": f"{found['reached']} of {found['compactions']}",
            "saved": dollars(found["saved_usd"]),
            "net": dollars(found["net_usd"]) if found["net_usd"] >= 0 else f"−{dollars(-found['net_usd'])}",
        }
    return {"spec": spec, "swatch": svg.swatch(shown.styles[spec])} | cells

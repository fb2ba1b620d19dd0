"""The HTML page: one file, no script, no outside reference; every text from a recording is escaped and made plain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ullage.breakdowns import AGE_GROUPS, Cell, by_age, by_checkpoint, by_form, by_speaker, by_type, by_zone
from ullage.pricing import usd
from ullage.records import RunRecord
from ullage.report import findings, svg
from ullage.report.charts import AnyChart
from ullage.report.figures import TRACES_SHOWN, Shown
from ullage.report.money import money_section
from ullage.report.pieces import figure, style_sheet, template
from ullage.report.wording import (
    GLOSSARY,
    cards,
    choice_text,
    facts,
    inputs_text,
    lead,
    lost_item,
    removed_headline,
    summary_cells,
    wear_notes,
)
from ullage.tables import UNKNOWN, dollars, percent, table_notes, thousands, whole

Charts = Sequence[AnyChart]


def page(
    run: str, summary: Mapping[str, Any], shown: Shown, overview: Charts, traces: Sequence[tuple[RunRecord, AnyChart, AnyChart]]
) -> str:
    """The whole page as text."""
    records = findings.traces_of(shown.groups)
    context = {
        "run": run,
        "css": style_sheet(),
        "lead": lead(shown),
        "facts": facts(shown),
        "cards": cards(shown),
        "label": shown.label,
        "trace_count": f"{len(records):,} trace{'s' if len(records) != 1 else ''}",
        "rows": [_summary_row(shown, entry) for entry in summary["strategies"]],
        "notes": table_notes(summary),
        "wear": wear_notes(summary),
        "legend": _legend(shown),
        "overview": [figure(chart) for chart in overview],
        "breakdowns": _breakdowns(shown),
        "choice": choice_text(len(traces), len(records), TRACES_SHOWN),
        "traces_shown": [{"context": figure(context), "cache": figure(cache_chart)} for _, context, cache_chart in traces],
        "losses": [_losses(shown, spec) for spec in shown.strategies],
        "money": money_section(shown),
        "violations": findings.violations_of(shown.groups),
        "faults": findings.faults_of(shown.groups),
        "deaths": [_death(record) for record in findings.deaths_of(shown.groups)],
        "calls": f"{sum(record.survived for group in shown.groups.values() for record in group):,}",
        "traces": [_trace_row(record) for record in records],
        "trace_notes": findings.notes_of(shown.groups),
        "skipped": findings.skipped_of(shown.groups),
        "glossary": GLOSSARY,
        "inputs": inputs_text(records),
    }
    return str(template("page.html").render(context))


def _legend(shown: Shown) -> list[dict[str, Any]]:
    return [
        {"name": spec, "swatch": svg.swatch(style), "bound": shown.summaries[spec]["kind"] == "bound"}
        for spec, style in shown.styles.items()
    ]


def _summary_row(shown: Shown, entry: Mapping[str, Any]) -> dict[str, Any]:
    return summary_cells(entry) | {
        "swatch": svg.swatch(shown.styles[entry["spec"]]),
        "bound": entry["kind"] == "bound",
        "violated": bool(entry["violations"]),
        "faulty": bool(entry["faults"]),
    }


def _breakdowns(shown: Shown) -> list[dict[str, Any]]:
    ages = [label for _, _, label in AGE_GROUPS]
    tables = [
        ("Retention by age in compactions", {spec: by_age(shown.groups[spec]) for spec in shown.strategies}, ages),
        ("Retention of prose and of typed values", {spec: by_form(shown.groups[spec]) for spec in shown.groups}, None),
        ("Retention by probe type", {spec: by_type(shown.groups[spec]) for spec in shown.groups}, None),
        ("Retention by speaker", {spec: by_speaker(shown.groups[spec]) for spec in shown.groups}, None),
        ("Retention by zone of the trace", {spec: by_zone(shown.groups[spec]) for spec in shown.groups}, None),
        (
            "Retention by checkpoint (share of the trace)",
            {spec: by_checkpoint(shown.groups[spec]) for spec in shown.groups},
            None,
        ),
    ]
    return [found for title, cells, order in tables if (found := _breakdown(shown, title, cells, order))["columns"]]


def _breakdown(shown: Shown, title: str, cells: Mapping[str, Mapping[str, Cell]], order: Sequence[str] | None) -> dict[str, Any]:
    present = {label for found in cells.values() for label in found}
    columns = [
        label for label in (order or dict.fromkeys(label for found in cells.values() for label in found)) if label in present
    ]
    rows = [
        {"spec": spec, "swatch": svg.swatch(shown.styles[spec]), "cells": [_cell(found.get(label)) for label in columns]}
        for spec, found in cells.items()
    ]
    return {"title": title, "columns": columns, "rows": rows}


def _cell(cell: Cell | None) -> dict[str, str]:
    if cell is None:
        return {"value": UNKNOWN, "n": "n 0"}
    return {"value": percent(cell.value), "n": f"n {cell.questions:,}"}


def _losses(shown: Shown, spec: str) -> dict[str, Any]:
    found = findings.losses_of(spec, shown.groups[spec])
    counts = {
        name: whole(getattr(found, name)) for name in ("questions", "missed", "removed", "standing", "died", "other", "facts")
    }
    return counts | {
        "spec": spec,
        "swatch": svg.swatch(shown.styles[spec]),
        "headline": removed_headline(found),
        "listed": [lost_item(lost) for lost in found.shown],
    }


def _death(record: RunRecord) -> dict[str, Any]:
    return {
        "spec": record.spec,
        "trace": record.trace.id,
        "at": record.died_at,
        "calls": record.trace.calls,
        "reason": record.died,
    }


def _trace_row(record: RunRecord) -> dict[str, str | bool]:
    note, found = record.trace, record.calibration
    known = found is not None and found.low is not None and found.high is not None
    return {
        "id": note.id,
        "midway": note.starts_midway,
        "format": note.format or UNKNOWN,
        "model": record.model or UNKNOWN,
        "calls": whole(note.calls),
        "messages": whole(note.messages),
        "tokens": thousands(note.tokens),
        "window": thousands(record.window),
        "factor": UNKNOWN if found is None else f"{found.factor:.2f}",
        "percentiles": f"{found.low:.2f}–{found.high:.2f}" if found is not None and known else "not calibrated",
        "error": UNKNOWN if found is None else percent(found.error),
        "overhead": UNKNOWN if found is None else thousands(found.overhead),
        "method": "" if found is None else found.overhead_method,
        "unrecorded": UNKNOWN if found is None else thousands(found.unrecorded),
        "probes": whole(len(record.probes)),
        "bill": UNKNOWN if record.recorded_bill is None else dollars(usd(record.recorded_bill.total)),
    }

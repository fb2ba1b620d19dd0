"""The Markdown page: the same tables and lists for a terminal, a wiki or a pull request; pictures by relative link."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ullage.breakdowns import AGE_GROUPS, Cell, by_age, by_form, by_speaker, by_type, by_zone
from ullage.markdown import code, inline, table
from ullage.records import quote
from ullage.report import findings
from ullage.report.charts import AnyChart
from ullage.report.figures import Shown
from ullage.report.money import money_markdown
from ullage.report.wording import GLOSSARY, facts, lead, lost_item, removed_headline, summary_cells, wear_notes
from ullage.tables import UNKNOWN, percent, table_notes, thousands, whole

QUOTED = 160
"""Characters of evidence in a table cell, around the span."""
LOSSES_LISTED = 8
"""Most lost facts of one strategy in Markdown; the page lists more."""


def page_markdown(run: str, summary: Mapping[str, Any], shown: Shown, charts: Sequence[AnyChart]) -> str:
    """The whole page as text; everything from a recording stands in code spans."""
    sections = [
        f"# Ullage report{': ' + code(run) if run else ''}",
        lead(shown),
        " · ".join(f"{name} {code(value)}" for name, value in facts(shown)),
        "## Summary",
        _summary(shown, summary),
        "\n".join(f"- {inline(note)}" for note in table_notes(summary)),
        "## Retention by age, in compactions",
        _cells({spec: by_age(shown.groups[spec]) for spec in shown.strategies}, [label for _, _, label in AGE_GROUPS]),
        "\n".join(f"- {inline(note)}" for note in wear_notes(summary)),
        "## Retention of prose and of typed values",
        _cells({spec: by_form(shown.groups[spec]) for spec in shown.groups}, []),
        "## Retention by probe type",
        _cells({spec: by_type(shown.groups[spec]) for spec in shown.groups}, []),
        "## Retention by speaker",
        _cells({spec: by_speaker(shown.groups[spec]) for spec in shown.groups}, []),
        "## Retention by zone of the trace",
        _cells({spec: by_zone(shown.groups[spec]) for spec in shown.groups}, []),
        *(f"![{inline(chart.title)}](charts/{chart.slug}.png)\n\n*{inline(chart.caption)}*" for chart in charts),
        "## Lost facts",
        *(_losses(shown, spec) for spec in shown.strategies),
        "## Cache breaks, and what compactions cost and saved (MODELLED)",
        money_markdown(shown),
        "## Broken rules, faults and early ends",
        _broken("violation", findings.violations_of(shown.groups)),
        _broken("fault", findings.faults_of(shown.groups)),
        _deaths(shown),
        "## Traces",
        _traces(shown),
        "## How to read this",
        "\n".join(f"- **{name}**: {text}" for name, text in GLOSSARY),
    ]
    return "\n\n".join(section for section in sections if section) + "\n"


def _summary(shown: Shown, summary: Mapping[str, Any]) -> str:
    header = (
        "strategy", "retention", "95 % interval", "rank", "normalised", "survival", "n questions", "tokens in", "peak",
        "cache read", "read share", "cache write", f"dollars {shown.label}", "compactions", "violations", "faults", "calls made",
    )  # fmt: skip
    keys = (
        "retention", "interval", "rank", "normalised", "survival", "questions", "input", "peak",
        "read", "ratio", "write", "usd", "compactions", "violations", "faults", "survived",
    )  # fmt: skip
    cells = [(entry["spec"], summary_cells(entry)) for entry in summary["strategies"]]
    return table(header, [(code(spec), *(row[key] for key in keys)) for spec, row in cells], right=range(1, len(header)))


def _cells(cells: Mapping[str, Mapping[str, Cell]], order: Sequence[str]) -> str:
    present = dict.fromkeys(label for found in cells.values() for label in found)
    columns = [label for label in (order or sorted(present)) if label in present]
    if not columns:
        return "Nothing was asked."
    rows = [(code(spec), *(_cell(found.get(label)) for label in columns)) for spec, found in cells.items()]
    return table(("strategy", *(code(label) for label in columns)), rows, right=range(1, len(columns) + 1))


def _cell(cell: Cell | None) -> str:
    return UNKNOWN if cell is None else f"{percent(cell.value)} (n {cell.questions:,})"


def _losses(shown: Shown, spec: str) -> str:
    found = findings.losses_of(spec, shown.groups[spec])
    counts = (
        f"{whole(found.missed)} of {whole(found.questions)} questions missed: evidence removed by a named edit {whole(found.removed)}, "
        f"evidence still there {whole(found.standing)}, trace had ended {whole(found.died)}, other {whole(found.other)}. "
        f"{removed_headline(found)}."
    )
    rows = []
    for lost in found.shown[:LOSSES_LISTED]:
        item = lost_item(lost)
        whole_text, start = item["before"] + item["span"] + item["after"], len(item["before"])
        quoted = code(quote(whole_text, start, start + len(item["span"]), QUOTED)[0])
        rows.append(
            (code(item["question"], 160), quoted, code(item["where"], 160), code(f"{item['action']}; {item['removed']}", 240))
        )
    listed = table(("question", "evidence", "where it stood", "what removed it"), rows) if rows else ""
    return f"### {code(spec)}\n\n{counts}" + (f"\n\n{listed}" if listed else "")


def _broken(kind: str, rows: Sequence[findings.Broken]) -> str:
    if not rows:
        return f"No {kind}."
    cells = [
        (code(r.spec), code(r.name), r.severity, whole(r.count), whole(r.traces), code(f"{r.trace}, call {r.call}: {r.example}"))
        for r in rows
    ]
    return table(("strategy", kind, "severity", "count", "traces", "first"), cells)


def _deaths(shown: Shown) -> str:
    rows = [
        (code(r.spec), code(r.trace.id), f"{r.died_at} of {r.trace.calls}", code(r.died))
        for r in findings.deaths_of(shown.groups)
    ]
    return table(("strategy", "trace", "died at call", "reason"), rows) if rows else "No trace ended early."


def _traces(shown: Shown) -> str:
    rows = []
    for record in findings.traces_of(shown.groups):
        note, found = record.trace, record.calibration
        factor = UNKNOWN if found is None else f"{found.factor:.2f}"
        sizes = (UNKNOWN, UNKNOWN) if found is None else (thousands(found.overhead), thousands(found.unrecorded))
        cells = (whole(note.calls), thousands(note.tokens), thousands(record.window), factor, *sizes, whole(len(record.probes)))
        rows.append((code(note.id), code(note.format), code(record.model), *cells))
    header = ("trace", "format", "model", "calls", "tokens", "window", "count factor", "overhead", "unrecorded", "probes asked")
    return table(header, rows, right=range(3, len(header)))

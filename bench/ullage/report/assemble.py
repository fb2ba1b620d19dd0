"""Puts a report together: figures once, then page, Markdown and pictures from the same values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ullage.records import RunRecord
from ullage.report.charts import AnyChart
from ullage.report.figures import Shown, overview_charts, trace_charts
from ullage.report.page import page
from ullage.report.page_markdown import page_markdown
from ullage.report.png import paint
from ullage.tables import by_spec, run_summary


def assemble(
    records: Sequence[RunRecord], *, run: str, order: Sequence[str], overhead_ms: Mapping[str, float], png: bool
) -> dict[str, bytes]:
    """The files of a report by name relative to the run folder."""
    summary = run_summary(records, run=run, order=order, overhead_ms=overhead_ms)
    shown = show(records, summary)
    overview, traces = overview_charts(shown), trace_charts(shown)
    charts: list[AnyChart] = [*overview, *(chart for _, context, cache in traces for chart in (context, cache))]
    pictures = paint(charts) if png else {}
    return {
        "report.html": page(run, summary, shown, overview, traces).encode(),
        "report.md": page_markdown(run, summary, shown, charts if png else []).encode(),
        **{f"charts/{slug}.png": data for slug, data in pictures.items()},
    }


def show(records: Sequence[RunRecord], summary: Mapping[str, Sequence[Mapping[str, object]]]) -> Shown:
    """Records grouped in the order of the summary, each strategy with a number for its looks."""
    groups, entries = by_spec(records), {str(entry["spec"]): entry for entry in summary["strategies"]}
    return Shown(
        groups={spec: groups[spec] for spec in entries}, summaries=entries, styles={spec: n for n, spec in enumerate(entries)}
    )

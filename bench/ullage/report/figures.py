"""Records → the charts of a report."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ullage.breakdowns import AGE_GROUPS, Cell, by_age, by_type
from ullage.exams import is_compaction
from ullage.records import RunRecord
from ullage.report.charts import (
    AnyChart,
    Bar,
    BarChart,
    Column,
    DotChart,
    Dots,
    Level,
    Line,
    LineChart,
    Mark,
    Panel,
    ScatterChart,
    StackChart,
    label_axis,
    scale,
    share_axis,
)
from ullage.tables import dollars, percent, percent_range, thousands

TRACES_SHOWN = 4
PANELS_SHOWN = 24
"""Most traces with charts of their own, and most stacked panels in all: what a person reads, and a page of a few 100 kB."""
COLUMNS_SHOWN, POINTS_SHOWN = 200, 400
"""Most bars of a stack and points of a line: about two pixels each; longer sessions are binned, and the caption says so."""
SPLIT_NAMES = {
    "cache_read": "cache read",
    "cache_write_5m": "cache write 5 m",
    "cache_write_1h": "cache write 1 h",
    "uncached": "uncached",
    "output": "output",
    "context_turns": "context turns",
    "summariser": "summariser",
    "storage": "storage",
}
STACK = ("cache read", "cache write", "uncached")


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """A run as the report shows it: records by strategy in the order of the table, with their summaries and styles."""

    groups: Mapping[str, Sequence[RunRecord]]
    summaries: Mapping[str, Mapping[str, Any]]
    styles: Mapping[str, int]

    @property
    def strategies(self) -> list[str]:
        """Specs of replayed strategies, in order; bounds have no calls to draw."""
        return [spec for spec in self.groups if self.summaries[spec]["kind"] == "strategy"]

    @property
    def label(self) -> str:
        """Where the money figures come from."""
        return " and ".join(sorted({str(entry["usd_label"]) for entry in self.summaries.values()}))


def overview_charts(shown: Shown) -> list[AnyChart]:
    """The charts over all traces: cost against retention, cost split, retention by age and by type."""
    found = [cost_against_retention(shown), cost_split(shown), retention_by_age(shown), retention_by_type(shown)]
    return [chart for chart in found if chart is not None]


def trace_charts(shown: Shown) -> list[tuple[RunRecord, LineChart, StackChart]]:
    """For each chosen trace one of its records, the context over its calls, and its cache reads and writes."""
    return [
        (records[0], context_over_calls(shown, n, records), cache_over_calls(shown, n, records))
        for n, records in enumerate(chosen_traces(shown), 1)
    ]


def chosen_traces(shown: Shown) -> list[list[RunRecord]]:
    """The traces with the most compactions over all strategies, then with the most calls: those that differ most."""
    traces: dict[str, list[RunRecord]] = {}
    for spec in shown.strategies:
        for record in shown.groups[spec]:
            traces.setdefault(record.inputs.trace, []).append(record)
    most = max(1, min(TRACES_SHOWN, PANELS_SHOWN // max(1, len(shown.strategies))))
    order = sorted(
        traces.values(), key=lambda found: (-_events(found), -found[0].trace.calls, found[0].trace.id, found[0].inputs.trace)
    )
    return order[:most]


def cost_against_retention(shown: Shown) -> ScatterChart | None:
    """Dollars against retention, one point a strategy; bounds are levels, for they have no bill."""
    points = []
    for spec in shown.strategies:
        entry = shown.summaries[spec]
        if entry["usd"] is None or entry["retention"] is None:
            continue
        low, high = entry["interval"] or (None, None)
        hint = f"{spec}: {dollars(entry['usd'])}, {percent(entry['retention'])} ({percent_range(entry['interval'])})"
        died = " †" if entry["died"] else ""
        points.append(
            (
                spec + died,
                shown.styles[spec],
                Mark(x=entry["usd"], y=entry["retention"], low=_clip(low), high=_clip(high), hint=hint),
            )
        )
    if not points:
        return None
    any_entry = next(iter(shown.summaries.values()))
    levels = [
        Level(value=shown.summaries[spec]["retention"], label=f"{spec} {percent(shown.summaries[spec]['retention'])}")
        for spec in shown.groups
        if spec not in shown.strategies and shown.summaries[spec]["retention"] is not None
    ]
    left_out = [spec for spec in shown.strategies if shown.summaries[spec]["usd"] is None]
    return ScatterChart(
        slug="cost-retention",
        title="Cost against retention",
        caption=(
            f"Dollars ({shown.label}) for all calls and summaries of {any_entry['traces']} traces against retention, with 95 % t intervals over "
            f"traces. n = {any_entry['questions']:,} questions a strategy. Up and to the left is better."
            + (" † did not finish every trace, so its bill is short." if any(name.endswith("†") for name, _, _ in points) else "")
            + (f" Without a price: {', '.join(left_out)}." if left_out else "")
        ),
        x=scale(f"dollars ({shown.label}), all traces", "usd", max(mark.x for _, _, mark in points)),
        y=share_axis("retention"),
        points=tuple(points),
        levels=tuple(levels),
    )


def cost_split(shown: Shown) -> BarChart | None:
    """What the dollars were paid for."""
    keys = [key for key in (*SPLIT_NAMES,) if any((shown.summaries[s]["usd_split"] or {}).get(key) for s in shown.strategies)]
    bars = [
        Bar(
            label=spec,
            style=shown.styles[spec],
            values=tuple(entry["usd_split"][key] for key in keys),
            total=dollars(entry["usd"]),
        )
        for spec in shown.strategies
        if (entry := shown.summaries[spec])["usd_split"] is not None
    ]
    if not bars or not keys:
        return None
    return BarChart(
        slug="cost-split",
        title="What the money was paid for",
        caption=f"Dollars ({shown.label}) by kind of token, over all traces (n = {shown.summaries[bars[0].label]['traces']}).",
        x=scale(f"dollars ({shown.label})", "usd", max(sum(bar.values) for bar in bars), about=4),
        y=label_axis("", tuple(bar.label for bar in bars)),
        parts=tuple(SPLIT_NAMES[key] for key in keys),
        bars=tuple(bars),
    )


def retention_by_age(shown: Shown) -> LineChart | None:
    """Retention by how many compactions a fact has been through."""
    cells = {spec: by_age(shown.groups[spec]) for spec in shown.strategies}
    groups = _labels(cells)
    if not groups:
        return None
    lines = [
        Line(
            name=spec,
            style=shown.styles[spec],
            dots=True,
            points=tuple(
                _mark(groups.index(label) + _nudge(n, len(cells)), cell, f"{spec}, age {label}") for label, cell in found.items()
            ),
        )
        for n, (spec, found) in enumerate(cells.items())
        if found
    ]
    return LineChart(
        slug="retention-age",
        title="Retention by age",
        caption=(
            "Share of questions answered by how many compactions the fact has been through out of its raw form, at all examinations; "
            f"mean over traces with 95 % t intervals. n = {_counts(cells)} questions."
        ),
        x=label_axis("age of the fact, in compactions", tuple(groups)),
        y=share_axis("retention"),
        lines=tuple(lines),
    )


def retention_by_type(shown: Shown) -> DotChart | None:
    """Retention by probe type."""
    cells = {spec: by_type(shown.groups[spec]) for spec in shown.groups}
    types = sorted({label for found in cells.values() for label in found})
    if not types:
        return None
    rows = []
    for label in types:
        questions = max(found[label].questions for found in cells.values() if label in found)
        marks = tuple((shown.styles[s], _flat(found[label], f"{s}, {label}")) for s, found in cells.items() if label in found)
        rows.append(Dots(label=f"{label} (n {questions:,})", marks=marks))
    return DotChart(
        slug="retention-type",
        title="Retention by probe type",
        caption=f"Mean over traces at the common checkpoints with 95 % t intervals. n = {_counts(cells)} questions.",
        x=share_axis("retention"),
        y=label_axis("", tuple(row.label for row in rows)),
        names=tuple((spec, shown.styles[spec]) for spec in shown.groups),
        rows=tuple(rows),
    )


def context_over_calls(shown: Shown, number: int, records: Sequence[RunRecord]) -> LineChart:
    """Prompt tokens of one trace at each call, a line a strategy, compactions marked."""
    calls = max(record.trace.calls for record in records)
    step = -(-calls // POINTS_SHOWN)
    binned = f" Each point is the largest of {step} calls." if step > 1 else ""
    window, peak = records[0].window, max((row.prompt_tokens for record in records for row in record.rows), default=1)
    near = peak > 0.4 * window
    below = "" if near else f" The window of {thousands(window)} lies above the picture."
    return LineChart(
        slug=f"context-{number}",
        title=f"Context size over calls: {records[0].trace.id}",
        caption=(
            f"True prompt tokens at each of n = {calls:,} calls; hollow markers are compactions (at least 2 % of the window freed), "
            f"a cross is where no request fitted any more.{binned}{below}"
        ),
        x=scale("call", "count", calls, about=8),
        y=scale("prompt (tokens)", "tokens", window * 1.02 if near else peak * 1.05),
        lines=tuple(_context_line(shown.styles[record.spec], record, step) for record in records),
        levels=(Level(value=window, label=f"window {thousands(window)}"),) if near else (),
    )


def cache_over_calls(shown: Shown, number: int, records: Sequence[RunRecord]) -> StackChart:
    """Cache reads, writes and uncached tokens of one trace at each call, a panel a strategy."""
    calls = max(record.trace.calls for record in records)
    step = -(-calls // COLUMNS_SHOWN)
    binned = f" Each bar is the mean of {step} calls." if step > 1 else ""
    peak = max((row.prompt_tokens for record in records for row in record.rows), default=1)
    return StackChart(
        slug=f"cache-{number}",
        title=f"Cache reads and writes over calls: {records[0].trace.id}",
        caption=f"Prompt tokens of each of n = {calls:,} calls by what the simulated cache made of them (MODELLED); dotted lines are compactions.{binned}",
        x=scale("call", "count", calls, about=8),
        y=scale("tokens a call", "tokens", peak, about=3),
        parts=STACK,
        panels=tuple(_cache_panel(shown.styles[record.spec], record, step) for record in records),
    )


def _context_line(style: int, record: RunRecord, step: int) -> Line:
    rows = record.rows
    tops = [max(rows[at : at + step], key=lambda row: row.prompt_tokens) for at in range(0, len(rows), step)]
    sizes = {row.call: row.prompt_tokens for row in rows}
    events = [
        Mark(
            x=event.call,
            y=sizes.get(event.call, event.tokens_after),
            hint=f"{record.spec}, call {event.call}: {thousands(event.tokens_before)} → {thousands(event.tokens_after)} tokens {event.tier}",
        )
        for event in _compactions(record)
    ]
    end = None
    if record.died_at is not None:
        last = rows[-1].prompt_tokens if rows else 0
        end = Mark(
            x=record.died_at, y=min(last, record.window), hint=f"{record.spec} died at call {record.died_at}: {record.died}"
        )
    points = tuple(Mark(x=row.call, y=row.prompt_tokens) for row in tops)
    return Line(name=record.spec, style=style, points=points, events=tuple(events), end=end)


def _cache_panel(style: int, record: RunRecord, step: int) -> Panel:
    columns = []
    for at in range(0, len(record.rows), step):
        part = [row.usage for row in record.rows[at : at + step]]
        kinds: tuple[Callable[[Any], int], ...] = (lambda u: u.cache_read, lambda u: u.cache_write, lambda u: u.uncached)
        values = tuple(sum(map(kind, part)) / len(part) for kind in kinds)
        columns.append(Column(x=record.rows[at].call - 0.5, width=float(len(part)), values=values))
    finished = "" if record.died_at is None else f", died at call {record.died_at}"
    events = tuple(float(event.call) for event in _compactions(record))
    return Panel(name=record.spec + finished, style=style, columns=tuple(columns), events=events)


def _compactions(record: RunRecord) -> list[Any]:
    return [event for event in record.compactions if is_compaction(event, record.window)]


def _events(records: Sequence[RunRecord]) -> int:
    return sum(len(_compactions(record)) for record in records)


def _mark(x: float, cell: Cell, what: str) -> Mark:
    return Mark(x=x, y=cell.value, low=cell.low, high=cell.high, hint=_cell_hint(cell, what))


def _flat(cell: Cell, what: str) -> Mark:
    return Mark(x=cell.value, y=0.0, low=cell.low, high=cell.high, hint=_cell_hint(cell, what))


def _cell_hint(cell: Cell, what: str) -> str:
    interval = "" if cell.low is None or cell.high is None else f" ({percent_range((cell.low, cell.high))})"
    return f"{what}: {percent(cell.value)}{interval}, n = {cell.questions:,} questions on {cell.traces} traces"


def _nudge(n: int, count: int) -> float:
    """A little to the side of a named place, so that intervals of several strategies do not hide each other."""
    return 0.0 if count < 2 else 0.4 * (n / (count - 1) - 0.5)


def _labels(cells: Mapping[str, Mapping[str, Cell]]) -> list[str]:
    """The age groups that any strategy has."""
    return [label for _, _, label in AGE_GROUPS if any(label in found for found in cells.values())]


def _counts(cells: Mapping[str, Mapping[str, Cell]]) -> str:
    """The range of question counts a strategy."""
    totals = [sum(cell.questions for cell in found.values()) for found in cells.values() if found]
    return f"{min(totals):,}" if len(set(totals)) == 1 else f"{min(totals):,} to {max(totals):,}"


def _clip(value: float | None) -> float | None:
    return None if value is None else min(1.0, max(0.0, value))

"""Charts as PNG files by matplotlib: fixed size, resolution and metadata, so that equal charts are equal bytes."""

from __future__ import annotations

import io
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ullage.plain import one_line
from ullage.report.charts import (
    PARTS,
    AnyChart,
    Axis,
    BarChart,
    DotChart,
    Level,
    LineChart,
    ScatterChart,
    StackChart,
    colour,
    dash,
    marker,
)

DPI = 110
INK, SOFT, GRID = "#20262d", "#5b6570", "#ebe9e3"
SHAPES = {"circle": "o", "square": "s", "triangle": "^", "diamond": "D"}
STYLE: Any = {
    "font.family": "DejaVu Sans",  # ships with matplotlib, so pictures do not depend on the machine's fonts
    "font.size": 9,
    "axes.edgecolor": "#b5b9bd",
    "axes.labelcolor": SOFT,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.titlecolor": INK,
    "xtick.color": SOFT,
    "ytick.color": SOFT,
    "grid.color": GRID,
    "axes.axisbelow": True,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "text.parse_math": False,  # a dollar sign in a trace's name is no formula
    "path.simplify": False,
    "figure.facecolor": "white",
}


def paint(charts: Sequence[AnyChart]) -> dict[str, bytes]:
    """The PNG files of charts, by slug."""
    import matplotlib as mpl  # noqa: PLC0415 - 0.6 s, only when pictures are asked for

    with mpl.rc_context(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph ")  # names in other scripts show as boxes; the page shows them whole
        mpl.rcdefaults()  # a person's own style file must not change the bytes
        mpl.rcParams.update(STYLE)
        return {chart.slug: _paint(chart) for chart in charts}


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    """The layout of one picture in inches: the plot's size and what stands around it.

    Margins are computed here, for letting matplotlib find them costs a second drawing of every picture.
    """

    width: float
    height: float
    left: float
    right: float
    top: float
    legend: tuple[str, ...]
    caption: tuple[str, ...]

    @property
    def below(self) -> float:
        """Room for tick labels, axis label, legend and caption."""
        return 0.52 + self.legend_room + 0.15 * len(self.caption) + 0.08

    @property
    def legend_room(self) -> float:
        """Room for the legend."""
        return 0.2 * -(-len(self.legend) // self.columns) + 0.06 if self.legend else 0.0

    @property
    def columns(self) -> int:
        """Legend entries a line: as many as the longest leaves room for."""
        longest = max((len(name) for name in self.legend), default=1)
        return max(1, min(len(self.legend), int(self.total_width / (0.075 * longest + 0.45))))

    @property
    def total_width(self) -> float:
        """Width of the picture."""
        return self.left + self.width + self.right

    @property
    def total_height(self) -> float:
        """Height of the picture."""
        return self.top + self.height + self.below


def _paint(chart: AnyChart) -> bytes:
    from matplotlib.figure import Figure  # noqa: PLC0415 - as above

    sheet = _sheet(chart)
    figure = Figure(figsize=(sheet.total_width, sheet.total_height), dpi=DPI)
    figure.subplots_adjust(
        left=sheet.left / sheet.total_width,
        right=1 - sheet.right / sheet.total_width,
        bottom=sheet.below / sheet.total_height,
        top=1 - sheet.top / sheet.total_height,
        hspace=0.5,
    )
    figure.text(
        0.1 / sheet.total_width,
        1 - 0.1 / sheet.total_height,
        _plain(chart.title, 90),
        va="top",
        fontsize=11,
        weight="bold",
        color=INK,
    )
    if isinstance(chart, StackChart):
        handles = _stacks(figure, chart)
    else:
        axes = figure.add_subplot()
        painter: Any = {LineChart: _lines, ScatterChart: _scatter, DotChart: _dots, BarChart: _bars}[type(chart)]
        painter(axes, chart)
        handles = axes.get_legend_handles_labels()
    _legend_and_caption(figure, sheet, handles)
    out = io.BytesIO()
    figure.savefig(out, format="png", dpi=DPI, metadata={"Software": None})
    return out.getvalue()


def _sheet(chart: AnyChart) -> Sheet:
    width, height, left, legend = 5.4, 3.2, 0.75, tuple[str, ...]()
    if isinstance(chart, StackChart):
        width, height, legend = 8.5, 1.3 * len(chart.panels), chart.parts
    elif isinstance(chart, DotChart):
        height = max(1.2, len(chart.rows) * (0.16 + 0.11 * len(chart.names)))
        left, legend = _label_room([row.label for row in chart.rows]), tuple(name for name, _ in chart.names)
    elif isinstance(chart, BarChart):
        height, left, legend = max(0.8, 0.34 * len(chart.bars)), _label_room([bar.label for bar in chart.bars]), chart.parts
    elif isinstance(chart, LineChart):
        legend = tuple(line.name for line in chart.lines)
        width, height = (8.5, 3.0) if chart.x.kind == "count" else (width, height)
    else:
        legend = tuple(name for name, _, _ in chart.points)
    right, top = 0.75 if isinstance(chart, BarChart) else 0.3, 0.75 if isinstance(chart, StackChart) else 0.5
    caption = tuple(_wrapped(chart.caption, int((left + width + right) * 15.5)))
    return Sheet(width=width, height=height, left=left, right=right, top=top, legend=tuple(map(_plain, legend)), caption=caption)


def _label_room(labels: Sequence[str]) -> float:
    return 0.3 + 0.078 * max((min(len(one_line(label)), 40) for label in labels), default=4)


def _legend_and_caption(figure: Any, sheet: Sheet, handles: tuple[Sequence[Any], Sequence[str]]) -> None:
    left, high = 0.1 / sheet.total_width, sheet.total_height
    if handles[1]:
        place = (left, (sheet.below - 0.5) / high)
        figure.legend(*handles, loc="upper left", bbox_to_anchor=place, ncols=sheet.columns, borderaxespad=0, borderpad=0)
    figure.text(left, 0.08 / high, "\n".join(sheet.caption), va="bottom", fontsize=7.5, color=SOFT, linespacing=1.35)


def _lines(axes: Any, chart: LineChart) -> None:
    _frame(axes, chart.x, chart.y)
    _levels(axes, chart.levels)
    for line in chart.lines:
        pattern = (0, dash(line.style)) if dash(line.style) else "solid"
        xs, ys = [p.x for p in line.points], [p.y for p in line.points]
        axes.plot(
            xs,
            ys,
            color=colour(line.style),
            linewidth=1.4,
            linestyle=pattern,
            label=_plain(line.name),
            **_looks(line.style, line.dots),
        )
        for mark in line.points if line.dots else ():
            if mark.low is not None and mark.high is not None:
                axes.plot([mark.x, mark.x], [mark.low, mark.high], color=colour(line.style), alpha=0.5, linewidth=1.1)
        if line.events:
            hollow = {"marker": SHAPES[marker(line.style)], "markerfacecolor": "white", "markersize": 5, "linestyle": "none"}
            axes.plot([m.x for m in line.events], [m.y for m in line.events], color=colour(line.style), **hollow)
        if line.end is not None:
            axes.plot(
                [line.end.x],
                [line.end.y],
                color=colour(line.style),
                marker="x",
                markersize=8,
                markeredgewidth=2.2,
                linestyle="none",
            )


def _scatter(axes: Any, chart: ScatterChart) -> None:
    _frame(axes, chart.x, chart.y)
    _levels(axes, chart.levels)
    for name, style, mark in chart.points:
        if mark.low is not None and mark.high is not None:
            axes.plot([mark.x, mark.x], [mark.low, mark.high], color=colour(style), alpha=0.5, linewidth=1.1)
        shape = SHAPES[marker(style)]
        axes.plot(
            [mark.x],
            [mark.y],
            color=colour(style),
            marker=shape,
            markersize=8,
            linestyle="none",
            label=_plain(name),
            clip_on=False,
        )


def _dots(axes: Any, chart: DotChart) -> None:
    _frame(axes, chart.x, None)
    names = {style: name for name, style in chart.names}
    height = 1.0 / (len(chart.names) + 1)
    for n, row in enumerate(chart.rows):
        if n % 2:
            axes.axhspan(n - 0.5, n + 0.5, color="#8b8573", alpha=0.06, linewidth=0)
        for place, (style, mark) in enumerate(row.marks):
            y = n - 0.5 + height * (place + 1)
            if mark.low is not None and mark.high is not None:
                axes.plot([mark.low, mark.high], [y, y], color=colour(style), alpha=0.5, linewidth=1.1)
            label = _plain(names.pop(style)) if style in names else None
            axes.plot(
                [mark.x], [y], color=colour(style), marker=SHAPES[marker(style)], markersize=4.5, linestyle="none", label=label
            )
    _row_labels(axes, [row.label for row in chart.rows])
    axes.grid(axis="x")


def _bars(axes: Any, chart: BarChart) -> None:
    _frame(axes, chart.x, None)
    starts = [0.0] * len(chart.bars)
    for index, name in enumerate(chart.parts):
        values = [bar.values[index] for bar in chart.bars]
        axes.barh(range(len(chart.bars)), values, left=starts, height=0.62, color=PARTS[name], label=name)
        starts = [start + value for start, value in zip(starts, values, strict=True)]
    for n, (bar, end) in enumerate(zip(chart.bars, starts, strict=True)):
        axes.text(end, n, f" {bar.total}", va="center", color=SOFT, fontsize=8)
    _row_labels(axes, [bar.label for bar in chart.bars])
    axes.grid(axis="x")


def _stacks(figure: Any, chart: StackChart) -> tuple[Sequence[Any], Sequence[str]]:
    panels = figure.subplots(len(chart.panels), 1, sharex=True, squeeze=False)[:, 0]
    for n, (axes, panel) in enumerate(zip(panels, chart.panels, strict=True)):
        last = n == len(chart.panels) - 1
        _frame(axes, chart.x, chart.y, x_label=last, y_label=n == len(chart.panels) // 2)
        edges = [*(column.x for column in panel.columns), *(column.x + column.width for column in panel.columns[-1:])]
        bottom = [0.0] * len(panel.columns)
        for index, name in enumerate(chart.parts if panel.columns else ()):
            top = [start + column.values[index] for start, column in zip(bottom, panel.columns, strict=True)]
            axes.stairs(top, edges, baseline=bottom, fill=True, color=PARTS[name], linewidth=0, label=name)
            bottom = top
        for call in panel.events:
            axes.axvline(call, color="#444b53", linewidth=0.7, linestyle=(0, (2, 2)), alpha=0.6)
        axes.set_title(_plain(panel.name), fontsize=8.5, color=colour(panel.style))
    return next((found for axes in panels if (found := axes.get_legend_handles_labels())[1]), ([], []))


def _frame(axes: Any, x: Axis, y: Axis | None, *, x_label: bool = True, y_label: bool = True) -> None:
    axes.set_xlim(x.low, x.high)
    axes.set_xticks(x.ticks, [x.text(tick) for tick in x.ticks])
    if x_label:
        axes.set_xlabel(x.label)
    if y is None:
        return
    axes.set_ylim(y.low, y.high)
    axes.set_yticks(y.ticks, [y.text(tick) for tick in y.ticks])
    axes.grid(axis="y")
    if y_label:
        axes.set_ylabel(y.label)


def _row_labels(axes: Any, labels: Sequence[str]) -> None:
    axes.set_yticks(range(len(labels)), [_plain(label, 40) for label in labels])
    axes.set_ylim(len(labels) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0)


def _levels(axes: Any, levels: Sequence[Level]) -> None:
    for level in levels:
        axes.axhline(level.value, color="#8b949e", linewidth=0.9, linestyle=(0, (5, 4)))
        axes.annotate(
            _plain(level.label),
            (1, level.value),
            xycoords=("axes fraction", "data"),
            ha="right",
            va="bottom",
            fontsize=7.5,
            color=SOFT,
        )


def _looks(style: int, dots: bool) -> dict[str, Any]:  # noqa: FBT001 - a property of the line, passed once
    return {"marker": SHAPES[marker(style)], "markersize": 5, "clip_on": False} if dots else {}


def _plain(text: str, limit: int = 60) -> str:
    """One line; a leading underscore would hide a legend entry."""
    line = one_line(text, limit)
    return f" {line}" if line.startswith("_") else line


def _wrapped(text: str, width: int) -> list[str]:
    lines = [""]
    for word in one_line(text).split():
        if len(lines[-1]) + len(word) > width and lines[-1]:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return lines

"""Charts as values: what is drawn, with units and denominators, before anything is drawn.

Two painters turn them into pictures: ``svg`` for the page, ``png`` for files. Colours and shapes are given by number,
so a strategy looks the same everywhere.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from ullage.tables import dollars, thousands

COLOURS = ("#2f6db3", "#d97a24", "#3a9168", "#b8433f", "#7e5aa8", "#8a6a45", "#c0679b", "#5f6b7a")
"""One colour a strategy: apart in hue and in lightness, readable on white and in grey print with their markers."""
MARKERS = ("circle", "square", "triangle", "diamond", "circle", "square", "triangle", "diamond")
PARTS = {
    "cache read": "#a9c6e6",
    "cache write": "#e39a56",
    "cache write 5 m": "#e39a56",
    "cache write 1 h": "#b96a24",
    "uncached": "#b8433f",
    "output": "#6f9f84",
    "context turns": "#c2659b",
    "summariser": "#7e5aa8",
    "storage": "#5f6b7a",
    "read again": "#a9c6e6",
    "paid for the first time": "#e39a56",
    "sent again": "#b8433f",
}
"""One colour for each kind of token or cost."""
Kind = Literal["tokens", "percent", "usd", "count", "label"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """One axis: its label says quantity and unit; ``ticks`` are values, or positions of ``names`` on a label axis."""

    label: str
    kind: Kind
    low: float
    high: float
    ticks: tuple[float, ...]
    names: tuple[str, ...] = ()

    def text(self, value: float) -> str:
        """A tick's text."""
        if self.kind == "label":
            return self.names[self.ticks.index(value)]
        if self.kind == "percent":
            return f"{100 * value:.0f} %"
        if self.kind == "usd":
            return dollars(value)
        return "0" if value == 0 else thousands(value).replace(".0", "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """One point. ``low`` and ``high`` are its interval on the y axis (x axis in a dot chart); ``hint`` is its hover text."""

    x: float
    y: float
    low: float | None = None
    high: float | None = None
    hint: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One strategy's line. ``events`` are marked on it (compactions), ``end`` is where it died (none: it did not)."""

    name: str
    style: int
    points: tuple[Mark, ...]
    events: tuple[Mark, ...] = ()
    end: Mark | None = None
    dots: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """A horizontal line across a chart: a window, a ceiling, a bound."""

    value: float
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One bar of a stack: from ``x`` on, ``width`` wide, its parts from the bottom up."""

    x: float
    width: float
    values: tuple[float, ...]
    hint: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """One strategy's stack over calls, with its compactions marked."""

    name: str
    style: int
    columns: tuple[Column, ...]
    events: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Dots:
    """One row of a dot chart: a mark a strategy, in the order of the legend."""

    label: str
    marks: tuple[tuple[int, Mark], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """One horizontal bar: its parts from the left, and the text at its end."""

    label: str
    style: int
    values: tuple[float, ...]
    total: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """What all charts have. ``slug`` names the file; the caption holds n and what was left out."""

    slug: str
    title: str
    caption: str
    x: Axis
    y: Axis


@dataclass(frozen=True, slots=True, kw_only=True)
class LineChart(Chart):
    """Lines over calls or ages."""

    lines: tuple[Line, ...]
    levels: tuple[Level, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ScatterChart(Chart):
    """One point a strategy."""

    points: tuple[tuple[str, int, Mark], ...]
    levels: tuple[Level, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class StackChart(Chart):
    """One panel a strategy, each a stack over calls, on common axes."""

    parts: tuple[str, ...]
    panels: tuple[Panel, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DotChart(Chart):
    """Rows of dots with intervals: groups of questions against a share."""

    names: tuple[tuple[str, int], ...]
    rows: tuple[Dots, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class BarChart(Chart):
    """Stacked horizontal bars, one a strategy."""

    parts: tuple[str, ...]
    bars: tuple[Bar, ...]


AnyChart = LineChart | ScatterChart | StackChart | DotChart | BarChart


def scale(label: str, kind: Kind, high: float, *, low: float = 0.0, about: int = 5) -> Axis:
    """An axis from ``low`` to a round number at or above ``high``, with about so many round ticks."""
    span = high - low if high > low else 1.0
    raw = span / about
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= raw * 0.999)
    if kind in {"tokens", "count"}:
        step = max(1.0, round(step))
    count = math.ceil(round(span / step, 9))
    return Axis(label=label, kind=kind, low=low, high=low + count * step, ticks=tuple(low + step * n for n in range(count + 1)))


def share_axis(label: str) -> Axis:
    """An axis from 0 to 100 %."""
    return Axis(label=label, kind="percent", low=0.0, high=1.0, ticks=(0.0, 0.2, 0.4, 0.6, 0.8, 1.0))


def label_axis(label: str, names: tuple[str, ...]) -> Axis:
    """An axis of named places at 0, 1, 2 and so on."""
    ticks = tuple(float(n) for n in range(len(names)))
    return Axis(label=label, kind="label", low=-0.5, high=max(len(names), 1) - 0.5, ticks=ticks, names=names)


def colour(style: int) -> str:
    """The colour of a strategy."""
    return COLOURS[style % len(COLOURS)]


def marker(style: int) -> str:
    """The marker of a strategy; from the ninth on colours repeat with the next marker."""
    return MARKERS[(style + style // len(COLOURS)) % len(MARKERS)]


def dash(style: int) -> tuple[int, ...]:
    """The dash pattern of a strategy's line: whole for the first eight."""
    return ((), (6, 3), (2, 2))[(style // len(COLOURS)) % 3]

"""Charts as SVG text for the page: no script, no outside reference, every text escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

from ullage.plain import one_line
from ullage.report.charts import (
    PARTS,
    AnyChart,
    Axis,
    BarChart,
    Chart,
    Column,
    DotChart,
    Level,
    Line,
    LineChart,
    Mark,
    Panel,
    ScatterChart,
    StackChart,
    colour,
    dash,
    marker,
)

LABELLED = 5
"""Most points that carry their names: more hide each other, and the legend has them all."""
CHARACTER = 6.1
"""Mean width in pixels of a character at the 11 px of tick labels, for margins."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """Where a plot lies in its picture, in pixels, and how values map to it."""

    x: Axis
    y: Axis
    left: float
    top: float
    width: float
    height: float

    def at_x(self, value: float) -> float:
        """Pixel of a value on the x axis."""
        return self.left + self.width * (value - self.x.low) / (self.x.high - self.x.low)

    def at_y(self, value: float) -> float:
        """Pixel of a value on the y axis, upwards."""
        return self.top + self.height * (1 - (value - self.y.low) / (self.y.high - self.y.low))


def draw(chart: AnyChart) -> Markup:
    """The SVG element of a chart."""
    if isinstance(chart, LineChart):
        return _draw_lines(chart)
    if isinstance(chart, ScatterChart):
        return _draw_scatter(chart)
    if isinstance(chart, StackChart):
        return _draw_stacks(chart)
    if isinstance(chart, DotChart):
        return _draw_dots(chart)
    return _draw_bars(chart)


def _draw_lines(chart: LineChart) -> Markup:
    wide = chart.x.kind == "count"
    frame = Frame(x=chart.x, y=chart.y, left=62, top=14, width=(860 if wide else 460), height=(270 if wide else 230))
    parts = [*_axes(frame), *_levels(frame, chart.levels)]
    for line in chart.lines:
        parts += _line(frame, line)
    return _picture(chart, frame.left + frame.width + 18, frame.top + frame.height + 44, parts)


def _draw_scatter(chart: ScatterChart) -> Markup:
    frame = Frame(x=chart.x, y=chart.y, left=62, top=14, width=450, height=270)
    parts = [*_axes(frame), *_levels(frame, chart.levels)]
    for _, style, mark in chart.points:
        parts += [_whisker(frame, mark, style), _marker(frame.at_x(mark.x), frame.at_y(mark.y), style, mark.hint, size=5.5)]
    if len(chart.points) <= LABELLED:
        places = _spread([frame.at_y(mark.y) for _, _, mark in chart.points], 13, frame.top + 6, frame.top + frame.height - 4)
        for (name, style, mark), place in zip(chart.points, places, strict=True):
            parts.append(_point_label(frame, mark, name, style, place))
    return _picture(chart, frame.left + frame.width + 18, frame.top + frame.height + 44, parts)


def _draw_stacks(chart: StackChart) -> Markup:
    height, gap, parts = 86.0, 36.0, list[str]()
    bottom = 0.0
    for n, panel in enumerate(chart.panels):
        last = n == len(chart.panels) - 1
        frame = Frame(x=chart.x, y=chart.y, left=62, top=28 + n * (height + gap), width=860, height=height)
        parts += _axes(frame, x_labels=last, y_label=n == len(chart.panels) // 2)
        parts.append(_text(frame.left, frame.top - 13, panel.name, "name", fill=colour(panel.style)))
        parts += _stack(frame, panel, chart.parts)
        bottom = frame.top + height
    return _picture(chart, 940, bottom + 44, parts)


def _draw_dots(chart: DotChart) -> Markup:
    step = 9.0 * len(chart.names) + 12
    labels = max((len(one_line(row.label)) for row in chart.rows), default=4)
    frame = Frame(
        x=chart.x, y=chart.y, left=min(190.0, 24 + CHARACTER * labels), top=10, width=400, height=step * len(chart.rows)
    )
    parts = _axes(frame, y_ticks=False)
    for n, row in enumerate(chart.rows):
        top = frame.top + n * step
        if n % 2:
            parts.append(f'<rect x="{frame.left:.1f}" y="{top:.1f}" width="{frame.width:.1f}" height="{step:.1f}" class="band"/>')
        parts.append(_text(frame.left - 8, top + step / 2 + 4, row.label, "tick", anchor="end"))
        for place, (style, mark) in enumerate(row.marks):
            parts += _dot(frame, top + 10.5 + 9 * place, style, mark)
    return _picture(chart, frame.left + frame.width + 18, frame.top + frame.height + 44, parts)


def _draw_bars(chart: BarChart) -> Markup:
    step = 30.0
    labels = max((min(len(one_line(bar.label)), 36) for bar in chart.bars), default=4)
    frame = Frame(x=chart.x, y=chart.y, left=24 + CHARACTER * labels, top=10, width=330, height=step * len(chart.bars))
    parts = _axes(frame, y_ticks=False)
    for n, bar in enumerate(chart.bars):
        top, at = frame.top + n * step + 6, 0.0
        parts.append(_text(frame.left - 8, top + 13, bar.label, "tick", anchor="end", limit=36))
        for name, value in zip(chart.parts, bar.values, strict=True):
            width = frame.at_x(at + value) - frame.at_x(at)
            if width > 0.05:
                parts.append(_rect(frame.at_x(at), top, width, 18, PARTS[name], f"{bar.label}: {name} {chart.x.text(value)}"))
            at += value
        parts.append(_text(frame.at_x(at) + 6, top + 13, bar.total, "tick"))
    return _picture(chart, frame.left + frame.width + 70, frame.top + frame.height + 44, parts)


def _picture(chart: Chart, width: float, height: float, parts: Iterable[str]) -> Markup:
    head = f'<svg viewBox="0 0 {width:.0f} {height:.0f}" role="img" aria-label="{escape(one_line(chart.title))}" class="chart">'
    return Markup(head + "".join(parts) + "</svg>")  # noqa: S704 - every text in the parts went through _text or _hint, which escape


def _axes(frame: Frame, *, x_labels: bool = True, y_label: bool = True, y_ticks: bool = True) -> list[str]:
    parts, right, bottom = list[str](), frame.left + frame.width, frame.top + frame.height
    for tick in frame.y.ticks if y_ticks else ():
        y = frame.at_y(tick)
        parts.append(f'<line x1="{frame.left:.1f}" x2="{right:.1f}" y1="{y:.1f}" y2="{y:.1f}" class="grid"/>')
        parts.append(_text(frame.left - 8, y + 4, frame.y.text(tick), "tick", anchor="end"))
    for tick in frame.x.ticks:
        x = frame.at_x(tick)
        if not y_ticks:
            parts.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{frame.top:.1f}" y2="{bottom:.1f}" class="grid"/>')
        if x_labels:
            parts.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{bottom:.1f}" y2="{bottom + 4:.1f}" class="axis"/>')
            parts.append(_text(x, bottom + 17, frame.x.text(tick), "tick", anchor="middle"))
    parts.append(f'<line x1="{frame.left:.1f}" x2="{right:.1f}" y1="{bottom:.1f}" y2="{bottom:.1f}" class="axis"/>')
    if x_labels:
        parts.append(_text(frame.left + frame.width / 2, bottom + 36, frame.x.label, "label", anchor="middle"))
    if y_label and y_ticks:
        middle = frame.top + frame.height / 2
        parts.append(_text(14, middle, frame.y.label, "label", anchor="middle", turn=f'transform="rotate(-90 14 {middle:.1f})"'))
    return parts


def _levels(frame: Frame, levels: Sequence[Level]) -> list[str]:
    parts = []
    for level in levels:
        y = frame.at_y(level.value)
        parts.append(f'<line x1="{frame.left:.1f}" x2="{frame.left + frame.width:.1f}" y1="{y:.1f}" y2="{y:.1f}" class="level"/>')
        parts.append(_text(frame.left + frame.width - 4, y - 4, level.label, "note", anchor="end"))
    return parts


def _line(frame: Frame, line: Line) -> list[str]:
    path = " ".join(f"{frame.at_x(p.x):.1f},{frame.at_y(p.y):.1f}" for p in line.points)
    pattern = f' stroke-dasharray="{",".join(map(str, dash(line.style)))}"' if dash(line.style) else ""
    parts = [f'<polyline points="{path}" fill="none" stroke="{colour(line.style)}" class="line"{pattern}/>']
    if line.dots:
        for mark in line.points:
            parts += [_whisker(frame, mark, line.style), _marker(frame.at_x(mark.x), frame.at_y(mark.y), line.style, mark.hint)]
    parts += [_marker(frame.at_x(m.x), frame.at_y(m.y), line.style, m.hint, size=3.4, hollow=True) for m in line.events]
    if line.end is not None:
        x, y = frame.at_x(line.end.x), frame.at_y(line.end.y)
        cross = f"M{x - 5:.1f} {y - 5:.1f}l10 10m0 -10l-10 10"
        parts.append(f'<path d="{cross}" stroke="{colour(line.style)}" class="cross">{_hint(line.end.hint)}</path>')
    return parts


def _stack(frame: Frame, panel: Panel, names: Sequence[str]) -> list[str]:
    parts = []
    for index, name in enumerate(names):
        boxes = [_box(frame, column, index) for column in panel.columns if column.values[index] > 0]
        parts.append(f'<path d="{"".join(boxes)}" fill="{PARTS[name]}"/>')
    bottom = frame.top + frame.height
    for call in panel.events:
        x = frame.at_x(call)
        parts.append(f'<path d="M{x:.1f} {frame.top - 1:.1f}l-3.5 -6h7z" class="event"/>')
        parts.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{frame.top:.1f}" y2="{bottom:.1f}" class="eventline"/>')
    return parts


def _box(frame: Frame, column: Column, index: int) -> str:
    below = sum(column.values[:index])
    top, bottom = frame.at_y(below + column.values[index]), frame.at_y(below)
    left, right = frame.at_x(column.x), frame.at_x(column.x + column.width)
    return f"M{left:.1f} {bottom:.1f}V{top:.1f}H{right:.1f}V{bottom:.1f}z"


def _dot(frame: Frame, y: float, style: int, mark: Mark) -> list[str]:
    parts = []
    if mark.low is not None and mark.high is not None:
        left, right = frame.at_x(mark.low), frame.at_x(mark.high)
        parts.append(
            f'<line x1="{left:.1f}" x2="{right:.1f}" y1="{y:.1f}" y2="{y:.1f}" stroke="{colour(style)}" class="whisker"/>'
        )
    return [*parts, _marker(frame.at_x(mark.x), y, style, mark.hint, size=3.8)]


def _whisker(frame: Frame, mark: Mark, style: int) -> str:
    if mark.low is None or mark.high is None:
        return ""
    x, low, high = frame.at_x(mark.x), frame.at_y(mark.low), frame.at_y(mark.high)
    return f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{low:.1f}" y2="{high:.1f}" stroke="{colour(style)}" class="whisker"/>'


def _point_label(frame: Frame, mark: Mark, name: str, style: int, place: float) -> str:
    x, y, text = frame.at_x(mark.x), frame.at_y(mark.y), one_line(name, 34)
    fits = x + 12 + CHARACTER * len(text) < frame.left + frame.width
    side, anchor = (10.0, "start") if fits else (-10.0, "end")
    leader = f'<path d="M{x + side * 0.6:.1f} {y:.1f}L{x + side:.1f} {place:.1f}" class="leader"/>' if abs(place - y) > 4 else ""
    return leader + _text(x + side * 1.1, place + 4, text, "tick", anchor=anchor, fill=colour(style))


def _spread(wanted: Sequence[float], least: float, top: float, bottom: float) -> list[float]:
    """Places near those wanted, at least so far apart, inside the frame where they fit."""
    order = sorted(range(len(wanted)), key=lambda n: wanted[n])
    places = list(wanted)
    floor = top
    for n in order:
        places[n] = max(wanted[n], floor)
        floor = places[n] + least
    ceiling = bottom
    for n in reversed(order):
        places[n] = min(places[n], ceiling)
        ceiling = places[n] - least
    return places


def swatch(style: int) -> Markup:
    """The legend's picture of a strategy: its line with its marker."""
    line = f'<line x1="1" x2="25" y1="7" y2="7" stroke="{colour(style)}" class="line"/>'
    picture = f'<svg viewBox="0 0 26 14" width="26" height="14" aria-hidden="true">{line}{_marker(13, 7, style, "")}</svg>'
    return Markup(picture)  # noqa: S704 - numbers and colours only


def _marker(x: float, y: float, style: int, hint: str, *, size: float = 4.2, hollow: bool = False) -> str:
    shape = marker(style)
    look = (
        f'fill="#fff" stroke="{colour(style)}" stroke-width="1.6"'
        if hollow
        else f'fill="{colour(style)}" stroke="#fff" stroke-width="0.8"'
    )
    note = _hint(hint)
    if shape == "circle":
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{size:.1f}" {look}>{note}</circle>'
    if shape == "square":
        side = size * 1.75
        return f'<rect x="{x - side / 2:.1f}" y="{y - side / 2:.1f}" width="{side:.1f}" height="{side:.1f}" {look}>{note}</rect>'
    reach = size * 1.25
    if shape == "triangle":
        path = f"M{x:.1f} {y - reach:.1f}l{reach:.1f} {reach * 1.75:.1f}h{-2 * reach:.1f}z"
    else:
        path = f"M{x:.1f} {y - reach:.1f}l{reach:.1f} {reach:.1f}l{-reach:.1f} {reach:.1f}l{-reach:.1f} {-reach:.1f}z"
    return f'<path d="{path}" {look}>{note}</path>'


def _rect(x: float, y: float, width: float, height: float, fill: str, hint: str) -> str:
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" fill="{fill}">{_hint(hint)}</rect>'


def _hint(text: str) -> str:
    return f"<title>{escape(one_line(text))}</title>" if text else ""


def _text(
    x: float, y: float, text: str, kind: str, *, anchor: str = "start", fill: str = "", turn: str = "", limit: int = 80
) -> str:
    style = f' style="fill:{fill}"' if fill else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}" text-anchor="{anchor}"{style} {turn}>{escape(one_line(text, limit))}</text>'

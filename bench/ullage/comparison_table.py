"""A comparison as a table and lines for a terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

SHOWN_CHANGES = 12
"""Changed probes that a terminal shows; the JSON holds all."""
_SHARES = frozenset({"retention", "survival", "cache_read_ratio"})


def comparison_rows(found: Mapping[str, Any]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Header and rows: one for each pair and metric, the difference b minus a with its interval."""
    header = ("a", "b", "metric", "a is", "b is", "difference", "95 % interval", "p", "traces", "probes", "MDE")
    rows: list[tuple[str, ...]] = [
        (
            pair["a"],
            pair["b"],
            pair["metric"],
            _number(pair.get("value_a"), pair["metric"]),
            _number(pair.get("value_b"), pair["metric"]),
            _number(pair["difference"], pair["metric"], sign=True),
            _range(pair["interval"], pair["metric"]),
            "–" if pair["p"] is None else f"{pair['p']:.3f}",
            shown_traces(pair["traces"], pair["groups"]),
            "–" if pair["probes"] is None else str(pair["probes"]),
            _number(pair["mde"], pair["metric"]),
        )
        for pair in found["pairs"]
    ]
    return header, rows


def comparison_lines(found: Mapping[str, Any]) -> list[str]:
    """The probes whose answer changed, and every note."""
    changed = found["changed_probes"]
    lines = [
        f"{len(changed)} answers changed"
        + (f"; the first {SHOWN_CHANGES}:" if len(changed) > SHOWN_CHANGES else ":" if changed else "")
    ]
    lines += [f"  {entry['change']}: {entry['question']} [{entry['trace']}]" for entry in changed[:SHOWN_CHANGES]]
    return [*lines, *(f"note: {note}" for note in found["notes"])]


def shown_traces(traces: int, groups: int) -> str:
    """How many traces, and in how many independent groups where some tell the same story."""
    return str(traces) if traces == groups else f"{traces} in {groups}"


def _number(value: float | None, metric: str, *, sign: bool = False) -> str:
    if value is None:
        return "–"
    plus = "+" if sign else ""
    if metric in _SHARES or metric.startswith("retention"):
        return f"{value * 100:{plus}.1f} %"
    if metric == "usd":
        return f"{value:{plus}.3f} $"
    return f"{value:{plus},.1f}" if abs(value) < 1000 else f"{value:{plus},.0f}"


def _range(interval: list[float] | None, metric: str) -> str:
    return "–" if interval is None else f"{_number(interval[0], metric, sign=True)} … {_number(interval[1], metric, sign=True)}"

"""A parameter over a range: expand the spec, read the curve, pick on one half of the traces, confirm on the other."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any, Literal

from ullage.compare import arms_of, compare_all, pair_arms
from ullage.errors import SpecError
from ullage.records import RunRecord
from ullage.tables import run_summary

Objective = Literal["retention", "survival", "usd"]
MOST_POINTS = 64
"""Points of one sweep: a misspelt step of 0.0001 should be a message, not a night."""
_RANGE = re.compile(r"\{([^{}]*)\}")


def expand(text: str) -> list[str]:
    """All specs of a text with ranges ``{low:high:step}`` (both ends included) or lists ``{a, b, c}``."""
    ranges = _RANGE.findall(text)
    if not ranges:
        raise SpecError(f"sweep {text!r}: found no range; expected one like threshold={{0.5:0.95:0.05}}")
    values = [_values(inner, text) for inner in ranges]
    shape = _RANGE.sub("\0", text).split("\0")
    specs = [
        "".join(piece + value for piece, value in itertools.zip_longest(shape, chosen, fillvalue=""))
        for chosen in itertools.product(*values)
    ]
    if len(specs) > MOST_POINTS:
        raise SpecError(f"sweep {text!r}: found {len(specs)} points; expected at most {MOST_POINTS}")
    return specs


def _values(inner: str, text: str) -> list[str]:
    if ":" not in inner:
        return [value.strip() for value in inner.split(",") if value.strip()]
    try:
        low, high, step = (Decimal(part.strip()) for part in inner.split(":"))
    except (InvalidOperation, ValueError) as error:
        raise SpecError(f"sweep {text!r}: found {{{inner}}}; expected {{low:high:step}} in numbers") from error
    if step <= 0 or high < low:
        raise SpecError(f"sweep {text!r}: found {{{inner}}}; expected low ≤ high and a step above 0")
    if (high - low) / step > MOST_POINTS:
        raise SpecError(
            f"sweep {text!r}: found {{{inner}}} with {int((high - low) / step) + 1} points; expected at most {MOST_POINTS}"
        )
    count = int((high - low) / step) + 1
    return [format((low + n * step).normalize(), "f") if "." in f"{low}{step}" else str(low + n * step) for n in range(count)]


def halves(records: Sequence[RunRecord]) -> tuple[set[str], set[str]]:
    """Trace digests in two halves: every second cluster in the order of names, so that the split knows nothing of results."""
    clusters: dict[str, set[str]] = {}
    for record in records:
        clusters.setdefault(record.cluster, set()).add(record.inputs.trace)
    names = sorted(clusters)
    first, second = (set[str]().union(*(clusters[name] for name in names[start::2])) for start in (0, 1))
    return first, second


def sweep_summary(records: Sequence[RunRecord], specs: Sequence[str], objective: Objective) -> dict[str, Any]:
    """The curve over all traces, the pick on the first half, and its difference from the others on the second."""
    first, second = halves(records)
    curve = run_summary(records, order=specs)["strategies"]
    chosen_from = run_summary([r for r in records if r.inputs.trace in first], order=specs)["strategies"]
    pick = best(chosen_from, objective)
    reason = "" if second else "one trace: there is no second half to confirm on"
    confirmation: dict[str, Any] | None = None
    if pick is not None and second:
        arms = arms_of([r for r in records if r.inputs.trace in second])
        others = {spec: arm for spec, arm in arms.items() if spec != pick}
        pairs = [pair for spec in others for pair in pair_arms({spec: arms[spec]}, {pick: arms[pick]})]
        confirmation = compare_all(pairs)
    return {
        "objective": objective,
        "curve": curve,
        "halves": {"pick": len(first), "confirm": len(second)},
        "pick": pick,
        "confirmation": confirmation,
        "reasons": {"confirmation": reason} if reason else {},
    }


def best(entries: Sequence[Mapping[str, Any]], objective: Objective) -> str | None:
    """The spec that is best by the objective; ties go to the cheaper, then to the first. None when no figure is known."""
    known = [entry for entry in entries if entry.get(objective) is not None]
    if not known:
        return None

    def order(entry: Mapping[str, Any]) -> tuple[float, float]:
        value, cost = float(entry[objective]), float(entry.get("usd") or 0.0)
        return (value, cost) if objective == "usd" else (-value, cost)

    return str(min(known, key=order)["spec"])

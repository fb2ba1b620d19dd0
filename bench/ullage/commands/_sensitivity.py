"""``compare --sensitivity``: does the order of a run's strategies by cost hold under other assumptions?"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from ullage.commands._options import progress_line
from ullage.commands._output import say

if TYPE_CHECKING:
    from ullage.options import RunOptions
    from ullage.pricing import PriceSheet
    from ullage.runfolder import RunFolder
    from ullage.sensitivity import Course, Scenario
    from ullage.types import Trace

SHOWN_FLIPS = 3
"""Flips of one scenario on a terminal; the JSON holds all."""


def sensitivity(folder: RunFolder, traces: Sequence[str], prices: str, jobs: int) -> dict[str, Any]:
    """Every scenario that can be computed, and why others cannot.

    ``traces`` are where the run's recordings are looked for (empty: the bundled ones), ``prices`` is a sheet that is
    tried beside the bundled one.
    """
    from ullage.pricing import PriceSheet
    from ullage.runner import read_plan
    from ullage.sensitivity import EXTRA, PRICE_LISTS, PROVIDERS, Scenario, course_of, entry, repriced

    records = [record for record in folder.records if record.kind == "strategy"]
    options = read_plan(folder.path).options
    bundled = PriceSheet.load(Path(options.prices) if options.prices else None)
    own = entry(Scenario(name="as run", policy=_policies(records)), [course_of(record) for record in records])
    base = own["order"][0]
    entries = [own]
    entries += [
        entry(one, [repriced(record, bundled, one.model) for record in records], base, _notes(bundled, one))
        for one in PRICE_LISTS
    ]
    if prices:
        given = Scenario(name=f"sheet {Path(prices).name}", model=options.model)
        sheet = PriceSheet.load(Path(prices))
        entries.append(entry(given, [repriced(record, sheet, options.model) for record in records], base))
    found, skipped = _elsewhere(options, records, traces, jobs)
    entries += [entry(one, found[one.name], base, _notes(bundled, one)) for one in PROVIDERS if one.name in found]
    return {"extra_turns": [float(extra) for extra in EXTRA], "scenarios": entries, "skipped": skipped, "prices": bundled.dated}


def _notes(sheet: PriceSheet, scenario: Scenario) -> tuple[str, ...]:
    prices = sheet.prices(scenario.model)
    return getattr(prices, "notes", ())


def _policies(records: Sequence[Any]) -> str:
    return ", ".join(dict.fromkeys(record.inputs.policy for record in records))


def _elsewhere(
    options: RunOptions, records: Sequence[Any], paths: Sequence[str], jobs: int
) -> tuple[dict[str, list[Course]], list[dict[str, str]]]:
    """Courses by provider, from replays; empty with the reason where the recordings are not at hand."""
    wanted = {record.inputs.trace for record in records}
    traces, reason = _find(paths, wanted, swapped=options.swap is not None)
    if reason:
        return {}, [{"scenario": "every provider's cache", "reason": reason}]
    found: dict[str, list[Course]] = {}
    for name, course in _replay_all(traces, options, jobs):
        found.setdefault(name, []).append(course)
    return found, []


def _find(paths: Sequence[str], wanted: set[str], *, swapped: bool) -> tuple[list[Trace], str]:
    """The run's recordings by digest, or why the replays cannot be repeated."""
    from ullage.data_sets import load_any

    if swapped:
        return [], "the run's values were swapped, and its recordings cannot be matched"
    loaded, _ = load_any(tuple(paths))
    traces = [trace for trace in loaded.traces if trace.digest in wanted]
    missing = len(wanted) - len(traces)
    place = ", ".join(paths) or "the bundled traces"
    reason = f"{missing} of {len(wanted)} recordings of the run are not in {place}; expected --traces PATH" if missing else ""
    return traces, reason


def _replay_all(traces: Sequence[Trace], options: RunOptions, jobs: int) -> list[tuple[str, Course]]:
    from ullage.sensitivity import PROVIDERS

    arguments = [(msgspec.json.encode(trace), options, PROVIDERS) for trace in traces]
    if jobs <= 1 or len(arguments) <= 1:
        parts = (_replay_one(*one) for one in arguments)
    else:
        from joblib import Parallel, delayed

        parts = Parallel(n_jobs=jobs, return_as="generator")(delayed(_replay_one)(*one) for one in arguments)
    found: list[tuple[str, Course]] = []
    for count, (trace, part) in enumerate(zip(traces, parts, strict=True), 1):
        progress_line(count, len(traces), trace.id)
        found += part
    return found


def _replay_one(trace_json: bytes, options: RunOptions, scenarios: Sequence[Scenario]) -> list[tuple[str, Course]]:
    """Work of one process."""
    from ullage.resimulating import resimulate
    from ullage.types import Trace

    return list(resimulate(msgspec.json.decode(trace_json, type=Trace), options, scenarios))


def show_sensitivity(found: dict[str, Any]) -> None:
    """Two tables: the run's own bill under extra turns, and the order under every other scenario."""
    from ullage.commands._output import show_table

    own = found["scenarios"][0]
    header = ("strategy", *(f"$ at {extra:.0%}" for extra in found["extra_turns"]), "$ before the first loss")
    rows = [
        (one["spec"], *(f"{value:,.4f}" for value in one["usd"]), f"{one['usd_before_first_loss']:,.4f}")
        for one in own["strategies"]
    ]
    show_table(header, rows, title="as run, with extra turns after the first lossy decision; MODELLED", right=range(1, 5))
    for spec, reason in own["unranked"].items():
        say(f"not ranked: {spec}: {reason}")
    for line in _flips(own):
        print(line)
    rows = [_row(entry) for entry in found["scenarios"][1:]]
    header = ("scenario", "cache", "priced as", "cheapest to dearest", "order", "flips within 20 % more turns")
    show_table(header, rows, title="other prices and other providers' rules; MODELLED")
    for entry in found["scenarios"][1:]:
        for spec, reason in entry["unranked"].items():
            if spec not in own["unranked"]:
                say(f"{entry['scenario']}: not ranked: {spec}: {reason}")
    for one in found["skipped"]:
        say(f"left out: {one['scenario']}: {one['reason']}")


def _flips(entry: dict[str, Any]) -> list[str]:
    if not entry["flips"]:
        return ["no two strategies change places within twice the turns"]
    return [
        f"{flip['cheaper']} is dearer than {flip['dearer']} from {flip['extra_turns']:.1%} extra turns on"
        for flip in entry["flips"]
    ]


def _row(entry: dict[str, Any]) -> tuple[str, ...]:
    same = {None: "–", True: "as run", False: "changed"}[entry["same_order_as_run"]]
    near = [flip for flip in entry["flips"] if flip["extra_turns"] <= 0.2]
    shown = [f"{flip['cheaper']} ↔ {flip['dearer']} at {flip['extra_turns']:.1%}" for flip in near[:SHOWN_FLIPS]]
    more = f", {len(near) - SHOWN_FLIPS} more" if len(near) > SHOWN_FLIPS else ""
    dollars = {one["spec"]: one["usd"][0] for one in entry["strategies"]}
    order = " < ".join(f"{spec} {dollars[spec]:.3g}" for spec in entry["order"][0])
    return (
        entry["scenario"],
        entry["policy"] or "as run",
        entry["model"] or "as run",
        order,
        same,
        ", ".join(shown) + more or "–",
    )

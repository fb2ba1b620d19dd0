"""A run from the command line's point of view: load, execute, write the folder, render the page."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, NamedTuple

from ullage.commands._options import Place, progress_line
from ullage.commands._output import say
from ullage.errors import UserError
from ullage.options import RunOptions
from ullage.records import RunRecord
from ullage.runfolder import write_run
from ullage.runner import Outcome, RunPlan, execute, open_folder, plan_of
from ullage.types import ProbeBank, Trace


class Done(NamedTuple):
    """A finished run: its folder, plan, records and the summary that ``--json`` prints."""

    folder: Path
    plan: RunPlan
    records: tuple[RunRecord, ...]
    summary: dict[str, Any]


def load(paths: tuple[str, ...]) -> tuple[tuple[Trace, ...], str]:
    """The traces of a run and a short name for them; what could not be used is said on standard error."""
    from ullage.data_sets import load_any

    loaded, name = load_any(paths)
    for line in loaded.failures:
        say(f"left out: {line}")
    for line in loaded.problems:
        say(line)
    if not loaded.traces:
        raise UserError(
            f"{', '.join(paths)}: no file could be used ({len(loaded.failures)} refused); expected at least one trace"
        )
    return loaded.traces, name


def find_banks(paths: tuple[str, ...]) -> dict[str, ProbeBank]:
    """The frozen banks that lie beside the traces of these paths, or in the package, by the digest of their trace."""
    from ullage.data_sets import bank_folders
    from ullage.traces import banks_in

    return {digest: bank for folder in bank_folders(paths) for digest, bank in banks_in(folder).items()}


def run(options: RunOptions, place: Place) -> Done:
    """Do a run, or what is left of it, and write its folder."""
    traces, name = load(place.traces)
    usable = tuple(trace for trace in traces if trace.calls)
    for trace in traces:
        if not trace.calls:
            say(f"left out: trace {trace.id}: it holds no model call")
    if not usable:
        raise UserError("run: no trace holds a model call; nothing can be replayed")
    banks = find_banks(place.traces)
    plan = plan_of(options, usable, banks)
    folder = place.out or Path("reports") / folder_name(name, options, plan)
    open_folder(folder, plan)
    say(f"{len(usable)} traces × {len(options.strategies)} strategies → {folder}")
    outcome = execute(plan, usable, folder, jobs=place.jobs, executor=place.executor, progress=progress_line, banks=banks)  # type: ignore[arg-type]  # click has checked the name
    if outcome.reused:
        say(f"{outcome.reused} of {len(outcome.finished)} records taken over from an earlier try")
    return _finish(folder, plan, outcome)


def _finish(folder: Path, plan: RunPlan, outcome: Outcome) -> Done:
    from ullage.report import render
    from ullage.tables import run_summary

    timings = [one.timing for one in outcome.finished]
    overhead = {spec: sum(t.decide_ns for t in timings if t.spec == spec) / 1e6 for spec in plan.options.strategies}
    summary = run_summary(outcome.records, run=folder.name, overhead_ms=overhead, order=plan.options.strategies)
    write_run(folder, plan, outcome.records, timings, render(outcome.records, order=plan.options.strategies))
    return Done(folder, plan, outcome.records, summary)


def folder_name(name: str, options: RunOptions, plan: RunPlan) -> str:
    """``<trace set>-<specs>-<digest>``: readable, bounded, and unique."""
    specs = "+".join(re.sub(r"[^A-Za-z0-9.=]+", "-", spec).strip("-") for spec in options.strategies)
    return f"{re.sub(r'[^A-Za-z0-9.]+', '-', name)[:24]}-{specs[:48].strip('-')}-{plan.run[:8]}"

"""``ullage compare``: two runs, the strategies of one, or two specs run now."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import click

from ullage.commands._options import run_options, split_options
from ullage.commands._output import show_json
from ullage.errors import UserError


@click.command("compare", short_help="Paired table of two runs, or of the strategies of one.")
@click.argument("runs", nargs=-1, type=click.Path(path_type=Path), metavar="RUN [RUN]")
@click.option("--by", type=click.Choice(["strategy"]), default="strategy", show_default=True, help="What is paired.")
@click.option(
    "--sensitivity",
    is_flag=True,
    help="Of one RUN: does the order by dollars hold under 0, 10 and 20 % extra turns, other price lists (--prices FILE adds "
    "one) and every provider's cache rules (replayed; --traces PATH where the run's recordings are not the bundled ones)?",
)
@run_options
@click.option("--json", "as_json", is_flag=True, help="Pairs and changed probes as JSON.")
def command(runs: tuple[Path, ...], *, by: str, sensitivity: bool, as_json: bool, **given: Any) -> None:  # noqa: ARG001 - the one way there is
    """Compare strategies paired by probe and clustered by trace; with --strategy twice and no RUN both are run first."""
    from ullage.compare import arms_of, compare_all, pair_arms
    from ullage.comparison_table import comparison_lines, comparison_rows
    from ullage.runfolder import read_run
    from ullage.session import run
    from ullage.terminal import print_lines, print_table

    if len(runs) > 2 or (runs and given["strategies"]):
        raise UserError("compare: expected one or two run folders, or --strategy twice")
    if sensitivity:
        _sensitivity(runs, given, as_json=as_json)
        return
    if runs:
        first = arms_of(read_run(runs[0]).records, run=runs[0].name)
        pairs = pair_arms(first, arms_of(read_run(runs[1]).records, run=runs[1].name) if len(runs) == 2 else None)
    else:
        if len(given["strategies"]) < 2:
            raise UserError("compare: expected RUN, RUN RUN, or --strategy A --strategy B")
        options, place = split_options(given)
        pairs = pair_arms(arms_of(run(options, place).records))
    found = compare_all(pairs)
    if as_json:
        show_json(found)
        return
    header, rows = comparison_rows(found)
    print_table(header, rows, sys.stdout)
    print_lines(comparison_lines(found), sys.stdout)


def _sensitivity(runs: tuple[Path, ...], given: dict[str, Any], *, as_json: bool) -> None:
    """The order of one run's strategies under other assumptions."""
    from ullage.commands._sensitivity import sensitivity, show_sensitivity
    from ullage.runfolder import read_run

    if len(runs) != 1:
        raise UserError("compare --sensitivity: expected one run folder")
    found = sensitivity(read_run(runs[0]), given["traces"], given["prices"], given["jobs"] or os.cpu_count() or 1)
    if as_json:
        show_json({"sensitivity": found})
    else:
        show_sensitivity(found)

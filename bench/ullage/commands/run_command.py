"""``ullage run``: replay traces through strategies and write a run folder."""

from __future__ import annotations

import sys
from typing import Any

import click

from ullage.commands._options import run_options, split_options
from ullage.commands._output import say, show_json


@click.command("run", short_help="Replay traces through strategies and write a run folder.")
@run_options
@click.option("--json", "as_json", is_flag=True, help="The figures as JSON on standard output.")
def command(*, as_json: bool, **given: Any) -> None:
    """Replay traces through strategies, examine what is left, and write records, tables, charts and a page."""
    from ullage.session import run
    from ullage.terminal import run_table

    options, place = split_options(given)
    done = run(options, place)
    if as_json:
        show_json(done.summary)
    else:
        run_table(done.summary, sys.stdout)
        print(done.folder / "report.html")
    say(f"page: {done.folder / 'report.html'}")

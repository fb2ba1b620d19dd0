"""``ullage report``: the page, the Markdown and the charts of a run, from its records alone."""

from __future__ import annotations

from pathlib import Path

import click


@click.command("report", short_help="Write the page, Markdown and charts of a run from its records.")
@click.argument("run", type=click.Path(path_type=Path), metavar="RUN")
def command(run: Path) -> None:
    """Render a run folder again: report.html, report.md and charts/*.png."""
    from ullage.report import render
    from ullage.runfolder import read_run, write_files

    folder = read_run(run)
    write_files(folder.path, render(folder.records, order=folder.order))
    print(run / "report.html")

"""``ullage rescore``: new graders or prices over old answers."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import click

from ullage.commands._output import say, show_json


@click.command("rescore", short_help="Score old answers again, with new graders or prices; no replay, no model.")
@click.argument("run", type=click.Path(path_type=Path), metavar="RUN")
@click.option("--prices", default="", metavar="FILE", help="A price sheet that overrides the bundled one.")
@click.option("--model", default="", metavar="ID", help="Price everything as this model.")
@click.option("--out", type=click.Path(path_type=Path), metavar="DIR", help="Folder for the result; default: RUN-rescored.")
@click.option("--json", "as_json", is_flag=True, help="The figures as JSON on standard output.")
def command(run: Path, *, prices: str, model: str, out: Path | None, as_json: bool) -> None:
    """Grade every stored answer and price every stored usage again, and write the result beside the run."""
    from ullage.pricing import PriceSheet
    from ullage.records import encode_all
    from ullage.report import render
    from ullage.rescoring import rescore
    from ullage.runfolder import RECORDS, read_run, write_files
    from ullage.tables import run_summary
    from ullage.terminal import run_table

    folder = read_run(run)
    sheet = PriceSheet.load(Path(prices) if prices else None)
    records = tuple(rescore(record, sheet, model) for record in folder.records)
    target = out or folder.path.with_name(f"{folder.name}-rescored")
    target.mkdir(parents=True, exist_ok=True)
    for name in ("plan.json", "manifest.json"):
        if (folder.path / name).is_file() and target != folder.path:
            shutil.copyfile(folder.path / name, target / name)
    write_files(target, {**render(records, run=target.name, order=folder.order), RECORDS: encode_all(records)})
    before = {r.key: r for r in folder.records}
    changed = sum(_outcomes(r) != _outcomes(before[r.key]) for r in records)
    say(f"{len(records)} records; the outcomes of {changed} changed → {target}")
    summary = run_summary(records, run=target.name, order=folder.order)
    if as_json:
        show_json(summary)
    else:
        run_table(summary, sys.stdout)


def _outcomes(record) -> list[str]:  # type: ignore[no-untyped-def]  # noqa: ANN001 - a RunRecord, loaded lazily
    return [answer.outcome for answer in record.answers]

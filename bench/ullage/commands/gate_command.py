"""``ullage gate``: did this change make the agent forget?"""

from __future__ import annotations

import sys
from pathlib import Path

import click

from ullage.commands._options import Place
from ullage.commands._output import say, show_json


@click.command("gate", short_help="Judge a candidate against a baseline: pass, fail or inconclusive.")
@click.option("--baseline", type=click.Path(path_type=Path), required=True, metavar="RUN", help="What is known to be good.")
@click.option(
    "--candidate", type=click.Path(path_type=Path), metavar="RUN", help="What is judged; default: the baseline's plan, run now."
)
@click.option(
    "--margin", type=float, default=0.05, show_default=True, help="Loss of retention that is still accepted, as a share."
)
@click.option(
    "--on-inconclusive", type=click.Choice(["pass", "fail"]), help="What an inconclusive verdict means; default: exit 3."
)
@click.option("--junit", type=click.Path(path_type=Path), metavar="FILE", help="Write JUnit XML there.")
@click.option(
    "--comment", type=click.Path(path_type=Path), metavar="FILE", help="Write a Markdown comment for a pull request there."
)
@click.option("--jobs", type=int, default=0, metavar="N", help="Processes when the candidate is run now.")
@click.option("--json", "as_json", is_flag=True, help="The verdict as JSON.")
def command(
    *,
    baseline: Path,
    candidate: Path | None,
    margin: float,
    on_inconclusive: str | None,
    junit: Path | None,
    comment: Path | None,
    jobs: int,
    as_json: bool,
) -> int:
    """A non-inferiority test, paired by probe and clustered by trace; exit 0 pass, 1 fail, 3 inconclusive."""
    from ullage import gate_output
    from ullage.gate import exit_code, gate, overall
    from ullage.runfolder import read_run
    from ullage.terminal import print_lines

    _check_margin(margin)
    known = read_run(baseline)
    records = read_run(candidate).records if candidate is not None else _run_now(baseline, jobs)
    judgements = gate(known.records, records, margin)
    if junit is not None:
        junit.write_text(gate_output.junit(judgements, margin, on_inconclusive or ""), encoding="utf-8")
    if comment is not None:
        comment.write_text(gate_output.comment(judgements, margin), encoding="utf-8")
    if as_json:
        show_json(gate_output.gate_json(judgements, margin))
    else:
        print_lines(gate_output.lines(judgements, margin), sys.stdout)
    return exit_code(overall(judgements), on_inconclusive or "")


def _check_margin(margin: float) -> None:
    from ullage.errors import UserError

    if not 0 < margin < 1:
        raise UserError(f"gate: found --margin {margin}; expected a share above 0 and below 1")


def _run_now(baseline: Path, jobs: int):  # type: ignore[no-untyped-def]  # noqa: ANN202 - a tuple of records, loaded lazily
    """Run the baseline's own plan with the code as it is now, on the traces that it names."""
    import os

    from ullage.runner import read_plan
    from ullage.session import run

    plan = read_plan(baseline)
    say(f"running the plan of {baseline}: {', '.join(plan.options.strategies)}")
    place = Place(traces=(), jobs=jobs or os.cpu_count() or 1, executor="local", out=None, resume=True)
    return run(plan.options, place).records

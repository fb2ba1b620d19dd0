"""``ullage sweep``: which value of a parameter?"""

from __future__ import annotations

import sys
from typing import Any

import click

from ullage.commands._options import canonical_strategy, run_options, split_options
from ullage.commands._output import say, show_json
from ullage.errors import UserError


@click.command("sweep", short_help="One strategy over a range: a curve, picked on one half, confirmed on the other.")
@run_options
@click.option(
    "--objective",
    type=click.Choice(["retention", "survival", "usd"]),
    default="retention",
    show_default=True,
    help="What the pick is best at.",
)
@click.option("--json", "as_json", is_flag=True, help="Curve, pick and confirmation as JSON.")
def command(*, objective: str, as_json: bool, **given: Any) -> None:
    """Run a strategy at every point of a range such as 'auto(threshold={0.5:0.95:0.05})'."""
    from ullage.comparison_table import comparison_rows
    from ullage.session import run
    from ullage.sweep import expand, sweep_summary
    from ullage.terminal import print_table, run_table

    if not given["strategies"]:
        raise UserError("sweep: expected --strategy 'NAME(parameter={low:high:step})'")
    given["strategies"] = tuple(spec for text in given["strategies"] for spec in expand(text))
    specs = tuple(dict.fromkeys(canonical_strategy(spec, given["settings"]) for spec in given["strategies"]))
    options, place = split_options(given)
    done = run(options, place)
    found = sweep_summary(done.records, specs, objective)  # type: ignore[arg-type]  # click has checked the name
    if as_json:
        show_json(found)
        return
    run_table(done.summary, sys.stdout)
    say(f"picked on {found['halves']['pick']} traces by {objective}: {found['pick'] or 'nothing, no figure is known'}")
    if found["confirmation"] is None:
        say(f"not confirmed: {found['reasons'].get('confirmation', 'nothing was picked')}")
        return
    header, rows = comparison_rows(found["confirmation"])
    wanted = [row for row in rows if row[2] in (objective, "usd", "violations")]
    print_table(
        header, wanted, sys.stdout, title=f"{found['pick']} against the others on the other {found['halves']['confirm']} traces"
    )

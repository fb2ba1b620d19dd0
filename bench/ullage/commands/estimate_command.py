"""``ullage estimate``: what a run with real models will cost, before it."""

from __future__ import annotations

import sys
from typing import Any

import click

from ullage.commands._options import run_options, split_options
from ullage.commands._output import say, show_json


@click.command("estimate", short_help="What a run with real models will cost, before it.")
@run_options
@click.option("--json", "as_json", is_flag=True, help="The figures as JSON.")
def command(*, as_json: bool, **given: Any) -> None:
    """Replay with offline stand-ins and count what the reader, the summariser and the decider of the run would be sent."""
    from ullage.estimating import estimate
    from ullage.terminal import print_table

    options, place = split_options(given)
    found = estimate(options, place)
    if as_json:
        show_json(found)
        return
    rows = [
        (
            part["part"],
            part["model"] or "–",
            f"{part['requests']:,}",
            f"{part['input']:,}",
            f"{part['output']:,}",
            _dollars(part["usd"]),
        )
        for part in found["parts"]
    ]
    print_table(("part", "model", "requests", "input tokens", "output tokens", "dollars"), rows, sys.stdout)
    for part in found["parts"]:
        for reason in part["reasons"].values():
            say(f"{part['part']}: {reason}")


def _dollars(value: float | None) -> str:
    return "–" if value is None else f"{value:,.4f}"

"""``ullage probes``: build, check or show the questions about a trace."""

from __future__ import annotations

import sys
from collections import Counter as Tally
from pathlib import Path
from typing import Any

import click

from ullage.commands._output import say, show_json
from ullage.types import ProbeBank, Trace


@click.group("probes", short_help="Build, check or show the probe bank of a trace.")
def command() -> None:
    """Probe banks: questions with accepted answers, evidence and a content digest."""


@command.command("build")
@click.argument("traces", nargs=-1, metavar="[PATH …]")
@click.option(
    "--to", "target", type=click.Path(path_type=Path, file_okay=False), required=True, metavar="DIR", help="Where the banks go."
)
def build(traces: tuple[str, ...], target: Path) -> None:
    """Mine a frozen bank for each trace."""
    from ullage.banks import write_bank
    from ullage.probes import mine
    from ullage.session import load

    target.mkdir(parents=True, exist_ok=True)
    for trace in load(traces)[0]:
        bank = mine(trace)
        path = write_bank(target, trace, bank)
        say(f"{path}: {len(bank.probes)} probes, {len(bank.rejected)} rejected, digest {bank.digest}")


@command.command("show")
@click.argument("traces", nargs=-1, metavar="[PATH …]")
@click.option("--limit", type=int, default=20, show_default=True, help="Probes a trace.")
@click.option("--rejected", is_flag=True, help="Show what was rejected, and why.")
@click.option("--json", "as_json", is_flag=True, help="Whole banks as JSON.")
def show(traces: tuple[str, ...], *, limit: int, rejected: bool, as_json: bool) -> None:
    """Show the questions of each trace."""
    import msgspec

    from ullage.terminal import print_table

    banks = _banks(traces)
    if as_json:
        show_json([msgspec.to_builtins(bank) for _, bank in banks])
        return
    for trace, bank in banks:
        kinds = ", ".join(f"{kind} {count}" for kind, count in sorted(Tally(p.type for p in bank.probes).items()))
        title = f"{trace.id}: {len(bank.probes)} probes ({kinds}); {len(bank.rejected)} rejected"
        if rejected:
            print_table(
                ("type", "question", "rejected because"),
                [(r.type, r.question, r.reason) for r in bank.rejected[:limit]],
                sys.stdout,
                title=title,
            )
        else:
            rows = [(p.type, p.grader, p.question, " | ".join(p.accept) or "(decline)") for p in bank.probes[:limit]]
            print_table(("type", "grader", "question", "accepted"), rows, sys.stdout, title=title)


@command.command("check")
@click.argument("traces", nargs=-1, metavar="[PATH …]")
@click.option("--reader", default="lexical", show_default=True, metavar="SPEC", help="Who answers.")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def check(traces: tuple[str, ...], *, reader: str, as_json: bool) -> int:
    """Measure floor, ceiling, decoys answered and eligibility of each bank with a reader; exit 1 when a bank is unusable."""
    from ullage.banks import check_bank
    from ullage.terminal import print_table

    reports = [check_bank(trace, bank, reader) for trace, bank in _banks(traces)]
    if as_json:
        show_json(reports)
    else:
        keys = ("trace", "probes", "eligible", "floor", "ceiling", "decoys", "decoys_answered", "wrong_on_full")
        print_table(keys, [tuple(_cell(report[key]) for key in keys) for report in reports], sys.stdout)
    return 1 if any(not report["eligible"] for report in reports) else 0


def _cell(value: Any) -> str:
    return "–" if value is None else f"{value:.3f}" if isinstance(value, float) else str(value)


def _banks(paths: tuple[str, ...]) -> list[tuple[Trace, ProbeBank]]:
    from ullage.probes import mine
    from ullage.session import find_banks, load

    banks = find_banks(paths)
    return [(trace, banks.get(trace.digest) or mine(trace)) for trace in load(paths)[0]]

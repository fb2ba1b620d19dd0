"""The corpus from the command line: ``python -m ullage.corpus record|build|check|stats``."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from pathlib import Path

from ullage.corpus import card, recording
from ullage.corpus.shelf import file_names, read_digests, save, shelved, write_checksums
from ullage.errors import UllageError
from ullage.traces import load_traces

ROOT = Path("datasets/longhaul")
SEEDS = (1, 2, 3)
BUNDLED = ("credit_note-1", "checkout_outage-1", "churn_autumn-1", "interviews_zh-1")
"""The traces that the package carries: four domains, two of them dev and two test."""


def main(arguments: list[str] | None = None) -> int:
    """Run one command; 0 done, 1 digests differ, 2 misuse."""
    given = _parser().parse_args(arguments)
    try:
        return int(given.run(given))
    except UllageError as error:
        print(error, file=sys.stderr)
        return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m ullage.corpus", description=__doc__)
    commands = parser.add_subparsers(required=True)
    one = commands.add_parser("record", help="record one playbook with one seed")
    one.add_argument("--playbook", required=True, metavar="NAME", help=f"one of {', '.join(recording.names())}")
    one.add_argument("--seed", type=int, default=1)
    one.add_argument("--to", type=Path, required=True, metavar="DIR")
    one.set_defaults(run=_record)
    for name, run, meaning in (
        ("build", _build, "record everything into the data set's folder, with banks and checksums"),
        ("check", _check, "record everything again and compare digests"),
        ("stats", _stats, "compute the tables of the card from the files"),
    ):
        command = commands.add_parser(name, help=meaning)
        command.add_argument("--root", type=Path, default=ROOT, help=f"the data set's folder (default: {ROOT})")
        command.add_argument("--only", action="append", metavar="NAME", default=None, help="a playbook; may be given again")
        command.add_argument("--seeds", default=",".join(map(str, SEEDS)), help="seeds, with commas")
        command.set_defaults(run=run)
    return parser


def _record(given: argparse.Namespace) -> int:
    made = recording.record(given.playbook, given.seed)
    bank = save(made, given.to)
    print(
        f"{given.to / file_names(made.trace.id)[0]}: {len(made.trace.calls)} calls, {len(bank.probes)} probes, {made.trace.digest}"
    )
    return 0


def _wanted(given: argparse.Namespace) -> list[tuple[str, int]]:
    names = given.only or recording.names()
    return [(recording.checked(name), int(seed)) for name in names for seed in given.seeds.split(",")]


def _build(given: argparse.Namespace) -> int:
    for name, seed in _wanted(given):
        made = recording.record(name, seed)
        folder = given.root / made.trace.meta.split
        bank = save(made, folder)
        print(f"{made.trace.id}: {len(made.trace.calls)} calls, {len(bank.probes)} probes", file=sys.stderr)
        if made.trace.id in BUNDLED:
            for file in file_names(made.trace.id):
                shutil.copyfile(folder / file, Path(__file__).parent.parent / "data" / file)
    print(write_checksums(given.root))
    return 0


def _check(given: argparse.Namespace) -> int:
    known = read_digests(given.root)
    different = 0
    for name, seed in _wanted(given):
        trace = recording.record(name, seed).trace
        same = known.get(trace.id) == trace.digest
        different += not same
        print(f"{trace.id}: {'equal' if same else f'differs: recorded {trace.digest}, listed {known.get(trace.id)}'}")
    return int(different > 0)


def _stats(given: argparse.Namespace) -> int:
    """Fill the card; the comparison with real sessions needs the folder named by ``ULLAGE_REAL_TRACES``."""
    real = os.environ.get("ULLAGE_REAL_TRACES")
    sessions = load_traces([Path(real) / "claude-code"]).traces if real else ()
    parts = card.tables(list(shelved(given.root)), sessions)
    if not real:
        del parts["sizes"]
        print("ULLAGE_REAL_TRACES is not set: the table of sizes stays as it is", file=sys.stderr)
    card.fill(given.root / "README.md", parts)
    print("\n\n".join(parts.values()))
    return 0


if __name__ == "__main__":
    sys.exit(main())

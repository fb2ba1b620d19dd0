"""The corpus from the command line: ``python -m ullage.corpus record|build|check|stats``."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from ullage.corpus import recording
from ullage.corpus.shelf import file_names, save
from ullage.errors import UllageError


def main(arguments: list[str] | None = None) -> int:
    """Run one command; 0 done, 1 digests differ, 2 misuse."""
    parser = argparse.ArgumentParser(prog="python -m ullage.corpus", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("record", help="record one playbook with one seed")
    one.add_argument("--playbook", required=True, metavar="NAME", help=f"one of {', '.join(recording.names())}")
    one.add_argument("--seed", type=int, default=1)
    one.add_argument("--to", type=Path, required=True, metavar="DIR")
    given = parser.parse_args(arguments)
    try:
        return _record(given.playbook, given.seed, given.to)
    except UllageError as error:
        print(error, file=sys.stderr)
        return 2


def _record(playbook: str, seed: int, folder: Path) -> int:
    made = recording.record(playbook, seed)
    save(made, folder)
    print(
        f"{folder / file_names(made.trace.id)[0]}: {len(made.trace.calls)} calls, {len(made.probes)} probes, {made.trace.digest}"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())

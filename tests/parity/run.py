"""Parity with the real package: builds an isolated environment for each release, runs both sides, prints the table.

    python -m tests.parity.run [--count 2000] [--kinds sliding_window,…] [--versions 1.54.0,1.62.0] [--seed 7] [--show 3]

Exits with 1 when a difference is found.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import venv
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from ullage.converse import dumped, loaded

from .cases import KINDS, ONLY_1_62, cases
from .compare import differences, normal
from .ours import run as run_ours

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
VERSIONS = ("1.54.0", "1.62.0")
Case = dict[str, Any]


class Line(NamedTuple):
    """One line of the parity table."""

    kind: str
    version: str
    histories: int
    different: int
    parts: str


def python_of(version: str) -> Path:
    """The interpreter of the isolated environment for a release; made on first use."""
    folder = ROOT / ".envs" / f"strands-{version}"
    python = folder / "bin" / "python"
    if not python.exists():
        print(f"parity: making {folder.relative_to(ROOT)}", file=sys.stderr)
        venv.create(folder, with_pip=True)
        subprocess.run([str(python), "-m", "pip", "install", "-q", f"strands-agents=={version}", "msgspec"], check=True)
    return python


def real_results(version: str, made: list[Case]) -> Iterable[Case]:
    """What the package of a release does with the cases, in order."""
    text = "".join(dumped(case) + "\n" for case in made)
    done = subprocess.run(
        [str(python_of(version)), str(HERE / "driver.py")], input=text, capture_output=True, text=True, check=False
    )
    lines = done.stdout.splitlines()
    if done.returncode or len(lines) != len(made):
        raise SystemExit(f"parity: the driver stopped at case {len(lines)} of {len(made)}: {done.stderr[-3000:]}")
    return [loaded(line) for line in lines]


def compare(kind: str, version: str, options: argparse.Namespace) -> Line:
    """Run one kind against one release; explain the first ``options.show`` differences."""
    made = list(cases(kind, options.count, version, options.seed))
    different = 0
    parts: dict[str, int] = {}
    for case, real in zip(made, real_results(version, made), strict=True):
        ours = run_ours(case, version.rpartition(".")[0])
        found = differences(case, real, ours)
        if found:
            different += 1
            for part in found:
                parts[part] = parts.get(part, 0) + 1
            if different <= options.show:
                explain(kind, case, real, ours, found)
    listed = ", ".join(f"{part} {n}" for part, n in sorted(parts.items()))
    return Line(kind, version, len(made), different, listed)


def replays(version: str) -> list[Line]:
    """Whole replays through ``strands_real`` and through ours, inside the isolated environment."""
    pipelines = [] if version.startswith("1.54") else ["--pipelines"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "bench")}
    command = [str(python_of(version)), str(HERE / "replays.py"), *pipelines]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if done.returncode:
        raise SystemExit(f"parity: the replays stopped: {done.stderr[-3000:]}")
    return [Line("replay", version, line["calls"], line["different"], line["spec"]) for line in json.loads(done.stdout)]


def explain(kind: str, case: Case, real: Case, ours: Case, found: list[str]) -> None:
    """Print one difference with its case."""
    print(f"--- {kind} seed {case['seed']}: {', '.join(found)}")
    print("case ", dumped({key: value for key, value in case.items() if key != "messages"})[:1500])
    print("given", dumped(case["messages"])[:2500])
    left, right = normal(case, real), normal(case, ours)
    for part in found:
        at = next((n for n, (a, b) in enumerate(zip(left[part], right[part], strict=False)) if a != b), 0)
        print(f"real {part} …", left[part][max(0, at - 300) : at + 500])
        print(f"ours {part} …", right[part][max(0, at - 300) : at + 500])


def main() -> int:
    """Run the kinds and releases asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--versions", default=",".join(VERSIONS))
    parser.add_argument("--seed", type=int, default=0, help="another number, other histories")
    parser.add_argument("--show", type=int, default=0)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    lines = []
    for version in options.versions.split(","):
        for kind in options.kinds.split(","):
            if kind in ONLY_1_62 and version.startswith("1.54"):
                continue
            lines.append(compare(kind, version, options))
            print(f"parity: {lines[-1]}", file=sys.stderr)
        lines += replays(version)
    if options.json:
        print(json.dumps([line._asdict() for line in lines]))
    else:
        print(f"{'kind':18}{'release':10}{'histories':>10}{'different':>10}  parts")
        for line in lines:
            print(f"{line.kind:18}{line.version:10}{line.histories:10}{line.different:10}  {line.parts}")
    return 1 if any(line.different for line in lines) else 0


if __name__ == "__main__":
    sys.exit(main())

"""A run folder after accidents: cut records, a process that died while it claimed the folder, a disk that refuses."""

from __future__ import annotations

import errno
import subprocess
from pathlib import Path

import pytest
from test_cli_run import ULLAGE, session_with_facts, ullage

from ullage import cli
from ullage.errors import UserError
from ullage.options import RunOptions
from ullage.runner import PARTS, PLAN, Outcome, RunPlan, execute, open_folder, plan_of
from ullage.types import Trace

TRACE = session_with_facts(1)


def plan() -> RunPlan:
    """One trace under one strategy and one bound."""
    return plan_of(RunOptions(strategies=("null", "sliding_window"), window=6000), [TRACE])


def go(folder: Path, traces: tuple[Trace, ...] = (TRACE,)) -> Outcome:
    """Claim the folder and do what is missing."""
    open_folder(folder, plan())
    return execute(plan(), traces, folder, jobs=1, progress=lambda *_: None)


@pytest.mark.parametrize("left", [0, 50])
def test_a_cut_record_is_made_again_and_the_whole_ones_are_kept(tmp_path: Path, left: int) -> None:
    """A machine that lost power may leave a part empty or short: that one alone is done again, with the same result."""
    first = go(tmp_path / "run")
    part = min((tmp_path / "run" / PARTS).glob("*.json"))
    part.write_bytes(part.read_bytes()[:left])
    second = go(tmp_path / "run")
    assert (first.reused, second.reused) == (0, 1)
    assert second.records == first.records


def test_a_folder_whose_claim_was_cut_short_is_claimed_again(tmp_path: Path) -> None:
    """A process that died before its plan was whole leaves at most the temporary file: no other run's folder."""
    (tmp_path / f".{PLAN}.4711").write_text("{")
    open_folder(tmp_path, plan())
    assert (tmp_path / PLAN).is_file()


def test_a_folder_with_other_files_is_still_refused(tmp_path: Path) -> None:
    """Nobody's files are mixed with a run's."""
    (tmp_path / "notes.md").write_text("mine")
    with pytest.raises(UserError, match="not empty and no run"):
        open_folder(tmp_path, plan())


def test_an_output_that_is_a_file_is_one_line_and_exit_2(tmp_path: Path) -> None:
    """What the disk refuses is the person's to mend: no traceback, and not the exit code of a failed gate."""
    out = tmp_path / "out"
    out.write_text("a file")
    done = ullage("run", "--strategy", "null", "--out", out)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1] == f"ullage: {out}: found Not a directory; expected a place that can be read and written"
    assert "Traceback" not in done.stderr


def test_a_name_too_long_is_one_line_and_exit_2(tmp_path: Path) -> None:
    """A path that no file system takes."""
    done = ullage("import", tmp_path / ("a" * 300))
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_full_disk_is_one_line_and_exit_2() -> None:
    """Standard output on a full disk."""
    with Path("/dev/full").open("w") as full:
        done = subprocess.run([*ULLAGE, "list", "readers", "--json"], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.splitlines() == [
        "ullage: output: found No space left on device; expected a place that can be read and written"
    ]


def test_a_bug_of_ours_is_not_hidden_behind_it() -> None:
    """A file that the code expected and did not find, or a descriptor that it misused, keeps its traceback."""
    assert cli.OUTSIDE.isdisjoint({errno.ENOENT, errno.EBADF, errno.EINVAL})

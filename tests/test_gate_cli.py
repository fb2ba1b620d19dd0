"""Compare, gate and report from the command line, on run folders: data, exit codes, one line for what is wrong."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from ullage.cli import main
from ullage.options import RunOptions
from ullage.runfolder import write_run
from ullage.runner import RunPlan
from ullage.testing import make_record
from ullage.types import Violation

Folder = Callable[..., str]


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    """Writes a made run and gives its path."""

    def write(name: str, *specs: str, traces: int = 4, **fields: Any) -> str:
        plan = RunPlan(run=name, options=RunOptions(strategies=specs or ("auto",)), traces=(), harness="")
        records = [make_record(spec=spec, trace=f"t{n}", **fields) for spec in plan.options.strategies for n in range(traces)]
        write_run(tmp_path / name, plan, records, [], {})
        return str(tmp_path / name)

    return write


def called(*arguments: str) -> int:
    """The exit code of the command line."""
    with pytest.raises(SystemExit) as stop:
        main(list(arguments))
    return int(stop.value.code or 0)


def test_a_gate_passes_identical_runs_with_exit_0(folder: Folder, capsys: pytest.CaptureFixture[str]) -> None:
    """The verdict is on standard output, with both detectable effects."""
    assert called("gate", "--baseline", folder("a"), "--candidate", folder("b")) == 0
    out = capsys.readouterr().out
    assert "PASS" in out
    assert "identical" in out
    assert "minimum detectable effect" in out


def test_a_gate_fails_a_new_violation_with_exit_1(folder: Folder, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """JSON, JUnit and comment say the same."""
    broken = [Violation(invariant="A01", severity="error", call=1, evidence="orphan")]
    files = ["--junit", str(tmp_path / "j.xml"), "--comment", str(tmp_path / "c.md"), "--json"]
    assert called("gate", "--baseline", folder("a"), "--candidate", folder("b", violations=broken), *files) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["verdict"] == "fail"
    assert {item["name"] for item in found["zero_tolerance"]} == {"A01"}
    assert ET.parse(tmp_path / "j.xml").getroot()[0].get("failures") == "1"  # noqa: S314 - our own document
    assert "❌ fail" in (tmp_path / "c.md").read_text()


def test_a_gate_that_cannot_tell_exits_3_or_as_told(folder: Folder) -> None:
    """The policy changes the code, never the verdict."""
    runs = ("--baseline", folder("a", noise=0.1, keep=1), "--candidate", folder("b", noise=0.1, keep=1, seed=9))
    assert called("gate", *runs) == 3
    assert called("gate", *runs, "--on-inconclusive", "pass") == 0
    assert called("gate", *runs, "--on-inconclusive", "fail") == 1


@pytest.mark.parametrize("change", [{"traces": 3}, {"probes": 8}])
def test_other_traces_or_banks_exit_2_with_one_line(
    folder: Folder, change: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    """What differs is named on standard error, nothing on standard output."""
    assert called("gate", "--baseline", folder("a"), "--candidate", folder("b", **change)) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    assert said.err.startswith("ullage: gate: t" if "traces" in change else "ullage: gate: trace t0: found probe banks")


def test_a_folder_that_is_no_run_exits_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The path, what was found and what was expected."""
    assert called("report", str(tmp_path)) == 2
    assert "found no records.jsonl; expected the folder of a finished run" in capsys.readouterr().err


def test_a_comparison_prints_pairs_and_changed_probes(folder: Folder, capsys: pytest.CaptureFixture[str]) -> None:
    """Two runs of one strategy each are paired; JSON is valid and complete."""
    assert called("compare", folder("a", "auto(threshold=0.7)", keep=0.9), folder("b", "auto", keep=0.2), "--json") == 0
    found = json.loads(capsys.readouterr().out)
    retention = next(pair for pair in found["pairs"] if pair["metric"] == "retention")
    assert (retention["a"], retention["b"]) == ("auto(threshold=0.7)", "auto")
    assert retention["difference"] < 0
    assert found["changed_probes"]


def test_a_report_is_rendered_from_records_alone(folder: Folder) -> None:
    """Page, Markdown and charts appear, strategies in the order of the run, and a second time they are equal."""
    run = Path(folder("a", "null", "auto"))
    assert called("report", str(run)) == 0
    first = {path.name: path.read_bytes() for path in run.rglob("*") if path.suffix in {".html", ".md", ".png"}}
    assert {"report.html", "report.md", "cost-retention.png"} <= first.keys()
    page = first["report.html"].decode()
    assert page.index(">null<") < page.index(">auto<")
    assert called("report", str(run)) == 0
    assert first == {path.name: path.read_bytes() for path in run.rglob("*") if path.suffix in {".html", ".md", ".png"}}

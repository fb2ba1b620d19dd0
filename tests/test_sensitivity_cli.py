"""``compare --sensitivity`` end to end: a run, every scenario, and what is missing said in one line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ullage.cli import main
from ullage.formats.ullage_jsonl import write_traces
from ullage.resimulating import resimulate
from ullage.runfolder import read_run
from ullage.runner import read_plan
from ullage.sensitivity import PRICE_LISTS, PROVIDERS, Scenario, course_of
from ullage.testing import make_trace
from ullage.traces import load_traces

SPECS = ("sliding_stub(keep=4)", "monotone_stub(free=2000, threshold=0.3)", "auto")


def called(*arguments: str | Path) -> int:
    """The exit code of the command line."""
    with pytest.raises(SystemExit) as stop:
        main(list(map(str, arguments)))
    return int(stop.value.code or 0)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A folder with one recording, and a run over it."""
    folder = tmp_path_factory.mktemp("made")
    traces, run = folder / "traces", folder / "run"
    traces.mkdir()
    write_traces(traces / "made.jsonl.gz", [make_trace(calls=60, result_words=700)])
    strategies = [part for spec in SPECS for part in ("--strategy", spec)]
    assert called("run", *strategies, "--traces", traces, "--window", "40000", "--out", run, "--jobs", "1") == 0
    return traces, run


def test_every_provider_and_price_list_is_tried(made: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    """One entry a scenario, the run's own first, each with dollars at three shares of extra turns or a reason."""
    traces, run = made
    assert called("compare", run, "--sensitivity", "--traces", traces, "--json", "--jobs", "1") == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)["sensitivity"]
    names = [one["scenario"] for one in found["scenarios"]]
    assert names == ["as run", *(one.name for one in PRICE_LISTS), *(one.name for one in PROVIDERS)]
    assert found["extra_turns"] == [0.0, 0.1, 0.2]
    assert found["skipped"] == []
    for one in found["scenarios"]:
        assert one["label"] == "MODELLED"
        for strategy in one["strategies"]:
            assert len(strategy["usd"]) == 3
            assert strategy["usd"] == sorted(strategy["usd"])
            assert 0 <= strategy["usd_before_first_loss"] <= strategy["usd"][0]


def test_the_runs_own_rules_give_the_runs_own_bill(made: tuple[Path, Path]) -> None:
    """Replayed again under the run's own cache and prices, each strategy costs to the pico-dollar what its record says."""
    folder = read_run(made[1])
    options = read_plan(folder.path).options
    (trace,) = load_traces([made[0]]).traces
    own = Scenario(name="own", policy=folder.records[0].inputs.policy, model="claude-opus-4-5", resimulate=True)
    again = {course.spec: course for _, course in resimulate(trace, options, [own])}
    assert again == {record.spec: course_of(record) for record in folder.records}
    assert all(course.after for course in again.values())


def test_without_the_recordings_only_prices_are_tried(made: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    """The bundled traces are not the run's: providers are left out with the reason, price lists are not."""
    assert called("compare", made[1], "--sensitivity", "--json") == 0
    found = json.loads(capsys.readouterr().out)["sensitivity"]
    assert [one["scenario"] for one in found["scenarios"]] == ["as run", *(one.name for one in PRICE_LISTS)]
    assert "expected --traces PATH" in found["skipped"][0]["reason"]


def test_a_price_sheet_of_ones_own_is_one_more_scenario(
    made: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Twice the price, twice the dollars."""
    sheet = tmp_path / "mine.json"
    rates = {"input_cost_per_token": 1e-5, "output_cost_per_token": 5e-5, "cache_read_input_token_cost": 1e-6}
    rates |= {"cache_creation_input_token_cost": 1.25e-5, "cache_creation_input_token_cost_above_1hr": 2e-5}
    sheet.write_text(json.dumps({"claude-opus-4-5": rates}))
    assert called("compare", made[1], "--sensitivity", "--prices", sheet, "--json") == 0
    found = {one["scenario"]: one for one in json.loads(capsys.readouterr().out)["sensitivity"]["scenarios"]}
    own = {one["spec"]: one["usd"][0] for one in found["as run"]["strategies"]}
    mine = {one["spec"]: one["usd"][0] for one in found["sheet mine.json"]["strategies"]}
    assert mine == pytest.approx({spec: 2 * value for spec, value in own.items()}, rel=1e-4)


def test_a_person_reads_order_and_flips(made: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    """Two tables, and what was left out on standard error."""
    assert called("compare", made[1], "--sensitivity") == 0
    out, err = capsys.readouterr()
    assert "$ at 20%" in out
    assert "cheapest to dearest" in out
    assert "left out: every provider's cache" in err


def test_two_runs_are_refused(made: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    """One line and exit code 2."""
    assert called("compare", made[1], made[1], "--sensitivity") == 2
    assert "expected one run folder" in capsys.readouterr().err

"""The command line end to end: what a run writes, that it is the same twice, that it resumes, and what bad input says."""

from __future__ import annotations

import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest

from ullage.formats.ullage_jsonl import write_traces
from ullage.testing import make_trace, tool_call, tool_result
from ullage.types import Trace

ULLAGE = (sys.executable, "-m", "ullage.cli")
FILES = ("records.jsonl", "rows.parquet", "answers.parquet", "timings.parquet", "manifest.json", "report.md", "report.html")


def ullage(*arguments: str | Path, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run the command line in a process of its own."""
    return subprocess.run([*ULLAGE, *map(str, arguments)], capture_output=True, text=True, check=False, cwd=cwd, timeout=300)


@pytest.fixture(scope="module")
def traces(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two traces of the project's own making."""
    folder = tmp_path_factory.mktemp("traces")
    for seed in (1, 2):
        write_traces(folder / f"made-{seed}.jsonl.gz", [session_with_facts(seed)])
    return folder


def session_with_facts(seed: int) -> Trace:
    """A session that reads one settings file after another, so that there is something to ask about."""
    rng = random.Random(seed)
    base = make_trace(calls=40, result_words=60, seed=seed, trace_id=f"made-{seed}")
    messages = list(base.messages)
    for n, message in enumerate(messages):
        if message.tool_use_ids:
            name = f"services/{rng.choice(('ledger', 'mail', 'search', 'audit'))}_{n}.toml"
            messages[n] = tool_call(message.id, *message.tool_use_ids, name="shell", command=f"cat {name}")
        elif message.tool_result_ids:
            lines = "\n".join(f"{key}_{n} = {rng.randrange(1000, 99999)}" for key in ("port", "queue_limit", "batch_rows"))
            messages[n] = tool_result(message.id, **{message.tool_result_ids[0]: f"{words(rng)}\n{lines}"})
    return msgspec.structs.replace(base, messages=tuple(messages))


def words(rng: random.Random) -> str:
    """Filler lines of a result."""
    return "\n".join(" ".join(rng.choice(("alpha", "beta", "gamma", "delta")) for _ in range(12)) for _ in range(8))


def run(traces: Path, out: Path, *more: str) -> subprocess.CompletedProcess[str]:
    """Three strategies over the two traces at a small window."""
    strategies = ("--strategy", "null", "--strategy", "sliding_window(window_size=20)", "--strategy", "monotone_stub(free=500)")
    return ullage("run", *strategies, "--traces", traces, "--window", "4000", "--out", out, *more)


@pytest.fixture(scope="module")
def done(traces: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, object]]:
    """A finished run with what it printed as JSON."""
    out = tmp_path_factory.mktemp("runs") / "first"
    result = run(traces, out, "--json", "--jobs", "1")
    assert result.returncode == 0, result.stderr
    return out, json.loads(result.stdout)


def test_a_run_writes_its_files_and_prints_the_contract_keys(done: tuple[Path, dict[str, object]]) -> None:
    """Every file of the contract is there, and each strategy has every key."""
    out, summary = done
    assert all((out / name).stat().st_size > 0 for name in FILES)
    keys = [
        "spec",
        "traces",
        "calls",
        "survived",
        "retention",
        "retention_normalised",
        "interval",
        "survival",
        "floor",
        "ceiling",
        "tokens",
        "usage",
        "usd",
        "usd_split",
        "cache_read_ratio",
        "cache_breaks",
        "cache_alarms",
        "compactions",
        "violations",
        "faults",
        "overhead_ms",
    ]
    entries = summary["strategies"]
    assert isinstance(entries, list)
    assert [entry["spec"] for entry in entries] == ["null", "sliding_window(window_size=20)", "monotone_stub(free=500)"]
    for entry in entries:
        assert set(keys) <= entry.keys()
        assert all(entry[key] is not None or key in entry["reasons"] for key in keys), entry["reasons"]
        assert set(entry["tokens"]) >= {"input", "output", "peak", "summariser"}
        assert set(entry["usage"]) == {"uncached", "cache_read", "cache_write_5m", "cache_write_1h", "output"}


def test_the_uncompacted_run_dies_at_the_window_and_counts_its_later_probes(done: tuple[Path, dict[str, object]]) -> None:
    """``null`` makes fewer calls than there are; nothing of it is dropped from the table."""
    entries = {entry["spec"]: entry for entry in done[1]["strategies"]}  # type: ignore[attr-defined]  # a list of objects
    assert entries["null"]["survived"] < entries["null"]["calls"] == 80
    assert entries["null"]["traces"] == 2


def test_the_same_run_gives_the_same_bytes(done: tuple[Path, dict[str, object]], traces: Path, tmp_path: Path) -> None:
    """Records, pages and charts are byte-identical, with another number of processes too."""
    result = run(traces, tmp_path / "second", "--jobs", "2")
    assert result.returncode == 0, result.stderr
    for name in ("records.jsonl", "report.md", "report.html"):
        assert (tmp_path / "second" / name).read_bytes() == (done[0] / name).read_bytes(), name
    charts = sorted(path.relative_to(done[0]) for path in done[0].rglob("*.png"))
    assert charts
    for chart in charts:
        assert _digest(tmp_path / "second" / chart) == _digest(done[0] / chart), chart


def test_another_run_in_the_same_folder_is_refused(done: tuple[Path, dict[str, object]], traces: Path) -> None:
    """One line, exit 2, and the folder stays as it was."""
    before = _digest(done[0] / "records.jsonl")
    result = ullage("run", "--strategy", "null", "--traces", traces, "--out", done[0])
    assert (result.returncode, result.stdout) == (2, "")
    assert "holds another run" in result.stderr
    assert _digest(done[0] / "records.jsonl") == before


def test_a_killed_run_resumes_to_the_same_bytes(done: tuple[Path, dict[str, object]], traces: Path, tmp_path: Path) -> None:
    """Kill it as soon as one part is on disk, start the same command again: the result equals an uninterrupted one."""
    out = tmp_path / "killed"
    strategies = ("--strategy", "null", "--strategy", "sliding_window(window_size=20)", "--strategy", "monotone_stub(free=500)")
    command = [*ULLAGE, "run", *strategies, "--traces", str(traces), "--window", "4000", "--out", str(out), "--jobs", "1"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    deadline = time.monotonic() + 120
    while not list(out.glob("parts/*.json")) and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert list(out.glob("parts/*.json"))
    result = run(traces, out)
    assert result.returncode == 0, result.stderr
    assert (out / "records.jsonl").read_bytes() == (done[0] / "records.jsonl").read_bytes()


def test_a_report_can_be_made_again_from_records_alone(done: tuple[Path, dict[str, object]], tmp_path: Path) -> None:
    """The page is the same without the traces."""
    for name in ("records.jsonl", "manifest.json"):
        (tmp_path / name).write_bytes((done[0] / name).read_bytes())
    result = ullage("report", tmp_path)
    assert result.returncode == 0, result.stderr
    assert (tmp_path / "report.html").read_bytes() == (done[0] / "report.html").read_bytes()


def test_a_run_compared_with_itself_passes_the_gate_as_identical(done: tuple[Path, dict[str, object]]) -> None:
    """Verdict pass, reason identical, exit 0."""
    result = ullage("gate", "--baseline", done[0], "--candidate", done[0], "--json")
    verdict = json.loads(result.stdout)
    assert (result.returncode, verdict["verdict"]) == (0, "pass")
    assert any("identical" in reason for reason in verdict["reasons"])
    assert {"difference", "interval", "margin", "mde", "mde_planned", "zero_tolerance"} <= verdict.keys()


def test_compare_prints_every_pair_and_metric(done: tuple[Path, dict[str, object]]) -> None:
    """Three strategies make three pairs, each with the contract's metrics and keys."""
    found = json.loads(ullage("compare", done[0], "--json").stdout)
    metrics = {"retention", "survival", "usd", "input_tokens", "peak", "cache_read_ratio", "compactions", "violations"}
    pairs = {(pair["a"], pair["b"]) for pair in found["pairs"]}
    assert len(pairs) == 3
    for a, b in pairs:
        assert metrics <= {pair["metric"] for pair in found["pairs"] if (pair["a"], pair["b"]) == (a, b)}
    assert {"difference", "interval", "p", "traces", "probes", "mde"} <= found["pairs"][0].keys()


def test_rescoring_without_changes_gives_the_same_records(done: tuple[Path, dict[str, object]], tmp_path: Path) -> None:
    """Same graders and prices, same bytes."""
    result = ullage("rescore", done[0], "--out", tmp_path / "again")
    assert result.returncode == 0, result.stderr
    assert (tmp_path / "again" / "records.jsonl").read_bytes() == (done[0] / "records.jsonl").read_bytes()


def test_a_bad_file_in_a_folder_is_listed_and_the_others_run(traces: Path, tmp_path: Path) -> None:
    """The run ends well and names the file that it left out."""
    folder = tmp_path / "mixed"
    folder.mkdir()
    for path in traces.iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    (folder / "broken.jsonl").write_text('{"id": "x", "messages": [')
    result = ullage("run", "--strategy", "null", "--traces", folder, "--window", "4000", "--out", tmp_path / "out", "--json")
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout)["strategies"][0]["traces"] == 2
    assert "left out: " in result.stderr
    assert "broken.jsonl" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("--strategy", "nul"), "unknown strategy 'nul'; nearest: null"),
        (("--strategy", "auto(treshold=0.7)"), "unknown parameter 'treshold'; nearest: threshold"),
        (("--strategy", "auto(threshold=7)"), "threshold=7"),
        (("--strategy", "null", "--window", "10"), "expected at least 1,000 tokens"),
        (("--strategy", "null", "--mode", "forced"), "--mode forced needs --budget"),
        (("--strategy", "null", "--checkpoints", "0.9,0.1"), "expected ascending shares"),
        (("--strategy", "null", "--traces", "nowhere.jsonl"), "nowhere.jsonl"),
        (("--strategy", "null", "--cache", "claud_code"), "nearest: claude_code"),
        (("--strategy", "null", "--reader", "lexcal"), "nearest: lexical"),
        (
            (
                "--strategy",
                "oracle | null",
            ),
            "a bound cannot be composed",
        ),
        ((), "no strategy given"),
        (("--strtegy", "null"), "No such option"),
    ],
)
def test_misuse_is_one_line_and_exit_2(arguments: tuple[str, ...], line: str, traces: Path, tmp_path: Path) -> None:
    """The line says what was found and what was meant; nothing is written to standard output."""
    given = arguments if "--traces" in arguments else (*arguments, "--traces", str(traces))
    result = ullage("run", *given, "--out", tmp_path / "out")
    assert (result.returncode, result.stdout) == (2, "")
    assert line in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    ("name", "content", "line"),
    [
        ("empty.jsonl", b"", "found an empty file"),
        ("binary.jsonl", bytes(range(256)) * 40, "found a binary file"),
        ("other.json", b'{"kind": "invoice", "total": 12}', "found JSON of another kind"),
        ("note.jsonl", b"just some words\nand more\n", "found text that is no recording"),
    ],
)
def test_a_file_that_is_no_recording_is_one_line(name: str, content: bytes, line: str, tmp_path: Path) -> None:
    """File, what was found, what was expected; exit 2."""
    (tmp_path / name).write_bytes(content)
    result = ullage("run", "--strategy", "null", "--traces", tmp_path / name, "--out", tmp_path / "out")
    assert result.returncode == 2
    assert line in result.stderr
    assert name in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1


def test_help_is_known_for_every_command() -> None:
    """Every command of the table can be asked for help."""
    from ullage.cli import COMMANDS

    for name in COMMANDS:
        result = ullage(name, "--help")
        assert result.returncode == 0, (name, result.stderr)
        assert result.stdout.startswith("Usage: ")


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_an_estimate_counts_what_live_models_would_be_asked(traces: Path, tmp_path: Path) -> None:
    """Nothing for stand-ins that ask no model; requests and dollars for reader and decider; no model is called."""
    found = {}
    for reader, decider in (("lexical", "policy"), ("openai/gpt-5", "llm(model='openai/gpt-5',at=0.3)")):
        asked = ("--strategy", "agentic", "--traces", traces, "--window", "12000", "--reader", reader, "--decider", decider)
        done = ullage("estimate", *asked, "--json", "--out", tmp_path / reader.replace("/", "-"))
        assert done.returncode == 0, done.stderr
        found[reader] = {part["part"]: part for part in json.loads(done.stdout)["parts"]}
    assert [part["usd"] for part in found["lexical"].values()] == [0.0, 0.0, 0.0]
    live = found["openai/gpt-5"]
    assert live["summarizer"]["usd"] == 0.0
    assert live["reader"]["requests"] == found["lexical"]["reader"]["requests"] > 0
    assert live["decider"]["requests"] > found["lexical"]["decider"]["requests"] > 0
    assert live["decider"]["usd"] > 0


UNABLE = """
from dataclasses import dataclass

from ullage.strategy import UNCHANGED, Strategy

@dataclass(frozen=True, slots=True, kw_only=True)
class Unable(Strategy):
    def decide(self, view):
        return UNCHANGED

    def offered_tools(self):
        raise RuntimeError("no tools\\ntoday")
"""


def test_a_strategy_that_cannot_say_its_tools_is_named_in_one_line(traces: Path, tmp_path: Path) -> None:
    """Nothing could be sent, so it is a mistake before the run: exit 2, no traceback."""
    (tmp_path / "mine.py").write_text(UNABLE)
    spec = f"{tmp_path / 'mine.py'}:Unable"
    done = ullage("run", "--strategy", spec, "--traces", traces, "--jobs", "1", "--out", tmp_path / "out")
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1] == "ullage: strategy Unable: offered_tools() raised no tools today; expected tools"


def test_jobs_below_zero_are_refused() -> None:
    """One line that says the range."""
    done = ullage("run", "--strategy", "null", "--jobs", "-3")
    assert (done.returncode, done.stderr.strip()) == (2, "ullage: Invalid value for '--jobs': -3 is not in the range x>=0.")

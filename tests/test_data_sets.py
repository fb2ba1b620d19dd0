"""Data sets by name: the bundled one, folders with a card, and public sets through Hugging Face ``datasets``, offline."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ullage.data_sets import describe_datasets, load_any, row_trace
from ullage.errors import UserError
from ullage.formats.ullage_jsonl import write_traces
from ullage.testing import make_trace

LONGHAUL = Path(__file__).parent.parent / "datasets" / "longhaul"
MESSAGES = [
    {"role": "system", "content": "You fix bugs."},
    {"role": "user", "content": "Fix the parser."},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "bash", "arguments": '{"command": "ls"}'}}],
    },
    {"role": "tool", "content": "parser.py", "tool_call_id": "c1"},
    {"role": "assistant", "content": "Done."},
]
TOOLS = [{"type": "function", "function": {"name": "bash", "description": "Run a command.", "parameters": {"type": "object"}}}]


def test_nothing_named_means_the_bundled_traces() -> None:
    """At least four sessions that the project recorded itself, each with calls and a frozen bank."""
    from ullage.traces import bank_for

    loaded, name = load_any(())
    assert name == "bundled"
    assert len(loaded.traces) >= 4
    assert loaded.failures == ()
    assert all(len(trace.calls) >= 100 and bank_for(trace) is not None for trace in loaded.traces)


def test_a_folder_with_a_card_is_found_by_name_and_split(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """``name`` gives all, ``name/split`` one split, a wrong split names the right ones."""
    folder = tmp_path / "datasets" / "mine"
    folder.mkdir(parents=True)
    (folder / "card.json").write_text(json.dumps({"name": "mine", "summary": "two traces", "window": 8000}))
    for split in ("dev", "test"):
        trace = make_trace(calls=3, trace_id=split)
        write_traces(
            folder / f"{split}.jsonl.gz", [msgspec.structs.replace(trace, meta=msgspec.structs.replace(trace.meta, split=split))]
        )
    monkeypatch.chdir(tmp_path)
    assert len(load_any(("mine",))[0].traces) == 2
    assert [t.id for t in load_any(("mine/test",))[0].traces] == ["test"]
    with pytest.raises(UserError, match="mine/tset: no such split; nearest: test"):
        load_any(("mine/tset",))
    with pytest.raises(UserError, match="mien: no such file, folder or data set; nearest: mine"):
        load_any(("mien",))
    assert {"name": "mine", "summary": "two traces", "window": 8000}.items() <= describe_datasets()[0].items()


@pytest.mark.parametrize("tools", [TOOLS, json.dumps(TOOLS)], ids=["list", "json text"])
@pytest.mark.parametrize("column", ["messages", "trajectory"])
def test_a_row_of_a_trajectory_set_is_a_trace(column: str, tools: Any) -> None:
    """System prompt and tools leave the history, results answer calls, each assistant message is a call."""
    trace = row_trace({column: MESSAGES, "tools": tools, "instance_id": "i1"}, "row", "hf:x/y")
    assert (trace.id, trace.system, [t.name for t in trace.tools]) == ("i1", "You fix bugs.", ["bash"])
    assert [m.role for m in trace.messages] == ["user", "assistant", "user", "assistant"]
    assert [(call.upto, call.reply) for call in trace.calls] == [(1, 1), (3, 3)]
    assert trace.messages[2].tool_result_ids == ("c1",)
    assert trace.provenance.usage == "none"


def test_a_row_without_messages_names_its_columns() -> None:
    """One line."""
    with pytest.raises(UserError, match="found columns patch, score; expected one of messages"):
        row_trace({"patch": "", "score": 1}, "row", "hf:x/y")


def test_a_parquet_file_loads_through_hugging_face(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """``hf:FILE.parquet[train]:N`` reads N rows without a network."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hub"))
    monkeypatch.setenv("HF_DATASETS_CACHE", str(tmp_path / "hub" / "datasets"))
    path = tmp_path / "rows.parquet"
    rows = [{"messages": json.dumps(MESSAGES), "tools": json.dumps(TOOLS), "instance_id": f"i{n}"} for n in range(5)]
    pq.write_table(pa.Table.from_pylist(rows), path)
    loaded, _ = load_any((f"hf:{path}[train]:3",))
    assert [trace.id for trace in loaded.traces] == ["i0", "i1", "i2"]


def test_a_public_set_that_cannot_be_reached_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """No traceback of another library."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(UserError, match=r"data set hf:nobody/nothing\[train\]: ") as caught:
        load_any(("hf:nobody/nothing[train]",))
    assert "\n" not in str(caught.value)


def test_banks_that_lie_beside_traces_are_the_ones_that_are_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder, a file in it and a data set's name lead to the bank; the package's own are always known."""
    from ullage.banks import write_bank
    from ullage.session import find_banks
    from ullage.traces import load_bundled
    from ullage.types import Probe, ProbeBank

    folder = tmp_path / "datasets" / "mine"
    folder.mkdir(parents=True)
    (folder / "card.json").write_text('{"name": "mine"}')
    trace = make_trace(calls=3)
    write_traces(folder / "t.jsonl.gz", [trace])
    probe = Probe(id="p1", question="Which?", accept=("x",), type="recall")
    bank = ProbeBank(trace=trace.id, trace_digest=trace.digest, probes=(probe,))
    write_bank(folder, trace, bank)
    monkeypatch.chdir(tmp_path)
    for given in (str(folder), str(folder / "t.jsonl.gz"), "mine", "mine/dev"):
        assert find_banks((given,))[trace.digest] == bank
    assert {t.digest for t in load_bundled().traces} <= find_banks(()).keys()


LOADED = """
import json, sys
import datasets
datasets.disable_progress_bars()
found = {}
for config in ("traces", "banks"):
    loaded = datasets.load_dataset(sys.argv[1], config)
    found[config] = {split: [row.get("id") or row["trace"] for row in loaded[split]] for split in loaded}
row = datasets.load_dataset(sys.argv[1])["dev"][0]
found["first"] = [row["messages"][0]["role"], row["meta"]["source"], len(row["calls"])]
print(json.dumps(found))
"""


def test_a_checkout_loads_through_hugging_face_datasets(tmp_path: Path) -> None:
    """The card names two configurations with two splits each; every file is a row, traces and banks of the same names."""
    pytest.importorskip("datasets", minversion="4.7")
    if not LONGHAUL.is_dir():
        pytest.skip("no checkout: the package carries four of its traces only")
    quiet = os.environ | {"HF_HOME": str(tmp_path), "HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"}
    command = [sys.executable, "-c", LOADED, str(LONGHAUL)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path, env=quiet, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout.splitlines()[-1])
    for split in ("dev", "test"):
        names = {path.name.removesuffix(".jsonl.gz") for path in (LONGHAUL / split).glob("*.jsonl.gz")}
        assert set(found["traces"][split]) == set(found["banks"][split]) == names
    assert found["first"][:2] == ["user", "longhaul"]
    assert found["first"][2] >= 100

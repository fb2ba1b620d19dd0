"""``ullage import`` from the command line: JSON, canonical copies, and one line for what cannot be read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from formats_support import ClaudeLines, text, written

from ullage.cli import main
from ullage.traces import import_file


def session(folder: Path, name: str = "good.jsonl", session_id: str = "s1") -> Path:
    """A small session file."""
    return written(
        folder, ClaudeLines(session_id).user("go").reply("m1", text("a")).boundary().summary().reply("m2", text("b")).rows, name
    )


def run(*arguments: str | Path) -> int:
    """The exit code of a command line."""
    with pytest.raises(SystemExit) as stop:
        main(["import", *map(str, arguments)])
    return int(str(stop.value.code))


def test_json_is_one_object_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Data on standard output, parseable as it is."""
    session(tmp_path, "a.jsonl", "s1")
    session(tmp_path, "b.jsonl", "s2")
    assert run(tmp_path, "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert [(Path(one["path"]).name, one["format"]) for one in told] == [("a.jsonl", "claude_code"), ("b.jsonl", "claude_code")]
    assert [(trace["id"], trace["calls"], trace["compactions"]) for one in told for trace in one["traces"]] == [
        ("s1", 2, 1),
        ("s2", 2, 1),
    ]


def test_canonical_copies_read_back_equal(tmp_path: Path) -> None:
    """``--to`` writes what a later run reads."""
    source, target = session(tmp_path), tmp_path / "out"
    assert run(source, "--to", target) == 0
    (copy,) = target.glob("*.jsonl.gz")
    assert import_file(copy).traces == import_file(source).traces


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("empty.jsonl", b""),
        ("binary.jsonl", bytes(range(256))),
        ("other.json", b'{"weather": 1}'),
        ("broken.jsonl", b'{"type": "user", "uuid": "u", "sessionId": "s", "message": {"content": "x"}}\n{"type":\n{}\n'),
    ],
)
def test_a_bad_file_is_one_line_and_exit_code_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, content: bytes
) -> None:
    """File, what was found, what was expected; nothing on standard output."""
    path = tmp_path / name
    path.write_bytes(content)
    assert run(path) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert len(told.err.splitlines()) == 1
    assert name in told.err
    assert "found" in told.err
    assert "expected" in told.err


def test_a_bad_file_in_a_folder_is_listed_and_the_others_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The import succeeds and says what it left out."""
    session(tmp_path)
    (tmp_path / "bad.jsonl").write_text("no", encoding="utf-8")
    assert run(tmp_path, "--json") == 0
    told = capsys.readouterr()
    assert len(json.loads(told.out)) == 1
    assert "bad.jsonl" in told.err


def test_half_a_last_line_is_named_on_standard_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The trace runs, and the person hears of it."""
    path = session(tmp_path)
    path.write_text(path.read_text(encoding="utf-8") + '{"type": "user", "uu', encoding="utf-8")
    assert run(path) == 0
    assert "half a last line" in capsys.readouterr().err

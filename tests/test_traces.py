"""Trace files: found, recognised, imported one by one or by folder, and reported on."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from formats_support import ClaudeLines, claude_usage, text, use, written

from ullage import registry
from ullage.errors import TraceError, UserError
from ullage.formats import Source
from ullage.formats.ullage_jsonl import write_traces
from ullage.testing import make_trace
from ullage.traces import detect, find_files, import_file, load_traces, report


def good(folder: Path, name: str = "good.jsonl", session: str = "s1") -> Path:
    """A small session that imports without a word."""
    return written(folder, ClaudeLines(session).user("go").reply("m1", text("a")).rows, name)


@pytest.mark.parametrize(
    ("name", "content", "found"),
    [
        ("empty.jsonl", b"", "an empty file"),
        ("blank.jsonl", b"\n \n", "an empty file"),
        ("binary.jsonl", bytes(range(256)) * 8, "a binary file"),
        ("other.json", b'{"weather": [1, 2]}', "JSON of another kind"),
        ("notes.jsonl", b"dear diary", "text that is no recording"),
        ("cut.jsonl.gz", gzip.compress(b'{"a": 1}' * 999, mtime=0)[:30], "an unreadable file"),
    ],
)
def test_a_file_of_the_wrong_kind_gets_one_line(tmp_path: Path, name: str, content: bytes, found: str) -> None:
    """It says what was found and which recordings are known."""
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(TraceError) as caught:
        import_file(path)
    line = str(caught.value)
    assert line.startswith(f"{path}: found {found}")
    assert "\n" not in line
    assert "claude_code" in line or "gzip" in line


def test_a_missing_file_names_near_ones(tmp_path: Path) -> None:
    """A slip of the finger is met with the right name."""
    good(tmp_path, "session.jsonl")
    with pytest.raises(UserError, match=r"no such file or folder; .*session\.jsonl"):
        find_files([tmp_path / "sesion.jsonl"])


def test_a_folder_gives_its_trace_files_in_order(tmp_path: Path) -> None:
    """Hidden files, cards, banks and other endings are passed over."""
    for name in ("b.jsonl", "a.json", "c.traj.gz", "d.eval", ".hidden.jsonl", "card.json", "x.bank.json", "notes.md"):
        (tmp_path / name).write_text("{}", encoding="utf-8")
    assert [(path.name, named) for path, named in find_files([tmp_path])] == [
        ("a.json", False),
        ("b.jsonl", False),
        ("c.traj.gz", False),
        ("d.eval", False),
    ]


def test_a_folder_without_traces_says_so(tmp_path: Path) -> None:
    """Nothing to do is an error, not an empty table."""
    with pytest.raises(UserError, match="found no trace file"):
        find_files([tmp_path])


def test_one_bad_file_in_a_folder_does_not_stop_the_others(tmp_path: Path) -> None:
    """It is listed with its line."""
    good(tmp_path)
    (tmp_path / "bad.jsonl").write_text("not a recording", encoding="utf-8")
    loaded = load_traces([tmp_path])
    assert [trace.id for trace in loaded.traces] == ["s1"]
    assert len(loaded.failures) == 1
    assert "bad.jsonl: found text that is no recording" in loaded.failures[0]


def test_a_bad_file_named_itself_stops(tmp_path: Path) -> None:
    """Whoever names a file wants that file."""
    (tmp_path / "bad.jsonl").write_text("not a recording", encoding="utf-8")
    with pytest.raises(TraceError):
        load_traces([tmp_path / "bad.jsonl"])


def test_gzip_is_recognised_by_content(tmp_path: Path) -> None:
    """Whatever the file is called."""
    path = tmp_path / "session.jsonl"
    path.write_bytes(gzip.compress(good(tmp_path).read_bytes()))
    assert import_file(path).traces[0].id == "s1"


def test_a_file_that_unpacks_to_too_much_is_refused(tmp_path: Path) -> None:
    """A small archive can hold a mountain."""
    path = tmp_path / "bomb.jsonl.gz"
    path.write_bytes(gzip.compress(b"0" * 100_000))
    with pytest.raises(TraceError, match="more than 1,000 bytes"):
        _ = Source(path, limit=1_000).data


def test_a_strange_structure_is_a_line_and_not_a_crash(tmp_path: Path) -> None:
    """Other people's files hold anything; the folder's other files still run."""
    rows = ClaudeLines().user("go").reply("m1", text("a")).rows
    rows[1]["message"]["content"] = [{"type": "image", "source": {"type": "base64", "data": 7}}]  # type: ignore[index]  # a row is an object
    rows[0]["message"] = 5  # type: ignore[index]  # a row is an object
    path = written(tmp_path, rows)
    assert import_file(path).traces[0].calls[0].id == "m1"


def test_equal_traces_and_shorter_snapshots_are_taken_once(tmp_path: Path) -> None:
    """Repositories hold many snapshots of one growing session."""
    lines = ClaudeLines().user("go").reply("m1", text("a"))
    written(tmp_path, lines.rows, "one.jsonl")
    lines.user("on").reply("m2", text("b"))
    written(tmp_path, lines.rows, "two.jsonl")
    written(tmp_path, lines.rows, "two-again.jsonl")
    loaded = load_traces([tmp_path])
    assert [len(trace.calls) for trace in loaded.traces] == [2]
    assert [line.partition(":")[0] for line in loaded.problems] == ["one.jsonl", "two.jsonl"]


def test_forks_of_one_session_are_both_kept(tmp_path: Path) -> None:
    """Neither holds all calls of the other."""
    written(tmp_path, ClaudeLines().user("go").reply("m1", text("a")).user("left").reply("m2", text("b")).rows, "one.jsonl")
    written(tmp_path, ClaudeLines().user("go").reply("m1", text("a")).user("right").reply("m3", text("c")).rows, "two.jsonl")
    assert len(load_traces([tmp_path]).traces) == 2


def test_sub_agents_are_loaded_with_their_session_only(tmp_path: Path) -> None:
    """In a folder their files are found alone as well."""
    good(tmp_path, "s1.jsonl")
    (tmp_path / "s1" / "subagents").mkdir(parents=True)
    written(
        tmp_path / "s1" / "subagents",
        ClaudeLines().user("x", isSidechain=True).reply("c1", text("y"), isSidechain=True).rows,
        "agent-a9.jsonl",
    )
    loaded = load_traces([tmp_path])
    assert [(trace.id, len(trace.children)) for trace in loaded.traces] == [("s1", 1)]


def test_the_report_has_the_keys_that_others_read(tmp_path: Path) -> None:
    """Names, sums and counts; what is not known is null with a reason."""
    lines = ClaudeLines().user("go").reply("m1", text("a"), usage=claude_usage(read=10, write_5m=0, write_1h=5))
    lines.boundary().summary().user("on").reply("m2", use("t1"))
    told = report(import_file(written(tmp_path, lines.rows)))
    assert set(told) >= {"path", "format", "traces", "lines", "problems"}
    assert set(told["lines"]) == {"read", "opaque", "repaired", "refused"}
    (trace,) = told["traces"]
    assert trace["usage"] == {"uncached": 6, "cache_read": 10, "cache_write_5m": 100, "cache_write_1h": 5, "output": 14}
    assert (trace["calls"], trace["messages"], trace["compactions"], trace["clearings"], trace["children"]) == (2, 4, 1, 0, [])
    assert trace["provenance"] == {"usage": "per_call", "cache": "read_write", "prompt_complete": False, "output_reliable": False}
    assert "usage.output" in trace["reasons"]


def test_unknown_figures_are_null_with_their_reason(tmp_path: Path) -> None:
    """A chat without usage, times or model."""
    row = {"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]}
    (trace,) = report(import_file(written(tmp_path, [row])))["traces"]
    for key in ("usage", "model", "client", "first_at", "last_at"):
        assert trace[key] is None
        assert trace["reasons"][key]


def test_children_have_the_same_form_as_their_parent(tmp_path: Path) -> None:
    """With the call that started them."""
    data = {"type": "agent_progress", "agentId": "a1", "message": {"type": "user", "uuid": "c0", "message": {"content": "look"}}}
    lines = ClaudeLines().user("go").reply("m1", use("t1")).line("progress", data=data, parentToolUseID="t1").result("t1")
    (trace,) = report(import_file(written(tmp_path, lines.rows)))["traces"]
    (child,) = trace["children"]
    assert set(child) == set(trace) | {"parent"}
    assert child["parent"] == "t1"
    assert child["usage"] is None


def test_each_bundled_kind_of_file_is_known_by_one_importer_alone(tmp_path: Path) -> None:
    """Marks of one format do not occur in another's files."""
    canonical = tmp_path / "canonical.jsonl"
    write_traces(canonical, [make_trace()])
    chat = tmp_path / "chat.json"
    chat.write_text(json.dumps([{"role": "user", "content": "hi"}]), encoding="utf-8")
    expected = {good(tmp_path): "claude_code", canonical: "ullage_jsonl", chat: "openai_messages"}
    for path, name in expected.items():
        known = [form for form in registry.names("formats") if registry.load("formats", form).matches(Source(path))]
        assert known == [name]
        assert type(detect(Source(path))).__module__.endswith(name)

"""The recorder: real tools in a clean workspace, equal recordings, plots that hold together."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ullage.corpus import plot, recording
from ullage.corpus.drawing import bars
from ullage.corpus.screenplay import directives, filled, sections
from ullage.corpus.session import Clock, Session
from ullage.corpus.tools import TOOLS, use
from ullage.corpus.workspace import OUTPUT_LIMIT, Workspace, clipped, temporary_workspace
from ullage.errors import UserError
from ullage.types import Image, Span, Text, ToolResult, ToolUse

AT = 1_772_440_200_000
SMALL = "churn_autumn"


@pytest.fixture
def workspace() -> Iterator[Workspace]:
    """A fresh workspace."""
    with temporary_workspace("place") as made:
        yield made


@pytest.fixture(scope="module")
def small() -> recording.Recording:
    """One small recording, shared by the tests of this module."""
    return recording.record(SMALL, 1)


def said(workspace: Workspace, tool: str, **arguments: object) -> str:
    """The text that a tool gives back."""
    return use(workspace, tool, arguments, AT).text


def test_two_recordings_of_one_playbook_have_one_digest(small: recording.Recording) -> None:
    """The same playbook and seed give the same trace and the same probes."""
    again = recording.record(SMALL, 1)
    assert again.trace.digest == small.trace.digest
    assert again.probes == small.probes


def test_another_seed_gives_other_values(small: recording.Recording) -> None:
    """Seeds vary the workspace, so the tool results differ."""
    assert recording.record(SMALL, 2).trace.digest != small.trace.digest


def test_every_call_has_its_result(small: recording.Recording) -> None:
    """Tool calls and results pair up, in the message after the call."""
    messages = small.trace.messages
    for index, message in enumerate(messages):
        if message.tool_use_ids:
            assert messages[index + 1].tool_result_ids == message.tool_use_ids


def test_calls_walk_forward_in_time(small: recording.Recording) -> None:
    """The simulated clock never goes back, and each call replies in place."""
    times = [call.at or 0 for call in small.trace.calls]
    assert times == sorted(times)
    assert all(call.reply == call.upto for call in small.trace.calls)


def test_evidence_stands_where_the_spans_say(small: recording.Recording) -> None:
    """Each span of a probe lies within its block's text, and typed answers stand in the evidence."""
    blocks = {(m.id, n): plot.text_of(b) for m in small.trace.messages for n, b in enumerate(m.blocks)}
    for probe in small.probes:
        texts = [blocks[s.message, s.block][s.start : s.end] for s in probe.evidence]
        assert all(texts), probe.id
        if probe.grader in ("exact", "numeric", "path") and probe.type != "multi-hop":
            assert any(a.lower() in " ".join(texts).lower() for a in probe.accept), probe.id


def test_nothing_of_the_machine_is_recorded(small: recording.Recording) -> None:
    """No path of the recording machine stands in a trace."""
    text = "\n".join(plot.text_of(b) for m in small.trace.messages for b in m.blocks)
    assert str(Path.home()) + "/" not in text
    assert "ullage-" not in text


def test_no_assistant_paragraph_is_said_twice(small: recording.Recording) -> None:
    """Text is no template soup."""
    assert plot.repeated_paragraphs(small.trace.messages) == []


def test_shell_really_runs_in_a_clean_environment(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """The caller's variables do not reach a command, and the clock's zone is fixed."""
    monkeypatch.setenv("SECRET_OF_THE_CALLER", "x")
    assert said(workspace, "bash", command='echo "[$SECRET_OF_THE_CALLER] $TZ $LC_ALL"') == "[] UTC C"


def test_paths_of_the_workspace_are_shown_as_virtual_ones(workspace: Workspace) -> None:
    """The real folder never shows."""
    assert said(workspace, "bash", command="pwd") == "/home/dev/place"


def test_a_failing_command_is_an_error_with_its_exit_code(workspace: Workspace) -> None:
    """Exit codes are part of what the tool says."""
    output = use(workspace, "bash", {"command": "echo no; exit 3"}, AT)
    assert output.is_error
    assert output.text == "no\nexit code 3"


def test_listings_show_the_simulated_time(workspace: Workspace) -> None:
    """File times come from the simulated clock, so that a listing is the same on every day."""
    said(workspace, "write", path="a.txt", content="x\n")
    assert "2026-03-02 08:30" in said(workspace, "bash", command="ls -l a.txt")


def test_listings_of_folders_show_the_simulated_time(workspace: Workspace) -> None:
    """A folder changes when something is made in it, and so do the one above and a link; none shows the machine's clock."""
    said(workspace, "write", path="inner/a.txt", content="x\n")
    said(workspace, "bash", command="git init -q && ln -s inner link && mkdir $TMPDIR/kept")
    lines = said(workspace, "bash", command="ls -la . inner $TMPDIR").splitlines()
    entries = [line for line in lines if line.startswith(("d", "l", "-"))]
    names = {line.split("2026-03-02 08:30 ")[-1] for line in entries}
    assert len(entries) == 11
    assert names == {".", "..", ".git", "inner", "link -> inner", "a.txt", "kept"}


@pytest.mark.parametrize("path", ["../out.txt", "a/../../b", "/../etc/hostname"])
def test_paths_outside_are_refused(workspace: Workspace, path: str) -> None:
    """File tools stay inside the workspace."""
    output = use(workspace, "write", {"path": path, "content": "x"}, AT)
    assert output.is_error
    assert "outside the workspace" in output.text


@pytest.mark.parametrize(("text", "message"), [("one", "occurs 2 times"), ("three", "does not occur")])
def test_an_edit_needs_exactly_one_place(workspace: Workspace, text: str, message: str) -> None:
    """An ambiguous or missing text is refused and changes nothing."""
    workspace.put({"a.txt": "one\none\n"})
    assert message in said(workspace, "edit", path="a.txt", old=text, new="two")
    assert workspace.path("a.txt").read_text() == "one\none\n"


def test_sql_shows_rows_and_names(workspace: Workspace) -> None:
    """Rows come back under the names of their columns."""
    said(workspace, "bash", command="sqlite3 a.sqlite 'create table t (a, b); insert into t values (1, null)'")
    assert said(workspace, "sql", database="a.sqlite", query="select * from t") == "a  b\n-  ----\n1  NULL\n(1 rows)"


def test_grep_shows_file_line_and_context(workspace: Workspace) -> None:
    """Matches carry their place; context lines carry a dash."""
    workspace.put({"a.txt": "one\ntwo\nthree\n"})
    assert said(workspace, "grep", pattern="two") == "a.txt:2:two"
    assert said(workspace, "grep", pattern="two", context=1).startswith("a.txt-1-one\na.txt:2:two\na.txt-3-three")
    assert said(workspace, "grep", pattern="four") == "No matches"


def test_search_ranks_the_document_that_holds_the_words(workspace: Workspace) -> None:
    """The document with the query's words comes first, with the passage that holds them."""
    workspace.put({"library/a.md": "# First\n\nNothing here.\n", "library/b.md": "# Second\n\nThe weir leaked in spring.\n"})
    assert said(workspace, "search_documents", query="weir leaked").startswith("1. [b] Second")


def test_an_image_comes_back_with_its_size(workspace: Workspace) -> None:
    """A picture is an image block that knows its pixels."""
    workspace.path("a.png").write_bytes(bars([1, 2, 3]))
    (item,) = use(workspace, "view_image", {"path": "a.png"}, AT).items
    assert isinstance(item, Image)
    assert (item.width, item.height) == (240, 120)


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("3 passed in 0.12s", "3 passed in 0.00s"),
        ("<object at 0x7f3a2b1c4d50>", "<object at 0x7f0000000000>"),
        ("platform linux -- Python 3.11.7, pytest-9.0.1", "platform linux -- Python 3"),
        ("drwxr-xr-x 2 root root 4096 2026-03-02 08:30 x", "drwxr-xr-x 2 dev dev 4096 2026-03-02 08:30 x"),
    ],
)
def test_what_differs_between_runs_is_normalised(workspace: Workspace, raw: str, shown: str) -> None:
    """Durations, addresses, banners and owners are replaced and nothing else."""
    assert workspace.normalise(raw) == shown


def test_a_long_output_is_cut_in_its_middle() -> None:
    """Both ends stay, and the number of characters left out is said."""
    text = clipped("a" * OUTPUT_LIMIT + "b" * 100)
    assert text.startswith("a")
    assert text.endswith("b")
    assert "[100 characters left out]" in text


def test_a_screenplay_splits_into_scenes_and_steps() -> None:
    """Scenes are headed by ===, steps by ::, and a regular expression survives as it is written."""
    scenes = sections("comment\n=== one\n:: user after=5m\nHello\n:: keep x ^(\\d+) y\n=== two\n:: reply\nBye\n")
    steps = directives(scenes["one"])
    assert [s.verb for s in steps] == ["user", "keep"]
    assert steps[0].settings == {"after": "5m"}
    assert steps[1].body == "^(\\d+) y"


def test_an_unknown_value_is_named() -> None:
    """A name without value says which there are."""
    with pytest.raises(plot.PlotError, match="no value 'b'; known: a"):
        filled("{{a}} {{b}}", {"a": "1"})


def test_an_unknown_playbook_is_a_mistake_of_the_user() -> None:
    """A wrong name is one line with near names."""
    with pytest.raises(UserError, match="unknown playbook 'churn_autum'"):
        recording.load("churn_autum")


def session_of(workspace: Workspace) -> Session:
    """A session that has just begun."""
    return Session(name="s", workspace=workspace, clock=Clock(AT, random.Random(1)), rng=random.Random(1))


def test_parallel_calls_are_answered_in_one_message(workspace: Workspace) -> None:
    """Two calls in one reply get two results in one message, in order."""
    session = session_of(workspace)
    session.user("Hi")
    session.together([("bash", {"command": "echo a"}), ("bash", {"command": "echo b"})])
    reply, results = session.messages[1:]
    assert [type(b) for b in reply.blocks] == [ToolUse, ToolUse]
    assert [b.content for b in results.blocks if isinstance(b, ToolResult)] == [(Text(text="a"),), (Text(text="b"),)]


def test_a_pause_moves_the_clock_only(workspace: Workspace) -> None:
    """Idle time shows between calls and leaves no message."""
    session = session_of(workspace)
    session.user("Hi")
    before = len(session.messages), session.clock.now
    session.pause(75)
    assert (len(session.messages), session.clock.now - before[1]) == (before[0], 75 * 60_000)


def fact(**fields: Any) -> plot.Fact:
    """A sound fact with some fields changed."""
    given: dict[str, Any] = {
        "key": "k",
        "type": "recall",
        "ask": "Which port listens?",
        "accept": ("8443",),
        "quotes": ("The port 8443 listens.",),
        "evidence": (Span(message="m", block=0, start=0, end=5),),
    }
    return plot.Fact(**(given | fields))


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"type": "guess"}, "type 'guess'"),
        ({"accept": ("9000",)}, "no accepted answer stands in the evidence"),
        ({"ask": "Is it 8443 that listens?"}, "gives its answer away"),
        ({"ask": "Where do the trains depart?"}, "not in the words of its evidence"),
        ({"again": "Which port listens here?"}, "the paraphrase shares"),
        ({"evidence": ()}, "evidence or answer is missing"),
        ({"absent": ("listens",)}, "the decoy 'listens' occurs"),
    ],
)
def test_a_plot_that_does_not_hold_is_refused(fields: dict[str, object], problem: str) -> None:
    """Each kind of flaw in a fact is named."""
    found = plot.problems_of(fact(**fields), "The port 8443 listens.", "The port 8443 listens.")
    assert any(problem in line for line in found)


def test_a_sound_fact_has_no_problem() -> None:
    """The fact that the other cases spoil is itself accepted."""
    assert plot.problems_of(fact(), "The port 8443 listens.", "The port 8443 listens.") == []


def test_all_offered_tools_exist() -> None:
    """A playbook offers only tools that there are, and describes itself."""
    for name in recording.names():
        playbook = recording.load(name)
        assert set(playbook.offers) <= set(TOOLS), name
        assert playbook.domain, name
        assert playbook.split in ("dev", "test"), name

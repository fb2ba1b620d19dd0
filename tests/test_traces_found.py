"""Files that are found and told apart by their beginnings, and the names that imported traces get."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from ullage.commands.import_command import command
from ullage.errors import UserError
from ullage.formats import HEAD_BYTES
from ullage.traces import find_files, import_file, load_traces

LONG = "data " * (HEAD_BYTES // 4)


def chat(first: str, **fields: object) -> str:
    """One conversation as a line."""
    messages = [{"role": "user", "content": first}, {"role": "assistant", "content": "done"}]
    return json.dumps({**fields, "messages": messages}) + "\n"


def claude_line(role: str, uuid: str, parent: str | None, content: object) -> str:
    """One line as the client writes it: the threading keys before the message."""
    head = {"parentUuid": parent, "isSidechain": False, "cwd": "/srv", "sessionId": "s", "version": "2.0.1", "type": role}
    message: dict[str, object] = {"role": role, "content": content}
    if role == "assistant":
        message |= {"id": "m1", "model": "claude-sonnet-4-5", "usage": {"input_tokens": 3, "output_tokens": 1}}
    return json.dumps({**head, "message": message, "uuid": uuid, "timestamp": "2025-01-01T00:00:00Z"}) + "\n"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    """A file is read twice (its kind, then all of it), which a pipe cannot; in a folder it is passed over."""
    os.mkfifo(tmp_path / "pipe.jsonl")
    (tmp_path / "good.jsonl").write_text(chat("hello"), encoding="utf-8")
    with pytest.raises(UserError, match="found neither a file nor a folder"):
        find_files([tmp_path / "pipe.jsonl"])
    assert [path.name for path, _ in find_files([tmp_path])] == ["good.jsonl"]


@pytest.mark.parametrize("text", [chat(LONG), chat(LONG) + chat("short"), json.dumps(json.loads(chat(LONG))["messages"])])
def test_a_first_message_longer_than_the_head_is_still_a_conversation(tmp_path: Path, text: str) -> None:
    """A pasted log of any size is no reason to refuse a recording."""
    path = tmp_path / "long.jsonl"
    path.write_text(text, encoding="utf-8")
    imported = import_file(path)
    assert imported.format == "openai_messages"
    assert [len(trace.messages) for trace in imported.traces] == [2] * max(1, text.count("\n"))


def test_a_session_that_begins_with_a_large_image_is_known(tmp_path: Path) -> None:
    """The first line of a Claude Code session may be a pasted screenshot, longer than the head."""
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "A" * (HEAD_BYTES + 4)}}
    path = tmp_path / "session.jsonl"
    path.write_text(
        claude_line("user", "u0", None, [image]) + claude_line("assistant", "a0", "u0", [{"type": "text", "text": "seen"}])
    )
    imported = import_file(path)
    assert (imported.format, len(imported.traces[0].calls), len(imported.traces[0].messages)) == ("claude_code", 1, 2)


@pytest.mark.parametrize("name", ["../../outside", ".hidden", "-x", "...", "a/b"])
def test_whatever_a_trace_is_called_its_file_is_inside_and_found_again(tmp_path: Path, name: str) -> None:
    """A name from a recording leaves the folder by no path and hides no file."""
    source, target = tmp_path / "in.jsonl", tmp_path / "deep" / "out"
    source.write_text(chat("hello", id=name), encoding="utf-8")
    assert CliRunner().invoke(command, [str(source), "--to", str(target), "--json"], standalone_mode=False).exception is None
    assert [path.name for path in target.parent.iterdir()] == ["out"]
    assert [trace.id for trace in load_traces([target]).traces] == [name]

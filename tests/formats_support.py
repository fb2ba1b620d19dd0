"""Small recordings written line by line, for the tests of the importers."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ullage.formats import Imported
from ullage.traces import import_file
from ullage.types import Trace

ONE_STEP = [
    ("user", "Text"),
    ("assistant", "Thinking", "Text", "ToolUse"),
    ("user", "ToolResult"),
    ("assistant", "Text"),
]
"""The shape of a task, a reply that thinks, speaks and calls a tool, its result, and the last word."""
START = "2026-01-05T10:00:{:02d}.000Z"


def written(folder: Path, rows: Iterable[Any], name: str = "session.jsonl") -> Path:
    """A file of these rows, one a line; a row that is text already stands as it is."""
    path = folder / name
    path.write_text("\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows) + "\n", encoding="utf-8")
    return path


def imported(folder: Path, rows: Iterable[Any], name: str = "session.jsonl") -> Imported:
    """The import of a file of these rows."""
    return import_file(written(folder, rows, name))


def only(result: Imported) -> Trace:
    """The one trace of an import."""
    assert len(result.traces) == 1
    return result.traces[0]


def shape(trace: Trace) -> list[tuple[str, ...]]:
    """Role and kinds of blocks of every message."""
    return [(m.role, *(type(b).__name__ for b in m.blocks)) for m in trace.messages]


class ClaudeLines:
    """Writes the lines of a Claude Code session: each line hangs on the one before, a second apart."""

    def __init__(self, session: str = "s1") -> None:
        self.session = session
        self.rows: list[dict[str, Any] | str] = []
        self.last: str | None = None

    def line(self, kind: str, **keys: Any) -> ClaudeLines:
        number = len(self.rows)
        row = {
            "type": kind,
            "uuid": f"{self.session}-u{number}",
            "parentUuid": self.last,
            "sessionId": self.session,
            "timestamp": START.format(number),
            "version": "2.1.7",
            "cwd": "/project",
            "isSidechain": False,
        } | keys
        self.rows.append(row)
        self.last = str(row["uuid"])
        return self

    def raw(self, row: dict[str, Any] | str) -> ClaudeLines:
        self.rows.append(row)
        return self

    def user(self, content: Any, **keys: Any) -> ClaudeLines:
        return self.line("user", message={"role": "user", "content": content}, **keys)

    def result(self, *ids: str, text: str = "done", **keys: Any) -> ClaudeLines:
        blocks = [{"type": "tool_result", "tool_use_id": one, "content": text} for one in ids]
        return self.user(blocks, **({"toolUseResult": {"stdout": "a much longer structured copy"}} | keys))

    def reply(
        self, message: str, *blocks: dict[str, Any], usage: dict[str, Any] | None = None, stop: str | None = None, **keys: Any
    ) -> ClaudeLines:
        body = {
            "id": message,
            "type": "message",
            "role": "assistant",
            "model": keys.pop("model", "claude-opus-4-5"),
            "content": list(blocks),
            "stop_reason": stop,
            "usage": claude_usage() if usage is None else usage,
        }
        return self.line("assistant", message=body, requestId=f"req-{message}", **keys)

    def boundary(self, tokens: int = 150_000, trigger: str = "auto", **meta: Any) -> ClaudeLines:
        keys = {"parentUuid": None, "logicalParentUuid": self.last, "subtype": "compact_boundary"}
        return self.line("system", **keys, compactMetadata={"trigger": trigger, "preTokens": tokens} | meta)

    def summary(self, text: str = "What happened so far.") -> ClaudeLines:
        return self.user(text, isCompactSummary=True, isVisibleInTranscriptOnly=True)


def claude_usage(read: int = 0, write_5m: int = 100, write_1h: int = 0, uncached: int = 3, output: int = 7) -> dict[str, Any]:
    """A usage object as Claude Code records it."""
    return {
        "input_tokens": uncached,
        "cache_read_input_tokens": read,
        "cache_creation_input_tokens": write_5m + write_1h,
        "cache_creation": {"ephemeral_5m_input_tokens": write_5m, "ephemeral_1h_input_tokens": write_1h},
        "output_tokens": output,
        "service_tier": "standard",
    }


def text(value: str) -> dict[str, Any]:
    """A text block."""
    return {"type": "text", "text": value}


def thinking(value: str) -> dict[str, Any]:
    """A thinking block with a redacted signature."""
    return {"type": "thinking", "thinking": value, "signature": "REDACTED"}


def use(name: str, **arguments: Any) -> dict[str, Any]:
    """A tool call of this id."""
    return {"type": "tool_use", "id": name, "name": "Bash", "input": arguments or {"command": "ls"}}

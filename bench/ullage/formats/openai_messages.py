"""OpenAI chat messages: JSON Lines of ``{messages, tools}``, one such object, or a bare list of messages."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, ClassVar

import msgspec

from ullage.errors import TraceError
from ullage.formats import Format, Imported, LineCounts, Source
from ullage.formats._chat import chat_trace
from ullage.formats._lines import LineReader

_ROLES = frozenset({"system", "developer", "user", "assistant", "tool", "function"})


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenaiMessages(Format):
    """Chat-completion conversations; consecutive tool messages become one user message."""

    summary: ClassVar[str] = "OpenAI chat messages: {messages, tools} a line or a file, or a bare list"
    suffixes: ClassVar[tuple[str, ...]] = (".jsonl", ".json")

    def matches(self, source: Source) -> bool:
        """The first object has ``messages`` (or ``trajectory``) with chat roles, or the file is a list of such messages."""
        return _conversation(_first_value(source.head)) is not None

    def read(self, source: Source) -> Imported:
        """Import each conversation as one trace."""
        try:
            value = msgspec.json.decode(source.data.removeprefix(b"\xef\xbb\xbf"))
        except (msgspec.DecodeError, UnicodeDecodeError):
            return self._lines(source)
        rows = [value] if _conversation(value) is not None else (value if isinstance(value, list) else [value])
        traces = [_trace(row, source, n, len(rows)) for n, row in enumerate(rows)]
        found = tuple(trace for trace in traces if trace is not None)
        if not found:
            raise TraceError(str(source), "no conversation", "chat messages with role and content")
        refused = len(rows) - len(found)
        return Imported(path=str(source), format="openai_messages", traces=found, lines=LineCounts(read=len(rows), refused=refused))

    def _lines(self, source: Source) -> Imported:
        reader, traces = LineReader(source), []
        for number, row in reader.objects():
            trace = _trace(row, source, number - 1, 2)
            if trace is None:
                raise TraceError(str(source), f"an object with {_keys(row)}", "an object with chat messages", number)
            traces.append(trace)
        if not traces:
            raise TraceError(str(source), "no conversation", "chat messages with role and content")
        return Imported(
            path=str(source), format="openai_messages", traces=tuple(traces), lines=reader.counts(), problems=tuple(reader.problems)
        )


def _trace(row: Any, source: Source, number: int, of: int) -> Any:
    messages = _conversation(row)
    if messages is None:
        return None
    keys = row if isinstance(row, dict) else {}
    stem = source.path.name.removesuffix(".gz").rsplit(".", 1)[0]
    name = str(keys.get("id") or keys.get("instance_id") or (stem if of == 1 else f"{stem}#{number + 1}"))
    return chat_trace(name, messages, tools=keys.get("tools"), model=str(keys.get("model") or ""), source=source.path.name)


def _conversation(row: Any) -> list[dict[str, Any]] | None:
    """The messages of a conversation object or list, or none when it is something else."""
    if isinstance(row, dict):
        row = row.get("messages") if row.get("messages") is not None else row.get("trajectory")
    if isinstance(row, str):
        try:
            row = json.loads(row)
        except ValueError:
            return None
    if not isinstance(row, list) or not row or not all(isinstance(m, dict) for m in row):
        return None
    known = all(m.get("role") in _ROLES and ("content" in m or "tool_calls" in m) for m in row)
    return row if known else None


def _first_value(head: bytes) -> Any:
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip().decode("utf-8", "replace")
    try:
        return json.JSONDecoder().raw_decode(text)[0]
    except (ValueError, RecursionError):
        return _cut(text)


def _cut(text: str) -> Any:
    """A file whose first value is longer than the head: judge by its first message."""
    for opening in ('"messages"', '"trajectory"'):
        place = text.find(opening)
        if 0 <= place < 4096:
            text = text[text.find("[", place) :]
            break
    if not text.startswith("["):
        return None
    try:
        return [json.JSONDecoder().raw_decode(text[1:].lstrip())[0]]
    except (ValueError, RecursionError):
        return None


def _keys(row: Any) -> str:
    return "keys " + ", ".join(sorted(map(str, row))[:6]) if isinstance(row, dict) else type(row).__name__

"""Files of bare conversations: JSON Lines of ``{messages, …}``, one such object, or a list of messages or of conversations."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from ullage.errors import TraceError
from ullage.formats import Imported, LineCounts, Source
from ullage.formats._lines import LineReader, document, first_value
from ullage.types import Trace

ROLES = frozenset({"system", "developer", "user", "assistant", "tool", "function"})
EXPECTED = "chat messages with role and content"
_ROLE = re.compile(r'\[\s*\{\s*"role"\s*:\s*"(\w+)"\s*,\s*"content"\s*:')
"""How a first message begins that is itself longer than the head."""
Make = Callable[[str, list[dict[str, Any]], dict[str, Any], str], Trace]
"""From a name, the messages, the object that held them and the file's name: a trace."""


def conversation_in(row: Any) -> list[dict[str, Any]] | None:
    """The messages of a conversation object or list, or none when it is something else."""
    if isinstance(row, dict):
        row = row.get("messages") if row.get("messages") is not None else row.get("trajectory")
    if isinstance(row, str):
        try:
            row = json.loads(row)
        except (ValueError, RecursionError):
            return None
    if not isinstance(row, list) or not row or not all(isinstance(m, dict) for m in row):
        return None
    known = all(str(m.get("role")) in ROLES and ("content" in m or "tool_calls" in m) for m in row)
    return row if known else None


def conversation_at_head(head: bytes) -> list[dict[str, Any]] | None:
    """The conversation that a file begins with; of one that is longer than the head, its first message."""
    value = first_value(head)
    if isinstance(value, list) and value and conversation_in(value) is None:
        value = value[0]
    return conversation_in(value) if value is not None else conversation_in(_cut(head))


def read_conversations(source: Source, form: str, make: Make) -> Imported:
    """Import each conversation of a file as one trace; rows of another kind are refused and listed."""
    if _is_lines(source):
        return _read_lines(source, form, make)
    value, repaired = document(source, EXPECTED)
    whole = conversation_in(value) is not None or not isinstance(value, list)
    rows = [value] if whole else value
    traces, problems = [], []
    for number, row in enumerate(rows, 1):
        messages = conversation_in(row)
        if messages is None:
            problems.append(f"{source}: item {number} is {_keys(row)}; refused, expected {EXPECTED}")
            continue
        traces.append(_make(make, row, messages, source, number, alone=len(rows) == 1))
    if not traces:
        raise TraceError(str(source), _keys(rows[0]) if rows else "an empty list", EXPECTED)
    counts = LineCounts(read=len(rows), refused=len(problems), repaired=int(repaired))
    return Imported(path=str(source), format=form, traces=tuple(traces), lines=counts, problems=tuple(problems))


def _is_lines(source: Source) -> bool:
    """Whether the first line is a whole value and another line follows."""
    first, _, rest = source.data.lstrip(b"\xef\xbb\xbf \t\r\n").partition(b"\n")
    return bool(rest.strip()) and isinstance(first_value(first), dict)


def _read_lines(source: Source, form: str, make: Make) -> Imported:
    reader, traces = LineReader(source), []
    for number, row in reader.objects():
        messages = conversation_in(row)
        if messages is None:
            raise TraceError(str(source), _keys(row), f"an object with {EXPECTED}", number)
        traces.append(_make(make, row, messages, source, number, alone=False))
    if not traces:
        raise TraceError(str(source), "no conversation", EXPECTED)
    problems = tuple(reader.problems)
    return Imported(path=str(source), format=form, traces=tuple(traces), lines=reader.counts(), problems=problems)


def _make(make: Make, row: Any, messages: list[dict[str, Any]], source: Source, number: int, *, alone: bool) -> Trace:
    keys = row if isinstance(row, dict) else {}
    stem = source.stem
    name = str(keys.get("id") or keys.get("instance_id") or (stem if alone else f"{stem}#{number}"))
    return make(name, messages, keys, source.path.name)


def _cut(head: bytes) -> Any:
    """Of a first value that is longer than the head: a list of its first message."""
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip().decode("utf-8", "replace")
    places = [place for opening in ('"messages"', '"trajectory"') if 0 <= (place := text.find(opening)) < 4096]
    if places:
        text = text[max(0, text.find("[", min(places))) :]
    if not text.startswith("["):
        return None
    role = _ROLE.match(text)
    return [first_value(text[1:].encode()) or ({"role": role[1], "content": ""} if role else None)]


def _keys(row: Any) -> str:
    return (
        "an object with keys " + ", ".join(sorted(map(str, row))[:6]) if isinstance(row, dict) else f"a JSON {type(row).__name__}"
    )

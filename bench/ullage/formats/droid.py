"""Droid session files: a header, then Anthropic messages, one a line; usage stands in another file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import msgspec

from ullage.errors import TraceError
from ullage.formats import Format, Imported, Source
from ullage.formats._anthropic import blocks_of, milliseconds
from ullage.formats._chat import only_results
from ullage.formats._facts import main_model, provenance_of
from ullage.formats._lines import LineReader, first_objects, object_at
from ullage.types import Call, Message, Trace, TraceMeta


@dataclass(frozen=True, slots=True, kw_only=True)
class Droid(Format):
    """Each assistant message is a call without a bill."""

    summary: ClassVar[str] = "Droid session JSONL"
    suffixes: ClassVar[tuple[str, ...]] = (".jsonl",)

    def matches(self, source: Source) -> bool:
        """The first line starts a session."""
        first = next(first_objects(source.head, 1), {})
        return first.get("type") == "session_start" and "id" in first

    def read(self, source: Source) -> Imported:
        """Import the session."""
        reader = LineReader(source)
        header: dict[str, Any] = {}
        messages: list[Message] = []
        calls: list[Call] = []
        for number, line in reader.objects():
            if line.get("type") == "session_start":
                header = header or line
            elif line.get("type") == "message":
                _take(line, number, messages, calls)
            else:
                reader.opaque += 1
        if not messages:
            raise TraceError(str(source), "no message of a session", "Droid message lines behind a session_start line")
        trace = Trace(
            id=str(header.get("id") or source.path.name),
            messages=tuple(messages),
            calls=tuple(calls),
            meta=TraceMeta(
                format="droid",
                source=source.path.name,
                model=main_model(calls),
                client=f"droid {header.get('version') or ''}".strip(),
                cwd=str(header.get("cwd") or ""),
            ),
            provenance=provenance_of(calls, "none"),
        )
        return Imported(path=str(source), format="droid", traces=(trace,), lines=reader.counts(), problems=tuple(reader.problems))


def _take(line: dict[str, Any], number: int, messages: list[Message], calls: list[Call]) -> None:
    body, at, name = object_at(line, "message"), milliseconds(line.get("timestamp")), str(line.get("id") or f"line-{number}")
    blocks = blocks_of(body.get("content"))
    if body.get("role") == "assistant":
        place = len(messages)
        calls.append(Call(id=name, upto=place, reply=place, at=at, model=str(body.get("model") or ""), output_reliable=False))
        messages.append(Message(id=name, role="assistant", blocks=blocks, at=at))
        return
    message = Message(id=name, role="user", blocks=blocks, at=at)
    last = messages[-1] if messages else None
    if last is not None and only_results(last) and only_results(message):
        messages[-1] = msgspec.structs.replace(last, blocks=last.blocks + blocks)
    else:
        messages.append(msgspec.structs.replace(message, human=bool(message.text) and not only_results(message)))

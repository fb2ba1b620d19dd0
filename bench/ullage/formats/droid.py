"""Droid session files: a header, then Anthropic messages, one a line; usage stands in another file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from ullage.errors import TraceError
from ullage.formats import Format, Imported, Source
from ullage.formats._anthropic import blocks_of, milliseconds
from ullage.formats._facts import main_model
from ullage.formats._lines import LineReader, first_objects, object_at
from ullage.formats._talk import Talk, from_user
from ullage.types import Message, TraceMeta


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
        talk = Talk()
        for number, line in reader.objects():
            if line.get("type") == "session_start":
                header = header or line
            elif line.get("type") == "message":
                _take(line, number, talk)
            else:
                reader.opaque += 1
        if not talk.messages:
            raise TraceError(str(source), "no message of a session", "Droid message lines behind a session_start line")
        meta = TraceMeta(
            format="droid",
            source=source.path.name,
            model=main_model(talk.calls),
            client=f"droid {header.get('version') or ''}".strip(),
            cwd=str(header.get("cwd") or ""),
        )
        trace = talk.finished(str(header.get("id") or source.path.name), meta, "none")
        return Imported(path=str(source), format="droid", traces=(trace,), lines=reader.counts(), problems=tuple(reader.problems))


def _take(line: dict[str, Any], number: int, talk: Talk) -> None:
    body, at, name = object_at(line, "message"), milliseconds(line.get("timestamp")), str(line.get("id") or f"line-{number}")
    blocks = blocks_of(body.get("content"))
    if body.get("role") == "assistant":
        talk.reply(Message(id=name, role="assistant", blocks=blocks, at=at), model=str(body.get("model") or ""))
    else:
        talk.hear(from_user(name, blocks, at=at))

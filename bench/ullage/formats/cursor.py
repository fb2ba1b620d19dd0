"""Cursor agent transcripts: Anthropic blocks by role, one message a line; no ids, times, models or usage."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from ullage.errors import TraceError
from ullage.formats import Format, Imported, Source
from ullage.formats._anthropic import blocks_of
from ullage.formats._facts import unanswered
from ullage.formats._lines import LineReader, first_objects, object_at
from ullage.formats._talk import Talk, from_user
from ullage.types import Message, TraceMeta, canonical_json

_ROLES = ("user", "assistant")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cursor(Format):
    """Each assistant message is a call without a bill; a call without id is named by its place, and so is the result that answers it."""

    summary: ClassVar[str] = "Cursor agent transcript JSONL"
    suffixes: ClassVar[tuple[str, ...]] = (".jsonl",)

    def matches(self, source: Source) -> bool:
        """The first line has a role and a message with content, and nothing that names a line or a session."""
        first = next(first_objects(source.head, 1), {})
        inner = object_at(first, "message")
        return first.get("role") in _ROLES and "content" in inner and "role" not in inner and not {"type", "uuid"} & set(first)

    def read(self, source: Source) -> Imported:
        """Import the transcript; the file names its session."""
        reader, stem = LineReader(source), source.stem
        talk = _Transcript()
        for number, line in reader.objects():
            reader.opaque += not talk.add(number, line)
        if not talk.calls:
            raise TraceError(str(source), "no reply of a model", "Cursor transcript lines: {role, message: {content}}")
        if talk.named:
            reader.note(None, f"{talk.named} tool calls have no id; named by their place; results paired in order")
        for text in unanswered(talk.messages):
            reader.note(None, text)
        trace = talk.finished(stem, TraceMeta(format="cursor", source=source.path.name, client="cursor"), "none")
        problems = tuple(reader.problems)
        return Imported(path=str(source), format="cursor", traces=(trace,), lines=reader.counts(), problems=problems)


@dataclass(slots=True)
class _Transcript(Talk):
    """The messages so far; ``_open`` are the calls of the last reply that came without an id, by their block's place."""

    named: int = 0
    _open: list[str] = field(default_factory=list)

    def add(self, number: int, line: dict[str, Any]) -> bool:
        """Take one line; tells whether it is a message."""
        role, content = line.get("role"), object_at(line, "message").get("content")
        if role not in _ROLES:
            return False
        beyond = {key: value for key, value in line.items() if key not in ("role", "message")}
        beyond |= {key: value for key, value in object_at(line, "message").items() if key != "content"}
        extra, name = canonical_json(beyond) if beyond else "", f"line-{number}"
        if role == "assistant":
            blocks = blocks_of(self._identified(content, number))
            self.reply(Message(id=name, role="assistant", blocks=blocks, extra=extra))
        else:
            self.hear(from_user(name, blocks_of(self._answered(content)), extra=extra))
        return True

    def _identified(self, content: Any, number: int) -> Any:
        self._open = []
        if not isinstance(content, list):
            return content
        made = []
        for place, item in enumerate(content):
            if isinstance(item, dict) and item.get("type") == "tool_use" and not isinstance(item.get("id"), str):
                self.named += 1
                self._open.append(f"line-{number}/call-{place}")
                made.append(item | {"id": self._open[-1]})
            else:
                made.append(item)
        return made

    def _answered(self, content: Any) -> Any:
        """Results answer the open calls in order, whatever id they carry: the calls carry none."""
        if not isinstance(content, list) or not self._open:
            return content
        made = []
        for item in content:
            if isinstance(item, dict) and item.get("type") == "tool_result" and self._open:
                made.append(item | {"tool_use_id": self._open.pop(0)})
            else:
                made.append(item)
        return made

"""Antigravity transcripts: one step a line, typed; tool results follow their calls without an id."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

from ullage.errors import TraceError
from ullage.formats import Format, Imported, Source
from ullage.formats._anthropic import milliseconds
from ullage.formats._chat import Conversation
from ullage.formats._facts import unanswered
from ullage.formats._lines import LineReader, first_objects, objects_at
from ullage.formats._talk import counted
from ullage.types import TraceMeta

_KEYS = frozenset({"step_index", "source", "type", "status", "created_at", "content", "thinking", "tool_calls"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Antigravity(Format):
    """Each planner response is a call without a bill; a result beyond the open calls is text to the model."""

    summary: ClassVar[str] = "Antigravity transcript JSONL"
    suffixes: ClassVar[tuple[str, ...]] = (".jsonl",)

    def matches(self, source: Source) -> bool:
        """The first line is a numbered step with source, type and status."""
        first = next(first_objects(source.head, 1), {})
        return {"step_index", "source", "type", "status"} <= set(first)

    def read(self, source: Source) -> Imported:
        """Import the transcript; the file names its session."""
        reader, stem = LineReader(source), source.stem
        steps = _Steps(Conversation(name=stem))
        for number, step in reader.objects():
            reader.opaque += not steps.add(number, step)
        talk = steps.talk
        if not talk.calls:
            raise TraceError(str(source), "no reply of a model", "Antigravity steps of type PLANNER_RESPONSE")
        for text in (*steps.oddities(), *unanswered(talk.messages)):
            reader.note(None, text)
        meta = TraceMeta(format="antigravity", source=source.path.name, client="antigravity")
        trace = talk.finished(stem, meta, "none")
        problems = tuple(reader.problems)
        return Imported(path=str(source), format="antigravity", traces=(trace,), lines=reader.counts(), problems=problems)


@dataclass(slots=True)
class _Steps:
    """The conversation, with the ids of the calls that have no result yet."""

    talk: Conversation
    named: int = 0
    loose: int = 0
    cut: int = 0
    _open: list[str] = field(default_factory=list)

    def add(self, number: int, step: dict[str, Any]) -> bool:
        """Take one step; tells whether it says anything of the conversation."""
        kind, at, content = step.get("type"), milliseconds(step.get("created_at")), step.get("content")
        beyond = {key: value for key, value in step.items() if key not in _KEYS}
        self.cut += "truncated_fields" in step
        if kind == "PLANNER_RESPONSE":
            self._reply(number, step, beyond, at)
        elif kind == "USER_INPUT":
            self.talk.add({"role": "user", "content": content} | beyond, number, at=at)
        elif kind == "CHECKPOINT":
            self.talk.compacted(at, summary=content if isinstance(content, str) else "")
        elif content is None:
            return False
        elif step.get("source") == "MODEL" and self._open:
            row = {
                "role": "tool",
                "tool_call_id": self._open.pop(0),
                "content": content,
                "is_error": step.get("status") == "ERROR",
            }
            self.talk.add(row | beyond, number, at=at)
        else:
            self.loose += step.get("source") == "MODEL"
            self.talk.add({"role": "user", "content": content} | beyond, number, at=at, human=False)
        return True

    def _reply(self, number: int, step: dict[str, Any], beyond: dict[str, Any], at: int | None) -> None:
        asked = objects_at(step, "tool_calls")
        self._open = [str(one.get("id") or f"{self.talk.name}/{number}/call-{n}") for n, one in enumerate(asked)]
        self.named += sum(not one.get("id") for one in asked)
        calls = [
            {"id": name, "name": one.get("name"), "arguments": one.get("args")}
            for name, one in zip(self._open, asked, strict=True)
        ]
        row = {
            "role": "assistant",
            "content": step.get("content"),
            "tool_calls": calls,
            "reasoning_content": step.get("thinking"),
        }
        self.talk.add(beyond | row, number, at=at)

    def oddities(self) -> Iterator[str]:
        """What a reader should know, one line each."""
        return counted(
            (
                (self.named, "{} tool calls have no id; named by their place, results paired in order"),
                (self.loose, "{} results answer no recorded call; kept as text"),
                (self.cut, "{} steps were cut by the client; the model saw more"),
            )
        )

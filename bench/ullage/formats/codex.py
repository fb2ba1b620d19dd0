"""Codex CLI rollout files: what went over the wire, interface events beside it, and running token totals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ullage.errors import TraceError
from ullage.formats import Format, Imported, Source
from ullage.formats._codex_rollout import Rollout
from ullage.formats._lines import LineReader, first_objects

_LINE_TYPES = frozenset({"session_meta", "turn_context", "response_item", "event_msg", "compacted"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Codex(Format):
    """Messages come from response items alone; a call is counted when the running total changes."""

    summary: ClassVar[str] = "Codex CLI rollout JSONL (0.118 to 0.146)"
    suffixes: ClassVar[tuple[str, ...]] = (".jsonl",)

    def matches(self, source: Source) -> bool:
        """The first lines are of the rollout's own types, each with a payload."""
        return any(
            str(line.get("type")) in _LINE_TYPES and isinstance(line.get("payload"), dict)
            for line in first_objects(source.head, 5)
        )

    def read(self, source: Source) -> Imported:
        """Import the session."""
        reader, rollout = LineReader(source), Rollout()
        strange: dict[str, list[int]] = {}
        for number, line in reader.objects():
            if not rollout.add(line):
                reader.opaque += 1
            if str(line.get("type")) not in _LINE_TYPES:
                strange.setdefault(str(line.get("type")), []).append(number)
        rollout.close()
        if not rollout.messages:
            raise TraceError(str(source), "no message of a session", "Codex response items")
        for name, lines in strange.items():
            reader.note(lines[0], f"found line type {name!r} on {len(lines)} lines; kept out of the conversation")
        for text in rollout.oddities():
            reader.note(None, text)
        trace = rollout.trace(source.path.name)
        return Imported(path=str(source), format="codex", traces=(trace,), lines=reader.counts(), problems=tuple(reader.problems))

"""Kimi Code wire logs: context messages, the events of each step, and usage records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ullage.errors import TraceError
from ullage.formats import Format, Imported, Source
from ullage.formats._kimi_wire import Wire
from ullage.formats._lines import LineReader, first_objects


@dataclass(frozen=True, slots=True, kw_only=True)
class KimiCode(Format):
    """One step is one call; its usage stands at the step's end and again in a usage record, and is counted once."""

    summary: ClassVar[str] = "Kimi Code wire log JSONL (protocol 1.4 and 1.5)"
    suffixes: ClassVar[tuple[str, ...]] = (".jsonl",)

    def matches(self, source: Source) -> bool:
        """The first line is the log's metadata with its protocol version."""
        first = next(first_objects(source.head, 1), {})
        return first.get("type") == "metadata" and "protocol_version" in first

    def read(self, source: Source) -> Imported:
        """Import the session of one agent."""
        reader, wire = LineReader(source), Wire()
        for _, line in reader.objects():
            reader.opaque += not wire.add(line)
        wire.close()
        if not wire.messages:
            raise TraceError(str(source), "no message", "Kimi Code context messages and loop events")
        problems = tuple(reader.problems)
        return Imported(
            path=str(source), format="kimi_code", traces=(wire.trace(source.path.name),), lines=reader.counts(), problems=problems
        )

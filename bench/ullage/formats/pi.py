"""pi session files: one entry a line, one line a call; version 1 is a list, versions 2 and 3 a tree of ids."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from ullage.errors import TraceError
from ullage.formats import Format, Imported, Source
from ullage.formats._lines import LineReader, first_objects
from ullage.formats._pi_session import PiSession

_ASIDE = frozenset({"custom", "label", "session_info", "session_state"})
"""State of extensions, bookmarks and names: no part of the context."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pi(Format):
    """Usage is recorded on each reply; aborted replies without usage are events, not calls."""

    summary: ClassVar[str] = "pi session JSONL (versions 1 to 3)"
    suffixes: ClassVar[tuple[str, ...]] = (".jsonl",)

    def matches(self, source: Source) -> bool:
        """The first line is a session header with an id and a folder."""
        first = next(first_objects(source.head, 1), {})
        return first.get("type") == "session" and "id" in first and "cwd" in first

    def read(self, source: Source) -> Imported:
        """Import the session; the header and every entry count for the index that a compaction keeps from."""
        reader, session = LineReader(source), PiSession()
        strange: dict[str, list[int]] = {}
        for index, (number, entry) in enumerate(reader.objects()):
            if not session.add(index, entry):
                reader.opaque += 1
                if str(entry.get("type")) not in _ASIDE:
                    strange.setdefault(_name(entry), []).append(number)
        if not session.messages:
            raise TraceError(str(source), "no message of a session", "pi session entries behind a session header")
        for name, lines in strange.items():
            reader.note(lines[0], f"found {name} on {len(lines)} lines; kept out of the conversation")
        for text in session.oddities():
            reader.note(None, text)
        trace = session.trace(source.path.name)
        return Imported(path=str(source), format="pi", traces=(trace,), lines=reader.counts(), problems=tuple(reader.problems))


def _name(entry: dict[str, Any]) -> str:
    message = entry.get("message")
    role = message.get("role") if isinstance(message, dict) else None
    return f"entry type {entry.get('type')!r}" + (f" of role {role!r}" if role else "")

"""OpenHands outputs: JSON Lines of runs whose history is a list of events, or of pairs of action and observation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from ullage.errors import TraceError
from ullage.formats import Format, Imported, Source
from ullage.formats._lines import LineReader, first_objects, list_at, object_at
from ullage.formats._openhands_run import Run

_EXPECTED = "OpenHands runs with a history of action and observation events"


@dataclass(frozen=True, slots=True, kw_only=True)
class Openhands(Format):
    """Each reply of the agent is a call; actions that share one model response are one call."""

    summary: ClassVar[str] = "OpenHands output JSONL (histories of events, before the V1 SDK)"
    suffixes: ClassVar[tuple[str, ...]] = (".jsonl",)

    def matches(self, source: Source) -> bool:
        """The first object has a history whose events are actions or observations; of a longer line, its first bytes tell."""
        first = next(first_objects(source.head, 1), None)
        if first is not None:
            return any("action" in event and "args" in event for event in events_of(first))
        head = source.head
        keys = all(key in head for key in (b'"history"', b'"instruction"', b'"action"', b'"args"'))
        return head.lstrip()[:1] == b"{" and keys and b'"trajectory"' not in head[:4096]

    def read(self, source: Source) -> Imported:
        """Import every run with a reply of the agent; the others are refused and named."""
        reader, traces = LineReader(source), []
        for number, row in reader.objects():
            run = Run(name=_name(row, source, number))
            reader.opaque += sum(not run.add(event) for event in events_of(row))
            costs = list_at(row, "metrics", "costs")
            if run.calls:
                traces.append(run.trace(source.path.name, costs))
            else:
                reader.refused += 1
                reader.note(number, f"found an object with keys {', '.join(sorted(row)[:6])}; refused, expected {_EXPECTED}")
        if not traces:
            raise TraceError(str(source), "no reply of an agent", _EXPECTED)
        problems = tuple(reader.problems)
        return Imported(path=str(source), format="openhands", traces=tuple(traces), lines=reader.counts(), problems=problems)


def events_of(row: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The events of a run in order, pairs taken apart."""
    for item in list_at(row, "history"):
        yield from (event for event in (item if isinstance(item, list) else [item]) if isinstance(event, dict))


def _name(row: dict[str, Any], source: Source, line: int) -> str:
    issue = object_at(row, "issue")
    named = row.get("instance_id") or "/".join(str(issue[k]) for k in ("github_owner", "github_repo", "number") if issue.get(k))
    return f"{named or source.path.name}#{line}"

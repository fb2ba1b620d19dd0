"""mini-swe-agent trajectories: chat messages with the provider's raw response beside each reply, or a bare list of messages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from ullage.errors import TraceError
from ullage.formats import Format, Imported, LineCounts, Source
from ullage.formats._anthropic import milliseconds, whole
from ullage.formats._chat import Conversation, leading, text_of
from ullage.formats._chat_files import conversation_at_head
from ullage.formats._facts import main_model
from ullage.formats._lines import document, list_at, object_at
from ullage.formats._usage import completion_usage, names_cache
from ullage.types import Trace, TraceMeta

_EXPECTED = "a mini-swe-agent trajectory: {info, messages, trajectory_format}, or its list of messages"
TAIL_BYTES = 4096
"""The format's name stands behind the messages."""
_KNOWN_EXTRA = frozenset({"response", "raw_output", "timestamp", "actions", "cost"})
"""Copies of what the message itself holds, and what the call holds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MiniSweAgent(Format):
    """Linear runs with one call a reply; the first user message is the task, the others are observations."""

    summary: ClassVar[str] = "mini-swe-agent .traj.json (1.1, and bare lists before it)"
    suffixes: ClassVar[tuple[str, ...]] = (".traj.json",)

    def matches(self, source: Source) -> bool:
        """It names its own format, or is a list of messages under the agent's own file ending."""
        if source.head.lstrip()[:1] == b"{":
            return b'"mini_version"' in source.head or (b'"mini-swe-agent-' in source.data[-TAIL_BYTES:])
        named = source.path.name.removesuffix(".gz").endswith(".traj.json")
        return named and source.head.lstrip()[:1] == b"[" and conversation_at_head(source.head) is not None

    def read(self, source: Source) -> Imported:
        """Import the run."""
        value, repaired = document(source, _EXPECTED)
        rows = value if isinstance(value, list) else list_at(value, "messages")
        rows = [row for row in rows if isinstance(row, dict) and isinstance(row.get("role"), str)]
        if not any(row["role"] == "assistant" for row in rows):
            raise TraceError(str(source), "no reply of a model", _EXPECTED)
        talk = [row for row in rows if row["role"] != "exit"]
        trace = _trace(talk, object_at(value), source)
        counts = LineCounts(read=len(rows), opaque=len(rows) - len(talk), repaired=int(repaired))
        problems = _stated_calls(object_at(value, "info", "model_stats"), trace, source)
        return Imported(path=str(source), format="mini_swe_agent", traces=(trace,), lines=counts, problems=problems)


def _trace(rows: list[dict[str, Any]], whole_file: dict[str, Any], source: Source) -> Trace:
    stem = source.stem.removesuffix(".traj")
    lead, info = leading(rows), object_at(whole_file, "info")
    talk = Conversation(name=str(whole_file.get("instance_id") or stem))
    seen_task = False
    for number, row in enumerate(rows[lead:], lead):
        usage, at, model = _billed(row)
        talk.add(_without_copies(row), number, at=at, usage=usage, model=model, human=not seen_task)
        seen_task = seen_task or row["role"] == "user"
    cached = any(names_cache(object_at(row, "extra", "response", "usage")) for row in rows)
    written = any(call.usage is not None and call.usage.cache_write for call in talk.calls)
    meta = TraceMeta(
        format="mini_swe_agent",
        source=source.path.name,
        model=main_model(talk.calls) or str(object_at(info, "config", "model").get("model_name") or ""),
        client=f"mini-swe-agent {info.get('mini_version') or ''}".strip(),
    )
    system = "\n\n".join(text_of(row.get("content")) for row in rows[:lead])
    return talk.finished(talk.name, meta, "read_write" if written else "read" if cached else "none", system=system)


def _billed(row: dict[str, Any]) -> tuple[Any, int | None, str]:
    """Usage, time and model of a reply, from the provider's raw response."""
    extra = object_at(row, "extra")
    response = object_at(extra, "response")
    at = milliseconds(response.get("created")) or milliseconds(extra.get("timestamp"))
    return completion_usage(response.get("usage")), at, str(response.get("model") or "")


def _without_copies(row: dict[str, Any]) -> dict[str, Any]:
    kept = {
        key: value
        for key, value in object_at(row, "extra").items()
        if key not in _KNOWN_EXTRA and value not in (None, "", {}, [])
    }
    plain = {key: value for key, value in row.items() if key not in ("extra", "provider_specific_fields")}
    return plain | ({"extra": kept} if kept else {})


def _stated_calls(stats: dict[str, Any], trace: Trace, source: Source) -> tuple[str, ...]:
    stated = whole(stats.get("api_calls"))
    if not stated or stated == len(trace.calls):
        return ()
    return (f"{source}: found {len(trace.calls)} replies; the run itself counts {stated} calls",)

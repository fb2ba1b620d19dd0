"""SWE-agent trajectories: the chat in ``history``, steps in ``trajectory``, usage in total only."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, ClassVar

from ullage.errors import TraceError
from ullage.formats import Format, Imported, LineCounts, Source
from ullage.formats._anthropic import whole
from ullage.formats._chat import Conversation, leading, text_of
from ullage.formats._chat_files import conversation_at_head
from ullage.formats._lines import document, list_at, object_at
from ullage.types import Provenance, Trace, TraceMeta, Usage

_EXPECTED = "a SWE-agent trajectory: {trajectory, history, info}"
_KEPT = ("role", "content", "tool_calls", "tool_call_id", "is_demo", "message_type")
"""``thought`` and ``action`` repeat the content."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SweAgent(Format):
    """The history as it grew: what the run's own history processors elided at call time is whole. Demonstrations are no calls."""

    summary: ClassVar[str] = "SWE-agent .traj (text actions and function calls)"
    suffixes: ClassVar[tuple[str, ...]] = (".traj",)

    def matches(self, source: Source) -> bool:
        """An object whose steps have an action, an observation and a response."""
        head = source.head
        steps = all(key in head for key in (b'"trajectory"', b'"observation"', b'"response"', b'"action"'))
        return head.lstrip()[:1] == b"{" and steps and conversation_at_head(head) is None

    def read(self, source: Source) -> Imported:
        """Import the run."""
        value, repaired = document(source, _EXPECTED)
        rows = [row for row in list_at(value, "history") if isinstance(row, dict)]
        if not any(row.get("role") == "assistant" and not row.get("is_demo") for row in rows):
            raise TraceError(str(source), "no reply of a model in its history", _EXPECTED)
        trace = _trace(rows, value, source)
        counts = LineCounts(read=len(rows), repaired=int(repaired))
        stated = whole(object_at(value, "info", "model_stats").get("api_calls"))
        problems = []
        if stated and stated != len(trace.calls):
            problems.append(f"{source}: found {len(trace.calls)} replies; the run itself counts {stated} calls")
        return Imported(path=str(source), format="swe_agent", traces=(trace,), lines=counts, problems=tuple(problems))


def _trace(rows: list[dict[str, Any]], value: dict[str, Any], source: Source) -> Trace:
    name = source.stem
    lead, talk, tasked = leading(rows), Conversation(name=name), False
    for number, row in enumerate(rows[lead:], lead):
        demo = bool(row.get("is_demo"))
        task = row.get("role") == "user" and not demo and not tasked
        talk.add(_plain(row), number, human=task, counted=not demo)
        tasked = tasked or task
    total, text_actions = _total(value), not any(message.tool_use_ids for message in talk.messages)
    system = "\n\n".join(text_of(row.get("content")) for row in rows[:lead])
    return Trace(
        id=name,
        system=system,
        messages=tuple(talk.messages),
        calls=tuple(talk.calls),
        meta=TraceMeta(format="swe_agent", source=source.path.name, model=_model(value), client="swe-agent"),
        provenance=Provenance(
            usage="total" if total else "none", prompt_complete=bool(system) and text_actions, output_reliable=bool(total)
        ),
        total_usage=total,
    )


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    kept = {key: row[key] for key in _KEPT if key in row}
    ids = row.get("tool_call_ids")
    if row.get("role") == "tool" and isinstance(ids, list) and ids:
        kept["tool_call_id"] = ids[0]
    return kept


def _total(value: dict[str, Any]) -> Usage | None:
    stats = object_at(value, "info", "model_stats")
    total = Usage(uncached=whole(stats.get("tokens_sent")), output=whole(stats.get("tokens_received")))
    return total if total.prompt or total.output else None


def _model(value: dict[str, Any]) -> str:
    config = value.get("replay_config")
    if isinstance(config, str):
        try:
            config = json.loads(config)
        except (ValueError, RecursionError):
            config = None
    return str(object_at(config, "agent", "model").get("name") or "")

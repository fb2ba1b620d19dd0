"""One sample of an Inspect log: its main conversation from the messages, calls from the model events."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import msgspec

from ullage.formats._anthropic import milliseconds, whole
from ullage.formats._chat import Conversation, leading, text_of, tool_specs
from ullage.formats._facts import in_order, main_model, model_changes, provenance_of
from ullage.formats._lines import list_at, object_at
from ullage.formats._usage import included_usage
from ullage.types import Provenance, RecordedEvent, Trace, TraceMeta, Usage, canonical_json

_REFERENCES = ("attachment://", "tc://")
"""How a text begins that stands elsewhere in the sample: by its hash in the attachments, in older logs in the transcript."""
_KEPT = ("role", "content", "tool_calls", "tool_call_id")


@dataclass(slots=True, kw_only=True)
class _Thread:
    """Model events with the same opening: one conversation. ``rows`` are all messages that any of its inputs held, in order."""

    rows: list[dict[str, Any]] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    bills: dict[int, dict[str, Any]] = field(default_factory=dict)
    trims: list[RecordedEvent] = field(default_factory=list)
    tools: Any = None
    main: bool = False

    def add(self, event: dict[str, Any], rows: list[dict[str, Any]]) -> None:
        """Take one event: what is new of its input, then its reply."""
        keys = [_key(row) for row in rows]
        known, sent = set(self.keys), set(keys)
        missing = len(known - sent)
        if missing:
            at, detail = milliseconds(event.get("timestamp")), f"{missing} earlier messages not sent"
            self.trims.append(RecordedEvent(kind="context_trimmed", call=len(self.bills), at=at, detail=detail))
        fresh = [row for row, key in zip(rows, keys, strict=True) if key not in known]
        self._extend(fresh)
        self.tools = self.tools or event.get("tools")
        choices = list_at(event, "output", "choices")
        reply = object_at(choices[0], "message") if choices else {}
        if reply:
            self.bills[len(self.rows)] = event
            self._extend([reply | {"role": "assistant"}])

    def close(self, rows: list[dict[str, Any]]) -> None:
        """Add what the sample holds beyond its last call, such as a last result."""
        known = set(self.keys)
        self._extend([row for row in rows if _key(row) not in known])

    def _extend(self, rows: list[dict[str, Any]]) -> None:
        self.rows += rows
        self.keys += [_key(row) for row in rows]


def sample_trace(sample: dict[str, Any], evaluation: dict[str, Any], source: str) -> Trace | None:
    """The trace of a sample; none where it holds no messages."""
    held = object_at(sample, "attachments") | object_at(sample, "transcript", "content")
    sample = _resolved(sample, held)
    rows = [row for row in list_at(sample, "messages") if isinstance(row, dict)]
    threads = _threads(sample)
    main = _main_thread(threads, rows)
    if not rows and main is None:
        return None
    name = f"{evaluation.get('task') or 'task'}-{sample.get('id')}-{sample.get('epoch', 1)}"
    children = tuple(
        _trace(thread, f"{name}/side-{number}", evaluation, source)
        for number, thread in enumerate((one for one in threads if one is not main), 1)
    )
    thread = main or _Thread()
    thread.main = True
    thread.close(rows)
    trace = _trace(thread, name, evaluation, source, children=children, total=_total(sample))
    return trace if trace.messages else None


def _threads(sample: dict[str, Any]) -> list[_Thread]:
    """Model events grouped by how their input opens: the system text and the first message behind it."""
    threads: dict[str, _Thread] = {}
    pool = list_at(sample, "message_pool") or list_at(sample, "events_data", "messages")
    for event in [*list_at(sample, "events"), *list_at(sample, "transcript", "events")]:
        if isinstance(event, dict) and event.get("event") == "model":
            rows = list(_input(event, pool))
            threads.setdefault(_opening(rows), _Thread()).add(event, rows)
    return [thread for thread in threads.values() if thread.bills]


def _input(event: dict[str, Any], pool: list[Any]) -> Iterator[dict[str, Any]]:
    """The messages of one call; newer logs point into a pool instead of repeating them."""
    given = list_at(event, "input")
    for span in list_at(event, "input_refs"):
        if isinstance(span, list) and len(span) == 2:
            given = [*given, *pool[int(span[0]) : int(span[1])]]
    yield from (row for row in given if isinstance(row, dict))


def _opening(rows: list[dict[str, Any]]) -> str:
    lead = leading(rows)
    return canonical_json([text_of(row.get("content")) for row in rows[: lead + 1]])


def _main_thread(threads: list[_Thread], rows: list[dict[str, Any]]) -> _Thread | None:
    """The thread of the sample's own messages; where none opens alike, none."""
    opening = _opening(rows)
    return next((thread for thread in threads if rows and _opening(thread.rows) == opening), None)


def _trace(
    thread: _Thread,
    name: str,
    evaluation: dict[str, Any],
    source: str,
    *,
    children: tuple[Trace, ...] = (),
    total: Usage | None = None,
) -> Trace:
    model = str(evaluation.get("model") or "")
    lead, talk = leading(thread.rows), Conversation(name=name, model=model)
    for place, row in enumerate(thread.rows[lead:], lead):
        event = thread.bills.get(place)
        usage = _usage(event, model) if event is not None else None
        at = milliseconds(event.get("timestamp")) if event is not None else None
        plain = {key: row[key] for key in _KEPT if key in row} | {"is_error": bool(row.get("error"))}
        called = str(event.get("model") or "") if event is not None else ""
        generated = event is not None or (not thread.bills and row.get("source") != "input")
        talk.add(
            plain, place, at=at, usage=usage, model=called, human=thread.main and _by_person(row, thread.rows), counted=generated
        )
    return Trace(
        id=name,
        system="\n\n".join(text_of(row.get("content")) for row in thread.rows[:lead]),
        tools=tool_specs(thread.tools),
        messages=tuple(talk.messages),
        calls=tuple(talk.calls),
        events=in_order([*thread.trims, *model_changes(talk.calls)]),
        children=children,
        meta=TraceMeta(format="inspect", source=source, model=main_model(talk.calls) or model, client="inspect"),
        provenance=_provenance(talk, thread, total),
        total_usage=total,
    )


def _provenance(talk: Conversation, thread: _Thread, total: Usage | None) -> Provenance:
    """A model event holds the whole prompt with its tools; older logs have the sample's total only."""
    found = provenance_of(talk.calls, "read", prompt_complete=bool(thread.bills))
    if found.usage == "none" and total is not None:
        return msgspec.structs.replace(found, usage="total", output_reliable=True)
    return found


def _by_person(row: dict[str, Any], rows: list[dict[str, Any]]) -> bool:
    """The sample's input; where no message says where it comes from, the first user message."""
    if any("source" in one for one in rows):
        return row.get("source") == "input"
    return row is next((one for one in rows if one.get("role") == "user"), None)


def _usage(event: dict[str, Any], model: str) -> Usage | None:
    raw = object_at(event, "output", "usage")
    return model_usage(raw, str(event.get("model") or model)) if "input_tokens" in raw else None


def model_usage(raw: dict[str, Any], model: str) -> Usage:
    """Inspect's own figures: Claude's input excludes cached tokens, the others' input includes them."""
    read, written = whole(raw.get("input_tokens_cache_read")), whole(raw.get("input_tokens_cache_write"))
    prompt, output = whole(raw.get("input_tokens")), whole(raw.get("output_tokens"))
    if "anthropic" in model or "claude" in model:
        return Usage(uncached=prompt, cache_read=read, cache_write_5m=written, output=output)
    return included_usage(prompt, read, output, written)


def _total(sample: dict[str, Any]) -> Usage | None:
    found = [model_usage(raw, name) for name, raw in object_at(sample, "model_usage").items() if isinstance(raw, dict)]
    return sum(found, Usage()) if found else None


def _key(row: dict[str, Any]) -> str:
    """Identity of a message: its id, else its content."""
    return str(
        row.get("id") or canonical_json([row.get("role"), row.get("content"), row.get("tool_calls"), row.get("tool_call_id")])
    )


def _resolved(value: Any, held: dict[str, Any]) -> Any:
    """The value with references replaced by their text; a reference to nothing stays as it is."""
    if isinstance(value, str):
        return held.get(value.partition("://")[2], value) if value.startswith(_REFERENCES) else value
    if isinstance(value, list):
        return [_resolved(item, held) for item in value]
    if isinstance(value, dict):
        return {key: item if key == "attachments" else _resolved(item, held) for key, item in value.items()}
    return value

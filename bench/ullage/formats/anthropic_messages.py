"""Anthropic messages without a wrapper: ``{system, tools, messages}`` a line or a file, or a bare list of messages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import msgspec

from ullage.formats import Format, Imported, Source
from ullage.formats._anthropic import blocks_of, usage_of
from ullage.formats._chat import only_results, text_of, tool_specs
from ullage.formats._chat_files import conversation_at_head, read_conversations
from ullage.formats._facts import main_model, provenance_of
from ullage.types import Call, Message, Trace, TraceMeta, canonical_json

_OWN_BLOCKS = frozenset({"tool_use", "tool_result", "thinking", "redacted_thinking"})
_KEYS = frozenset({"role", "content", "id", "type", "model", "usage"})


@dataclass(frozen=True, slots=True, kw_only=True)
class AnthropicMessages(Format):
    """Messages whose content holds Anthropic blocks; runs of tool results become one user message."""

    summary: ClassVar[str] = "Anthropic messages: {system, tools, messages} a line or a file, or a bare list"
    suffixes: ClassVar[tuple[str, ...]] = (".jsonl", ".json")

    def matches(self, source: Source) -> bool:
        """A conversation of user and assistant messages in which a block of the Anthropic kinds occurs."""
        rows = conversation_at_head(source.head)
        return rows is not None and any(_has_own_block(row.get("content")) for row in rows)

    def read(self, source: Source) -> Imported:
        """Import each conversation as one trace."""
        return read_conversations(source, "anthropic_messages", _trace)


def _has_own_block(content: Any) -> bool:
    return isinstance(content, list) and any(isinstance(item, dict) and str(item.get("type")) in _OWN_BLOCKS for item in content)


def _trace(name: str, rows: list[dict[str, Any]], row: dict[str, Any], source: str) -> Trace:
    messages: list[Message] = []
    calls: list[Call] = []
    for number, item in enumerate(rows):
        message = _message(item, f"{name}/{number}")
        if message.role == "assistant":
            place, usage = len(messages), usage_of(item.get("usage"))
            model, reliable = str(item.get("model") or row.get("model") or ""), usage is not None
            calls.append(Call(id=message.id, upto=place, reply=place, model=model, usage=usage, output_reliable=reliable))
        last = messages[-1] if messages else None
        if last is not None and only_results(last) and only_results(message):
            messages[-1] = msgspec.structs.replace(last, blocks=last.blocks + message.blocks)
        else:
            messages.append(message)
    system, specs = text_of(row.get("system")), tool_specs(row.get("tools"))
    return Trace(
        id=name,
        system=system,
        tools=specs,
        messages=tuple(messages),
        calls=tuple(calls),
        meta=TraceMeta(format="anthropic_messages", source=source, model=main_model(calls)),
        provenance=provenance_of(calls, "read_write", prompt_complete=bool(system) and bool(specs)),
    )


def _message(item: dict[str, Any], name: str) -> Message:
    extra = {key: value for key, value in item.items() if key not in _KEYS and value not in (None, "", [], {})}
    kept = canonical_json(extra) if extra else ""
    role, blocks = item.get("role"), blocks_of(item.get("content"))
    if role in ("system", "developer"):
        return Message(id=name, role="system", blocks=blocks, extra=kept)
    if role == "assistant":
        return Message(id=name, role="assistant", blocks=blocks, extra=kept)
    message = Message(id=name, role="user", blocks=blocks, extra=kept)
    return message if only_results(message) else msgspec.structs.replace(message, human=bool(message.text))

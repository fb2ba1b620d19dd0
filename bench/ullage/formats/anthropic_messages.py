"""Anthropic messages without a wrapper: ``{system, tools, messages}`` a line or a file, or a bare list of messages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from ullage.formats import Format, Imported, Source
from ullage.formats._anthropic import blocks_of, usage_of
from ullage.formats._chat import text_of, tool_specs
from ullage.formats._chat_files import conversation_at_head, read_conversations
from ullage.formats._facts import main_model
from ullage.formats._talk import Talk, from_user
from ullage.types import Message, Trace, TraceMeta, canonical_json

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
    talk = Talk()
    for number, item in enumerate(rows):
        message = _message(item, f"{name}/{number}")
        if message.role == "assistant":
            talk.reply(message, model=str(item.get("model") or row.get("model") or ""), usage=usage_of(item.get("usage")))
        else:
            talk.hear(message)
    meta = TraceMeta(format="anthropic_messages", source=source, model=main_model(talk.calls))
    return talk.finished(name, meta, "read_write", system=text_of(row.get("system")), tools=tool_specs(row.get("tools")))


def _message(item: dict[str, Any], name: str) -> Message:
    extra = {key: value for key, value in item.items() if key not in _KEYS and value not in (None, "", [], {})}
    kept = canonical_json(extra) if extra else ""
    role, blocks = item.get("role"), blocks_of(item.get("content"))
    if role in ("system", "developer"):
        return Message(id=name, role="system", blocks=blocks, extra=kept)
    if role == "assistant":
        return Message(id=name, role="assistant", blocks=blocks, extra=kept)
    return from_user(name, blocks, extra=kept)

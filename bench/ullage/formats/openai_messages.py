"""OpenAI chat messages: JSON Lines of ``{messages, tools}``, one such object, or a bare list of messages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from ullage.formats import Format, Imported, Source
from ullage.formats._chat import chat_trace
from ullage.formats._chat_files import conversation_at_head, read_conversations
from ullage.types import Trace


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenaiMessages(Format):
    """Chat-completion conversations; consecutive tool messages become one user message."""

    summary: ClassVar[str] = "OpenAI chat messages: {messages, tools} a line or a file, or a bare list"
    suffixes: ClassVar[tuple[str, ...]] = (".jsonl", ".json")

    def matches(self, source: Source) -> bool:
        """The first object has ``messages`` (or ``trajectory``) with chat roles, or the file is a list of such messages."""
        return conversation_at_head(source.head) is not None

    def read(self, source: Source) -> Imported:
        """Import each conversation as one trace."""
        return read_conversations(source, "openai_messages", _trace)


def _trace(name: str, messages: list[dict[str, Any]], row: dict[str, Any], source: str) -> Trace:
    return chat_trace(name, messages, tools=row.get("tools"), model=str(row.get("model") or ""), source=source)

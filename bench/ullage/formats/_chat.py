"""Chat-completion messages as nouns: tool messages become results in a user message, system text leaves the history."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ullage.formats._facts import main_model
from ullage.formats._images import image_size
from ullage.formats._lines import objects_at
from ullage.formats._talk import Talk
from ullage.types import (
    Block,
    Image,
    Message,
    Opaque,
    ResultItem,
    Text,
    Thinking,
    ToolResult,
    ToolSpec,
    ToolUse,
    Trace,
    TraceMeta,
    Usage,
    canonical_json,
)

UsageOf = Callable[[dict[str, Any]], tuple[Usage | None, int | None, str]]
"""From a recorded assistant message: its usage, its time in milliseconds and its model, where known."""
_CALL_KEYS = frozenset({"tool_calls", "tool_call_id", "name", "function_call", "is_error"})
_KEYS = _CALL_KEYS | {"role", "content", "reasoning_content", "refusal"}


def chat_trace(
    name: str,
    rows: Sequence[dict[str, Any]],
    *,
    tools: Any = None,
    model: str = "",
    source: str = "",
    form: str = "openai_messages",
    usage_of: UsageOf | None = None,
) -> Trace:
    """One conversation as a trace: each assistant message is a call; the leading system messages are the system prompt."""
    lead = leading(rows)
    system, specs = "\n\n".join(text_of(row.get("content")) for row in rows[:lead]), tool_specs(tools)
    talk = Conversation(name=name, model=model)
    for number, row in enumerate(rows[lead:], lead):
        usage, at, used = usage_of(row) if usage_of and row.get("role") == "assistant" else (None, None, "")
        talk.add(row, number, at=at, usage=usage, model=used)
    meta = TraceMeta(format=form, source=source, model=model or main_model(talk.calls))
    return talk.finished(name, meta, "read", system=system, tools=specs)


def leading(rows: Sequence[dict[str, Any]]) -> int:
    """How many system or developer messages stand in front: the system prompt."""
    return next((n for n, row in enumerate(rows) if row.get("role") not in ("system", "developer")), len(rows))


@dataclass(slots=True, kw_only=True)
class Conversation(Talk):
    """Collects chat messages; pairs results that name no call with the oldest open call, of the same name where one is given."""

    name: str
    model: str = ""
    _open: dict[str, str] = field(default_factory=dict)

    def add(
        self,
        row: dict[str, Any],
        number: int | str,
        *,
        at: int | None = None,
        usage: Usage | None = None,
        model: str = "",
        human: bool = True,
        counted: bool = True,
        extra: str = "",
    ) -> None:
        """Take one message, ``number`` being its place; an assistant message is a call unless it is not ``counted``.

        ``extra`` goes to the call.
        """
        message = self._message(row, f"{self.name}/{number}", at, human=human)
        if message.role == "assistant" and counted:
            self.reply(message, model=model or self.model, usage=usage, extra=extra)
        else:
            self.hear(message)

    def _message(self, row: dict[str, Any], message_id: str, at: int | None, *, human: bool) -> Message:
        role = row.get("role")
        extra = {key: value for key, value in row.items() if key not in _KEYS and value not in (None, "", [], {})}
        kept = canonical_json(extra) if extra else ""
        if role in ("tool", "function"):
            failed = bool(row.get("is_error"))
            result = ToolResult(tool_use_id=self._answered(row), content=items_of(row.get("content")), is_error=failed)
            return Message(id=message_id, role="user", blocks=(result,), at=at, extra=kept)
        if role == "assistant":
            blocks = _assistant_blocks(row, message_id)
            self._open = {block.id: block.name for block in blocks if isinstance(block, ToolUse)}
            return Message(id=message_id, role="assistant", blocks=blocks, at=at, extra=kept)
        items = items_of(row.get("content"))
        if role in ("system", "developer"):
            return Message(id=message_id, role="system", blocks=items, at=at, extra=kept)
        return Message(id=message_id, role="user", blocks=items, at=at, human=human, extra=kept)

    def _answered(self, row: dict[str, Any]) -> str:
        given, name = str(row.get("tool_call_id") or ""), row.get("name")
        if not given:
            fitting = [call for call, called in self._open.items() if not name or called == name]
            given = fitting[0] if fitting else str(name or "")
        self._open.pop(given, None)
        return given


def _assistant_blocks(row: dict[str, Any], message_id: str) -> tuple[Block, ...]:
    blocks: list[Block] = []
    if isinstance(row.get("reasoning_content"), str) and row["reasoning_content"]:
        blocks.append(Thinking(text=row["reasoning_content"]))
    blocks += items_of(row.get("content")) or items_of(row.get("refusal"))
    calls = objects_at(row, "tool_calls")
    old = row.get("function_call")
    for number, call in enumerate([*calls, *([old] if isinstance(old, dict) else [])]):
        function = call["function"] if isinstance(call.get("function"), dict) else call
        blocks.append(
            ToolUse(
                id=str(call.get("id") or f"{message_id}/call-{number}"),
                name=str(function.get("name") or ""),
                arguments=arguments_of(function.get("arguments")),
            )
        )
    return tuple(blocks)


def arguments_of(value: Any) -> str:
    """Arguments as JSON text: a string is kept as the model gave it, anything else is encoded."""
    if isinstance(value, str):
        return value
    return canonical_json(value if value is not None else {})


def items_of(content: Any) -> tuple[ResultItem, ...]:
    """Content parts: text, images, anything else verbatim; null and empty text are nothing."""
    if content is None or content == "":
        return ()
    if isinstance(content, str):
        return (Text(text=content),)
    if not isinstance(content, list):
        return (Opaque(kind="content", data=canonical_json(content)),)
    return tuple(_item(part) for part in content if part not in ("", None))


def _item(part: Any) -> ResultItem:
    if isinstance(part, str):
        return Text(text=part)
    kind = part.get("type") if isinstance(part, dict) else None
    if kind in ("text", "input_text", "output_text") and isinstance(part.get("text"), str):
        return Text(text=part["text"])
    if kind in ("image_url", "input_image", "image"):
        holder = part.get("image_url", part.get("image"))
        return image_at(str((holder.get("url") if isinstance(holder, dict) else holder) or ""))
    return Opaque(kind=str(kind or "unknown"), data=canonical_json(part))


def image_at(url: str) -> Image:
    """An image by its address; a data address gives its bytes and size."""
    if not (url.startswith("data:") and ";base64," in url):
        return Image(url=url)
    media, _, data = url.removeprefix("data:").partition(";base64,")
    width, height = image_size(data)
    return Image(media_type=media, data=data, width=width, height=height)


def text_of(content: Any) -> str:
    """The text parts of a content, joined by a newline."""
    return "\n".join(item.text for item in items_of(content) if isinstance(item, Text))


def tool_specs(tools: Any) -> tuple[ToolSpec, ...]:
    """Tool definitions: a list, or the JSON text of one, in the nested or the flat form."""
    if isinstance(tools, str):
        try:
            tools = json.loads(tools)
        except ValueError:
            return ()
    found = []
    for tool in tools if isinstance(tools, list) else ():
        inner = tool.get("function") if isinstance(tool, dict) and isinstance(tool.get("function"), dict) else tool
        if isinstance(inner, dict) and inner.get("name"):
            schema = canonical_json(inner.get("parameters") or inner.get("input_schema") or {})
            found.append(ToolSpec(name=str(inner["name"]), description=str(inner.get("description") or ""), schema=schema))
    return tuple(found)

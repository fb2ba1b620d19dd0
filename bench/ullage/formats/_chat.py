"""Chat-completion messages as nouns: tool messages become results in a user message, system text leaves the history."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from ullage.formats._anthropic import image_size
from ullage.types import (
    Block,
    Call,
    Image,
    Message,
    Opaque,
    Provenance,
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
_KEYS = frozenset("role content tool_calls tool_call_id name function_call reasoning_content refusal".split())


def chat_trace(
    name: str, rows: Sequence[dict[str, Any]], *, tools: Any = None, model: str = "", source: str = "", form: str = "openai_messages",
    usage_of: UsageOf | None = None,
) -> Trace:
    """One conversation as a trace: each assistant message is a call; the leading system messages are the system prompt."""
    lead = 0
    while lead < len(rows) and rows[lead].get("role") in ("system", "developer"):
        lead += 1
    system = "\n\n".join(text_of(row.get("content")) for row in rows[:lead])
    messages: list[Message] = []
    calls: list[Call] = []
    for number, row in enumerate(rows[lead:], lead):
        usage, at, used = usage_of(row) if usage_of and row.get("role") == "assistant" else (None, None, "")
        message = message_of(row, f"{name}/{number}", at)
        if row.get("role") == "assistant":
            place = len(messages)
            calls.append(Call(id=f"{name}/{number}", upto=place, reply=place, at=at, model=used or model, usage=usage))
        last = messages[-1] if messages else None
        if last is not None and _only_results(message) and _only_results(last):
            messages[-1] = Message(id=last.id, role="user", blocks=last.blocks + message.blocks, at=last.at, extra=last.extra)
        else:
            messages.append(message)
    specs = tool_specs(tools)
    recorded = [call for call in calls if call.usage is not None]
    return Trace(
        id=name,
        system=system,
        tools=specs,
        messages=tuple(messages),
        calls=tuple(calls),
        meta=TraceMeta(format=form, source=source, model=model),
        provenance=Provenance(
            usage="per_call" if recorded and len(recorded) == len(calls) else ("total" if recorded else "none"),
            cache="read" if recorded else "none",
            prompt_complete=bool(system) and bool(specs),
            output_reliable=bool(recorded),
        ),
    )


def message_of(row: dict[str, Any], message_id: str, at: int | None = None) -> Message:
    """One chat message; unknown keys are kept as JSON text."""
    role = row.get("role")
    extra = {key: value for key, value in row.items() if key not in _KEYS and value not in (None, "", [], {})}
    kept = canonical_json(extra) if extra else ""
    if role in ("tool", "function"):
        result = ToolResult(tool_use_id=str(row.get("tool_call_id") or row.get("name") or ""), content=items_of(row.get("content")))
        return Message(id=message_id, role="user", blocks=(result,), at=at, extra=kept)
    if role == "assistant":
        return Message(id=message_id, role="assistant", blocks=_assistant_blocks(row), at=at, extra=kept)
    if role in ("system", "developer"):
        return Message(id=message_id, role="system", blocks=items_of(row.get("content")), at=at, extra=kept)
    return Message(id=message_id, role="user", blocks=items_of(row.get("content")), at=at, human=True, extra=kept)


def _assistant_blocks(row: dict[str, Any]) -> tuple[Block, ...]:
    blocks: list[Block] = []
    if isinstance(row.get("reasoning_content"), str) and row["reasoning_content"]:
        blocks.append(Thinking(text=row["reasoning_content"]))
    blocks += items_of(row.get("content"))
    for number, call in enumerate(row.get("tool_calls") or ()):
        function = call.get("function") if isinstance(call.get("function"), dict) else call
        blocks.append(
            ToolUse(
                id=str(call.get("id") or f"call-{number}"),
                name=str(function.get("name") or ""),
                arguments=arguments_of(function.get("arguments")),
            )
        )
    old = row.get("function_call")
    if isinstance(old, dict):
        blocks.append(ToolUse(id=str(old.get("name") or ""), name=str(old.get("name") or ""), arguments=arguments_of(old.get("arguments"))))
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
    if kind == "image_url":
        holder = part.get("image_url")
        url = str(holder.get("url") if isinstance(holder, dict) else holder or "")
        if url.startswith("data:") and ";base64," in url:
            media, _, data = url.removeprefix("data:").partition(";base64,")
            width, height = image_size(data)
            return Image(media_type=media, data=data, width=width, height=height)
        return Image(url=url)
    return Opaque(kind=str(kind or "unknown"), data=canonical_json(part))


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


def _only_results(message: Message) -> bool:
    return bool(message.blocks) and all(isinstance(block, ToolResult) for block in message.blocks)

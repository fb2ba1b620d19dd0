"""Items of OpenAI's Responses interface, as Codex records them."""

from __future__ import annotations

from typing import Any

from ullage.formats._chat import arguments_of, image_at, items_of
from ullage.formats._lines import objects_at
from ullage.types import Block, Message, Opaque, ResultItem, Text, Thinking, ToolResult, ToolUse, canonical_json

_MESSAGE_KEYS = frozenset({"type", "role", "content", "id"})


def is_result(item: dict[str, Any]) -> bool:
    """Whether an item answers a tool call."""
    return str(item.get("type")).endswith("_output") and "call_id" in item


def is_output(item: dict[str, Any]) -> bool:
    """Whether the model produced the item: reasoning, its own messages and its calls."""
    kind = str(item.get("type"))
    if kind == "message":
        return item.get("role") == "assistant"
    return kind in ("reasoning", "agent_message") or (kind.endswith("_call") and not is_result(item))


def item_blocks(item: dict[str, Any]) -> tuple[Block, ...]:
    """The blocks of one item of the model."""
    kind = str(item.get("type"))
    if kind == "message":
        return items_of(item.get("content"))
    if kind == "reasoning":
        return (_reasoning(item),)
    if isinstance(item.get("call_id"), str):
        return (ToolUse(id=item["call_id"], name=str(item.get("name") or kind), arguments=_arguments(item)),)
    return (Opaque(kind=kind, data=canonical_json(item)),)


def message_of(item: dict[str, Any], name: str, at: int | None) -> Message:
    """A message for an item that the model was given; developer turns are system messages, unknown kinds opaque."""
    if is_result(item):
        return Message(id=name, role="user", blocks=(_result(item),), at=at)
    if item.get("type", "message") != "message" or "content" not in item:
        return Message(id=name, role="user", blocks=(Opaque(kind=str(item.get("type")), data=canonical_json(item)),), at=at)
    extra = {key: value for key, value in item.items() if key not in _MESSAGE_KEYS and value not in (None, "", [], {})}
    kept = canonical_json(extra) if extra else ""
    role = item.get("role")
    if role in ("developer", "system"):
        return Message(id=name, role="system", blocks=_parts(item["content"]), at=at, extra=kept)
    return Message(
        id=name, role="assistant" if role == "assistant" else "user", blocks=_parts(item["content"]), at=at, extra=kept
    )


def _reasoning(item: dict[str, Any]) -> Thinking:
    parts = [*objects_at(item, "summary"), *objects_at(item, "content")]
    texts = [str(part["text"]) for part in parts if part.get("text")]
    return Thinking(text="\n".join(texts), redacted=str(item.get("encrypted_content") or ""))


def _arguments(item: dict[str, Any]) -> str:
    if isinstance(item.get("arguments"), str):
        return str(item["arguments"])
    if "input" in item:
        return canonical_json({"input": item["input"]})
    return arguments_of(item.get("arguments", item.get("action")))


def _result(item: dict[str, Any]) -> ToolResult:
    output = item.get("output")
    failed = isinstance(output, dict) and output.get("success") is False
    if isinstance(output, dict) and "content" in output:
        output = output["content"]
    return ToolResult(tool_use_id=str(item["call_id"]), content=_parts(output), is_error=failed)


def _parts(content: Any) -> tuple[ResultItem, ...]:
    if not isinstance(content, list):
        return items_of(content)
    found: list[ResultItem] = []
    for part in content:
        if isinstance(part, dict) and part.get("type") == "input_image" and isinstance(part.get("image_url"), str):
            found.append(image_at(part["image_url"]))
        elif isinstance(part, str):
            found.append(Text(text=part))
        else:
            found += items_of([part])
    return tuple(found)

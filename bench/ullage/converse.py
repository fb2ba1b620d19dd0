"""Messages in the shape of Bedrock's Converse API, to nouns and back without loss.

A Converse message is ``{"role", "content": [block, …], "tracking_id"?, "metadata"?}``; a block is a dict with one key.
What the nouns have no field for (metadata, unknown keys, keys that are missing) stands in ``Message.extra``; unknown
kinds of blocks, and blocks of several keys, are ``Opaque``. ``metadata.custom.pinned`` is mirrored by ``Message.pinned``.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from ullage.types import Block, Image, Message, Opaque, ResultItem, Text, Thinking, ToolResult, ToolUse

BYTES = "$bytes"
"""Key under which bytes stand as base64 text inside JSON."""
WHOLE = "*"
"""Kind of an opaque block that holds a whole dict with several keys."""
ASIDE = "aside"
"""Key in ``extra``: what the nouns have no field for in tool calls and results, by slot."""
LACKING, ADDED = "lacking", "added"
"""Keys of one slot: names of the usual keys that were not there, and values of unknown ones."""
TOOL_KEYS = {"toolUse": ("toolUseId", "name", "input"), "toolResult": ("toolUseId", "status", "content")}
"""The usual keys of both kinds of tool blocks."""
Aside = Mapping[str, Mapping[str, Any]]


def messages_of(values: Sequence[Mapping[str, Any]]) -> tuple[Message, ...]:
    """Nouns for Converse messages. A message is named by its ``tracking_id``, else, or if that repeats, by its place."""
    seen: set[str] = set()
    made = []
    for at, value in enumerate(values):
        name = value.get("tracking_id")
        if not isinstance(name, str) or not name or name in seen:
            name = f"m{at}"
        seen.add(name)
        made.append(message_of(value, name))
    return tuple(made)


def message_of(value: Mapping[str, Any], message_id: str) -> Message:
    """The noun for one Converse message."""
    blocks = tuple(block_of(block) for block in value["content"])
    extra = {key: item for key, item in value.items() if key not in ("role", "content")}
    aside = _aside_of(value["content"])
    if aside:
        extra[ASIDE] = aside
    metadata = extra.get("metadata")
    custom = metadata.get("custom") if isinstance(metadata, Mapping) else None
    pinned = isinstance(custom, Mapping) and custom.get("pinned") is True
    return Message(id=message_id, role=value["role"], blocks=blocks, pinned=pinned, extra=dumped(extra) if extra else "")


def converse_of(message: Message) -> dict[str, Any]:
    """The Converse message for a noun."""
    extra: dict[str, Any] = loaded(message.extra) if message.extra else {}
    aside: Aside = extra.pop(ASIDE, {})
    content = [
        _with_aside(converse_block(block), aside.get(slot)) for block, slot in zip(message.blocks, slots(message), strict=True)
    ]
    return _with_pin({"role": message.role, "content": content, **extra}, pinned=message.pinned)


def slots(message: Message) -> list[str]:
    """For each block the key of what was put aside of it: kind, number among equal ids, id; empty for other blocks."""
    named = [
        ("toolUse", block.id)
        if isinstance(block, ToolUse)
        else ("toolResult", block.tool_use_id)
        if isinstance(block, ToolResult)
        else None
        for block in message.blocks
    ]
    return _numbered(named)


def put_aside(message: Message) -> dict[str, dict[str, Any]]:
    """What was put aside of a message's tool blocks, by slot."""
    if f'"{ASIDE}": ' not in message.extra:
        return {}
    return dict(loaded(message.extra).get(ASIDE) or {})


def require(message: Message, block: ToolUse | ToolResult, *keys: str) -> None:
    """Read keys of a tool block as the package does; ``KeyError`` for the first one that did not come with it."""
    aside = put_aside(message)
    if aside:
        at = next(at for at, other in enumerate(message.blocks) if other is block)
        lacking = aside.get(slots(message)[at], {}).get(LACKING, ())
        for key in keys:
            if key in lacking:
                raise KeyError(key)


def with_block(message: Message, index: int, block: Block) -> Message:
    """The message with a new block in a place. A new tool block has the usual keys only."""
    blocks = (*message.blocks[:index], block, *message.blocks[index + 1 :])
    aside = put_aside(message)
    if aside.pop(slots(message)[index], None) is not None:
        message = with_aside(message, aside)
    return msgspec.structs.replace(message, blocks=blocks)


def with_aside(message: Message, aside: Mapping[str, Any]) -> Message:
    """The message with this put aside, and nothing else of its tool blocks."""
    extra: dict[str, Any] = loaded(message.extra) if message.extra else {}
    extra.pop(ASIDE, None)
    if aside:
        extra[ASIDE] = aside
    return msgspec.structs.replace(message, extra=dumped(extra) if extra else "")


def block_of(value: Any) -> Block:
    """The noun for one content block. A tool block without an id gets an empty one; what else is odd is opaque."""
    kind, inner = _only(value)
    if kind == "text" and isinstance(inner, str):
        return Text(text=inner)
    if kind == "toolUse" and isinstance(inner, Mapping):
        return ToolUse(id=_text(inner.get("toolUseId")), name=_text(inner.get("name")), arguments=dumped(inner.get("input", {})))
    if kind == "toolResult" and isinstance(inner, Mapping):
        items = inner.get("content")
        content = tuple(item_of(item) for item in items) if isinstance(items, (list, tuple)) else ()
        return ToolResult(tool_use_id=_text(inner.get("toolUseId")), content=content, is_error=inner.get("status") == "error")
    return _thinking_of(inner) if kind == "reasoningContent" else _media_of(kind, inner)


def item_of(value: Any) -> ResultItem:
    """The noun for one item of a tool result; JSON is an opaque item of kind ``json``."""
    kind, inner = _only(value)
    return Text(text=inner) if kind == "text" and isinstance(inner, str) else _media_of(kind, inner)


def converse_block(block: Block) -> dict[str, Any]:
    """The Converse block for a noun, with the usual keys."""
    if isinstance(block, ToolUse):
        return {"toolUse": {"toolUseId": block.id, "name": block.name, "input": loaded(block.arguments)}}
    if isinstance(block, ToolResult):
        status = "error" if block.is_error else "success"
        content = [_converse_item(item) for item in block.content]
        return {"toolResult": {"toolUseId": block.tool_use_id, "status": status, "content": content}}
    if isinstance(block, Thinking):
        return {"reasoningContent": _converse_thinking(block)}
    return _converse_item(block)


def dumped(value: Any) -> str:
    """JSON text that keeps the order of keys and carries bytes as base64."""
    return json.dumps(_plain(value), ensure_ascii=False)


def loaded(text: str) -> Any:
    """The value of ``dumped`` text; text that is not JSON, or nested too deeply to read, is the value itself."""
    try:
        return _restored(json.loads(text))
    except (ValueError, RecursionError):
        return text


def _only(value: Any) -> tuple[str, Any]:
    """Kind and content of a block with one key; anything else is a whole of its own."""
    return next(iter(value.items())) if isinstance(value, Mapping) and len(value) == 1 else (WHOLE, value)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else str(value or "")


def _numbered(named: Iterable[tuple[str, str] | None]) -> list[str]:
    seen: dict[tuple[str, str], int] = {}
    made = []
    for name in named:
        if name is not None:
            seen[name] = seen.get(name, -1) + 1
        made.append("" if name is None else f"{name[0]}/{seen[name]}/{name[1]}")
    return made


def _aside_of(blocks: Sequence[Any]) -> dict[str, dict[str, Any]]:
    """What the nouns have no field for in tool blocks: missing keys, unknown ones, and values of a kind that no field holds."""
    parts = [_only(block) for block in blocks]
    tools = [(kind, inner) if kind in TOOL_KEYS and isinstance(inner, Mapping) else None for kind, inner in parts]
    named = _numbered(tool and (tool[0], _text(tool[1].get("toolUseId"))) for tool in tools)
    made = {}
    for slot, tool in zip(named, tools, strict=True):
        if tool is None:
            continue
        kind, inner = tool
        lacking = [key for key in TOOL_KEYS[kind] if key not in inner]
        added = {key: item for key, item in inner.items() if not _has_field(kind, key, item)}
        if lacking or added:
            made[slot] = {LACKING: lacking, ADDED: added}
    return made


def _has_field(kind: str, key: str, value: Any) -> bool:
    """Tell whether a noun's field holds this value as it is."""
    if key not in TOOL_KEYS[kind]:
        return False
    if key in ("toolUseId", "name"):
        return isinstance(value, str)
    if key == "content":
        return isinstance(value, (list, tuple))
    return key != "status" or value in ("success", "error")


def _with_aside(block: dict[str, Any], aside: Mapping[str, Any] | None) -> dict[str, Any]:
    if not aside:
        return block
    kind, inner = next(iter(block.items()))
    return {kind: {key: item for key, item in inner.items() if key not in aside[LACKING]} | aside[ADDED]}


def _converse_item(item: Block) -> dict[str, Any]:
    if isinstance(item, Text):
        return {"text": item.text}
    if isinstance(item, Image):
        kind = item.media_type.removeprefix("image/")
        source: dict[str, Any] = {"url": item.url} if item.url else {"bytes": base64.b64decode(item.data)}
        return {"image": {"format": kind, "source": source}}
    opaque: Any = item
    if opaque.kind == WHOLE:
        whole: dict[str, Any] = loaded(opaque.data)
        return whole
    return {opaque.kind: loaded(opaque.data) if opaque.data else None}


def _thinking_of(inner: Any) -> Block:
    if isinstance(inner, Mapping):
        text = inner.get("reasoningText")
        if (
            len(inner) == 1
            and isinstance(text, Mapping)
            and isinstance(text.get("text"), str)
            and text.keys() <= {"text", "signature"}
        ):
            signature = text.get("signature", "")
            if "signature" not in text or signature:
                return Thinking(text=text["text"], signature=signature)
        redacted = inner.get("redactedContent")
        if len(inner) == 1 and isinstance(redacted, bytes) and redacted:
            return Thinking(redacted=base64.b64encode(redacted).decode())
    return Opaque(kind="reasoningContent", data=dumped(inner))


def _converse_thinking(block: Thinking) -> dict[str, Any]:
    if block.redacted:
        return {"redactedContent": base64.b64decode(block.redacted)}
    signature = {"signature": block.signature} if block.signature else {}
    return {"reasoningText": {"text": block.text, **signature}}


def _media_of(kind: str, inner: Any) -> Image | Opaque:
    if kind == "image" and isinstance(inner, Mapping) and inner.keys() == {"format", "source"}:
        source = inner["source"]
        if isinstance(source, Mapping) and source.keys() == {"bytes"} and isinstance(source["bytes"], bytes):
            return Image(media_type=f"image/{inner['format']}", data=base64.b64encode(source["bytes"]).decode())
    return Opaque(kind=kind, data=dumped(inner))


def _with_pin(value: dict[str, Any], *, pinned: bool) -> dict[str, Any]:
    """Bring ``metadata.custom.pinned`` in line with the noun, as pinning and unpinning do."""
    metadata = value.get("metadata")
    custom = metadata.get("custom") if isinstance(metadata, dict) else None
    if pinned == (isinstance(custom, dict) and custom.get("pinned") is True):
        return value
    if pinned:
        value["metadata"] = {**(metadata or {}), "custom": {**(custom or {}), "pinned": True}}
        return value
    left = {key: item for key, item in (custom or {}).items() if key != "pinned"}
    rest = {key: item for key, item in (metadata or {}).items() if key != "custom"} | ({"custom": left} if left else {})
    if rest:
        value["metadata"] = rest
    else:
        value.pop("metadata", None)
    return value


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return {BYTES: base64.b64encode(value).decode()}
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, (list, tuple)) else value


def _restored(value: Any) -> Any:
    if isinstance(value, dict):
        if value.keys() == {BYTES}:
            return base64.b64decode(value[BYTES])
        return {key: _restored(item) for key, item in value.items()}
    return [_restored(item) for item in value] if isinstance(value, list) else value

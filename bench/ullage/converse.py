"""Messages in the shape of Bedrock's Converse API, to nouns and back without loss.

A Converse message is ``{"role", "content": [block, …], "tracking_id"?, "metadata"?}``; a block is a dict with one key.
What the nouns have no field for (ids, metadata, unknown keys, a result without status) stands in ``Message.extra``;
unknown kinds of blocks are ``Opaque``. ``metadata.custom.pinned`` is mirrored by ``Message.pinned``.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ullage.types import Block, Image, Message, Opaque, ResultItem, Text, Thinking, ToolResult, ToolUse

BYTES = "$bytes"
"""Key under which bytes stand as base64 text inside JSON."""
WHOLE = "*"
"""Kind of an opaque block that holds a whole dict with several keys."""
NO_STATUS = "results_without_status"
CALL_KEYS, RESULT_KEYS = "call_keys", "result_keys"
"""Keys in ``extra``: unknown keys of tool calls and of results, by tool-use id."""
RESERVED = "converse"
"""Key in ``extra`` that holds the three above."""


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
    kept = _kept(value["content"])
    if kept:
        extra[RESERVED] = kept
    metadata = extra.get("metadata")
    custom = metadata.get("custom") if isinstance(metadata, Mapping) else None
    pinned = isinstance(custom, Mapping) and custom.get("pinned") is True
    return Message(id=message_id, role=value["role"], blocks=blocks, pinned=pinned, extra=dumped(extra) if extra else "")


def converse_of(message: Message) -> dict[str, Any]:
    """The Converse message for a noun."""
    extra: dict[str, Any] = loaded(message.extra) if message.extra else {}
    kept = extra.pop(RESERVED, {})
    value = {"role": message.role, "content": [converse_block(block, kept) for block in message.blocks], **extra}
    return _with_pin(value, pinned=message.pinned)


def block_of(value: Mapping[str, Any]) -> Block:
    """The noun for one content block."""
    if len(value) != 1:
        return Opaque(kind=WHOLE, data=dumped(value))
    kind, inner = next(iter(value.items()))
    if kind == "text" and isinstance(inner, str):
        return Text(text=inner)
    if kind == "toolUse":
        return ToolUse(id=inner["toolUseId"], name=inner["name"], arguments=dumped(inner.get("input", {})))
    if kind == "toolResult":
        content = tuple(item_of(item) for item in inner["content"])
        return ToolResult(tool_use_id=inner["toolUseId"], content=content, is_error=inner.get("status") == "error")
    if kind == "reasoningContent":
        return _thinking_of(inner)
    return _media_of(kind, inner)


def item_of(value: Mapping[str, Any]) -> ResultItem:
    """The noun for one item of a tool result; JSON is an opaque item of kind ``json``."""
    if len(value) != 1:
        return Opaque(kind=WHOLE, data=dumped(value))
    kind, inner = next(iter(value.items()))
    return Text(text=inner) if kind == "text" and isinstance(inner, str) else _media_of(kind, inner)


def converse_block(block: Block, kept: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The Converse block for a noun; ``kept`` are the keys that its message put aside."""
    if isinstance(block, ToolUse):
        keys = (kept or {}).get(CALL_KEYS, {}).get(block.id, {})
        return {"toolUse": {"toolUseId": block.id, "name": block.name, "input": loaded(block.arguments), **keys}}
    if isinstance(block, ToolResult):
        return {"toolResult": _converse_result(block, kept or {})}
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


def _kept(blocks: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Keys of calls and results that the nouns have no field for."""
    kept: dict[str, Any] = {}
    for block in blocks:
        use, result = block.get("toolUse"), block.get("toolResult")
        if len(block) == 1 and use is not None:
            keys = {key: item for key, item in use.items() if key not in ("toolUseId", "name", "input")}
            if keys:
                kept.setdefault(CALL_KEYS, {})[use["toolUseId"]] = keys
        elif len(block) == 1 and result is not None:
            known = ("toolUseId", "content") + (("status",) if result.get("status") in ("success", "error") else ())
            keys = {key: item for key, item in result.items() if key not in known}
            if keys:
                kept.setdefault(RESULT_KEYS, {})[result["toolUseId"]] = keys
            if "status" not in result:
                kept.setdefault(NO_STATUS, []).append(result["toolUseId"])
    return kept


def _converse_result(block: ToolResult, kept: Mapping[str, Any]) -> dict[str, Any]:
    value: dict[str, Any] = {"toolUseId": block.tool_use_id}
    if block.tool_use_id not in kept.get(NO_STATUS, ()):
        value["status"] = "error" if block.is_error else "success"
    value["content"] = [_converse_item(item) for item in block.content]
    return {**value, **kept.get(RESULT_KEYS, {}).get(block.tool_use_id, {})}


def _converse_item(item: Text | Image | Opaque) -> dict[str, Any]:
    if isinstance(item, Text):
        return {"text": item.text}
    if isinstance(item, Image):
        kind = item.media_type.removeprefix("image/")
        source: dict[str, Any] = {"url": item.url} if item.url else {"bytes": base64.b64decode(item.data)}
        return {"image": {"format": kind, "source": source}}
    if item.kind == WHOLE:
        return {**loaded(item.data)}
    return {item.kind: loaded(item.data) if item.data else None}


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

"""Content blocks of the Anthropic Messages API, as nouns. Unknown kinds are kept verbatim."""

from __future__ import annotations

import base64
import binascii
import struct
from datetime import datetime
from typing import Any

from ullage.types import (
    Block,
    Image,
    Opaque,
    ResultItem,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
    Usage,
    canonical_json,
)


def blocks_of(content: Any) -> tuple[Block, ...]:
    """The blocks of a message's ``content``: a text or a list."""
    if isinstance(content, str):
        return (Text(text=content),) if content else ()
    if not isinstance(content, list):
        return () if content is None else (Opaque(kind="content", data=canonical_json(content)),)
    return tuple(block_of(item) for item in content)


def block_of(item: Any) -> Block:
    """One block."""
    if isinstance(item, str):
        return Text(text=item)
    kind = item.get("type") if isinstance(item, dict) else None
    if kind == "text" and isinstance(item.get("text"), str):
        return Text(text=item["text"])
    if kind == "thinking" and isinstance(item.get("thinking"), str):
        return Thinking(text=item["thinking"], signature=str(item.get("signature") or ""))
    if kind == "redacted_thinking":
        return Thinking(redacted=str(item.get("data") or ""))
    if kind == "tool_use" and isinstance(item.get("id"), str):
        arguments = canonical_json(item.get("input") if item.get("input") is not None else {})
        return ToolUse(id=item["id"], name=str(item.get("name") or ""), arguments=arguments)
    if kind == "tool_result" and isinstance(item.get("tool_use_id"), str):
        return ToolResult(
            tool_use_id=item["tool_use_id"], content=result_items(item.get("content")), is_error=bool(item.get("is_error"))
        )
    if kind == "image":
        return image_of(item.get("source") or {})
    return Opaque(kind=str(kind or "unknown"), data=canonical_json(item))


def result_items(content: Any) -> tuple[ResultItem, ...]:
    """The content of a tool result: texts, images, anything else verbatim."""
    found = blocks_of(content)
    return tuple(
        item if isinstance(item, (Text, Image, Opaque)) else Opaque(kind="block", data=canonical_json(item)) for item in found
    )


def image_of(source: dict[str, Any]) -> Image:
    """An image with its size in pixels where the bytes tell."""
    data, media_type = str(source.get("data") or ""), str(source.get("media_type") or "")
    width, height = image_size(data)
    return Image(media_type=media_type, data=data, url=str(source.get("url") or ""), width=width, height=height)


def image_size(data: str) -> tuple[int, int]:
    """Width and height of a base64 PNG in pixels; 0, 0 where the header does not tell."""
    try:
        head = base64.b64decode(data[:64], validate=False)
    except (binascii.Error, ValueError):
        return 0, 0
    if head[:8] != b"\x89PNG\r\n\x1a\n" or len(head) < 24:
        return 0, 0
    width, height = struct.unpack(">II", head[16:24])
    return (width, height) if max(width, height) <= 1 << 16 else (0, 0)


def usage_of(raw: Any) -> Usage | None:
    """Billed usage: ``input_tokens`` excludes what was read and written; none when nothing is recorded."""
    if not isinstance(raw, dict) or "input_tokens" not in raw:
        return None
    written = whole(raw.get("cache_creation_input_tokens"))
    split = raw.get("cache_creation") if isinstance(raw.get("cache_creation"), dict) else {}
    hour = whole(split.get("ephemeral_1h_input_tokens"))
    return Usage(
        uncached=whole(raw.get("input_tokens")),
        cache_read=whole(raw.get("cache_read_input_tokens")),
        cache_write_5m=max(0, written - hour),
        cache_write_1h=min(hour, written) if written else hour,
        output=whole(raw.get("output_tokens")),
    )


def whole(value: Any) -> int:
    """A token count as recorded; anything that is no number counts as 0."""
    return int(value) if isinstance(value, (int, float)) and not isinstance(value, bool) and value > 0 else 0


def milliseconds(stamp: Any) -> int | None:
    """An ISO 8601 time or a number of seconds or milliseconds, as milliseconds since the epoch; none when unreadable."""
    if isinstance(stamp, (int, float)) and not isinstance(stamp, bool):
        return int(stamp if stamp > 1e11 else stamp * 1000)
    if not isinstance(stamp, str):
        return None
    try:
        return round(datetime.fromisoformat(stamp).timestamp() * 1000)
    except ValueError:
        return None

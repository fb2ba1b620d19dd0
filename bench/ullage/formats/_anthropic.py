"""Content blocks of the Anthropic Messages API, as nouns. Unknown kinds are kept verbatim."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from ullage.formats._images import image_size
from ullage.types import Block, Image, Opaque, ResultItem, Text, Thinking, ToolResult, ToolUse, Usage, canonical_json


def blocks_of(content: Any) -> tuple[Block, ...]:
    """The blocks of a message's ``content``: a text or a list."""
    if isinstance(content, str):
        return (Text(text=content),) if content else ()
    if not isinstance(content, list):
        return () if content is None else (Opaque(kind="content", data=canonical_json(content)),)
    return tuple(block_of(item) for item in content)


def block_of(item: Any) -> Block:
    """One block; a known kind whose own fields are missing is kept verbatim too."""
    if isinstance(item, str):
        return Text(text=item)
    kind = item.get("type") if isinstance(item, dict) else None
    make = _MAKERS.get(str(kind))
    made = make(item) if make is not None else None
    return Opaque(kind=str(kind or "unknown"), data=canonical_json(item)) if made is None else made


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


def usage_of(raw: Any) -> Usage | None:
    """Billed usage: ``input_tokens`` excludes what was read and written; none when nothing is recorded."""
    if not isinstance(raw, dict) or "input_tokens" not in raw:
        return None
    written = whole(raw.get("cache_creation_input_tokens"))
    split: dict[str, Any] = raw["cache_creation"] if isinstance(raw.get("cache_creation"), dict) else {}
    hour = whole(split.get("ephemeral_1h_input_tokens"))
    written = written or hour + whole(split.get("ephemeral_5m_input_tokens"))
    return Usage(
        uncached=whole(raw.get("input_tokens")),
        cache_read=whole(raw.get("cache_read_input_tokens")),
        cache_write_5m=max(0, written - hour),
        cache_write_1h=min(hour, written),
        output=whole(raw.get("output_tokens")),
    )


def whole(value: Any) -> int:
    """A token count as recorded; anything that is no finite positive number counts as 0."""
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return int(value) if number and 0 < value < 1 << 53 else 0


def milliseconds(stamp: Any) -> int | None:
    """An ISO 8601 time (UTC unless it says otherwise) or seconds or milliseconds since the epoch, in milliseconds."""
    if isinstance(stamp, (int, float)) and not isinstance(stamp, bool):
        return int(stamp if stamp > 1e11 else stamp * 1000) if 0 <= stamp < 1e15 else None
    if not isinstance(stamp, str):
        return None
    try:
        when = datetime.fromisoformat(stamp)
    except ValueError:
        return None
    return round((when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp() * 1000)


def _text(item: dict[str, Any]) -> Block | None:
    return Text(text=item["text"]) if isinstance(item.get("text"), str) else None


def _thinking(item: dict[str, Any]) -> Block | None:
    if not isinstance(item.get("thinking"), str):
        return None
    return Thinking(text=item["thinking"], signature=str(item.get("signature") or ""))


def _redacted(item: dict[str, Any]) -> Block | None:
    return Thinking(redacted=str(item.get("data") or ""))


def _tool_use(item: dict[str, Any]) -> Block | None:
    if not isinstance(item.get("id"), str):
        return None
    arguments = canonical_json(item.get("input") if item.get("input") is not None else {})
    return ToolUse(id=item["id"], name=str(item.get("name") or ""), arguments=arguments)


def _tool_result(item: dict[str, Any]) -> Block | None:
    if not isinstance(item.get("tool_use_id"), str):
        return None
    content, failed = result_items(item.get("content")), bool(item.get("is_error"))
    return ToolResult(tool_use_id=item["tool_use_id"], content=content, is_error=failed)


def _image(item: dict[str, Any]) -> Block | None:
    return image_of(item["source"]) if isinstance(item.get("source"), dict) else None


_MAKERS: dict[str, Callable[[dict[str, Any]], Block | None]] = {
    "text": _text,
    "thinking": _thinking,
    "redacted_thinking": _redacted,
    "tool_use": _tool_use,
    "tool_result": _tool_result,
    "image": _image,
}

"""Images and documents as the modelled systems see them, whether a noun holds them or an opaque block does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from ullage.converse import loaded
from ullage.types import Block, Image, Opaque


class Media(NamedTuple):
    """An image or document: its format as written (``png``), its name, and its size in bytes (0: no bytes)."""

    kind: str
    format: str
    name: str
    size: int
    data: str

    @property
    def described(self) -> str:
        """Format and size, with the name of a document, as placeholders spell them."""
        name = f", {self.name}" if self.kind == "document" else ""
        return f"{self.kind}: {self.format}{name}, {self.size} bytes"


def media_of(item: Block) -> Media | None:
    """What kind of medium a block is; none for text, JSON, video and everything else."""
    if isinstance(item, Image):
        return Media("image", item.media_type.removeprefix("image/") or "unknown", "", bytes_in(item.data), item.data)
    if not isinstance(item, Opaque) or item.kind not in ("image", "document"):
        return None
    value = loaded(item.data)
    if not isinstance(value, Mapping):
        return None
    source: Any = value.get("source", {})
    content = source.get("bytes", b"") if isinstance(source, Mapping) else b""
    size = len(content) if isinstance(content, (bytes, str)) else 0
    return Media(item.kind, str(value.get("format", "unknown")), str(value.get("name", "unknown")), size, item.data)


def bytes_in(base64_text: str) -> int:
    """How many bytes a base64 text stands for."""
    return len(base64_text.rstrip("=")) * 3 // 4

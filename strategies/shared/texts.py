"""The text of a result item, and the shortened previews that stand for long texts."""

from __future__ import annotations

import json
from typing import Literal

import msgspec

from ullage.converse import loaded
from ullage.strategies.shared.estimators import ceil_div
from ullage.types import Block, Opaque, ResultItem, Text, ToolResult

CHARACTERS_PER_TOKEN = 4
"""The package's rate between a preview's tokens and its characters."""

PreviewMode = Literal["head", "tail", "head_tail"]
HEAD_SHARE: dict[PreviewMode, float] = {"head": 1.0, "tail": 0.0, "head_tail": 0.6}


def is_json(item: Block) -> bool:
    """Tell whether a result item is JSON."""
    return isinstance(item, Opaque) and item.kind == "json"


def item_text(item: ResultItem, indent: int | None = None) -> str | None:
    """The text of a text or JSON item; none for anything else."""
    if isinstance(item, Text):
        return item.text
    return json.dumps(loaded(item.data), indent=indent) if isinstance(item, Opaque) and item.kind == "json" else None


def preview_of(full: str, blocks: int, tokens: int, mode: PreviewMode) -> str:
    """A preview of ``tokens`` × 4 characters under a ``[Truncated: …]`` line; the text itself when that is no longer."""
    size = max(0, tokens) * CHARACTERS_PER_TOKEN
    if len(full) <= size:
        return full
    head = int(size * HEAD_SHARE[mode])
    tail = size - head
    elided = f"[... {len(full) - head - tail:,} chars elided ...]"
    body = "\n\n".join(part for part in (full[:head], elided, full[-tail:] if tail else "") if part)
    word = "block" if blocks == 1 else "blocks"
    made = f"[Truncated: {blocks} {word}, ~{ceil_div(len(full), CHARACTERS_PER_TOKEN):,} tokens]\n\n{body}"
    return full if len(made) >= len(full) else made


def truncated_result(block: ToolResult, tokens: int, mode: PreviewMode) -> ToolResult:
    """A result with its texts and JSON as one preview in front of its other items; the block itself if that is no shorter."""
    texts = [text for text in map(item_text, block.content) if text is not None]
    if not texts:
        return block
    full = "\n".join(texts)
    preview = preview_of(full, len(texts), tokens, mode)
    if preview == full:
        return block
    rest = tuple(item for item in block.content if item_text(item) is None)
    return msgspec.structs.replace(block, content=(Text(text=preview), *rest))

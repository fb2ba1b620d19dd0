"""Texts and results cut short: in the middle, or to a stub; ids, status and other blocks stay."""

from __future__ import annotations

from collections.abc import Callable, Collection

from msgspec.structs import replace

from ullage.types import Block, Message, ResultItem, Text, ToolResult


def middle_cut(text: str, head: int, tail: int, marker: Callable[[int], str]) -> str:
    """The first ``head`` and last ``tail`` characters around ``marker(left out)``; the text itself when it is no longer."""
    out = len(text) - head - tail
    if out <= 0:
        return text
    return text[:head] + marker(out) + (text[-tail:] if tail else "")


def result_text(block: ToolResult) -> str:
    """The texts of a result, one under the other; other items count nothing."""
    return "\n".join(item.text for item in block.content if isinstance(item, Text))


def with_results(message: Message, change: Callable[[ToolResult], Block], ids: Collection[str] | None = None) -> Message:
    """A message with its results changed, or those alone that answer the calls ``ids``."""
    blocks = tuple(
        change(block) if isinstance(block, ToolResult) and (ids is None or block.tool_use_id in ids) else block
        for block in message.blocks
    )
    return message if blocks == message.blocks else replace(message, blocks=blocks)


def stub_of(block: ToolResult, text: str) -> ToolResult:
    """A result with one text as its whole content."""
    content: tuple[ResultItem, ...] = (Text(text=text),)
    return replace(block, content=content)


def with_texts(block: ToolResult, change: Callable[[str], str]) -> ToolResult:
    """A result with each of its texts changed; other items stay."""
    content = tuple(replace(item, text=change(item.text)) if isinstance(item, Text) else item for item in block.content)
    return replace(block, content=content)

"""Messages as plain text for a model to read: roles, calls and results marked, nothing executed."""

from __future__ import annotations

from collections.abc import Sequence

from ullage.types import Block, Image, Message, Text, Thinking, ToolResult, ToolUse


def transcript_text(messages: Sequence[Message]) -> str:
    """One paragraph a block, each under its role."""
    return "\n\n".join(f"[{message.role}] {block_line(block)}" for message in messages for block in message.blocks)


def block_line(block: Block) -> str:
    """One block as text."""
    if isinstance(block, (Text, Thinking)):
        return block.text
    if isinstance(block, ToolUse):
        return f"[call {block.name}] {block.arguments}"
    if isinstance(block, ToolResult):
        inner = "\n".join(block_line(item) for item in block.content)
        return f"[{'error' if block.is_error else 'result'}] {inner}"
    if isinstance(block, Image):
        return f"[image {block.media_type} {block.width}×{block.height}]"
    return f"[{block.kind}] {block.data}"

"""Stubs: what stands in a message whose tool results were cleared."""

from __future__ import annotations

import msgspec

from ullage.types import Block, Message, Rewrite, Text, ToolResult

CLEARED = "[tool result cleared]"
"""The stub of the strategies that have no modelled system behind them. One text for all, so that its bytes never change."""


def stubbed(message: Message, text: str = CLEARED) -> tuple[Block, ...]:
    """The blocks of a message with the content of every tool result replaced by one text; ids and status stay."""
    content = (Text(text=text),)
    return tuple(msgspec.structs.replace(b, content=content) if isinstance(b, ToolResult) else b for b in message.blocks)


def stub(message: Message, text: str = CLEARED) -> Rewrite:
    """The edit that clears the tool results of a message."""
    return Rewrite(id=message.id, blocks=stubbed(message, text))


def result_characters(message: Message) -> int:
    """Characters of text in the tool results of a message; an image or other item counts as ``ITEM_CHARACTERS``."""
    return sum(
        len(item.text) if isinstance(item, Text) else ITEM_CHARACTERS
        for block in message.blocks
        if isinstance(block, ToolResult)
        for item in block.content
    )


ITEM_CHARACTERS = 4 * 1600
"""An image at the cap of Claude's vision guide, 1,600 tokens, at four characters a token."""


def shrinks(message: Message, text: str = CLEARED) -> bool:
    """Tell whether clearing makes a message smaller for certain: a result not twice as long as its stub is left alone."""
    results = sum(1 for block in message.blocks if isinstance(block, ToolResult))
    return result_characters(message) > 2 * results * len(text)

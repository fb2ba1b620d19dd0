"""Token estimators that strategies declare: none is the truth, and each says whose it is.

All give integers. ``characters`` counts the text that an estimator sees in a message: texts, reasoning, tool names,
arguments and results; images and other binary blocks count nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec

from ullage.converse import BYTES, loaded
from ullage.strategy import View
from ullage.types import Block, Message, Opaque, Text, Thinking, ToolResult, ToolSpec, ToolUse

Estimator = Callable[[Message], int]

NON_ASCII_TOKENS_PER_2_CHARACTERS = 3
"""1.5 tokens for each character beyond ASCII: the estimator of Gemini CLI."""


def ceil_div(value: int, by: int) -> int:
    """Integer division that rounds up."""
    return -(-value // by)


def texts_of(block: Block) -> Iterable[str]:
    """The texts in a block that a character estimator counts."""
    if isinstance(block, (Text, Thinking)):
        yield block.text
    elif isinstance(block, ToolUse):
        yield block.name
        yield block.arguments
    elif isinstance(block, ToolResult):
        for item in block.content:
            yield from texts_of(item)
    elif isinstance(block, Opaque) and block.tokens is None:
        yield block.data


def characters(message: Message) -> int:
    """Characters of all counted texts of a message."""
    return sum(len(text) for block in message.blocks for text in texts_of(block))


def chars_over_3(message: Message) -> int:
    """Characters / 3, rounded up: first-generation agents; far too low for Chinese."""
    return ceil_div(characters(message), 3)


def chars_over_4(message: Message) -> int:
    """Characters / 4, rounded up: the common rule of thumb for English."""
    return ceil_div(characters(message), 4)


def cjk_aware(message: Message) -> int:
    """A quarter token for each ASCII character, one and a half for any other: Gemini CLI."""
    total = 0
    for block in message.blocks:
        for text in texts_of(block):
            ascii_count = len(text) if text.isascii() else sum(1 for char in text if char < "\x80")
            total += ascii_count + 2 * NON_ASCII_TOKENS_PER_2_CHARACTERS * (len(text) - ascii_count)
    return ceil_div(total, 4)


def strands_message_tokens(message: Message) -> int:
    """What the model base class of Strands counts in a message: texts / 4, JSON / 2, each rounded up; media nothing."""
    return sum(map(strands_block_tokens, message.blocks))


def strands_block_tokens(block: Block) -> int:
    """``strands_message_tokens`` of one block."""
    if isinstance(block, (Text, Thinking)):
        return ceil_div(len(block.text), 4)
    if isinstance(block, ToolUse):
        return ceil_div(len(block.name), 4) + _json_tokens(block.arguments)
    if isinstance(block, ToolResult):
        return sum(_item_tokens(item) for item in block.content)
    return _opaque_tokens(block) if isinstance(block, Opaque) else 0


def _item_tokens(item: Block) -> int:
    if isinstance(item, Text):
        return ceil_div(len(item.text), 4)
    return _json_tokens(item.data) if isinstance(item, Opaque) and item.kind == "json" else 0


def _opaque_tokens(block: Opaque) -> int:
    """Guarded, cited and reasoned texts count; cache points and media do not."""
    if block.kind not in ("guardContent", "citationsContent", "reasoningContent"):
        return 0
    value = _decoded(block.data)
    if not isinstance(value, dict):
        return 0
    one = {"guardContent": "text", "reasoningContent": "reasoningText"}.get(block.kind)
    parts = [value.get(one)] if one else value.get("content") or ()
    return sum(ceil_div(len(part["text"]), 4) for part in parts if isinstance(part, dict) and isinstance(part.get("text"), str))


def _json_tokens(text: str) -> int:
    """Half a token a character of the value as Python's own writer spells it; nothing for a value that it refuses."""
    return 0 if f'{{"{BYTES}": ' in text else ceil_div(len(json.dumps(_decoded(text))), 2)


def _decoded(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return loaded(text)


def strands_tool_tokens(tools: Iterable[ToolSpec]) -> int:
    """What Strands counts for tool definitions: half a token a character of their JSON."""
    total = 0
    for tool in tools:
        spec = {"name": tool.name, "description": tool.description, "inputSchema": {"json": _decoded(tool.schema)}}
        total += ceil_div(len(json.dumps(spec)), 2)
    return total


def usage_plus_tail(view: View, estimate: Estimator) -> int | None:
    """The last reply's real prompt and output, plus an estimate of what came after it; none before the first reply."""
    if view.usage is None or view.usage_at is None:
        return None
    tail = view.context[view.usage_at :]
    return view.usage.prompt + view.usage.output + sum(map(estimate, tail))


def projected_tokens(view: View, messages: Sequence[Message]) -> int:
    """Strands' projection of the next prompt: the last reply's usage plus the messages after it; else everything counted.

    ``messages`` may be a reduced form of ``view.context``: the usage of the surviving reply is then that of the history
    before the reduction, and the projection stays as high as the package's does.
    """
    if view.usage is not None and view.usage_at:
        reply = view.context[view.usage_at - 1].id
        at = next((i for i in range(len(messages) - 1, -1, -1) if messages[i].id == reply), None)
        if at is not None:
            return view.usage.prompt + view.usage.output + sum(map(strands_message_tokens, messages[at + 1 :]))
    system = ceil_div(len(view.system), 4)
    return system + strands_tool_tokens(view.tools) + sum(map(strands_message_tokens, messages))


def bytes_over_4(message: Message) -> int:
    """Bytes of UTF-8 / 4, rounded up: Codex, Letta."""
    return ceil_div(sum(len(text.encode("utf-8", "replace")) for block in message.blocks for text in texts_of(block)), 4)

"""What a summariser, or the agent's model, is sent: requests in the shape in which the package sends them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from ullage.converse import converse_block, converse_of, loaded
from ullage.strategies.shared.pipeline_messages import status_of
from ullage.strategies.shared.summary import CLOSING_REQUEST
from ullage.strategies.shared.texts import is_json, item_text
from ullage.strategy import SummaryRequest
from ullage.types import Block, Message, Opaque, Text, Thinking, ToolResult, ToolUse

BLANK_TEXT = "[blank text]"
INVALID_TOOL_NAME = "INVALID_TOOL_NAME"
VALID_TOOL_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


def request_of(request: SummaryRequest) -> dict[str, Any]:
    """A summary request as the package would stream it: messages, no tools, a system prompt.

    A classic manager sends the messages themselves, metadata included, and a closing user message; the pipeline one user
    message with the content between marks.
    """
    if request.purpose == "conversation":
        closing = {"role": "user", "content": [{"text": CLOSING_REQUEST}]}
        messages = [*map(converse_of, request.messages), closing]
    else:
        content = flattened(request.messages) if request.purpose == "content" else _block_content(request.messages[0])
        messages = [{"role": "user", "content": [{"text": "<content>"}, *content, {"text": "</content>"}]}]
    return {"messages": messages, "tool_specs": None, "system_prompt": request.instructions}


def flattened(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """Messages as one list of blocks under role marks; calls and labels of results become text, reasoning is left out."""
    blocks: list[dict[str, Any]] = []
    for message in messages:
        content = [shown for block in message.blocks for shown in _shown(message, block, messages)]
        if content:
            blocks += [{"text": f"\n---\n[{message.role}]"}, *content]
    return blocks


def _block_content(message: Message) -> list[dict[str, Any]]:
    block = message.blocks[0]
    return list(_items(block)) if isinstance(block, ToolResult) else [converse_block(block)]


def _shown(message: Message, block: Block, messages: Sequence[Message]) -> Iterable[dict[str, Any]]:
    if isinstance(block, ToolResult):
        name = next(
            (b.name for m in reversed(messages) for b in m.blocks if isinstance(b, ToolUse) and b.id == block.tool_use_id), ""
        )
        label = f"tool result: {name}" if name else "tool result"
        return [{"text": f"[{label}{' (error)' if status_of(message, block) == 'error' else ''}]"}, *_items(block)]
    if isinstance(block, ToolUse):
        arguments = json.dumps(loaded(block.arguments), separators=(",", ":"), ensure_ascii=False)
        return [{"text": f"[tool call: {block.name}] {arguments}"}]
    return _accepted(block)


def _items(block: ToolResult) -> Iterable[dict[str, Any]]:
    for item in block.content:
        if is_json(item):
            yield {"text": item_text(item, indent=2)}
        else:
            yield from _accepted(item)


def _accepted(block: Block) -> list[dict[str, Any]]:
    """What a summariser accepts in a user turn: text and media; cited and guarded text unwrapped; the rest named or left out."""
    if isinstance(block, (Thinking, ToolUse, ToolResult)):
        return []
    if not isinstance(block, Opaque) or block.kind in ("image", "document"):
        return [converse_block(block)]
    if block.kind in ("video", "audio"):
        return [{"text": f"[{block.kind} omitted]"}]
    value = loaded(block.data) if block.data else None
    if block.kind == "citationsContent" and isinstance(value, Mapping):
        return [{"text": part["text"]} for part in value.get("content", [])]
    if block.kind == "guardContent" and isinstance(value, Mapping):
        return [{"text": value["text"]["text"]}]
    return []


def normalized_for_request(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Messages as an agent's request carries them; the stored ones stay as they are.

    In assistant messages an empty content or a blank text becomes ``[blank text]``, a blank text beside a call goes, and a
    tool name that providers refuse is replaced. Requests for summaries are not normalised.
    """
    return tuple(_normalized(message) if message.role == "assistant" else message for message in messages)


def _normalized(message: Message) -> Message:
    calls = any(isinstance(block, ToolUse) for block in message.blocks)
    blocks: list[Block] = []
    for block in message.blocks:
        if isinstance(block, Text) and not block.text.strip():
            if not calls:
                blocks.append(Text(text=BLANK_TEXT))
        elif isinstance(block, ToolUse) and not VALID_TOOL_NAME.fullmatch(block.name):
            blocks.append(msgspec.structs.replace(block, name=INVALID_TOOL_NAME))
        else:
            blocks.append(block)
    return msgspec.structs.replace(message, blocks=tuple(blocks) or (Text(text=BLANK_TEXT),))

"""What a message is made of, asked of nouns and of Converse dicts alike.

The rules that keep a history legal look only at roles and at the kinds of blocks. They are asked of ``Message`` values
in a replay and of plain dicts by people who hold recorded Converse messages, so both answer the same questions here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from ullage.types import Message, Text, ToolResult, ToolUse

AnyMessage = Message | Mapping[str, Any]
"""A noun, or a dict in the shape of Bedrock's Converse API."""
AnyMessages = Sequence[Message] | Sequence[Mapping[str, Any]]

MessageType = Literal["tools", "messages", "all"]


def role_of(message: AnyMessage) -> str:
    """The role of a message."""
    return message.role if isinstance(message, Message) else str(message["role"])


def has_tool_use(message: AnyMessage) -> bool:
    """Tell whether a message calls a tool."""
    if isinstance(message, Message):
        return any(isinstance(block, ToolUse) for block in message.blocks)
    return any("toolUse" in block for block in message["content"])


def has_tool_result(message: AnyMessage) -> bool:
    """Tell whether a message answers a tool call."""
    if isinstance(message, Message):
        return any(isinstance(block, ToolResult) for block in message.blocks)
    return any("toolResult" in block for block in message["content"])


def has_text(message: AnyMessage) -> bool:
    """Tell whether a message holds a text block."""
    if isinstance(message, Message):
        return any(isinstance(block, Text) for block in message.blocks)
    return any("text" in block for block in message["content"])


def tool_ids(message: AnyMessage) -> frozenset[str]:
    """Ids of the tool calls that a message makes or answers; an empty id is none."""
    if isinstance(message, Message):
        return frozenset(message.tool_use_ids + message.tool_result_ids) - {""}
    blocks = [block.get("toolUse", block.get("toolResult")) for block in message.get("content", ())]
    return frozenset(block["toolUseId"] for block in blocks if block is not None and block.get("toolUseId"))


def matches_message_type(message: AnyMessage, message_type: MessageType) -> bool:
    """Tell whether a filter selects a message: ``tools`` those with tool blocks, ``messages`` those without, ``all`` any.

    Any other word selects none.
    """
    if message_type == "all":
        return True
    tools = has_tool_use(message) or has_tool_result(message)
    return tools if message_type == "tools" else message_type == "messages" and not tools

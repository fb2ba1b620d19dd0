"""Strands' stash: every text, medium and result item goes to the store as it arrives, under a reference that can be computed."""

from __future__ import annotations

import base64
import json
from typing import Any

from ullage.converse import converse_block, require
from ullage.strategies.shared.retrieval import RETRIEVE_CONTEXT
from ullage.strategies.shared.work import Work
from ullage.types import Block, Message, Opaque, Thinking, ToolResult, ToolUse

RETRIEVALS = "retrievals"
"""Key of the own state: ids of calls of the retrieval tool."""


def references(work: Work, message: Message, index: int) -> tuple[str, ...]:
    """The references of a block: one for each item of a result, else one."""
    block = message.blocks[index]
    if isinstance(block, ToolResult):
        return tuple(f"{block.tool_use_id}_{at}" for at in range(len(block.content)))
    return (f"{work.tracking_id(message)}_{index}",)


def spelled(refs: tuple[str, ...]) -> str:
    """References as they stand in a placeholder, with a blank in front; empty when there are none."""
    if not refs:
        return ""
    return f" [ref: {refs[0]}]" if len(refs) == 1 else f" [refs: {', '.join(refs)}]"


def store_message(work: Work, message: Message, *, keep_existing: bool = False) -> None:
    """Put what a message holds into the store; calls, reasoning and cache points are left out.

    So are answers of the retrieval tool, but only to calls that were seen when they were added. ``KeyError`` for a result
    without id or content, after what stood before it was stored.
    """
    for index, block in enumerate(message.blocks):
        if isinstance(block, (ToolUse, Thinking)) or (
            isinstance(block, Opaque) and block.kind in ("reasoningContent", "cachePoint")
        ):
            continue
        if isinstance(block, ToolResult):
            known = work.own.get(RETRIEVALS, ())
            require(message, block, *(("toolUseId",) if known or block.content else ()), "content")
            if block.tool_use_id in known:
                continue
            for ref, item in zip(references(work, message, index), block.content, strict=True):
                work.stash(ref, encoded(item), keep_existing=keep_existing)
        else:
            work.stash(references(work, message, index)[0], encoded(block), keep_existing=keep_existing)


def note_retrievals(work: Work, message: Message) -> None:
    """Remember the calls of the retrieval tool in a message that has just been added."""
    calls = [b.id for b in message.blocks if isinstance(b, ToolUse) and b.name == RETRIEVE_CONTEXT.name]
    if calls and message.role == "assistant":
        work.own[RETRIEVALS] = [*work.own.get(RETRIEVALS, ()), *calls]


def is_retrieval(work: Work, block: ToolResult) -> bool:
    """Tell whether a result answers the retrieval tool: such a result is not shortened."""
    return work.tool_name(block.tool_use_id) == RETRIEVE_CONTEXT.name


def encoded(block: Block) -> str:
    """A block as the package stores it: its JSON, with bytes as base64 text."""
    return json.dumps(_with_text_bytes(converse_block(block)))


def _with_text_bytes(value: Any) -> Any:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, dict):
        return {key: _with_text_bytes(item) for key, item in value.items()}
    return [_with_text_bytes(item) for item in value] if isinstance(value, list) else value

"""Resuming a session: what a new agent holds after the process that compacted has gone.

The package keeps the message log, and of the manager only its class, a count of removed messages and the summary. It
reads the log from that count on and puts the summary in front. So a count that a failed summary had already raised, or
that pinned messages had put out of step, loses messages; flags such as *pin_first was applied* are forgotten.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from ullage.converse import put_aside, require, slots, with_aside
from ullage.strategies.shared.profiles import Profile
from ullage.strategies.shared.shape import has_tool_result, has_tool_use
from ullage.strategies.shared.work import Work
from ullage.types import Block, Message, Text, ToolResult, ToolUse

INTERRUPTED = "Tool was interrupted."
"""What stands for the result of a call that was never answered: a marker that the package puts into the history."""


def restore_messages(work: Work, profile: Profile) -> None:
    """Replace the history by the stored one from the removed count on, with the summary in front, and mend its tool pairs."""
    stored = list(work.view.transcript)
    offset = int(work.state.get("removed_message_count") or 0)
    summary = work.state.get("summary_message")
    front = [msgspec.convert(summary, Message)] if isinstance(summary, Mapping) else []
    work.own.clear()
    work.messages[:] = mended([*front, *stored[offset:]], profile)
    work.acted("restore", f"session resumed from stored message {offset}")


def check_class(state: Any, expected: str) -> None:
    """Refuse the state of another manager, as the package does."""
    if isinstance(state, Mapping) and state.get("__name__", expected) != expected:
        raise ValueError(f"found the state of {state['__name__']}; expected that of {expected}")


def mended(messages: list[Message], profile: Profile) -> list[Message]:
    """Give every call but those of the last message exactly one result, and remove results that answer no call before them."""
    kept = _without_orphans(messages, profile)
    last = len(kept) - 1
    for at in range(last - 1, -1, -1):
        if has_tool_use(kept[at]):
            _answer(kept, at)
    return kept


def _without_orphans(messages: list[Message], profile: Profile) -> list[Message]:
    """At 1.54 only a leading message with results goes, whole; at 1.62 all results without a call in the message before."""
    if profile == "1.54":
        leading = bool(messages) and messages[0].role == "user" and has_tool_result(messages[0])
        return messages[1:] if leading else list(messages)
    kept = list(messages)
    for at in range(len(kept) - 1, -1, -1):
        message = kept[at]
        if message.role != "user" or not has_tool_result(message) or (at > 0 and has_tool_use(kept[at - 1])):
            continue
        rest = tuple(block for block in message.blocks if not isinstance(block, ToolResult))
        kept[at : at + 1] = [msgspec.structs.replace(message, blocks=rest)] if rest else []
    return kept


def _answer(messages: list[Message], at: int) -> None:
    """Rebuild the results that follow a call: one for each of its ids, in its order. ``KeyError`` where an id is missing."""
    for message in messages[at : at + 2]:
        for block in message.blocks:
            if isinstance(block, ToolUse if message is messages[at] else ToolResult):
                require(message, block, "toolUseId")
    ids = messages[at].tool_use_ids
    following = messages[at + 1]
    results = {block.tool_use_id: block for block in following.blocks if isinstance(block, ToolResult)}
    others = tuple(block for block in following.blocks if not isinstance(block, ToolResult))
    if set(results) == set(ids):
        return
    answers: tuple[Block, ...] = tuple(results.get(i) or _interrupted(i) for i in ids)
    if not results and others:
        name = f"{messages[at].id}-interrupted"
        messages.insert(at + 1, Message(id=name, role="user", blocks=answers, synthetic=True))
    else:
        messages[at + 1] = _rebuilt(following, answers + others)


def _rebuilt(message: Message, blocks: tuple[Block, ...]) -> Message:
    """The message with other blocks; each block that it had before keeps what was put aside of it."""
    aside = put_aside(message)
    made = msgspec.structs.replace(message, blocks=blocks)
    if not aside:
        return made
    held = {id(block): aside[slot] for block, slot in zip(message.blocks, slots(message), strict=True) if slot in aside}
    kept = {slot: held[id(block)] for block, slot in zip(blocks, slots(made), strict=True) if id(block) in held}
    return with_aside(made, kept)


def _interrupted(tool_use_id: str) -> ToolResult:
    return ToolResult(tool_use_id=tool_use_id, content=(Text(text=INTERRUPTED),), is_error=True)

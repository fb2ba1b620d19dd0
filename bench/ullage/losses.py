"""Which edit took a fact away: the compaction, what it did to the message, and what stands there now."""

from __future__ import annotations

from dataclasses import dataclass

from ullage.records import EVIDENCE_CHARACTERS, RunRecord
from ullage.scored import Scored
from ullage.types import Block, Compaction, Drop, Edit, Erase, Insert, Rewrite, Stash, Text, ToolResult, ToolUse


@dataclass(frozen=True, slots=True, kw_only=True)
class Removal:
    """The end of a fact. ``action`` is one clause, ``instead`` what stands in its place (empty: nothing does)."""

    compaction: int
    call: int
    moment: str
    tier: str
    reason: str
    message: str
    action: str
    instead: str
    tokens_before: int
    tokens_after: int


def removal_of(record: RunRecord, item: Scored) -> Removal | None:
    """What removed the evidence of a question; none while it is there, or when no edit can be named."""
    if item.survives is not False or item.exam.dead:
        return None
    loss = next((loss for loss in record.losses if loss.probe == item.asked.probe.id), None)
    number = item.lost_to if item.lost_to is not None else loss.compaction if loss is not None else None
    if number is None or number >= len(record.compactions):
        return None
    event = record.compactions[number]
    named = loss if loss is not None and loss.compaction == number else None
    messages = [named.message] if named and named.message else [evidence.message for evidence in item.asked.evidence]
    edit = event.edits[named.edit] if named is not None and named.edit is not None and named.edit < len(event.edits) else None
    return _removal(number, event, edit or touching(event, messages), messages[0] if messages else "")


def touching(event: Compaction, messages: list[str]) -> Edit | None:
    """The first edit of an event that drops, rewrites or erases one of these messages."""
    for edit in event.edits:
        ids = edit.ids if isinstance(edit, Drop) else (edit.id,) if isinstance(edit, (Rewrite, Erase)) else ()
        if any(message in ids for message in messages):
            return edit
    return None


def _removal(number: int, event: Compaction, edit: Edit | None, message: str) -> Removal:
    action, instead = _described(event, edit, message)
    if edit is not None and any(isinstance(other, Stash) for other in event.edits):
        action += "; the decision put content into the store"
    return Removal(
        compaction=number,
        call=event.call,
        moment=event.moment.value,
        tier=event.tier,
        reason=event.reason,
        message=message,
        action=action,
        instead=instead[:EVIDENCE_CHARACTERS],
        tokens_before=event.tokens_before,
        tokens_after=event.tokens_after,
    )


def _described(event: Compaction, edit: Edit | None, message: str) -> tuple[str, str]:
    if isinstance(edit, Rewrite):
        return "its content was rewritten", blocks_text(edit.blocks)
    if isinstance(edit, Erase):
        return "the server erased it", ""
    if isinstance(edit, Drop):
        heir = next((e.message for e in event.edits if isinstance(e, Insert) and message in e.sources), None)
        others = len(edit.ids) - 1
        company = f" with {others:,} other message{'s' if others != 1 else ''}" if others else ""
        if heir is not None:
            return f"dropped{company}, a summary put in its place", blocks_text(heir.blocks)
        return f"dropped{company}", ""
    return "an edit to what stood in for it", ""


def blocks_text(blocks: tuple[Block, ...]) -> str:
    """The readable text of blocks: texts, arguments of tool calls and texts of results."""
    parts = []
    for block in blocks:
        if isinstance(block, Text):
            parts.append(block.text)
        elif isinstance(block, ToolUse):
            parts.append(block.arguments)
        elif isinstance(block, ToolResult):
            parts += [item.text for item in block.content if isinstance(item, Text)]
    return "\n".join(parts)

"""Responses refuses a reasoning item without the item that followed it, and that item without its reasoning."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

from ullage.invariants._scan import Finding, Scene, TurnRule
from ullage.invariants._turns import ASSISTANT, OTHER, THINKING, USE
from ullage.types import Block, Message, Thinking, ToolUse

ALONE = "reasoning without the item that followed it"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReasoningPair(TurnRule):
    """Reasoning is followed by an item of its message, and an item that was recorded behind reasoning keeps it."""

    summary: ClassVar[str] = "reasoning and the item behind it stay together"
    rule: ClassVar[str] = "R03"
    scope: ClassVar[str] = "responses"
    source: ClassVar[str] = (
        "Responses API error: item of type reasoning was provided without its required following item, and the reverse (general knowledge)"
    )

    def concerns(self, bits: int) -> bool:
        """An assistant turn with content."""
        return bool(bits & ASSISTANT and bits & (THINKING | USE | OTHER))

    def look(self, scene: Scene, at: int, *, last: bool) -> Iterable[Finding]:  # noqa: ARG002 - the signature of all rules
        """One finding at each message that ends on reasoning, or whose first item behind reasoning has lost it."""
        turn, found = scene.turns[at], []
        for message in turn.messages if scene.past.thinks else ():
            recorded = scene.past.message(message.id)
            if recorded is not None and recorded.blocks != message.blocks and (parted := _parted(message, recorded)):
                found.append(Finding(message.id, parted))
        end = turn.messages[-1].id
        if turn.ends_thinking and all(one.message != end for one in found):
            found.append(Finding(end, ALONE))
        return found


def _parted(message: Message, recorded: Message) -> str:
    """What is missing of the first pair of reasoning and item that was recorded and is parted now; empty if none is."""
    blocks = message.blocks
    for thought, item in pairwise(recorded.blocks):
        if not isinstance(thought, Thinking) or isinstance(item, Thinking):
            continue
        if thought in blocks:
            after = blocks.index(thought) + 1
            if after == len(blocks) or isinstance(blocks[after], Thinking):
                return ALONE
        elif any(_same(item, block) for block in blocks):
            return "an item without the reasoning that it was recorded with"
    return ""


def _same(item: Block, block: Block) -> bool:
    """A call is known by its id, whatever was cleared in it."""
    return item.id == block.id if isinstance(item, ToolUse) and isinstance(block, ToolUse) else item == block

"""Move large tool results out of the history as they arrive: Strands' ContextOffloader.

Each item of a result above the limit goes to the store under its own reference; one text with a head preview and the
references stays. References count up in one session, so that the text is the same in every run.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import msgspec

from ullage.converse import require, with_block
from ullage.strategies.shared.estimators import strands_block_tokens
from ullage.strategies.shared.media import media_of
from ullage.strategies.shared.profiles import Profile
from ullage.strategies.shared.retrieval import RETRIEVE_OFFLOADED, arguments_for, retrieve_offloaded
from ullage.strategies.shared.texts import CHARACTERS_PER_TOKEN, item_text
from ullage.strategy import UNCHANGED, Retrieved, StoreReader, ToolRequest
from ullage.types import Block, Decision, Edit, Message, ResultItem, Rewrite, Stash, Text, ToolResult

GUIDANCE = (
    "This result was too large for the conversation and is kept outside of it.\n"
    "Read the preview first.\n"
    "For more, call retrieve_offloaded_content with a reference and one of:\n"
    "  - pattern: a word or regular expression; gives matching lines with their surroundings\n"
    "  - line_range: { start, end }; gives those lines\n"
    "Leave both out only when everything is needed."
)
"""Our words; the package's say the same."""


class Item(NamedTuple):
    """One stored item of a result: its reference and how the list of references describes it."""

    ref: str
    description: str
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Offloading:
    """Limits of an offloader: results above ``max_result_tokens`` leave a preview of ``preview_tokens``."""

    max_result_tokens: int
    preview_tokens: int
    evict_after_cycles: int | None
    profile: Profile = "1.62"

    def __post_init__(self) -> None:
        if self.max_result_tokens <= 0:
            raise ValueError(f"found max_result_tokens={self.max_result_tokens}; expected at least 1")
        if not 0 <= self.preview_tokens < self.max_result_tokens:
            raise ValueError(f"found preview_tokens={self.preview_tokens}; expected 0 <= preview_tokens < max_result_tokens")
        if self.evict_after_cycles is not None and self.evict_after_cycles < 1:
            raise ValueError(f"found evict_after_cycles={self.evict_after_cycles}; expected at least 1, or None")

    def oversized(self, block: Block) -> bool:
        """Tell whether a block is a tool result above the limit; images count nothing."""
        return isinstance(block, ToolResult) and strands_block_tokens(block) > self.max_result_tokens

    def offload(self, message: Message, state: dict[str, Any], cycle: int) -> Offloaded | None:
        """Replace the oversized results of a message that has just arrived; none when there are none."""
        if not any(map(self.oversized, message.blocks)):
            return None
        stored: dict[str, int] = dict(state.get("stored") or {})
        counter = int(state.get("counter") or 0)
        blocks: list[Block] = []
        stashes: list[Stash] = []
        for block in message.blocks:
            if not isinstance(block, ToolResult) or not self.oversized(block):
                blocks.append(block)
                continue
            items = _items(block, counter)
            counter += len([item for item in items if item.ref])
            stashes += [Stash(ref=item.ref, content=item.content) for item in items if item.ref]
            blocks.append(self._preview(block, items) if _complete(message, block) else block)
        stored |= {stash.ref: cycle for stash in stashes}
        return Offloaded(tuple(blocks), tuple(stashes), {"counter": counter, "stored": stored})

    def has_old(self, state: dict[str, Any], cycle: int) -> bool:
        """Tell whether an entry is due to go. Few entries are held, and their order means nothing: JSON does not keep it."""
        stored: dict[str, int] = state.get("stored") or {}
        return self.evict_after_cycles is not None and bool(stored) and cycle - min(stored.values()) > self.evict_after_cycles

    def evict(self, state: dict[str, Any], cycle: int) -> tuple[tuple[Stash, ...], dict[str, Any]]:
        """Blank the entries that were stored more than ``evict_after_cycles`` cycles ago; a later retrieval finds nothing."""
        if not self.has_old(state, cycle):
            return (), state
        stored: dict[str, int] = state["stored"]
        old = sorted(ref for ref, at in stored.items() if cycle - at > (self.evict_after_cycles or 0))
        kept = {ref: at for ref, at in stored.items() if ref not in old}
        return tuple(Stash(ref=ref, content="") for ref in old), {**state, "stored": kept}

    def retrieve(self, store: StoreReader, request: ToolRequest) -> Retrieved | None:
        """What the offloader's tool answers; none when another tool was called."""
        arguments = arguments_for(RETRIEVE_OFFLOADED, request)
        if arguments is None:
            return None
        return retrieve_offloaded(store, arguments, max_result_tokens=self.max_result_tokens, profile=self.profile)

    def _preview(self, block: ToolResult, items: list[Item]) -> ToolResult:
        full = "\n".join(text for text in (item_text(item, indent=2) for item in block.content) if text)
        references = "\n".join(f"  {item.ref} ({item.description})" for item in items if item.ref)
        text = (
            f"[Offloaded: {len(block.content)} blocks, ~{strands_block_tokens(block):,} tokens]\n{GUIDANCE}\n\n"
            f"{full[: self.preview_tokens * CHARACTERS_PER_TOKEN]}\n\n[Stored references:]\n{references}"
        )
        kept: list[ResultItem] = [Text(text=text)]
        for at, item in enumerate(block.content):
            kept += self._kept(item, items[at] if at < len(items) else None)
        return msgspec.structs.replace(block, content=tuple(kept))

    def _kept(self, item: ResultItem, stored: Item | None) -> list[ResultItem]:
        """What of an item stays behind the preview.

        ``stored`` is the entry at the item's place in the list of references, which is another item's when an earlier one
        stored nothing. At 1.62 an item without an entry stays whole, at 1.54 texts and JSON go all the same.
        """
        if self.profile == "1.62" and (stored is None or not stored.ref):
            return [item]
        if item_text(item) is not None:
            return []
        media = media_of(item)
        ref = f" | ref: {stored.ref}" if stored is not None and stored.ref else ""
        return [item if media is None else Text(text=f"[{media.described}{ref}]")]


class Offloaded(NamedTuple):
    """New blocks of a message, what goes to the store, and the new state of the offloader."""

    blocks: tuple[Block, ...]
    stashes: tuple[Stash, ...]
    state: dict[str, Any]

    def replaced(self, message: Message) -> Message:
        """The message with its new blocks."""
        for at, (old, new) in enumerate(zip(message.blocks, self.blocks, strict=True)):
            message = message if new is old else with_block(message, at, new)
        return message


def _complete(message: Message, block: ToolResult) -> bool:
    """Whether a result can be rebuilt; one that came without a status is stored, and then left as it is."""
    try:
        require(message, block, "toolUseId", "status")
    except KeyError:
        return False
    return True


def offload_messages(offloading: Offloading, messages: Iterable[Message], state: dict[str, Any], cycle: int) -> Decision:
    """The decision that offloads the oversized results of these messages; unchanged when there are none."""
    edits: list[Edit] = []
    for message in messages:
        done = offloading.offload(message, state, cycle)
        if done is not None:
            edits += [Rewrite(id=message.id, blocks=done.blocks), *done.stashes]
            state = done.state
    if not edits:
        return UNCHANGED
    return Decision(edits=tuple(edits), state=state, tier="offload", reason="results above the limit moved to the store")


def _items(block: ToolResult, counter: int) -> list[Item]:
    """What is stored of a result, in order; an item that stores nothing has no entry, so later ones move up."""
    items: list[Item] = []
    for at, item in enumerate(block.content):
        key = f"{block.tool_use_id}_{at}"
        described = _described(item)
        if described is None:
            continue
        content, description = described
        if content:
            counter += 1
        items.append(Item(f"mem_{counter}_{key}" if content else "", description, content))
    return items


def _described(item: ResultItem) -> tuple[str, str] | None:
    """What is stored of an item, and how the list of references describes it; none for what is never listed."""
    if isinstance(item, Text):
        return (item.text, f"text, {len(item.text):,} chars") if item.text else None
    text = item_text(item, indent=2)
    if text is not None:
        return text, f"json, {len(text.encode()):,} bytes"
    media = media_of(item)
    if media is None:
        return None
    label = f"image/{media.format}" if media.kind == "image" else media.name
    return (media.data if media.size else ""), f"{label}, {media.size:,} bytes"

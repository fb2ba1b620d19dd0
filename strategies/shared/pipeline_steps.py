"""The steps of the pipeline: shorten, drop, summarise, and the emergency step that ignores pins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import msgspec
from msgspec import Struct

from ullage.converse import require, with_block
from ullage.errors import UserError
from ullage.strategies.shared.estimators import strands_block_tokens, strands_message_tokens
from ullage.strategies.shared.pins import is_pinned
from ullage.strategies.shared.pipeline_messages import (
    Target,
    check_names,
    last_places,
    message_matches,
    oldest_matches,
    removable,
    remove,
    result_matches,
    text_matches,
)
from ullage.strategies.shared.stash import is_retrieval, references, spelled
from ullage.strategies.shared.summary import block_request, content_request, reply_text
from ullage.strategies.shared.texts import PreviewMode, preview_of, truncated_result
from ullage.strategies.shared.work import Work
from ullage.types import Block, Message, Opaque, Text, Thinking, ToolResult, ToolUse

EMERGENCY_SHARE = 0.2
SMALLEST_EMERGENCY = 4
"""Messages that an emergency needs; with fewer it does nothing."""
UNTOUCHED = ("reasoningContent", "cachePoint")


class Situation(Struct, frozen=True, kw_only=True):
    """What a step is told: the share of the window in use, whether a call overflowed, whether there is a stash."""

    utilization: float
    overflow: bool = False
    stash: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class OffloadStep:
    """Base of the steps.

    With ``utilization`` a step removes whole messages from that share of the window on; without, it replaces single
    blocks above ``threshold`` tokens (none: 0), at arrival and again in each pass.
    ``preserve_recent`` spares the newest matching messages: that many, or below 1 that share of them.
    """

    target: Target = "*"
    threshold: int | None = None
    utilization: float | None = None
    preserve_recent: float = 0

    label: ClassVar[str] = ""

    def __post_init__(self) -> None:
        if self.target == ():
            raise ValueError("found an empty target; expected at least one tool name")

    @property
    def message_level(self) -> bool:
        """Whether it removes messages, not blocks."""
        return self.utilization is not None

    @property
    def eager(self) -> bool:
        """Whether it acts on each message at arrival."""
        return not self.message_level and self.preserve_recent <= 0

    def apply(self, work: Work, situation: Situation) -> bool:
        """Take part in a pass; tells whether it acted."""
        if self.utilization is None:
            check_names(work.messages)
            return self._per_block(work, situation)
        if not situation.overflow and situation.utilization < self.utilization:
            return False
        return len(work.messages) > 1 and self.remove_messages(work, stash=situation.stash)

    def _per_block(self, work: Work, situation: Situation) -> bool:
        places = last_places(work.messages)
        wanted = (
            oldest_matches(work.messages, self.target, self.preserve_recent) if self.preserve_recent > 0 else range(len(places))
        )
        acted = False
        for at in wanted:
            if not is_pinned(work.messages, places[at]):
                acted = self.transform(work, at, stash=situation.stash) or acted
        return acted

    def arrived(self, work: Work, at: int, *, stash: bool) -> bool:
        """Act on a message that has just been added, unless it is pinned."""
        if is_pinned(work.messages, at):
            return False
        check_names(work.messages)
        return self.transform(work, at, stash=stash)

    def transform(self, work: Work, at: int, *, stash: bool) -> bool:
        """Replace the eligible blocks of one message, one after the other; tells whether it did."""
        acted = False
        for index in range(len(work.messages[at].blocks)):
            message = work.messages[at]
            block = message.blocks[index]
            if not self._means(work, message, block, stash=stash):
                continue
            tokens = strands_block_tokens(block)
            if tokens <= max(0, self.threshold or 0):
                continue
            if isinstance(block, ToolResult):
                require(message, block, "content")
            refs = spelled(references(work, message, index)) if stash else ""
            new = self.replacement(work, message, block, tokens, refs)
            if new is not None and new is not block:
                work.change(at, with_block(message, index, new))
                acted = True
        return acted

    def _means(self, work: Work, message: Message, block: Block, *, stash: bool) -> bool:
        if isinstance(block, (ToolUse, Thinking)) or (isinstance(block, Opaque) and block.kind in UNTOUCHED):
            return False
        if isinstance(block, Text):
            return text_matches(message, self.target)
        if isinstance(block, ToolResult):
            if stash:
                require(message, block, "toolUseId")
                if is_retrieval(work, block):
                    return False
            return result_matches(message, block, self.target, work.messages)
        return self.target == "*"

    def remove_messages(self, work: Work, *, stash: bool) -> bool:
        """Remove the eligible messages with their partners; tells whether there were any."""
        going = removable(work.messages, self.eligible(work, stash=stash))
        if not going:
            return False
        remove(work, going, self.marker(len(going)))
        return True

    def eligible(self, work: Work, *, stash: bool) -> list[int]:
        """Positions of messages that the target means: not the first, not pinned, above the threshold if there is one."""
        messages = work.messages
        check_names(messages)
        if self.preserve_recent > 0:
            meant, places = oldest_matches(messages, self.target, self.preserve_recent), last_places(messages)
            found = [at for at in meant if messages[at] is not messages[0] and not is_pinned(messages, places[at])]
        else:
            free = (at for at in range(1, len(messages)) if not is_pinned(messages, at))
            found = [at for at in free if message_matches(messages[at], self.target, messages)]
        return found if self.threshold is None else [at for at in found if self._is_large(work, at, self.threshold, stash=stash)]

    def _is_large(self, work: Work, at: int, threshold: int, *, stash: bool) -> bool:
        message = work.messages[at]
        return any(
            self._means(work, message, b, stash=stash) and strands_block_tokens(b) > max(0, threshold) for b in message.blocks
        )

    def marker(self, removed: int) -> str:
        """What stands in the gap."""
        raise NotImplementedError

    def replacement(self, work: Work, message: Message, block: Block, tokens: int, refs: str) -> Block | None:
        """What stands for a block; the block itself or none: nothing changes."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True, kw_only=True)
class Truncate(OffloadStep):
    """Shortens to a preview of ``preview_tokens`` × 4 characters, taken from the head, the tail or both (60 to 40)."""

    preview_tokens: int = 1000
    preview: PreviewMode = "head_tail"

    label: ClassVar[str] = "truncate"

    def __post_init__(self) -> None:
        OffloadStep.__post_init__(self)
        if self.threshold is not None and self.threshold <= self.preview_tokens:
            raise ValueError(
                f"found threshold={self.threshold}, preview_tokens={self.preview_tokens}; expected a larger threshold"
            )

    def marker(self, removed: int) -> str:
        """How many messages are gone, with a singular."""
        return f"[... {removed} {'message' if removed == 1 else 'messages'} elided ...]"

    def replacement(self, work: Work, message: Message, block: Block, tokens: int, refs: str) -> Block | None:  # noqa: ARG002 - the base's signature
        """A preview with references; a medium becomes a placeholder."""
        if isinstance(block, ToolResult):
            short = truncated_result(block, self.preview_tokens, self.preview)
            if short is not block:
                require(message, block, "toolUseId", "status")
            return _with_refs(block, short, refs)
        if isinstance(block, Text):
            text = preview_of(block.text, 1, self.preview_tokens, self.preview)
            return block if text == block.text else Text(text=text + (f"\n\n[Stashed]{refs}" if refs else ""))
        return Text(text=f"[Offloaded: ~{tokens} tokens]{refs}")


@dataclass(frozen=True, slots=True, kw_only=True)
class DropContent(OffloadStep):
    """Leaves only ``[Dropped]`` with references. Without a threshold it replaces that again in every pass."""

    label: ClassVar[str] = "drop"

    def marker(self, removed: int) -> str:
        """How many messages are gone, with a singular."""
        return f"[Dropped: {removed} {'message' if removed == 1 else 'messages'}]"

    def replacement(self, work: Work, message: Message, block: Block, tokens: int, refs: str) -> Block | None:  # noqa: ARG002 - the base's signature
        """The word ``[Dropped]`` with references."""
        text = Text(text=f"[Dropped]{refs}")
        if isinstance(block, ToolResult):
            require(message, block, "toolUseId", "status")
            return msgspec.structs.replace(block, content=(text,))
        return text


@dataclass(frozen=True, slots=True, kw_only=True)
class Summarize(OffloadStep):
    """Summarises: all removed messages in one request, or single blocks in one each. An empty summary changes nothing."""

    label: ClassVar[str] = "summarize"

    def remove_messages(self, work: Work, *, stash: bool) -> bool:
        """One request for all; what goes is replaced by the marker with the summary.

        The partners that go along are asked for their partners once more, so more may go than was summarised.
        """
        summarized = removable(work.messages, self.eligible(work, stash=stash))
        if not summarized:
            return False
        chosen = {id(work.messages[at]) for at in summarized}
        messages = tuple(message for message in work.messages if id(message) in chosen)
        for message in messages:
            _check_keys(message)
        text = reply_text(work.summarize(content_request(messages)))
        if not text:
            return False
        tokens = sum(map(strands_message_tokens, messages))
        going = removable(work.messages, summarized)
        remove(work, going, f"[Summarized: {len(going)} messages, ~{tokens:,} tokens]\n\n{text}")
        return True

    def replacement(self, work: Work, message: Message, block: Block, tokens: int, refs: str) -> Block | None:
        """The summary of the block under a header; none when there is no summary."""
        kind = "tool result" if isinstance(block, ToolResult) else "text block" if isinstance(block, Text) else "media block"
        text = self._try(work, message, block) if kind != "media block" or _is_seen(block) else ""
        if not text:
            return Text(text=f"[Offloaded: ~{tokens} tokens]{refs}") if kind == "media block" else None
        made = Text(text=f"[Summarized: {kind}, ~{tokens:,} tokens]\n\n{text}{refs}")
        if isinstance(block, ToolResult):
            require(message, block, "toolUseId", "status")
            return msgspec.structs.replace(block, content=(made,))
        return made

    @staticmethod
    def _try(work: Work, message: Message, block: Block) -> str:
        """The summary of one block; a summariser that fails leaves the block as it is."""
        try:
            return reply_text(work.summarize(block_request(message, block)))
        except UserError:
            raise
        except Exception as error:  # noqa: BLE001 - the modelled step logs everything here and goes on
            work.reasons.append(f"summary of a block failed: {type(error).__name__}")
            return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Emergency(Truncate):
    """Removes the oldest fifth after the first message, pinned or not, when a call overflowed or the count still exceeds."""

    preview: PreviewMode = "tail"

    label: ClassVar[str] = "emergency"

    def apply(self, work: Work, situation: Situation) -> bool:
        """Without pins, a share or a target: only the size matters."""
        messages = work.messages
        if len(messages) < SMALLEST_EMERGENCY:
            return False
        if not situation.overflow and sum(map(strands_message_tokens, messages)) < work.view.window:
            return False
        size = max(1, int((len(messages) - 1) * EMERGENCY_SHARE))
        if messages[size + 1].role != "assistant":
            size += 1
        going = removable(messages, range(1, size + 1))
        if not going:
            return False
        remove(work, going, self.marker(len(going)))
        return True


def _with_refs(block: ToolResult, short: ToolResult, refs: str) -> ToolResult:
    """References at the end of the first text of a shortened result; a result that was not shortened stays the same object."""
    if short is block or not refs:
        return short
    content = list(short.content)
    for at, item in enumerate(content):
        if isinstance(item, Text):
            content[at] = Text(text=f"{item.text}\n\n[Stashed]{refs}")
            break
    return msgspec.structs.replace(short, content=tuple(content))


def _check_keys(message: Message) -> None:
    """Read what a flattened transcript shows of tool blocks."""
    for block in message.blocks:
        if isinstance(block, ToolResult):
            require(message, block, "toolUseId", "status", "content")
        elif isinstance(block, ToolUse):
            require(message, block, "toolUseId", "name", "input")


def _is_seen(block: Block) -> bool:
    """Whether a summariser is asked about a block that is neither text nor result."""
    return not isinstance(block, Opaque) or block.kind in ("image", "document")

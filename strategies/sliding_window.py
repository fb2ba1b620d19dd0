"""Strands' default manager: keep a window of messages, cut where a history may begin."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import msgspec

from ullage.strategies.shared.manager import NOT_IN_THE_PACKAGE, ConversationManager, check_threshold
from ullage.strategies.shared.media import media_of
from ullage.strategies.shared.pins import apply_pin_first, is_pinned
from ullage.strategies.shared.profiles import Dialect, Profile
from ullage.strategies.shared.shape import has_tool_result
from ullage.strategies.shared.tool_pairs import ContextWindowOverflowException, find_tool_pair, find_valid_trim_point
from ullage.strategies.shared.work import Work
from ullage.strategy import TriggerUnit, View
from ullage.types import Block, Message, Moment, ResultItem, Text, ToolResult

KEPT_CHARACTERS = 200
"""What is kept of a long result at either end."""
CUT_MARKER = "... [truncated:"


@dataclass(frozen=True, slots=True, kw_only=True)
class SlidingWindow(ConversationManager):
    """Keeps about ``window_size`` messages; at an overflow first cuts the oldest tool result to its two ends.

    ``per_turn``: also before every call (``True``) or every n-th. ``pin_first``: messages at the start that are never
    removed. ``threshold``: share of the window from which on the projected prompt is reduced before a call.
    """

    window_size: int = 40
    should_truncate_results: bool = True
    per_turn: bool | int = False
    pin_first: int | None = None
    threshold: float | None = None
    profile: Profile = "1.62"
    dialect: Dialect = "python"

    summary: ClassVar[str] = "keeps the newest messages; cuts where a user turn or a tool pair begins"
    moments: ClassVar[frozenset[Moment]] = frozenset({Moment.BEFORE_CALL, Moment.OVERFLOW, Moment.TURN_END, Moment.RESTORE})
    trigger_unit: ClassVar[TriggerUnit] = "count"
    sources: ClassVar[tuple[str, ...]] = ("strands-agents 1.36 to 1.62: SlidingWindowConversationManager",)
    known_violations: ClassVar[dict[str, str]] = NOT_IN_THE_PACKAGE | {
        "task_survives": "the first message is removed like any other unless pin_first is set",
        "a01_first_user": "the tool-pair fall-back lets a history begin with a tool call",
        "a02_role_alternation": "a pinned message may stand before a kept user message",
        "strict_shrink": "cutting a result of 401 characters makes it longer",
    }

    def __post_init__(self) -> None:
        if self.window_size < 0:
            raise ValueError(f"found window_size={self.window_size}; expected 0 or more messages")
        if self.per_turn is not False and self.per_turn is not True and self.per_turn <= 0:
            raise ValueError(f"found per_turn={self.per_turn}; expected True, False or a positive number of calls")
        check_threshold(self.threshold)

    @property
    def package(self) -> Profile:
        """The parameter ``profile``: releases differ only in what a resumed session holds."""
        return self.profile

    @property
    def proactive_threshold(self) -> float | None:
        """The parameter ``threshold``."""
        return self.threshold

    def initial_state(self) -> dict[str, Any]:
        """The package's state: its class, how many messages are gone, and how many calls were counted."""
        return {"__name__": "SlidingWindowConversationManager", "removed_message_count": 0, "model_call_count": 0}

    def due(self, view: View, projected: int | None) -> bool:
        """A turn's end matters above the window size; with ``per_turn`` every call is counted."""
        if view.moment is Moment.TURN_END:
            return len(view.context) > self.window_size
        if view.moment is Moment.BEFORE_CALL and self.per_turn:
            return True
        return ConversationManager.due(self, view, projected)

    def apply_management(self, work: Work) -> None:
        """Reduce when there are more messages than the window holds."""
        if len(work.messages) > self.window_size:
            self.reduce_context(work, overflow=False)

    def before_call(self, work: Work, projected: int | None) -> None:
        """The threshold first, then the care that is due at this call."""
        ConversationManager.before_call(self, work, projected)
        if not self.per_turn:
            return
        work.state["model_call_count"] = work.state.get("model_call_count", 0) + 1
        work.trigger = "per turn"
        if self.per_turn is True or work.state["model_call_count"] % self.per_turn == 0:
            self.apply_management(work)

    def reduce_context(self, work: Work, *, overflow: bool) -> None:
        """Cut the oldest result (reactive only), else remove what stands before the next valid beginning."""
        if self.pin_first is not None and self.pin_first > 0 and not work.own.get("pin_first_applied"):
            apply_pin_first(work.messages, self.pin_first)
            work.own["pin_first_applied"] = True
        if self.window_size == 0:
            self._remove(work, len(work.messages))
            return
        oldest = _oldest_result(work.messages) if overflow else None
        if oldest is not None and self.should_truncate_results and _truncate_results(work, oldest):
            return
        trim = self._trim_point(work.messages)
        if trim is None or not self._remove(work, trim):
            if overflow:
                raise ContextWindowOverflowException("the history has no place where it may be cut")
            work.reasons.append("nothing can be trimmed")

    def _trim_point(self, messages: list[Message]) -> int | None:
        size = len(messages)
        start = 2 if size <= self.window_size else size - self.window_size
        trim = find_valid_trim_point(messages, start)
        if trim < size:
            return trim
        return find_tool_pair(messages, start) if self.dialect == "python" else None

    @staticmethod
    def _remove(work: Work, stop: int) -> bool:
        """Remove the unpinned messages before ``stop``; tell whether there were any."""
        protected = [is_pinned(work.messages, at) for at in range(stop)]
        removed = protected.count(False)
        if not removed:
            return False
        work.messages[:stop] = [m for m, kept in zip(work.messages, protected, strict=False) if kept]
        work.state["removed_message_count"] += removed
        work.acted("trim", f"{removed} oldest messages removed")
        return True


def _oldest_result(messages: list[Message]) -> int | None:
    """The position of the oldest unpinned message with tool results."""
    free = (at for at in range(len(messages)) if not is_pinned(messages, at))
    return next((at for at in free if has_tool_result(messages[at])), None)


def _truncate_results(work: Work, at: int) -> bool:
    """Cut the results of one message; tell whether that changed it."""
    message = work.messages[at]
    blocks = tuple(map(_truncated, message.blocks))
    if blocks == message.blocks:
        return False
    work.messages[at] = msgspec.structs.replace(message, blocks=blocks)
    work.acted("truncate", "oldest tool result cut to its two ends")
    return True


def _truncated(block: Block) -> Block:
    if not isinstance(block, ToolResult):
        return block
    return msgspec.structs.replace(block, content=tuple(map(_truncated_item, block.content)))


def _truncated_item(item: ResultItem) -> ResultItem:
    media = media_of(item)
    if media is not None and media.kind == "image":
        return Text(text=f"[{media.described}]")
    if not isinstance(item, Text) or len(item.text) <= 2 * KEPT_CHARACTERS or CUT_MARKER in item.text:
        return item
    cut = len(item.text) - 2 * KEPT_CHARACTERS
    marker = f"...\n\n{CUT_MARKER} {cut} chars removed] ...\n\n..."
    return Text(text=item.text[:KEPT_CHARACTERS] + marker + item.text[-KEPT_CHARACTERS:])

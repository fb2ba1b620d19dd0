"""Summarise the oldest share of a history: the algorithm of Strands' summarising manager, for all who embed it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec

from ullage.strategies.shared.pins import apply_pin_first, is_pinned
from ullage.strategies.shared.profiles import Dialect, Profile
from ullage.strategies.shared.summary import conversation_request, summary_message
from ullage.strategies.shared.tool_pairs import ContextWindowOverflowException, adjust_split_point_for_tool_pairs
from ullage.strategies.shared.work import Work
from ullage.types import Message

SMALLEST_RATIO, LARGEST_RATIO = 0.1, 0.8


def initial_state() -> dict[str, Any]:
    """The state of a new summarising manager, in the package's own form."""
    return {"__name__": "SummarizingConversationManager", "removed_message_count": 0, "summary_message": None}


@dataclass(frozen=True, slots=True, kw_only=True)
class SummarizeOldest:
    """Replaces the oldest ``ratio`` of the messages, but none of the last ``keep_recent``, by one user-role summary.

    The Python implementation holds the ratio within 0.1 and 0.8, the TypeScript one refuses any other.
    """

    ratio: float = 0.3
    keep_recent: int = 10
    pin_first: int | None = None
    profile: Profile = "1.62"
    dialect: Dialect = "python"

    def __post_init__(self) -> None:
        if self.dialect == "typescript" and not SMALLEST_RATIO <= self.ratio <= LARGEST_RATIO:
            raise ValueError(f"found ratio={self.ratio}; expected {SMALLEST_RATIO} to {LARGEST_RATIO}")

    def reduce(self, work: Work) -> None:
        """Change the work, or raise ``ContextWindowOverflowException`` when no message may be summarised.

        The count of removed messages moves before the summariser is asked, and stays moved when that fails: so does the
        package's.
        """
        split = self._split_point(work.messages)
        if self.pin_first is not None and self.pin_first > 0 and not work.own.get("pin_first_applied"):
            apply_pin_first(work.messages, self.pin_first)
            work.own["pin_first_applied"] = True
        protected = [is_pinned(work.messages, at) for at in range(split)]
        pinned = [m for m, kept in zip(work.messages, protected, strict=False) if kept]
        summarized = [m for m, kept in zip(work.messages, protected, strict=False) if not kept]
        if not summarized:
            raise ContextWindowOverflowException("every message that could be summarised is pinned")
        work.state["removed_message_count"] += len(summarized) - (1 if work.state["summary_message"] else 0)
        summary = work.summarize(conversation_request(tuple(summarized)))
        message = summary_message(work, summary, self.profile)
        work.sources[message.id] = work.sources_of(summarized)
        work.state["summary_message"] = msgspec.to_builtins(message)
        work.messages[:split] = [*pinned, message]
        work.acted("summarize", f"{len(summarized)} oldest messages summarised")

    def _split_point(self, messages: list[Message]) -> int:
        bounded = min(max(self.ratio, SMALLEST_RATIO), LARGEST_RATIO)
        split = min(max(1, int(len(messages) * bounded)), len(messages) - self.keep_recent)
        if split > 0:
            split = adjust_split_point_for_tool_pairs(messages, split, self.dialect)
        if split <= 0:
            raise ContextWindowOverflowException("too few messages to summarise any")
        return split

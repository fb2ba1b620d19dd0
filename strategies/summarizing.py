"""Strands' summarising manager: the oldest share of the history becomes one user message."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from ullage.strategies.shared.manager import NOT_IN_THE_PACKAGE, ConversationManager, check_threshold
from ullage.strategies.shared.oldest import SummarizeOldest, initial_state
from ullage.strategies.shared.profiles import Dialect, Profile
from ullage.strategies.shared.work import Work


@dataclass(frozen=True, slots=True, kw_only=True)
class Summarizing(ConversationManager):
    """Summarises the oldest ``ratio`` (held within 0.1 and 0.8) but none of the newest ``keep_recent`` messages.

    Without ``threshold`` only at an overflow. ``pin_first``: messages at the start that stay as they are.
    """

    ratio: float = 0.3
    keep_recent: int = 10
    pin_first: int | None = None
    threshold: float | None = None
    profile: Profile = "1.62"
    dialect: Dialect = "python"

    summary: ClassVar[str] = "the oldest share of the messages becomes one summary in the user's voice"
    sources: ClassVar[tuple[str, ...]] = ("strands-agents 1.36 to 1.62: SummarizingConversationManager",)
    known_violations: ClassVar[dict[str, str]] = NOT_IN_THE_PACKAGE | {
        "task_survives": "the first message is summarised like any other unless pin_first is set",
        "a02_role_alternation": "the summary may stand before a user message",
        "strict_shrink": "11 messages become 11 for ever: the summary is summarised again",
    }

    def __post_init__(self) -> None:
        check_threshold(self.threshold)
        self._oldest()

    def _oldest(self) -> SummarizeOldest:
        return SummarizeOldest(
            ratio=self.ratio, keep_recent=self.keep_recent, pin_first=self.pin_first, profile=self.profile, dialect=self.dialect
        )

    @property
    def package(self) -> Profile:
        """The parameter ``profile``."""
        return self.profile

    @property
    def proactive_threshold(self) -> float | None:
        """The parameter ``threshold``."""
        return self.threshold

    def initial_state(self) -> dict[str, Any]:
        """The package's state: its class, how many messages are gone, and the summary."""
        return initial_state()

    def reduce_context(self, work: Work, *, overflow: bool) -> None:  # noqa: ARG002 - both ways of failing are the frame's
        """Summarise the oldest messages."""
        self._oldest().reduce(work)

"""What ``Agent(context_manager="auto")`` builds in Strands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import msgspec

from ullage.strategies.shared.manager import ConversationManager, check_threshold
from ullage.strategies.shared.offloading import Offloading, offload_messages
from ullage.strategies.shared.oldest import SummarizeOldest, initial_state
from ullage.strategies.shared.profiles import Dialect, Profile
from ullage.strategies.shared.retrieval import RETRIEVE_OFFLOADED
from ullage.strategies.shared.work import OWN, Work
from ullage.strategy import UNCHANGED, View
from ullage.types import Decision, Moment, ToolSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class Auto(ConversationManager):
    """Summarises the oldest 30 % at ``threshold`` of the window, and offloads results above 1,500 tokens at arrival."""

    threshold: float = 0.85
    ratio: float = 0.3
    max_result_tokens: int = 1500
    preview_tokens: int = 750
    evict_after_cycles: int | None = 20
    profile: Profile = "1.54"
    dialect: Dialect = "python"

    summary: ClassVar[str] = "Strands' default composition: summaries of the oldest share, large results offloaded"
    moments: ClassVar[frozenset[Moment]] = frozenset({Moment.ARRIVAL, Moment.BEFORE_CALL, Moment.OVERFLOW})
    reversible: ClassVar[bool] = True
    sources: ClassVar[tuple[str, ...]] = ("strands-agents 1.44 to 1.55: Agent(context_manager='auto')",)
    known_violations: ClassVar[dict[str, str]] = {
        "task_survives": "the first message is summarised like any other",
        "role_alternation": "the summary may stand before a user message",
        "strict_shrink": "11 messages become 11 for ever: the summary is summarised again",
    }

    def __post_init__(self) -> None:
        check_threshold(self.threshold)
        SummarizeOldest(ratio=self.ratio, dialect=self.dialect)
        self._offloading()

    def _offloading(self) -> Offloading:
        return Offloading(
            max_result_tokens=self.max_result_tokens,
            preview_tokens=self.preview_tokens,
            evict_after_cycles=self.evict_after_cycles,
        )

    @property
    def proactive_threshold(self) -> float | None:
        """The parameter ``threshold``."""
        return self.threshold

    def offered_tools(self) -> tuple[ToolSpec, ...]:
        """The tool that reads offloaded content."""
        return (RETRIEVE_OFFLOADED,)

    def initial_state(self) -> dict[str, Any]:
        """The summarising manager's state."""
        return initial_state()

    def reduce_context(self, work: Work, *, overflow: bool) -> None:  # noqa: ARG002 - both ways of failing are the frame's
        """Summarise the oldest messages."""
        SummarizeOldest(ratio=self.ratio, profile=self.profile, dialect=self.dialect).reduce(work)

    def decide(self, view: View) -> Decision:
        """The offloader's part first, then the manager's."""
        state: dict[str, Any] = {**self.initial_state(), OWN: {}, **(view.state or {})}
        moved = self._offload(view, state[OWN].get("offloader") or {})
        if view.moment is Moment.ARRIVAL or moved.edits:
            return moved if moved is UNCHANGED else _within(moved, state)
        return ConversationManager.decide(self, view)

    def _offload(self, view: View, state: dict[str, Any]) -> Decision:
        offloading = self._offloading()
        if view.moment is Moment.ARRIVAL:
            return offload_messages(offloading, view.context[-1:], state, view.call)
        return offload_messages(offloading, view.context, state, view.call) if view.forced else UNCHANGED


def _within(moved: Decision, state: dict[str, Any]) -> Decision:
    """The offloader's decision with its state in the place that the manager's state keeps for it."""
    own = {**state[OWN], "offloader": moved.state}
    return msgspec.structs.replace(moved, state={**state, OWN: own})

"""The installed Strands package itself, driven through our replay, so that a user can benchmark the version they ship."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from ullage.errors import UserError
from ullage.strategies.shared.manager import ConversationManager, check_threshold
from ullage.strategies.shared.real_package import Bridge, ClassicManager, PackagePipeline, new_state
from ullage.strategies.shared.work import Work
from ullage.strategy import View
from ullage.types import Moment

Manager = Literal["null", "sliding_window", "summarizing", "auto", "agentic"]


@dataclass(frozen=True, slots=True, kw_only=True)
class StrandsReal(ConversationManager):
    """Runs a manager, or a preset, of the installed ``strands-agents`` with our summariser as its model.

    The other parameters are those of the modelled strategies and go to the manager that knows them. ``auto`` and
    ``agentic`` need 1.56 or later; the package's agentic tools are not called here, only its safety net runs.
    """

    manager: Manager = "sliding_window"
    window_size: int = 40
    should_truncate_results: bool = True
    per_turn: bool | int = False
    ratio: float = 0.3
    keep_recent: int = 10
    pin_first: int | None = None
    threshold: float | None = None

    summary: ClassVar[str] = "the installed strands-agents package, its lists diffed into edits"
    moments: ClassVar[frozenset[Moment]] = frozenset(
        {Moment.ARRIVAL, Moment.BEFORE_CALL, Moment.OVERFLOW, Moment.AFTER_CALL, Moment.TURN_END}
    )
    sources: ClassVar[tuple[str, ...]] = ("strands-agents as installed",)
    known_violations: ClassVar[dict[str, str]] = {
        "task_survives": "the first message is removed like any other",
        "latest_user_untouched": "in a long turn the message that began it is as old as any other",
        "pinned_kept": "the package knows no protected messages",
        "system_survives": "the package has no system messages in a history",
        "a01_first_user": "the tool-pair fall-back lets a history begin with a tool call",
        "a02_role_alternation": "a summary or a pinned message may stand before a user message",
        "tool_use_last": "a marker is appended to an assistant message that ends in a tool call",
        "strict_shrink": "summaries, markers and cut results may be longer than what they stand for",
        "no_rewrite_twice": "what a pipeline replaced may be replaced again",
    }

    def __post_init__(self) -> None:
        check_threshold(self.threshold)
        if importlib.util.find_spec("strands") is None:
            raise UserError("strands_real: the package strands-agents is not installed; pip install 'ullage[strands]'")

    @property
    def proactive_threshold(self) -> float | None:
        """The parameter ``threshold``, for the classic managers."""
        return None if self._is_preset else self.threshold

    @property
    def _is_preset(self) -> bool:
        return self.manager in ("auto", "agentic")

    def due(self, view: View, projected: int | None) -> bool:
        """The package is asked at every moment that it has something to do at."""
        if self._is_preset:
            return view.moment is not Moment.TURN_END
        if view.moment in (Moment.ARRIVAL, Moment.AFTER_CALL):
            return False
        if view.moment is Moment.BEFORE_CALL and not self.per_turn:
            return ConversationManager.due(self, view, projected)
        return True

    def initial_state(self) -> dict[str, Any]:
        """The package's own state of a new manager."""
        return new_state("null" if self._is_preset else self.manager)

    def reduce_context(self, work: Work, *, overflow: bool) -> None:
        """The package's reaction to an overflow, or its proactive reduction."""
        if self._is_preset:
            self._preset(work).overflowed()
        else:
            self._classic(work).reduce(overflow=overflow)

    def apply_management(self, work: Work) -> None:
        """The package's care at the end of a turn."""
        if not self._is_preset:
            self._classic(work).apply()

    def before_call(self, work: Work, projected: int | None) -> None:
        """The package's hooks before a model call."""
        work.estimate = projected
        if self._is_preset:
            self._preset(work).before_call(projected)
        else:
            self._classic(work).before_call(projected)

    def message_added(self, work: Work) -> None:
        """The package's hooks on a new message."""
        if self._is_preset:
            self._preset(work).message_added()

    def _classic(self, work: Work) -> ClassicManager:
        return ClassicManager(Bridge(work), self.manager, self._parameters())

    def _preset(self, work: Work) -> PackagePipeline:
        return PackagePipeline(Bridge(work), self.manager)

    def _parameters(self) -> dict[str, Any]:
        window: dict[str, Any] = {
            "window_size": self.window_size,
            "should_truncate_results": self.should_truncate_results,
            "per_turn": self.per_turn,
            "pin_first": self.pin_first,
        }
        ratio: dict[str, Any] = {
            "summary_ratio": self.ratio,
            "preserve_recent_messages": self.keep_recent,
            "pin_first": self.pin_first,
        }
        chosen: dict[str, dict[str, Any]] = {"sliding_window": window, "summarizing": ratio}
        threshold = {"proactive_compression": {"compression_threshold": self.threshold}} if self.threshold else {}
        return {**chosen[self.manager], **threshold} if self.manager in chosen else {}

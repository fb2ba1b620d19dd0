"""What ``Agent(context_manager="agentic")`` builds in Strands: the model decides, a safety net catches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ullage.strategies.shared.agentic_tools import TOOLS, status_line
from ullage.strategies.shared.agentic_turn import take_turn
from ullage.strategies.shared.estimators import projected_tokens
from ullage.strategies.shared.manager import projection
from ullage.strategies.shared.oldest import SummarizeOldest
from ullage.strategies.shared.pipeline import Pipeline, default_steps
from ullage.strategies.shared.preset import Preset
from ullage.strategies.shared.profiles import Dialect, Profile
from ullage.strategies.shared.work import Work
from ullage.strategy import DeciderRequest, View
from ullage.types import Decision, Inject, Moment, Text, ToolSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class Agentic(Preset):
    """Before each call the model reads how full its window is and may summarise, truncate or pin by three tools.

    The decider port plays the model. Large results are cut at arrival like in ``auto``, but only above 8,000 tokens; an
    overflow falls back to a summary of the oldest messages (1.54) or to the pipeline (1.62).
    """

    max_result_tokens: int = 8000
    preview_tokens: int = 750
    evict_after_cycles: int | None = 20
    profile: Profile = "1.54"
    dialect: Dialect = "python"

    summary: ClassVar[str] = "the model compacts by three tools, told of the window by a status line; with a safety net"
    sources: ClassVar[tuple[str, ...]] = ("strands-agents 1.44 to 1.62: Agent(context_manager='agentic')",)
    known_violations: ClassVar[dict[str, str]] = Preset.known_violations | {
        "a05_orphan_result": "the first user message is kept although it may answer a call that goes",
    }

    def __post_init__(self) -> None:
        self.check()

    def oldest(self) -> SummarizeOldest:
        """The safety net of 1.54."""
        return SummarizeOldest(profile="1.54", dialect=self.dialect)

    def pipeline(self) -> Pipeline:
        """The pipeline of 1.62, whose summary waits until the window is full."""
        return Pipeline(
            steps=default_steps(threshold=self.max_result_tokens, preview_tokens=self.preview_tokens, utilization=1.0)
        )

    def offered_tools(self) -> tuple[ToolSpec, ...]:
        """The three tools, and the one that reads what was taken out."""
        return (*TOOLS, *Preset.offered_tools(self))

    def act(self, work: Work, moment: Moment, projected: int | None) -> None:
        """What the package does at a moment; a request before a call carries the status line of the history before it."""
        Preset.act(self, work, moment, projected)
        if moment is Moment.BEFORE_CALL and projected is not None and work.messages:
            work.injected.append(Text(text=status_line(projected, work.view.window)))

    def decide(self, view: View) -> Decision:
        """Before a call: the model's tool calls, the safety net, and the status line on what is sent."""
        if view.moment is not Moment.BEFORE_CALL:
            return Preset.decide(self, view)
        used = projection(view)
        request = DeciderRequest(
            messages=tuple(view.context), status=status_line(used, view.window), used=used, limit=view.window, tools=TOOLS
        )
        calls = view.decide(request)
        if not calls and not self.due(view, used):
            return Decision(edits=(_status(used, view.window),), estimate=used)
        work = Work(view, self.initial_state())
        if calls:
            take_turn(work, calls, self.profile)
            used = projected_tokens(view, work.messages)
        self.before_call(work, used)
        work.estimate = used
        work.injected.append(Text(text=status_line(used, view.window)))
        return work.decision()


def _status(used: int, limit: int) -> Inject:
    return Inject(blocks=(Text(text=status_line(used, limit)),))

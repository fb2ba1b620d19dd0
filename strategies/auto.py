"""What ``Agent(context_manager="auto")`` builds in Strands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ullage.strategies.shared.manager import check_threshold
from ullage.strategies.shared.oldest import SummarizeOldest
from ullage.strategies.shared.pipeline import Pipeline, default_steps
from ullage.strategies.shared.preset import Preset
from ullage.strategies.shared.profiles import Dialect, Profile


@dataclass(frozen=True, slots=True, kw_only=True)
class Auto(Preset):
    """Large results leave a preview at arrival; at ``threshold`` of the window old messages are summarised.

    Profile ``1.54``: results above 1,500 tokens are offloaded with a preview of 750, and the oldest ``ratio`` of the
    messages becomes one user message. Profile ``1.62``: results are shortened at both ends, and everything between the
    first message and the newest four becomes a marker; ``ratio`` and ``evict_after_cycles`` mean nothing there.
    """

    threshold: float = 0.85
    ratio: float = 0.3
    max_result_tokens: int = 1500
    preview_tokens: int = 750
    evict_after_cycles: int | None = 20
    profile: Profile = "1.54"
    dialect: Dialect = "python"

    summary: ClassVar[str] = "Strands' default composition: large results cut at arrival, old messages summarised"
    sources: ClassVar[tuple[str, ...]] = ("strands-agents 1.44 to 1.62: Agent(context_manager='auto')",)

    def __post_init__(self) -> None:
        check_threshold(self.threshold)
        self.check()

    @property
    def proactive_threshold(self) -> float | None:
        """The parameter ``threshold``."""
        return self.threshold

    def oldest(self) -> SummarizeOldest:
        """The summarising manager of 1.54."""
        return SummarizeOldest(ratio=self.ratio, profile="1.54", dialect=self.dialect)

    def pipeline(self) -> Pipeline:
        """The pipeline of 1.62."""
        steps = default_steps(threshold=self.max_result_tokens, preview_tokens=self.preview_tokens, utilization=self.threshold)
        return Pipeline(steps=steps)

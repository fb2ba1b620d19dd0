"""Strands' ContextOffloader: large tool results leave the history as they arrive. Composes with any manager."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ullage.strategies.shared.offloading import Offloading, offload_messages
from ullage.strategies.shared.profiles import Profile
from ullage.strategies.shared.retrieval import RETRIEVE_OFFLOADED
from ullage.strategy import UNCHANGED, Retrieved, StoreReader, Strategy, ToolRequest, TriggerUnit, View
from ullage.types import Decision, Moment, ToolSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class Offloader(Strategy):
    """Stores results above ``max_result_tokens`` and leaves a head of ``preview_tokens`` with their references.

    An entry is gone ``evict_after_cycles`` model calls after it was stored (none: never). The limit counts characters / 4.
    """

    max_result_tokens: int = 2500
    preview_tokens: int = 1000
    evict_after_cycles: int | None = 20
    profile: Profile = "1.62"

    summary: ClassVar[str] = "moves large tool results to the store at arrival, leaving a preview and references"
    moments: ClassVar[frozenset[Moment]] = frozenset({Moment.ARRIVAL, Moment.BEFORE_CALL, Moment.OVERFLOW})
    trigger_unit: ClassVar[TriggerUnit] = "estimate"
    reversible: ClassVar[bool] = True
    sources: ClassVar[tuple[str, ...]] = ("strands-agents 1.38 to 1.62: vended_plugins.context_offloader.ContextOffloader",)

    def __post_init__(self) -> None:
        self._offloading()

    def _offloading(self) -> Offloading:
        return Offloading(
            max_result_tokens=self.max_result_tokens,
            preview_tokens=self.preview_tokens,
            evict_after_cycles=self.evict_after_cycles,
            profile=self.profile,
        )

    def offered_tools(self) -> tuple[ToolSpec, ...]:
        """The tool that reads offloaded content."""
        return (RETRIEVE_OFFLOADED,)

    def retrieve(self, store: StoreReader, request: ToolRequest) -> Retrieved | None:
        """What that tool answers."""
        return self._offloading().retrieve(store, request)

    def decide(self, view: View) -> Decision:
        """Offload what has just arrived, forget what is too old."""
        offloading, state = self._offloading(), view.state or {}
        if view.moment is Moment.BEFORE_CALL:
            stashes, left = offloading.evict(state, view.call)
            return Decision(edits=stashes, state=left) if stashes else UNCHANGED
        if view.moment is Moment.ARRIVAL:
            return offload_messages(offloading, view.context[-1:], state, view.call)
        return offload_messages(offloading, view.context, state, view.call) if view.forced else UNCHANGED

"""The compositions that an agent gets by one word: a manager and an offloader at 1.54, a pipeline at 1.62."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from ullage.strategies.shared.manager import NOT_IN_THE_PACKAGE, ConversationManager
from ullage.strategies.shared.offloading import Offloading
from ullage.strategies.shared.oldest import SummarizeOldest, initial_state
from ullage.strategies.shared.pipeline import Pipeline
from ullage.strategies.shared.profiles import Profile
from ullage.strategies.shared.retrieval import RETRIEVE_CONTEXT, RETRIEVE_OFFLOADED, arguments_for, retrieve_context
from ullage.strategies.shared.work import Work
from ullage.strategy import Retrieved, StoreReader, ToolRequest, View
from ullage.types import Moment, ToolSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class Preset(ConversationManager):
    """Base of ``auto`` and ``agentic``: subclasses have the fields below and say which manager and which steps they use."""

    moments: ClassVar[frozenset[Moment]] = frozenset(
        {Moment.ARRIVAL, Moment.BEFORE_CALL, Moment.OVERFLOW, Moment.AFTER_CALL, Moment.RESTORE}
    )
    reversible: ClassVar[bool] = True
    known_violations: ClassVar[dict[str, str]] = NOT_IN_THE_PACKAGE | {
        "task_survives": "1.54 summarises the first message like any other",
        "a02_role_alternation": "at 1.54 the summary may stand before a user message",
        "strict_shrink": "at 1.54 11 messages become 11 for ever; at 1.62 markers may be longer than what they stand for",
        "tool_use_last": "at 1.62 the marker is appended to an assistant message that ends in a tool call",
    }

    profile: Profile = "1.54"
    max_result_tokens: int = 1500
    preview_tokens: int = 750
    evict_after_cycles: int | None = 20

    def oldest(self) -> SummarizeOldest:
        """The summarising manager of 1.54."""
        raise NotImplementedError

    def pipeline(self) -> Pipeline:
        """The pipeline of 1.62."""
        raise NotImplementedError

    def check(self) -> None:
        """Refuse parameters that the parts refuse."""
        self.oldest()
        self.offloading()
        self.pipeline()

    def offloading(self) -> Offloading:
        """The offloader of 1.54."""
        return Offloading(
            max_result_tokens=self.max_result_tokens,
            preview_tokens=self.preview_tokens,
            evict_after_cycles=self.evict_after_cycles,
            profile=self.profile,
        )

    @property
    def package(self) -> Profile:
        """The parameter ``profile``."""
        return self.profile

    def offered_tools(self) -> tuple[ToolSpec, ...]:
        """The tool that reads what was taken out."""
        return (RETRIEVE_OFFLOADED if self.profile == "1.54" else RETRIEVE_CONTEXT,)

    def retrieve(self, store: StoreReader, request: ToolRequest) -> Retrieved | None:
        """What the tool of the profile answers."""
        if self.profile == "1.54":
            return self.offloading().retrieve(store, request)
        arguments = arguments_for(RETRIEVE_CONTEXT, request)
        return None if arguments is None else retrieve_context(store, arguments)

    def initial_state(self) -> dict[str, Any]:
        """The state of the manager that the profile installs."""
        return initial_state() if self.profile == "1.54" else self.pipeline().initial_state()

    def due(self, view: View, projected: int | None) -> bool:
        """At 1.54 the threshold, an old stored entry or a large result; at 1.62 what the pipeline says."""
        if self.profile == "1.62":
            return view.moment in (Moment.OVERFLOW, Moment.RESTORE) or self.pipeline().due(view, projected)
        if view.moment is Moment.ARRIVAL:
            return any(map(self.offloading().oversized, view.context[-1].blocks))
        if view.moment is Moment.AFTER_CALL:
            return False
        if view.moment is Moment.BEFORE_CALL:
            stored = ((view.state or {}).get("own") or {}).get("offloader") or {}
            return self.offloading().has_old(stored, view.call) or ConversationManager.due(self, view, projected)
        return True

    def message_added(self, work: Work) -> None:
        """Offload, or run the steps that act at arrival."""
        if self.profile == "1.62":
            self.pipeline().message_added(work)
        else:
            self._offload(work, len(work.messages) - 1)

    def before_call(self, work: Work, projected: int | None) -> None:
        """The threshold, or a pass of the pipeline; at 1.54 old stored entries go."""
        if self.profile == "1.62":
            work.estimate, work.trigger = projected, "proactive"
            self.pipeline().run(work, projected, overflow=False)
            return
        stashes, left = self.offloading().evict(work.own.get("offloader") or {}, work.view.call)
        if stashes:
            work.stashed += stashes
            work.own["offloader"] = left
        ConversationManager.before_call(self, work, projected)

    def reduce_context(self, work: Work, *, overflow: bool) -> None:
        """Summarise, or run a pass for an overflow. Forced to shrink without any arrival, it first offloads what is there."""
        if self.profile == "1.62":
            self.pipeline().overflowed(work)
            return
        if overflow and work.view.forced and self._offload(work, 0):
            return
        self.oldest().reduce(work)

    def _offload(self, work: Work, start: int) -> bool:
        """Offload the large results from a position on; tells whether there were any."""
        acted = False
        for at in range(max(start, 0), len(work.messages)):
            done = self.offloading().offload(work.messages[at], work.own.get("offloader") or {}, work.view.call)
            if done is not None:
                work.messages[at] = done.replaced(work.messages[at])
                work.stashed += done.stashes
                work.own["offloader"] = done.state
                acted = True
        if acted:
            work.acted("offload", "results above the limit moved to the store")
        return acted

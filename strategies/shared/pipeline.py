"""The context manager of Strands 1.56 and later: a pipeline of steps with a stash, an emergency step and three retries."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from ullage.errors import UserError
from ullage.strategies.shared.estimators import strands_message_tokens
from ullage.strategies.shared.manager import reason_of
from ullage.strategies.shared.pipeline_steps import DropContent, Emergency, OffloadStep, Situation, Summarize, Truncate
from ullage.strategies.shared.stash import note_retrievals, store_message
from ullage.strategies.shared.tool_pairs import ContextWindowOverflowException
from ullage.strategies.shared.work import Work
from ullage.strategy import View
from ullage.types import Message, Moment

OVERFLOW_RETRIES = 3
"""How often in a row a call that overflowed is tried again."""
EMERGENCY_MINIMUM = 3


def default_steps(*, threshold: int, preview_tokens: int, utilization: float) -> tuple[OffloadStep, ...]:
    """The steps of ``auto`` and ``agentic``: large results shortened, and all but the newest four messages summarised."""
    return (
        Truncate(target="tool_results", threshold=threshold, preview_tokens=preview_tokens),
        Summarize(utilization=utilization, preserve_recent=4),
    )


PRESETS: dict[str, tuple[OffloadStep, ...]] = {
    "proactive_summarization": (Summarize(utilization=0.7, preserve_recent=0.7),),
    "large_tool_offloading": (Truncate(target="tool_results", threshold=2500, preview_tokens=1000),),
    "overflow_protection": (Truncate(utilization=1.0, preserve_recent=4),),
    "stale_tool_cleanup": (DropContent(target="tool_results", preserve_recent=5),),
}
"""The named presets of 1.56 and later."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pipeline:
    """Steps in order; the emergency step always comes last. ``stash`` stores what arrives and puts references into stubs."""

    steps: tuple[OffloadStep, ...]
    stash: bool = True

    def initial_state(self) -> dict[str, Any]:
        """The state that sessions keep: of the manager without function beside the pipeline."""
        return {"__name__": "NullConversationManager", "removed_message_count": 0}

    def due(self, view: View, projected: int | None) -> bool:
        """Tell in constant time whether a pass before a call could act; steps at arrival have seen every message."""
        if view.moment is not Moment.BEFORE_CALL:
            return self.stash or any(step.eager for step in self.steps)
        own = (view.state or {}).get("own") or {}
        if own.get("rescan") or any(not step.eager and not step.message_level for step in self.steps):
            return True
        if projected is None:
            return False
        lowest = min((step.utilization for step in self.steps if step.utilization is not None), default=1.0)
        counted = _counted(view, own) if len(view.context) > EMERGENCY_MINIMUM else 0
        return projected / view.window >= lowest or counted >= view.window

    def message_added(self, work: Work) -> None:
        """Store the newest message and run the steps that act at arrival on it."""
        at = len(work.messages) - 1
        if work.view.moment is Moment.AFTER_CALL:
            work.own.pop("retries", None)
        if at < 0:
            return
        if self.stash:
            note_retrievals(work, work.messages[at])
            store_message(work, work.messages[at])
            if not work.as_given:
                work.own["backfilled"] = True
        for step in self.steps:
            if step.eager:
                self._swallow(work, step, lambda step=step: step.arrived(work, at, stash=self.stash))
        work.own["counted"] = _recount(work.view, work.own, work.messages[at:])

    def run(self, work: Work, tokens: int | None, *, overflow: bool) -> bool:
        """One pass over all steps; tells whether any acted. ``tokens`` is the prompt's size, counted here if not known."""
        if self.stash and not work.own.get("backfilled"):
            work.own["backfilled"] = True
            for message in work.messages:
                self._backfill(work, message)
        work.own.pop("rescan", None)
        known = count(work.messages) if tokens is None else tokens
        situation = Situation(utilization=known / work.view.window, overflow=overflow, stash=self.stash)
        acted = False
        for step in (*self.steps, Emergency()):
            if isinstance(step, Emergency) and acted:
                situation = msgspec.structs.replace(situation, overflow=False)
            if self._swallow(work, step, lambda step=step, now=situation: step.apply(work, now)):
                acted = True
                situation = msgspec.structs.replace(situation, utilization=count(work.messages) / work.view.window)
                work.acted(step.label, f"{step.label} acted")
        work.own["counted"] = [work.messages[-1].id, count(work.messages)] if work.messages else None
        return acted

    @staticmethod
    def _backfill(work: Work, message: Message) -> None:
        """Store a message that was there before the stash; one that cannot be stored is noted, and the pass goes on."""
        try:
            store_message(work, message, keep_existing=True)
        except KeyError as error:
            work.reasons.append(f"not stored: {reason_of(error)}")

    def overflowed(self, work: Work) -> None:
        """A pass for a call that overflowed; raises when no step acted or the call was tried three times already."""
        call, tries = work.own.get("retries") or (None, 0)
        tries = tries if call == work.view.call else 0
        if tries >= OVERFLOW_RETRIES and not work.view.forced:
            del work.own["retries"]
            raise ContextWindowOverflowException(f"the call was tried {OVERFLOW_RETRIES} times")
        if not self.run(work, None, overflow=True):
            raise ContextWindowOverflowException("no step made progress")
        work.own["retries"] = [work.view.call, tries + 1]

    @staticmethod
    def _swallow(work: Work, step: OffloadStep, action: Any) -> bool:
        """Run a step; what it raises is noted and the pass goes on, with what it had changed until then."""
        try:
            return bool(action())
        except UserError:
            raise
        except Exception as error:  # noqa: BLE001 - the modelled pipeline logs everything here and goes on
            work.reasons.append(f"{step.label} failed: {reason_of(error)}")
            return False


def count(messages: Iterable[Message]) -> int:
    """The package's count of messages alone: no tools, no system prompt."""
    return sum(map(strands_message_tokens, messages))


def _counted(view: View, own: dict[str, Any]) -> int:
    """The count of the whole context, carried on from the last one."""
    known = own.get("counted")
    at = view.context.position(known[0]) if known else None
    if known is None or at is None:
        return count(view.context)
    return int(known[1]) + count(view.context[at + 1 :])


def _recount(view: View, own: dict[str, Any], newest: Sequence[Message]) -> list[Any]:
    """The carried count after the newest message, which may just have been shortened."""
    known = own.get("counted")
    at = view.context.position(known[0]) if known else None
    if known is None or at is None:
        return [newest[-1].id, count(view.context[:-1]) + count(newest)]
    return [newest[-1].id, int(known[1]) + count(view.context[at + 1 : -1]) + count(newest)]

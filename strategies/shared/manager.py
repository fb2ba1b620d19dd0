"""The frame that Strands puts around a conversation manager: three moments, and two ways to fail.

A *reactive* reduction (``overflow``) must shrink the history or raise; a *proactive* one may do nothing and swallows
whatever goes wrong, keeping what had already changed. Source: Strands Agents 1.40 to 1.62, base class and event loop.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from ullage.errors import CannotShrink, UserError
from ullage.strategies.shared.estimators import projected_tokens, strands_message_tokens, usage_plus_tail
from ullage.strategies.shared.profiles import Profile
from ullage.strategies.shared.sessions import check_class, restore_messages
from ullage.strategies.shared.work import Work
from ullage.strategy import UNCHANGED, Strategy, TriggerUnit, View
from ullage.types import Decision, Moment

NOT_IN_THE_PACKAGE = {
    "pinned_kept": "the package pins messages and knows no protected ones",
    "system_survives": "the package keeps its system prompt elsewhere and knows no system messages in a history",
    "latest_user_untouched": "in a long turn the message that began it is as old as any other",
}
"""What every modelled manager may break, because what it would have to respect is not in the package: id and reason."""
NEWEST = 2
"""Messages that a step at arrival looks at: the new one, and its neighbour for the protection of pairs."""


def check_threshold(threshold: float | None) -> None:
    """Refuse a share of the window outside 0 < t <= 1."""
    if threshold is not None and not 0 < threshold <= 1:
        raise ValueError(f"found threshold={threshold}; expected 0 < threshold <= 1, a share of the window")


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationManager(Strategy):
    """Base of the modelled managers: subclasses say what a reduction does, this class when it happens."""

    moments: ClassVar[frozenset[Moment]] = frozenset({Moment.BEFORE_CALL, Moment.OVERFLOW, Moment.RESTORE})
    trigger_unit: ClassVar[TriggerUnit] = "usage"

    def initial_state(self) -> dict[str, Any]:
        """The state of a new manager, in the package's own form."""
        return {}

    def reduce_context(self, work: Work, *, overflow: bool) -> None:
        """Make the history smaller; raises when it cannot."""
        raise NotImplementedError

    def apply_management(self, work: Work) -> None:
        """Routine care at the end of a turn."""

    def before_call(self, work: Work, projected: int | None) -> None:
        """What runs before a model call: by default the threshold on the projected prompt."""
        threshold = self.proactive_threshold
        work.estimate = projected
        if threshold is not None and projected is not None and projected / work.view.window >= threshold:
            self.attempt(work)

    @property
    def package(self) -> Profile:
        """The release that the manager follows."""
        return "1.62"

    @property
    def proactive_threshold(self) -> float | None:
        """The share of the window from which on the manager reduces before a call; none: it never does."""
        return None

    def attempt(self, work: Work) -> None:
        """A proactive reduction: whatever it raises is swallowed, and what it had changed until then stays."""
        work.trigger = "proactive"
        try:
            self.reduce_context(work, overflow=False)
        except UserError:
            raise
        except Exception as error:  # noqa: BLE001 - the modelled base class swallows everything here
            work.reasons.append(f"proactive reduction failed: {reason_of(error)}")

    def message_added(self, work: Work) -> None:
        """What happens to a message that has just entered the history; ``work`` holds it and its neighbour only."""

    def restore(self, work: Work) -> None:
        """What a new agent holds that resumes the session: the stored messages from the removed count on."""
        check_class(work.view.state, self.initial_state()["__name__"])
        restore_messages(work, self.package)

    def act(self, work: Work, moment: Moment, projected: int | None) -> None:
        """Do what the package does at a moment; exceptions come out, with ``work`` as they left it."""
        if moment is Moment.OVERFLOW:
            work.trigger = "reactive"
            self.reduce_context(work, overflow=True)
        elif moment is Moment.TURN_END:
            work.trigger = "turn end"
            self.apply_management(work)
        elif moment is Moment.BEFORE_CALL:
            self.before_call(work, projected)
        elif moment is Moment.RESTORE:
            self.restore(work)
        else:
            self.message_added(work)

    def due(self, view: View, projected: int | None) -> bool:
        """Tell in constant time whether a moment can lead to anything, so that a quiet call costs nothing."""
        if view.moment is Moment.BEFORE_CALL:
            threshold = self.proactive_threshold
            return threshold is not None and projected is not None and projected / view.window >= threshold
        return True

    def decide(self, view: View) -> Decision:
        """Act at the view's moment; after a reactive reduction the retried cycle runs its own steps before the call."""
        projected = projection(view) if view.moment is Moment.BEFORE_CALL else None
        if not self.due(view, projected):
            return UNCHANGED if projected is None else Decision(estimate=projected)
        added = view.moment in (Moment.ARRIVAL, Moment.AFTER_CALL)
        work = Work(view, self.initial_state(), start=max(0, len(view.context) - NEWEST) if added else 0)
        self.act(work, view.moment, projected)
        if view.moment is Moment.OVERFLOW and not view.forced:
            self.before_call(work, projected_tokens(view, work.messages))
        return work.decision()


def projection(view: View) -> int:
    """The projected prompt of a view before anything has changed in it."""
    quick = usage_plus_tail(view, strands_message_tokens)
    return projected_tokens(view, view.context) if quick is None else quick


def reason_of(error: Exception) -> str:
    """One line for a swallowed exception."""
    text = error.reason if isinstance(error, CannotShrink) else str(error)
    return f"{type(error).__name__}: {' '.join(text.split())}"[:200]

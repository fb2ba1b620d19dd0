"""Strands' ContextInjector: text that goes with each request and never enters the history. Composes with any manager."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import ClassVar, Literal

from ullage.strategies.shared.profiles import Profile
from ullage.strategies.shared.shape import has_text, has_tool_result
from ullage.strategy import UNCHANGED, Strategy, View
from ullage.types import Decision, Inject, Message, Moment, Text


@dataclass(frozen=True, slots=True, kw_only=True)
class Injector(Strategy):
    """Adds ``text`` behind the newest user message of each request, or only where a user's turn begins.

    ``{now}`` in the text becomes the time of the call, ``{call}`` its number. A blank text adds nothing. Profile ``1.62``
    puts a blank line in front only where the message has text of its own, ``1.54`` where it has any content.
    """

    text: str = "<now>{now}</now>"
    trigger: Literal["userTurn", "everyTurn"] = "userTurn"
    profile: Profile = "1.62"

    summary: ClassVar[str] = "adds a text to each request that never enters the history"
    moments: ClassVar[frozenset[Moment]] = frozenset({Moment.BEFORE_CALL})
    sources: ClassVar[tuple[str, ...]] = ("strands-agents 1.44 to 1.62: vended_plugins.context_injector.ContextInjector",)

    def decide(self, view: View) -> Decision:
        """Inject the text, or nothing."""
        message = view.context[-1] if len(view.context) else None
        if message is None or not self._triggered(message):
            return UNCHANGED
        text = self.text.replace("{now}", _spelled(view.now)).replace("{call}", str(view.call))
        if not text.strip():
            return UNCHANGED
        target = next((m for m in reversed(view.context) if m.role == "user"), None)
        if target is None:
            return UNCHANGED
        joined = bool(target.blocks) if self.profile == "1.54" else has_text(target)
        blank = "\n\n" if joined else ""
        return Decision(edits=(Inject(blocks=(Text(text=blank + text),)),), tier="inject")

    def _triggered(self, message: Message) -> bool:
        return self.trigger == "everyTurn" or (message.role == "user" and not has_tool_result(message))


def _spelled(now: int | None) -> str:
    """A time in milliseconds as ISO 8601 in UTC; unknown when the recording has none."""
    return "unknown" if now is None else datetime.fromtimestamp(now / 1000, UTC).isoformat(timespec="seconds")

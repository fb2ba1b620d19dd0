"""With thinking on, Claude's API wants the last assistant turn that calls tools to begin with its thinking."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from ullage.invariants._scan import LAST, Finding, Scene, TurnRule
from ullage.invariants._turns import USE, latest_assistant


@dataclass(frozen=True, slots=True, kw_only=True)
class ThinkingFirst(TurnRule):
    """Where the recorded last reply began with thinking, the last assistant turn sent begins with thinking if it calls tools.

    A reply that a strategy adds in the model's place was never recorded: what thinking it would have had is not known.
    """

    summary: ClassVar[str] = "the last assistant turn with tool calls keeps its thinking in front"
    rule: ClassVar[str] = "A14"
    scope: ClassVar[str] = "anthropic"
    source: ClassVar[str] = "RooCodeInc/Roo-Code PR 10351: expected thinking or redacted_thinking, but found tool_use"

    def concerns(self, bits: int) -> bool:
        """The end of a request."""
        return bool(bits & LAST)

    def look(self, scene: Scene, at: int, *, last: bool) -> Iterable[Finding]:  # noqa: ARG002 - the signature of all rules
        """One finding, at the first message of that turn."""
        if not scene.past.thinks:
            return ()
        sent, recorded = latest_assistant(scene.turns, at), scene.past.last_reply()
        if sent is None or recorded is None or not sent.bits & USE or sent.starts_thinking or not recorded.starts_thinking:
            return ()
        if scene.past.message(sent.messages[0].id) is None:
            return ()
        return (Finding(sent.messages[0].id, "the last assistant turn calls tools and does not begin with its thinking"),)

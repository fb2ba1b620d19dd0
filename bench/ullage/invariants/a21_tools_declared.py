"""Claude's API refuses tool blocks in a request that offers no tools."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from ullage.invariants._scan import Finding, Scene, TurnRule
from ullage.invariants._turns import RESULT, USE


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolsDeclared(TurnRule):
    """A request with tool blocks offers tools.

    What a request offers is what the recording and the strategy declare. A recording that holds calls but no tool list did
    send one, so only tool blocks that a strategy brings into a session without tools can break this.
    """

    summary: ClassVar[str] = "a history with tool blocks is sent with tools"
    rule: ClassVar[str] = "A21"
    scope: ClassVar[str] = "anthropic bedrock"
    source: ClassVar[str] = (
        "Messages API: requests which include tool blocks must define tools (general knowledge); LiteLLM adds a dummy tool"
    )

    def concerns(self, bits: int) -> bool:
        """A turn with tool blocks."""
        return bool(bits & (USE | RESULT))

    def look(self, scene: Scene, at: int, *, last: bool) -> Iterable[Finding]:  # noqa: ARG002 - the signature of all rules
        """One finding, at the first message of the first turn with tool blocks."""
        if scene.past.tools_sent or any(turn.bits & (USE | RESULT) for turn in scene.turns[:at]):
            return ()
        return (Finding(scene.turns[at].messages[0].id, "tool blocks in a request that offers no tools"),)

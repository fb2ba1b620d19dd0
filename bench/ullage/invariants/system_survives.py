"""Instructions survive: the system and developer turns in the middle of a conversation stay in every request.

The system prompt itself lives on the trace, where no edit reaches it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ullage.invariants import Invariant
from ullage.invariants._watch import Watch
from ullage.types import Trace


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemSurvives(Invariant):
    """System and developer messages in the history are neither dropped nor changed."""

    summary: ClassVar[str] = "system and developer messages stay as they are"
    source: ClassVar[str] = "anthropics/claude-code 4017, OpenCode 16960: instructions ignored after a compaction"

    def open(self, trace: Trace) -> Watch:
        """Watch the system messages."""
        return Watch(self, trace, lambda message: "system" if message.role == "system" else "")

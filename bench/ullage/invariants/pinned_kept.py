"""Pinned and protected messages are never edited, at any tier, not even at an overflow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ullage.invariants import Invariant
from ullage.invariants._watch import Watch
from ullage.types import Trace


@dataclass(frozen=True, slots=True, kw_only=True)
class PinnedKept(Invariant):
    """The blocks of messages that the recording pins or protects stand whole in every request."""

    summary: ClassVar[str] = "pinned and protected messages stay as they are"
    source: ClassVar[str] = "the red lines reported for MUR AI: protected parts are never edited, rather overflow"

    def open(self, trace: Trace) -> Watch:
        """Watch the pinned and protected messages."""
        return Watch(self, trace, lambda message: "pinned" if message.pinned else "protected" if message.protected else "")

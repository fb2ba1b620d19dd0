"""A state that was saved as JSON and read back leads to the same decision."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ullage.invariants import Invariant


@dataclass(frozen=True, slots=True, kw_only=True)
class StateRoundTrip(Invariant):
    """The same view, with the state passed through JSON, gives the same decision. Held by ``auditing.Auditor``."""

    summary: ClassVar[str] = "its state can be saved as JSON and restored"
    scope: ClassVar[str] = "decision"
    source: ClassVar[str] = "sessions are resumed on other machines: what a strategy knows must survive the way there"

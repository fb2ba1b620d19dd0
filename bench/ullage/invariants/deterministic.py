"""Asked twice on one view, a strategy decides the same."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ullage.invariants import Invariant


@dataclass(frozen=True, slots=True, kw_only=True)
class Deterministic(Invariant):
    """The same view, with the ports' first answers given again, gives the same decision. Held by ``auditing.Auditor``."""

    summary: ClassVar[str] = "asked twice on one view, it decides the same"
    scope: ClassVar[str] = "decision"
    source: ClassVar[str] = "Codex synthetic ids, MUR ReplacementCache: the same input and state give the same bytes"

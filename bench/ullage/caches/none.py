"""No cache at all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ullage.cache import Ttl
from ullage.caches._marks import Mark, MarksPolicy
from ullage.context import Context


@dataclass(frozen=True, slots=True, kw_only=True)
class NoCache(MarksPolicy):
    """No marks: the whole prompt is charged in full at every call."""

    provider: ClassVar[str] = ""
    unsure: ClassVar[tuple[str, ...]] = ()

    def marks(self, context: Context, ttl: Ttl) -> tuple[Mark, ...]:  # noqa: ARG002 - the signature of all placements
        """None."""
        return ()

"""Marks: the provider's automatic mode."""

from __future__ import annotations

from dataclasses import dataclass

from ullage.cache import Ttl
from ullage.caches._marks import Mark, MarksPolicy, last_markable
from ullage.context import Context


@dataclass(frozen=True, slots=True, kw_only=True)
class Automatic(MarksPolicy):
    """One mark on the last cacheable block, moving forward with the history; none on the system prompt."""

    def marks(self, context: Context, ttl: Ttl) -> tuple[Mark, ...]:
        """The last message that can carry a mark."""
        return (Mark(last_markable(context), ttl),)

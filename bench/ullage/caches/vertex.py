"""Claude on Google Vertex AI."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ullage.cache import CacheRules, Ttl
from ullage.caches._marks import BlockSession, Mark, MarksPolicy, system_and_last
from ullage.context import Context


@dataclass(frozen=True, slots=True, kw_only=True)
class Vertex(MarksPolicy):
    """Claude's marks with every block a position of its own; isolation is per organisation."""

    provider: ClassVar[str] = "vertex"
    sources: ClassVar[tuple[str, ...]] = ("Claude platform docs, 'Prompt caching', read 2026-11",)
    unsure: ClassVar[tuple[str, ...]] = ("runs of tool blocks share a position on the Claude API; not assumed here",)

    def marks(self, context: Context, ttl: Ttl) -> tuple[Mark, ...]:
        """The end of the overhead and the last message that can carry a mark."""
        return system_and_last(context, ttl)

    def open(self, rules: CacheRules) -> BlockSession:
        """Start an empty cache."""
        return BlockSession(self, rules)

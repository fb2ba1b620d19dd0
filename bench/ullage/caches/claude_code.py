"""Marks: as Claude Code places them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from ullage.cache import Ttl
from ullage.caches._marks import Mark, MarksPolicy, system_and_last
from ullage.context import Context


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaudeCode(MarksPolicy):
    """Marks on the system prompt (they cover the tools) and one rolling mark on the last block of the last message.

    ``system_ttl`` gives the system marks a lifetime of their own, as clients that mix both lifetimes do.
    """

    sources: ClassVar[tuple[str, ...]] = (
        "Claude Code docs, 'How Claude Code uses prompt caching', read 2026-11",
        "two reverse-engineering articles on its requests, read 2026-11",
    )

    system_ttl: Literal["", "5m", "1h"] = ""

    def marks(self, context: Context, ttl: Ttl) -> tuple[Mark, ...]:
        """The end of the overhead and the last message that can carry a mark."""
        return system_and_last(context, ttl, self.system_ttl or None)

"""Marks: all four in use, the last two on the newest messages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ullage.cache import Ttl
from ullage.caches._marks import Mark, MarksPolicy, last_markable
from ullage.context import Context


@dataclass(frozen=True, slots=True, kw_only=True)
class SlidingFour(MarksPolicy):
    """Marks on the last tool, the last system block and the two newest cacheable messages.

    The first two share the end of the overhead here, which is one segment.
    """

    sources: ClassVar[tuple[str, ...]] = ("microsoft/vscode pull request 315505 (Copilot), read 2026-11",)

    def marks(self, context: Context, ttl: Ttl) -> tuple[Mark, ...]:
        """The end of the overhead and the last two messages that can carry a mark."""
        last = last_markable(context)
        before = last_markable(context, last - 1) if last else 0
        return tuple(Mark(length, ttl) for length in sorted({0, before, last}))

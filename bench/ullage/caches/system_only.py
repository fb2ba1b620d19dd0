"""Marks: the system prompt alone."""

from __future__ import annotations

from dataclasses import dataclass

from ullage.cache import Ttl
from ullage.caches._marks import Mark, MarksPolicy
from ullage.context import Context


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemOnly(MarksPolicy):
    """One mark after tools and system prompt; the conversation is charged in full."""

    def marks(self, context: Context, ttl: Ttl) -> tuple[Mark, ...]:  # noqa: ARG002 - the signature of all placements
        """The end of the overhead."""
        return (Mark(0, ttl),)

"""Marks: spaced so that the lookback always reaches an older one."""

from __future__ import annotations

from dataclasses import dataclass

from ullage.cache import Ttl
from ullage.caches._marks import MAX_MARKS, Mark, MarksPolicy, last_markable
from ullage.context import Context


@dataclass(frozen=True, slots=True, kw_only=True)
class EveryFifteen(MarksPolicy):
    """Marks on the system prompt, on the last block, and at fixed positions every ``spacing`` blocks behind it."""

    spacing: int = 15

    def __post_init__(self) -> None:
        if self.spacing < 1:
            raise ValueError(f"found spacing={self.spacing}; expected at least 1")

    def marks(self, context: Context, ttl: Ttl) -> tuple[Mark, ...]:
        """The end of the overhead, the last two multiples of the spacing, and the last message that can carry a mark."""
        lengths = {0, last_markable(context)}
        length = max(lengths)
        while length > 0 and len(lengths) < MAX_MARKS:
            target = (context.cache_positions(length) - 1) // self.spacing * self.spacing
            length = last_markable(context, context.fits_positions(target))
            lengths.add(length)
        return tuple(Mark(length, ttl) for length in sorted(lengths))

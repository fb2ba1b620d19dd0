"""The engine of caches that write at the ends of messages which the provider finds eligible by itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ullage.cache import MINUTE_MS, CacheRules, Ttl
from ullage.caches._marks import Mark, MarksPolicy, MarksSession
from ullage.context import Context


@dataclass(frozen=True, slots=True, kw_only=True)
class EndsPolicy(MarksPolicy):
    """An implicit mark at the end of the latest eligible message, looking back at the eligible ends before it.

    Eligible are user messages, the answers to tool calls among them. ``minutes`` is the life after the last write or
    read; ``system_mark`` says whether the end of the initial developer block holds an entry as well.
    """

    minutes: int = 30
    system_mark: bool = True

    lookback: ClassVar[int] = 21

    def __post_init__(self) -> None:
        if self.minutes < 1:
            raise ValueError(f"found minutes={self.minutes}; expected at least 1")

    def marks(self, context: Context, ttl: Ttl) -> tuple[Mark, ...]:  # noqa: ARG002 - one lifetime for all entries
        """The end of the overhead, if it holds an entry, and the end of the last user message."""
        last = last_eligible(context, len(context))
        marks = (Mark(last, "5m"),) if last else ()
        return (Mark(0, "5m"), *marks) if self.system_mark or not marks else marks

    def life_ms(self, ttl: Ttl) -> int:  # noqa: ARG002 - one lifetime for all entries
        """The lifetime in milliseconds."""
        return self.minutes * MINUTE_MS

    def open(self, rules: CacheRules) -> EndsSession:
        """Start an empty cache."""
        return EndsSession(self, rules)


class EndsSession(MarksSession):
    """Entries at eligible ends; a mark looks at itself and at the twenty eligible ends before it."""

    __slots__ = ()

    def _look_back(self, context: Context, start: int, now: int) -> int | None:
        length = start
        for _ in range(self._policy.lookback):
            if self._live(context.prefix_hash(length), now):
                return length
            if length == 0:
                return None
            length = last_eligible(context, length - 1)
        return 0 if start and self._live(context.prefix_hash(0), now) else None


def last_eligible(context: Context, upto: int) -> int:
    """Length of the longest prefix, of at most ``upto`` messages, that ends in a user message (0: none)."""
    while upto > 0 and context[upto - 1].role != "user":
        upto -= 1
    return upto

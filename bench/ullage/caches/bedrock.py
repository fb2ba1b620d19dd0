"""Claude on Amazon Bedrock."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ullage.cache import CacheRules, Ttl
from ullage.caches._marks import BlockSession, Mark, MarksPolicy, system_and_last
from ullage.context import Context


@dataclass(frozen=True, slots=True, kw_only=True)
class Bedrock(MarksPolicy):
    """`cachePoint` blocks after the system prompt and in the last message; every block is a position of its own."""

    provider: ClassVar[str] = "bedrock"
    sources: ClassVar[tuple[str, ...]] = ("AWS guide 'Prompt caching' and litellm's price map 1.110, read 2026-11",)
    unsure: ClassVar[tuple[str, ...]] = (
        "lookback of about 20 blocks: general knowledge; runs of tool blocks do not share a position here",
        "minimum of Claude Opus 4.7: 4,096 tokens on one page, 2,048 in the price map, which is used",
        "which models have the 1 h lifetime",
    )

    def marks(self, context: Context, ttl: Ttl) -> tuple[Mark, ...]:
        """The end of the overhead and the last message that can carry a mark."""
        return system_and_last(context, ttl)

    def open(self, rules: CacheRules) -> BlockSession:
        """Start an empty cache."""
        return BlockSession(self, rules)

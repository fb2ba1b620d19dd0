"""Amazon Nova on Bedrock."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ullage.cache import CacheRules, Ttl
from ullage.caches._marks import BlockSession, Mark, MarksPolicy, system_and_last
from ullage.context import Context


@dataclass(frozen=True, slots=True, kw_only=True)
class BedrockNova(MarksPolicy):
    """`cachePoint` blocks after the system prompt and in the last message, five minutes, no fee for a write."""

    provider: ClassVar[str] = "bedrock"
    sources: ClassVar[tuple[str, ...]] = ("litellm's price map 1.110 and the Portkey gateway page on Bedrock, read 2026-11",)
    unsure: ClassVar[tuple[str, ...]] = (
        "matching and lookback: taken as Claude's on Bedrock; Nova also caches text prefixes on its own",
        "tools cannot carry a cachePoint; they count as part of the overhead here",
    )

    def marks(self, context: Context, ttl: Ttl) -> tuple[Mark, ...]:  # noqa: ARG002 - five minutes is the only lifetime
        """The end of the overhead and the last message that can carry a mark."""
        return system_and_last(context, "5m")

    def open(self, rules: CacheRules) -> BlockSession:
        """Start an empty cache."""
        return BlockSession(self, rules)

"""Qwen on Alibaba Model Studio, with explicit marks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ullage.cache import CacheRules, Ttl
from ullage.caches._marks import BlockSession, Mark, MarksPolicy, system_and_last
from ullage.context import Context

MINIMUM = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class QwenExplicit(MarksPolicy):
    """`cache_control` in messages: 1,024 tokens at least, five minutes from the last hit, a lookback of 20 blocks."""

    provider: ClassVar[str] = "dashscope"
    sources: ClassVar[tuple[str, ...]] = ("Alibaba Model Studio, 'Context Cache', read 2026-11",)
    unsure: ClassVar[tuple[str, ...]] = (
        "an entry is written after the response; requests in parallel are not modelled unless `visible_after_ms` is set",
        "price sheets without a write price charge writes as input; the page says 1.25 times",
    )

    def marks(self, context: Context, ttl: Ttl) -> tuple[Mark, ...]:  # noqa: ARG002 - five minutes is the only lifetime
        """The end of the overhead and the last message that can carry a mark."""
        return system_and_last(context, "5m")

    def open(self, rules: CacheRules) -> BlockSession:  # noqa: ARG002 - one minimum for all models
        """Start an empty cache."""
        return BlockSession(self, CacheRules(minimum=MINIMUM))

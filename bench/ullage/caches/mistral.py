"""Mistral."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ullage.caches._intervals import BEST_EFFORT, WITHIN_MESSAGE, PrefixPolicy


@dataclass(frozen=True, slots=True, kw_only=True)
class Mistral(PrefixPolicy):
    """The longest live prefix under a cache key, without a published minimum; no fee for writes."""

    provider: ClassVar[str] = "mistral"
    sources: ClassVar[tuple[str, ...]] = ("Mistral docs, 'Prompt caching', read 2026-11",)
    unsure: ClassVar[tuple[str, ...]] = (
        BEST_EFFORT,
        "life of a prefix: not published; 60 minutes after its last use are assumed",
        "the prompt_cache_key only raises the chance of a hit",
        WITHIN_MESSAGE,
    )

    minimum: int = 1

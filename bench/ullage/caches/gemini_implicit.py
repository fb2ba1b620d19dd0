"""Gemini with implicit caching."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ullage.caches._intervals import BEST_EFFORT, WITHIN_MESSAGE, PrefixPolicy


@dataclass(frozen=True, slots=True, kw_only=True)
class GeminiImplicit(PrefixPolicy):
    """The longest live prefix from the model's minimum on; nothing is charged for writes or storage."""

    provider: ClassVar[str] = "gemini"
    sources: ClassVar[tuple[str, ...]] = ("Google AI Studio docs and litellm's price map 1.110, read 2026-11",)
    unsure: ClassVar[tuple[str, ...]] = (
        BEST_EFFORT,
        "life of a prefix: not published; 60 minutes after its last use are assumed",
        "minimum: 1,024 and 4,096 on one page, 2,048 and 4,096 in the price map, which is used",
        WITHIN_MESSAGE,
    )

"""xAI."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ullage.caches._intervals import BEST_EFFORT, WITHIN_MESSAGE, PrefixPolicy


@dataclass(frozen=True, slots=True, kw_only=True)
class Xai(PrefixPolicy):
    """The longest live prefix, without a published minimum; no fee for writes."""

    provider: ClassVar[str] = "xai"
    sources: ClassVar[tuple[str, ...]] = ("docs.x.ai, 'Prompt Caching', read 2026-11",)
    unsure: ClassVar[tuple[str, ...]] = (
        BEST_EFFORT,
        "life of a prefix: not published; 60 minutes after its last use are assumed; entries are evicted when room is needed",
        "requests must carry a stable conversation id to meet their cache",
        WITHIN_MESSAGE,
    )

    minimum: int = 1

"""vLLM, served by oneself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ullage.caches._intervals import WITHIN_MESSAGE, PrefixPolicy


@dataclass(frozen=True, slots=True, kw_only=True)
class Vllm(PrefixPolicy):
    """Full blocks of 16 tokens of the longest prefix, generated tokens included, until they are evicted."""

    provider: ClassVar[str] = "vllm"
    sources: ClassVar[tuple[str, ...]] = (
        "vLLM design page 'Automatic Prefix Caching', read 2026-11; block size and recomputed last token: general knowledge",
    )
    unsure: ClassVar[tuple[str, ...]] = (
        "room in the cache is taken as unlimited: nothing is evicted",
        "a read costs compute only; price sheets do not know it",
        WITHIN_MESSAGE,
    )

    caches_replies: ClassVar[bool] = True

    minutes: int | None = None
    interval: int = 16
    minimum: int = 1

"""GLM (Z.ai)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ullage.caches._intervals import BEST_EFFORT, WITHIN_MESSAGE, PrefixPolicy


@dataclass(frozen=True, slots=True, kw_only=True)
class Glm(PrefixPolicy):
    """The longest live prefix, without a published minimum; no fee for writes."""

    provider: ClassVar[str] = "zai"
    sources: ClassVar[tuple[str, ...]] = ("bigmodel docs, 'cache', and litellm's price map 1.110, read 2026-11",)
    unsure: ClassVar[tuple[str, ...]] = (
        BEST_EFFORT,
        "life of a prefix: not published; 60 minutes after its last use are assumed",
        WITHIN_MESSAGE,
    )

    minimum: int = 1

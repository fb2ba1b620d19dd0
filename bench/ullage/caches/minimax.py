"""MiniMax."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ullage.caches._intervals import BEST_EFFORT, WITHIN_MESSAGE, PrefixPolicy


@dataclass(frozen=True, slots=True, kw_only=True)
class MiniMax(PrefixPolicy):
    """The longest live prefix of at least 512 tokens, in the order system, tools, messages; writes are charged."""

    provider: ClassVar[str] = "minimax"
    sources: ClassVar[tuple[str, ...]] = ("platform.minimax.io and litellm's price map 1.110, read 2026-11",)
    unsure: ClassVar[tuple[str, ...]] = (
        BEST_EFFORT,
        "life of a prefix: not published; 60 minutes after its last use are assumed",
        WITHIN_MESSAGE,
    )

    charges_writes: ClassVar[bool] = True

    minimum: int = 512

"""Moonshot (Kimi)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ullage.caches._intervals import BEST_EFFORT, WITHIN_MESSAGE, PrefixPolicy


@dataclass(frozen=True, slots=True, kw_only=True)
class Moonshot(PrefixPolicy):
    """The longest live prefix, without a published minimum."""

    provider: ClassVar[str] = "moonshot"
    sources: ClassVar[tuple[str, ...]] = ("litellm's price map 1.110, read 2026-11",)
    unsure: ClassVar[tuple[str, ...]] = (
        BEST_EFFORT,
        "life of a prefix: not published; 60 minutes after its last use are assumed",
        "Kimi K3 has a price for one-hour writes whose rules are not published",
        WITHIN_MESSAGE,
    )

    minimum: int = 1

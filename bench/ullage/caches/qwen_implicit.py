"""Qwen on Alibaba Model Studio, without marks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ullage.caches._intervals import BEST_EFFORT, WITHIN_MESSAGE, PrefixPolicy


@dataclass(frozen=True, slots=True, kw_only=True)
class QwenImplicit(PrefixPolicy):
    """The longest live prefix of at least 1,024 tokens; no fee for writes."""

    provider: ClassVar[str] = "dashscope"
    sources: ClassVar[tuple[str, ...]] = ("Alibaba Model Studio, 'Context Cache', read 2026-11",)
    unsure: ClassVar[tuple[str, ...]] = (
        BEST_EFFORT,
        "life of a prefix: not published; 60 minutes after its last use are assumed",
        "minimum: 256 in older versions of the page",
        "reads cost 0.2 times the input price on the page; many rows of the price map have no read price",
        WITHIN_MESSAGE,
    )

    minimum: int = 1024

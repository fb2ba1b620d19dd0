"""DeepSeek."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ullage.caches._units import UnitsPolicy


@dataclass(frozen=True, slots=True, kw_only=True)
class DeepSeek(UnitsPolicy):
    """Whole prefix units, read in steps of 64 tokens, kept for hours to days; no fee for writes."""

    provider: ClassVar[str] = "deepseek"
    sources: ClassVar[tuple[str, ...]] = (
        "DeepSeek docs, 'Context Caching', read 2026-11 (an older version gives units of 64 tokens)",
        "1,068 billed calls of mini-swe-agent: read = floor64(last prompt + last output) in 74 %",
    )
    unsure: ClassVar[tuple[str, ...]] = (
        "best effort: an eighth of billed calls lag by one or more calls behind the rule",
        "life of a unit: hours to days; a day from its last use is assumed",
        "units at fixed intervals are mentioned without a number and left out",
    )

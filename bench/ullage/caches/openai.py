"""OpenAI before GPT-5.6."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ullage.caches._intervals import BEST_EFFORT, WITHIN_MESSAGE, PrefixPolicy


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenAi(PrefixPolicy):
    """The longest live prefix, read in steps of 128 tokens from 1,024 on; no fee for writes.

    GPT-5.5 keeps entries for 24 hours: ``openai(interval=512, minutes=1440)``, by the grid that its billed reads show.
    """

    provider: ClassVar[str] = "openai"
    sources: ClassVar[tuple[str, ...]] = ("OpenAI guide 'Prompt caching', read 2026-11",)
    unsure: ClassVar[tuple[str, ...]] = (
        BEST_EFFORT,
        "idle life of the in-memory cache: 5 to 10 minutes, at most an hour; 10 is used",
        "where intervals start: hidden system text stands before the visible prompt",
        "interval of GPT-5.5: 2,048 tokens in the guide; 306 billed Codex calls lie on a grid of 512 with an offset of 384",
        WITHIN_MESSAGE,
    )

    minutes: int | None = 10
    interval: int = 128
    minimum: int = 1024

"""OpenAI from GPT-5.6 on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ullage.caches._ends import EndsPolicy


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenAiMarks(EndsPolicy):
    """Entries at the ends of user messages, 30 minutes from the last use, writes at 1.25 times the input price."""

    provider: ClassVar[str] = "openai"
    sources: ClassVar[tuple[str, ...]] = ("OpenAI guide 'Prompt caching' (with GPT-6) and API reference, read 2026-11",)
    unsure: ClassVar[tuple[str, ...]] = (
        "lookup set: the guide says the first 2 and latest 50 explicit marks, the API reference the latest 80",
        "whether the end of the initial developer block holds an entry without an explicit mark: `system_mark`",
        "a long-retention write price in the price map (2.5 times input above 12 h) that the guide does not describe",
        "hidden system tokens are in the cache but not in its counters",
    )

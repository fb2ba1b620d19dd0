"""OpenAI models on Azure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ullage.cache import CachePolicy, CacheRules, CacheSession
from ullage.caches.openai import OpenAi
from ullage.caches.openai_marks import OpenAiMarks


@dataclass(frozen=True, slots=True, kw_only=True)
class Azure(CachePolicy):
    """OpenAI's rules: of the models before GPT-5.6, or with ``marks`` of those from it on."""

    provider: ClassVar[str] = "azure"
    sources: ClassVar[tuple[str, ...]] = ("OpenAI guide 'Prompt caching' and litellm's price map 1.110, read 2026-11",)
    unsure: ClassVar[tuple[str, ...]] = ("provisioned throughput is discounted up to 100 % on reads; not modelled",)

    marks: bool = False

    def open(self, rules: CacheRules) -> CacheSession:
        """Start an empty cache."""
        return OpenAiMarks().open(rules) if self.marks else OpenAi().open(rules)

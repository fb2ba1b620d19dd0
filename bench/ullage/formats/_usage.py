"""Billed usage of providers whose prompt figure includes what was read from the cache."""

from __future__ import annotations

from typing import Any

from ullage.formats._anthropic import whole
from ullage.formats._lines import object_at
from ullage.types import Usage


def included_usage(prompt: int, cached: int, output: int, written: int = 0) -> Usage:
    """Usage where ``prompt`` is the whole prompt, of which ``cached`` was read and ``written`` written at the 5-minute rate."""
    read = min(cached, prompt)
    wrote = min(written, prompt - read)
    return Usage(uncached=prompt - read - wrote, cache_read=read, cache_write_5m=wrote, output=output)


def completion_usage(raw: Any) -> Usage | None:
    """Usage of a chat completion as OpenAI, DeepSeek and litellm spell it; none where there is no prompt figure."""
    if not isinstance(raw, dict) or "prompt_tokens" not in raw:
        return None
    cached = (
        object_at(raw, "prompt_tokens_details").get("cached_tokens"),
        raw.get("prompt_cache_hit_tokens"),
        raw.get("cache_read_input_tokens"),
    )
    return included_usage(
        whole(raw.get("prompt_tokens")),
        max(map(whole, cached)),
        whole(raw.get("completion_tokens")),
        whole(raw.get("cache_creation_input_tokens")),
    )


def names_cache(raw: Any) -> bool:
    """Whether a chat completion's usage says anything about the cache."""
    details = object_at(raw, "prompt_tokens_details")
    known = ("prompt_cache_hit_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    return "cached_tokens" in details or (isinstance(raw, dict) and any(key in raw for key in known))

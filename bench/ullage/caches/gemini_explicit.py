"""Gemini with explicit cache objects."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ullage.cache import MINUTE_MS, CachePolicy, CacheRules, Clock, Kept, Prompt
from ullage.types import Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class GeminiExplicit(CachePolicy):
    """One named cache object that holds a prefix; a client makes a new one when too much stands behind it.

    ``minutes`` is the object's life from its making, ``rebuild_tokens`` how much may stand uncached behind it. Storage
    is charged by token-hour: ``storage_usd`` dollars for a million tokens kept an hour.
    """

    provider: ClassVar[str] = "gemini"
    sources: ClassVar[tuple[str, ...]] = ("Google AI Studio docs, 'Context caching', read 2026-11",)
    unsure: ClassVar[tuple[str, ...]] = (
        "storage price: 4.50 dollars a million token-hours for Pro, 1.00 for Flash, from memory; not in the price map",
        "when a client makes a new object is its own choice: after `rebuild_tokens` here, or when history changed or time ran out",
        "the request that makes an object is billed for its tokens once, as writes; its read of them is left out",
    )

    minutes: int = 60
    rebuild_tokens: int = 32_768
    storage_usd: float = 4.5

    def __post_init__(self) -> None:
        if self.minutes < 1 or self.rebuild_tokens < 1 or self.storage_usd < 0:
            raise ValueError(
                "found a value below its least; expected minutes and rebuild_tokens of at least 1, storage_usd of at least 0"
            )

    def open(self, rules: CacheRules) -> GeminiSession:
        """Start without an object."""
        return GeminiSession(self, rules)


class GeminiSession:
    """At most one live object; ``stored_token_ms`` sums what was stored, in tokens times milliseconds."""

    __slots__ = ("_clock", "_expires", "_key", "_length", "_made", "_policy", "_rules", "_size", "stored_token_ms")

    def __init__(self, policy: GeminiExplicit, rules: CacheRules) -> None:
        self._policy, self._rules, self._clock = policy, rules, Clock()
        self._key: tuple[str, int, int] | None = None
        self._length = self._size = self._made = self._expires = 0
        self.stored_token_ms = 0

    @property
    def kept(self) -> Kept:
        """The object's prefix, for the rest of its life."""
        return Kept(self._size, max(self._expires - self._clock.now, 0))

    @property
    def storage_pico(self) -> int:
        """Pico-dollars of storage so far; an object is paid for until it is replaced or its life ends."""
        return round(self._policy.storage_usd * self.stored_token_ms * 1_000_000 / 3_600_000)

    def step(self, prompt: Prompt) -> Usage:
        """Read the object's prefix; make a new one first when it is dead, does not fit or is too far behind."""
        now = self._clock.advance(prompt.at)
        history = prompt.tokens - prompt.injected
        held = self._held(prompt, now)
        self._pay(now)
        if held and history - held <= self._policy.rebuild_tokens:
            return Usage(uncached=prompt.tokens - held, cache_read=held)
        if history < self._rules.minimum_of(prompt.model):
            return Usage(uncached=prompt.tokens)
        self._make(prompt, len(prompt.context), now)
        return Usage(uncached=prompt.injected, cache_write_1h=history)

    def prime(self, prompt: Prompt, tokens: int) -> None:
        """Start with an object that holds the longest prefix of whole messages within ``tokens``."""
        if tokens >= prompt.overhead:
            self._make(prompt, prompt.context.fits(tokens - prompt.overhead), self._clock.advance(prompt.at))

    def _held(self, prompt: Prompt, now: int) -> int:
        """Tokens of the live object's prefix, if this request begins with it."""
        fits = self._key is not None and self._length <= len(prompt.context) and now <= self._expires
        if not fits or self._key != (prompt.model, prompt.overhead, prompt.context.prefix_hash(self._length)):
            return 0
        return prompt.overhead + prompt.context.tokens(0, self._length)

    def _make(self, prompt: Prompt, length: int, now: int) -> None:
        self._key = (prompt.model, prompt.overhead, prompt.context.prefix_hash(length))
        self._length, self._size = length, prompt.overhead + prompt.context.tokens(0, length)
        self._made, self._expires = now, now + self._policy.minutes * MINUTE_MS

    def _pay(self, now: int) -> None:
        """Charge the storage since the last call, at most to the end of the object's life."""
        until = min(now, self._expires)
        self.stored_token_ms += self._size * max(until - self._made, 0)
        self._made = max(until, self._made)

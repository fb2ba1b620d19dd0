"""The upper bound: a cache that keeps every prefix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from ullage.cache import TTL_MS, CachePolicy, CacheRules, Kept, Prompt
from ullage.caches._prefix import Chains, tokens_of
from ullage.types import Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class Ideal(CachePolicy):
    """Reads the longest prefix that any live request had: no marks, no lookback, no minimum. No provider sells it."""

    unsure: ClassVar[tuple[str, ...]] = ("a bound, not a provider: it shows what marks lose",)

    ttl: Literal["", "5m", "1h"] = ""

    def open(self, rules: CacheRules) -> IdealSession:  # noqa: ARG002 - the bound has no minimum
        """Start an empty cache."""
        return IdealSession(self)


class IdealSession:
    """Every prefix of every request, for as long as it lives."""

    __slots__ = ("_chains", "_inside", "_policy", "kept")

    def __init__(self, policy: Ideal) -> None:
        self._policy, self._chains, self._inside = policy, Chains(), 0
        self.kept = Kept()

    def step(self, prompt: Prompt) -> Usage:
        """Read the longest live prefix and write the rest; blocks for this request only are charged in full."""
        ttl = self._policy.ttl or prompt.ttl
        read = tokens_of(prompt, self._chains.longest(prompt, TTL_MS[ttl]))
        inside, self._inside = self._inside, 0
        read = read or inside
        self.kept = Kept(prompt.tokens - prompt.injected, TTL_MS[ttl])
        written = prompt.tokens - prompt.injected - read
        return Usage(
            uncached=prompt.injected,
            cache_read=read,
            cache_write_5m=written if ttl == "5m" else 0,
            cache_write_1h=written if ttl == "1h" else 0,
        )

    def prime(self, prompt: Prompt, tokens: int) -> None:
        """Start with the longest prefix within ``tokens`` live; fewer than the overhead are read once, as they are."""
        if tokens >= prompt.overhead:
            length = prompt.context.fits(tokens - prompt.overhead)
            self._chains.prime(prompt, length, TTL_MS[self._policy.ttl or prompt.ttl])
        else:
            self._inside = max(tokens, 0)

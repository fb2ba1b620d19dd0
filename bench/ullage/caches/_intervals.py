"""The engine of caches that match by the token, in whole intervals, against every live prompt before.

The shared prefix is exact where histories differ by whole messages; tokens that the first changed message still shares
with its old text are not counted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ullage.cache import MINUTE_MS, CachePolicy, CacheRules, Kept, Prompt
from ullage.caches._prefix import Chains, tokens_of
from ullage.types import Usage

FOREVER_MS = 10**15
"""Milliseconds of a cache that forgets only when it is full."""
BEST_EFFORT = "best effort: a hit is never guaranteed, and the replay counts every possible one"
WITHIN_MESSAGE = "tokens shared inside the first changed message are not counted"


@dataclass(frozen=True, slots=True, kw_only=True)
class PrefixPolicy(CachePolicy):
    """Base of the automatic caches. ``minutes`` is the life of a prefix after its last use (none: until evicted).

    ``interval`` is the granularity of a read in tokens, ``minimum`` the shortest cacheable prefix (0: as published for
    the model, else as the class says).
    """

    declares: ClassVar[tuple[str, ...]] = ("provider", "sources", "unsure", "charges_writes", "caches_replies")
    charges_writes: ClassVar[bool] = False
    caches_replies: ClassVar[bool] = False

    minutes: int | None = 60
    interval: int = 1
    minimum: int = 0

    def __post_init__(self) -> None:
        if self.interval < 1:
            raise ValueError(f"found interval={self.interval}; expected at least 1 token")
        if self.minutes is not None and self.minutes < 1:
            raise ValueError(f"found minutes={self.minutes}; expected at least 1, or None")
        if self.minimum < 0:
            raise ValueError(f"found minimum={self.minimum}; expected at least 0 tokens")

    def open(self, rules: CacheRules) -> PrefixSession:
        """Start an empty cache."""
        return PrefixSession(self, rules)


class PrefixSession:
    """Every prompt of one conversation, read in whole intervals; the last token is always computed."""

    __slots__ = ("_chains", "_inside", "_life", "_policy", "_rules", "kept")

    def __init__(self, policy: PrefixPolicy, rules: CacheRules) -> None:
        self._policy, self._rules = policy, rules
        self._chains = Chains(replies=policy.caches_replies)
        self._life = FOREVER_MS if policy.minutes is None else policy.minutes * MINUTE_MS
        self._inside = 0
        self.kept = Kept(0, self._life)

    def step(self, prompt: Prompt) -> Usage:
        """Read the longest live prefix in whole intervals; the rest is charged in full, or written where that costs."""
        policy, inside = self._policy, self._inside
        self._inside = 0
        shared = max(tokens_of(prompt, self._chains.longest(prompt, self._life)), inside)
        minimum = policy.minimum or self._rules.minimum_of(prompt.model)
        shared = min(shared, prompt.tokens - 1)
        read = shared // policy.interval * policy.interval if shared >= minimum else 0
        rest = prompt.tokens - read
        history = prompt.tokens - prompt.injected
        written = rest - prompt.injected if policy.charges_writes and history >= minimum else 0
        self.kept = Kept(history // policy.interval * policy.interval if history >= minimum else 0, self._life)
        return Usage(uncached=rest - written, cache_read=read, cache_write_5m=written)

    def prime(self, prompt: Prompt, tokens: int) -> None:
        """Start with the longest prefix within ``tokens`` live; fewer than the overhead are read once, as they are."""
        if tokens >= prompt.overhead:
            self._chains.prime(prompt, prompt.context.fits(tokens - prompt.overhead), self._life)
        self._inside = max(tokens, 0) if tokens < prompt.overhead else 0

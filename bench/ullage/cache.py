"""Prompt caches: what a provider would read, write and charge in full for each request of a growing, edited history.

A ``CachePolicy`` is a frozen plug-in (one file in ``caches/``); ``open`` gives a session that prices one request after
another. The engines that several policies share live here, one for each kind of matching.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple, Protocol

from ullage.context import Context
from ullage.types import Usage

Ttl = Literal["5m", "1h"]


class CacheRules(NamedTuple):
    """What a model's price sheet says about its cache: the shortest cacheable prefix, in tokens."""

    minimum: int = 1024


class Prompt(NamedTuple):
    """One request as the cache sees it: an unseen prefix (tools and system), the history, and blocks for this request only.

    ``at`` is the request's start in milliseconds (none: no time passes), ``ttl`` the lifetime of what it writes.
    """

    overhead: int
    context: Context
    injected: int = 0
    at: int | None = None
    ttl: Ttl = "5m"
    model: str = ""

    @property
    def tokens(self) -> int:
        """True tokens of the whole request."""
        return self.overhead + self.context.tokens() + self.injected


class CacheSession(Protocol):
    """The cache of one conversation while it is replayed."""

    def step(self, prompt: Prompt) -> Usage:
        """Price one request and remember what it leaves in the cache; ``output`` is 0."""
        ...

    def prime(self, prompt: Prompt, tokens: int) -> None:
        """Start with the longest prefix of ``prompt`` within ``tokens`` already cached, as an earlier session left it."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class CachePolicy:
    """Base of all cache policies: subclasses are frozen dataclasses whose fields are their parameters."""

    declares: ClassVar[tuple[str, ...]] = ("provider", "sources", "unsure")
    summary: ClassVar[str] = ""
    provider: ClassVar[str] = ""
    sources: ClassVar[tuple[str, ...]] = ()
    unsure: ClassVar[tuple[str, ...]] = ()

    def open(self, rules: CacheRules) -> CacheSession:
        """Start an empty cache for one conversation with a model that has these rules."""
        raise NotImplementedError

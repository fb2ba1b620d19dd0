"""Prompt caches: what a provider would read, write and charge in full for each request of a growing, edited history.

A ``CachePolicy`` is a frozen plug-in (one file in ``caches/``); ``open`` gives a session that prices one request after
another. The engines that several policies share are the private modules of ``caches/``, one for each kind of matching.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple, Protocol

from ullage.context import Context
from ullage.types import Usage

Ttl = Literal["5m", "1h"]

MINUTE_MS = 60_000
TTL_MS: dict[str, int] = {"5m": 5 * MINUTE_MS, "1h": 60 * MINUTE_MS}
"""Lifetimes of what a request writes, in milliseconds."""


class CacheRules(NamedTuple):
    """What a model's price sheet says about its cache: the shortest cacheable prefix, in tokens.

    ``by_model`` holds the minimum of other models that the same session may call; ``minimum`` serves all the rest.
    """

    minimum: int = 1024
    by_model: tuple[tuple[str, int], ...] = ()

    def minimum_of(self, model: str) -> int:
        """The shortest prefix that this model caches, in tokens."""
        return dict(self.by_model).get(model, self.minimum)


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


class Kept(NamedTuple):
    """What the last request left: tokens that one which repeats it could read, and for how many milliseconds.

    Usage does not tell: a cache that takes no fee for writes shows what it keeps as uncached.
    """

    tokens: int = 0
    life_ms: int = TTL_MS["5m"]


class CacheSession(Protocol):
    """The cache of one conversation while it is replayed."""

    @property
    def kept(self) -> Kept:
        """What the last request left."""
        ...

    def step(self, prompt: Prompt) -> Usage:
        """Price one request and remember what it leaves in the cache; ``output`` is 0."""
        ...

    def prime(self, prompt: Prompt, tokens: int) -> None:
        """Start with the longest prefix of ``prompt`` within ``tokens`` already cached, as an earlier session left it."""
        ...


def storage_of(session: CacheSession) -> int:
    """Pico-dollars that a session has charged for storage so far; most providers charge nothing."""
    charged: int = getattr(session, "storage_pico", 0)
    return charged


@dataclass(frozen=True, slots=True, kw_only=True)
class CachePolicy:
    """Base of all cache policies: subclasses are frozen dataclasses whose fields are their parameters.

    ``sources`` name where the rules come from and of which date, ``unsure`` the points that a source leaves open.
    """

    declares: ClassVar[tuple[str, ...]] = ("provider", "sources", "unsure")
    summary: ClassVar[str] = ""
    provider: ClassVar[str] = ""
    sources: ClassVar[tuple[str, ...]] = ()
    unsure: ClassVar[tuple[str, ...]] = ()

    def open(self, rules: CacheRules) -> CacheSession:
        """Start an empty cache for one conversation with a model that has these rules."""
        raise NotImplementedError


class Clock:
    """The time of a session: never runs backwards, stands still where no time was recorded."""

    __slots__ = ("now",)

    def __init__(self) -> None:
        self.now = 0

    def advance(self, at: int | None) -> int:
        """Move to ``at`` and return the session's time in milliseconds."""
        if at is not None and at > self.now:
            self.now = at
        return self.now

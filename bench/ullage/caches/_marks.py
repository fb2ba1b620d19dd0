"""The engine of caches that write only at marks: Claude's rules, wherever Claude is served.

An entry exists only where an earlier request carried a mark. At each mark, from the last to the first, the provider
looks for an entry at the mark itself and then at the positions before it, as far as its lookback reaches. Positions
are messages' ends here, so a mark inside a message counts as one at the end of the message before it.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar, Literal, NamedTuple

from ullage.cache import TTL_MS, CachePolicy, CacheRules, Clock, Kept, Prompt, Ttl
from ullage.context import Context
from ullage.errors import UserError
from ullage.types import Text, Thinking, Usage

MAX_MARKS = 4
"""A fifth ``cache_control`` is refused (Claude platform docs, "Prompt caching", read 2026-11)."""
LOOKBACK = 20
"""Positions that one mark looks at, itself counted as the first (same page)."""


class Mark(NamedTuple):
    """A mark at the end of the first ``length`` messages (0: of the overhead), with the lifetime it asks for."""

    length: int
    ttl: Ttl


class _Entry:
    """When a prefix is forgotten, the lifetime that each use gives it, and from when it can be read (milliseconds)."""

    __slots__ = ("expires", "readable", "ttl")

    def __init__(self, now: int, ttl: int, readable: int) -> None:
        self.expires, self.ttl, self.readable = now + ttl, ttl, readable


class _Primed(NamedTuple):
    """What an earlier session left: the length of the prefix (none: it ends inside the overhead) and its tokens."""

    key: tuple[str, int]
    expires: int
    length: int | None
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MarksPolicy(CachePolicy):
    """Base of the mark placements. ``ttl`` overrides the lifetime that the recording asked for.

    ``visible_after_ms`` is how long after a request's start its entries can be read: the provider makes them readable
    when the response begins. The lifetime runs from the start of the request that wrote or last read the entry.
    """

    declares: ClassVar[tuple[str, ...]] = ("provider", "sources", "unsure", "lookback")
    provider: ClassVar[str] = "anthropic"
    sources: ClassVar[tuple[str, ...]] = ("Claude platform docs, 'Prompt caching', read 2026-11",)
    unsure: ClassVar[tuple[str, ...]] = (
        "whether a lifetime runs from the start of a request (third-party measurements) or from its end",
        "where the client splits its system prompt: the overhead is one segment here",
    )
    lookback: ClassVar[int] = LOOKBACK

    ttl: Literal["", "5m", "1h"] = ""
    visible_after_ms: int = 0

    def marks(self, context: Context, ttl: Ttl) -> tuple[Mark, ...]:
        """Where a request with this history carries marks, in ascending order."""
        raise NotImplementedError

    def life_ms(self, ttl: Ttl) -> int:
        """How long an entry lives after its last use, in milliseconds."""
        return TTL_MS[ttl]

    def open(self, rules: CacheRules) -> MarksSession:
        """Start an empty cache."""
        return MarksSession(self, rules)


class MarksSession:
    """The entries of one conversation; a model, and a different overhead, each have entries of their own."""

    __slots__ = ("_buckets", "_clock", "_entries", "_key", "_minimum", "_policy", "_primed", "_rules", "kept")

    def __init__(self, policy: MarksPolicy, rules: CacheRules) -> None:
        self._policy, self._rules, self._clock = policy, rules, Clock()
        self._buckets: dict[tuple[str, int], dict[int, _Entry]] = {}
        self._entries: dict[int, _Entry] = {}
        self._key: tuple[str, int] | None = None
        self._minimum = rules.minimum
        self._primed: _Primed | None = None
        self.kept = Kept()

    def step(self, prompt: Prompt) -> Usage:
        """Price one request by the A, B, C rule and write or refresh an entry at each of its marks."""
        now = self._clock.advance(prompt.at)
        self._select(prompt)
        context, ttl = prompt.context, self._policy.ttl or prompt.ttl
        marks = self._policy.marks(context, ttl)
        read = self._find(prompt, marks, now)
        written_1h, last = read, read
        for mark in marks:
            tokens = prompt.overhead + context.tokens(0, mark.length)
            if tokens >= self._minimum:
                last = max(last, tokens)
                written_1h = max(written_1h, tokens) if mark.ttl == "1h" else written_1h
                self._write(context, mark, now)
        self.kept = Kept(last, self._policy.life_ms(ttl))
        return Usage(
            uncached=prompt.tokens - last,
            cache_read=read,
            cache_write_5m=last - written_1h,
            cache_write_1h=written_1h - read,
        )

    def prime(self, prompt: Prompt, tokens: int) -> None:
        """Let the next request read the longest prefix within ``tokens``, wherever its marks are.

        Fewer tokens than the overhead stand for a mark inside it: exactly so many are read.
        """
        if tokens <= 0:
            return
        now = self._clock.advance(prompt.at)
        self._select(prompt)
        length = prompt.context.fits(tokens - prompt.overhead) if tokens >= prompt.overhead else None
        ttl = self._policy.life_ms(self._policy.ttl or prompt.ttl)
        if length is not None:
            self._entries[prompt.context.prefix_hash(length)] = _Entry(now, ttl, now)
        self._primed = _Primed((prompt.model, prompt.overhead), now + ttl, length, tokens)

    def _select(self, prompt: Prompt) -> None:
        key = (prompt.model, prompt.overhead)
        if key != self._key:
            self._key = key
            self._entries = self._buckets.setdefault(key, {})
            self._minimum = self._rules.minimum_of(prompt.model)

    def _find(self, prompt: Prompt, marks: tuple[Mark, ...], now: int) -> int:
        """Tokens of the longest live prefix that the marks reach (0: none); its entry is refreshed."""
        primed, self._primed = self._primed, None
        for mark in reversed(marks):
            length = self._look_back(prompt.context, mark.length, now)
            if length is not None:
                return prompt.overhead + prompt.context.tokens(0, length)
        if primed is None or primed.key != self._key or primed.expires < now:
            return 0
        if primed.length is None:
            return primed.tokens
        alive = primed.length <= len(prompt.context) and self._live(prompt.context.prefix_hash(primed.length), now)
        return prompt.overhead + prompt.context.tokens(0, primed.length) if alive else 0

    def _look_back(self, context: Context, start: int, now: int) -> int | None:
        """Length of the nearest live entry at or before ``start``, as far as the lookback reaches."""
        floor = context.cache_positions(start) - self._policy.lookback + 1
        length = start
        while length >= 0 and context.cache_positions(length) >= floor:
            if self._live(context.prefix_hash(length), now):
                return length
            length -= 1
        return None

    def _live(self, key: int, now: int) -> bool:
        """Tell whether an entry can be read now, and refresh it if so."""
        entry = self._entries.get(key)
        if entry is None or not entry.readable <= now <= entry.expires:
            return False
        entry.expires = now + entry.ttl
        return True

    def _write(self, context: Context, mark: Mark, now: int) -> None:
        """Write an entry at a mark; one that still lives is refreshed and keeps the lifetime that was paid for."""
        key = context.prefix_hash(mark.length)
        old = self._entries.get(key)
        if old is None or old.expires < now:
            self._entries[key] = _Entry(now, self._policy.life_ms(mark.ttl), now + self._policy.visible_after_ms)
        else:
            old.expires = now + old.ttl


class BlockSession(MarksSession):
    """As ``MarksSession`` where every block is a position of its own."""

    __slots__ = ()

    def _look_back(self, context: Context, start: int, now: int) -> int | None:
        left, length = self._policy.lookback, start
        while length >= 0 and left > 0:
            if self._live(context.prefix_hash(length), now):
                return length
            length -= 1
            left -= len(context[length].blocks) if length >= 0 else 0
        return None


def system_and_last(context: Context, ttl: Ttl, system_ttl: Ttl | None = None) -> tuple[Mark, ...]:
    """Marks at the end of the overhead and on the last message that can carry one."""
    last = last_markable(context)
    if system_ttl is not None and last:
        return checked((Mark(0, system_ttl), Mark(last, ttl)))
    return (Mark(0, system_ttl or ttl), Mark(last, ttl)) if last else (Mark(0, system_ttl or ttl),)


def last_markable(context: Context, upto: int | None = None) -> int:
    """Length of the longest prefix, of at most ``upto`` messages, whose last block can carry a mark (0: none).

    Thinking and empty text cannot: a mark on them is refused or moved to the nearest block before.
    """
    length = len(context) if upto is None else upto
    while length > 0:
        blocks = context[length - 1].blocks
        if blocks and not isinstance(blocks[-1], Thinking) and not (isinstance(blocks[-1], Text) and not blocks[-1].text):
            return length
        length -= 1
    return 0


def checked(marks: tuple[Mark, ...]) -> tuple[Mark, ...]:
    """Marks in ascending order without doubles; raises ``UserError`` for what a provider refuses."""
    if len(marks) > MAX_MARKS:
        raise UserError(f"cache marks: found {len(marks)}; expected at most {MAX_MARKS} in one request")
    if any(a.ttl == "5m" and b.ttl == "1h" for a, b in pairwise(marks)):
        raise UserError("cache marks: found a 1h mark after a 5m mark; expected the longer lifetime first")
    return marks

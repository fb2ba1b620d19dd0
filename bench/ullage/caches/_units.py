"""The engine of caches that keep whole units of a prompt: a request reads a unit only if it repeats all of it.

Units end where a user's input ends and where the model's reply ends; and where two requests part, the prefix that they
share becomes a unit that the third one can read.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field

from ullage.cache import MINUTE_MS, CachePolicy, CacheRules, Clock, Kept, Prompt
from ullage.caches._prefix import shared_length, tokens_of
from ullage.context import Context
from ullage.types import Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitsPolicy(CachePolicy):
    """Base of the unit caches. ``minutes`` is a unit's life after its last use, ``granularity`` the step of a read in tokens."""

    minutes: int = 1440
    granularity: int = 64

    def __post_init__(self) -> None:
        if self.minutes < 1 or self.granularity < 1:
            raise ValueError(f"found minutes={self.minutes}, granularity={self.granularity}; expected at least 1 of each")

    def open(self, rules: CacheRules) -> UnitsSession:  # noqa: ARG002 - no minimum is published
        """Start an empty cache."""
        return UnitsSession(self)


@dataclass(slots=True)
class _Line:
    """One model's newest history: its prefix keys, where units end in it, and until when units of left branches live."""

    keys: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    used: int = 0
    branches: dict[int, int] = field(default_factory=dict)


class UnitsSession:
    """The units of one conversation."""

    __slots__ = ("_clock", "_inside", "_life", "_lines", "_policy", "kept")

    def __init__(self, policy: UnitsPolicy) -> None:
        self._policy, self._clock, self._inside = policy, Clock(), 0
        self._life = policy.minutes * MINUTE_MS
        self._lines: dict[tuple[str, int], _Line] = {}
        self.kept = Kept(0, self._life)

    def step(self, prompt: Prompt) -> Usage:
        """Read the longest unit that this request repeats in full; the rest is charged in full."""
        now = self._clock.advance(prompt.at)
        line = self._lines.setdefault((prompt.model, prompt.overhead), _Line())
        if now - line.used > self._life:
            line.ends.clear()
        inside, self._inside = self._inside, 0
        whole = max(tokens_of(prompt, self._take(line, prompt.context, now)), inside)
        step = self._policy.granularity
        read = min(whole, prompt.tokens - 1) // step * step
        self.kept = Kept((prompt.tokens - prompt.injected) // step * step, self._life)
        return Usage(uncached=prompt.tokens - read, cache_read=read)

    def prime(self, prompt: Prompt, tokens: int) -> None:
        """Start with one unit: the longest prefix of whole messages within ``tokens``, or so much of the overhead."""
        if tokens < prompt.overhead:
            self._inside = max(tokens, 0)
            return
        now, length = self._clock.advance(prompt.at), prompt.context.fits(tokens - prompt.overhead)
        keys = [prompt.context.prefix_hash(at) for at in range(length + 1)]
        self._lines[prompt.model, prompt.overhead] = _Line(keys=keys, ends=[length], used=now)

    def _take(self, line: _Line, context: Context, now: int) -> int:
        """Length of the longest unit that the history repeats (-1: none); then the units that it adds."""
        shared, ends = shared_length(line.keys, context), line.ends
        parted = 0 <= shared < len(line.keys) - 1
        at = bisect_right(ends, shared)
        for length in ends[at:]:
            line.branches[line.keys[length]] = line.used + self._life
        del ends[at:]
        goes_on = ends[-1:] == [shared] and not parted and shared < len(context) and context[shared].role == "assistant"
        if goes_on:
            ends.append(shared + 1)  # the reply that the last request got, as this one repeats it
        hit = max(self._branch(line, context, shared, now), ends[-1] if ends else -1)
        for length in (*([shared] if parted else []), len(context)):
            if not ends or length > ends[-1]:
                ends.append(length)
        del line.keys[shared + 1 :]
        line.keys.extend(context.prefix_hash(length) for length in range(len(line.keys), len(context) + 1))
        line.used = now
        return hit

    @staticmethod
    def _branch(line: _Line, context: Context, shared: int, now: int) -> int:
        """The longest unit of a left branch that the history repeats (-1: none)."""
        if not line.branches:
            return -1
        for length in range(len(context), shared, -1):
            if line.branches.get(context.prefix_hash(length), -1) >= now:
                return length
        return -1

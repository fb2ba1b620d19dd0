"""The engine of caches that keep every prefix: the longest prefix that some earlier request also had is read.

Only ends of messages are compared, which is exact whenever histories differ by whole messages. The session keeps the
chain of prefix keys that it sent last and, for branches that an edit left behind, when each was last sent; so one
request costs a binary search plus the messages that are new to the chain.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ullage.cache import Clock, Prompt
from ullage.context import Context


def shared_length(keys: list[int], context: Context) -> int:
    """How many leading messages a list of prefix keys and ``context`` have in common (-1: the list is empty)."""
    low, high = -1, min(len(keys) - 1, len(context))
    if high >= 0 and keys[high] == context.prefix_hash(high):
        return high
    while low < high:
        middle = (low + high + 1) // 2
        if keys[middle] == context.prefix_hash(middle):
            low = middle
        else:
            high = middle - 1
    return low


@dataclass(slots=True)
class Chain:
    """The prefixes of one model's requests: keys of the last one by length, and branches left behind.

    ``runs`` says how long each stretch of the chain lives after its last use: (first length, milliseconds).
    """

    keys: list[int] = field(default_factory=list)
    used: int = 0
    runs: list[tuple[int, int]] = field(default_factory=list)
    branches: dict[int, tuple[int, int]] = field(default_factory=dict)

    def alive(self, shared: int, now: int) -> int:
        """The longest part of the shared prefix that was not forgotten since its last use (-1: none)."""
        end = shared
        for start, ttl in reversed(self.runs):
            if start <= end and now - self.used <= ttl:
                return end
            end = min(end, start - 1)
        return -1

    def branch(self, context: Context, shared: int, now: int) -> int:
        """The longest prefix beyond the shared one that a branch left behind still holds (-1: none)."""
        if not self.branches:
            return -1
        for length in range(len(context), shared, -1):
            if self.branches.get(context.prefix_hash(length), (-1, 0))[0] >= now:
                return length
        return -1

    def extend(self, context: Context, shared: int, hit: int, now: int, ttl: int) -> None:
        """Make ``context`` the chain: what is past ``hit`` was written now and lives ``ttl``."""
        for length in range(shared + 1, len(self.keys)):
            life = self._life(length)
            self.branches[self.keys[length]] = (self.used + life, life)
        del self.keys[shared + 1 :]
        self._relive(context, shared, hit, ttl)
        self.keys.extend(context.prefix_hash(length) for length in range(shared + 1, len(context) + 1))
        self.used = now

    def _life(self, length: int) -> int:
        return next(ttl for start, ttl in reversed(self.runs) if start <= length)

    def _relive(self, context: Context, shared: int, hit: int, ttl: int) -> None:
        """Renew the runs: those of the shared prefix stay up to ``hit``, a re-joined branch brings its own lifetime."""
        kept = min(shared, hit)
        self.runs = [run for run in self.runs if run[0] <= kept]
        if hit > shared:
            self._run(shared + 1, self.branches[context.prefix_hash(hit)][1])
        self._run(hit + 1, ttl)

    def _run(self, start: int, ttl: int) -> None:
        if not self.runs or self.runs[-1][1] != ttl:
            self.runs.append((start, ttl))


class Chains:
    """The chains of one conversation, one for each model and overhead.

    With ``replies`` what the model generates is cached as well, so that a prompt which goes on from an earlier one
    also finds the reply to it.
    """

    __slots__ = ("_chains", "_clock", "_replies")

    def __init__(self, *, replies: bool = False) -> None:
        self._chains: dict[tuple[str, int], Chain] = {}
        self._clock = Clock()
        self._replies = replies

    def longest(self, prompt: Prompt, ttl: int) -> int:
        """Length of the longest live prefix of this request (-1: none), which then becomes the newest.

        ``ttl`` is how long its new part lives, in milliseconds.
        """
        now = self._clock.advance(prompt.at)
        chain = self._chains.get((prompt.model, prompt.overhead))
        if chain is None:
            chain = self._chains[prompt.model, prompt.overhead] = Chain()
        context, shared = prompt.context, shared_length(chain.keys, prompt.context)
        alive = chain.alive(shared, now)
        hit = max(alive, chain.branch(context, shared, now))
        goes_on = self._replies and hit == shared == len(chain.keys) - 1 and 0 <= shared < len(context)
        chain.extend(context, shared, hit, now, ttl)
        return hit + 1 if goes_on and context[shared].role == "assistant" else hit

    def prime(self, prompt: Prompt, length: int, ttl: int) -> None:
        """Start with the first ``length`` messages already sent."""
        now = self._clock.advance(prompt.at)
        keys = [prompt.context.prefix_hash(at) for at in range(length + 1)]
        self._chains[prompt.model, prompt.overhead] = Chain(keys=keys, used=now, runs=[(0, ttl)])


def tokens_of(prompt: Prompt, length: int) -> int:
    """Tokens of the first ``length`` messages with the overhead before them (-1: none)."""
    return 0 if length < 0 else prompt.overhead + prompt.context.tokens(0, length)

"""What the requests of one replay are billed: the agent's calls, the turns in which it manages its context, summaries.

One cache session serves them all, so a request between two recorded calls warms the cache for the next one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import msgspec

from ullage.breaks import BreakWatch, Found
from ullage.cache import CacheSession, Prompt, storage_of
from ullage.strategy import Summary, SummaryRequest, ToolRequest
from ullage.tokens import Counter
from ullage.types import Call, Compaction, Message, Text, ToolUse, Usage

Turn = tuple[str, tuple[ToolRequest, ...]]
"""A status line and the context tools that the model called when it read it."""


@dataclass(slots=True, kw_only=True)
class Meter:
    """Bills requests in the order in which they are sent. ``spent`` and ``turns`` gather during one decision.

    ``gap`` is the recorded time since the last request of an earlier call in milliseconds, ``found`` the break that the
    requests of this call show together.
    """

    cache: CacheSession
    counter: Counter
    overhead: int
    watch: BreakWatch
    call: Call = field(init=False)
    gap: int | None = None
    found: Found = field(default_factory=Found)
    spent: list[Usage] = field(default_factory=list)
    turns: list[Turn] = field(default_factory=list)
    _requests: int = 0
    _last_at: int | None = None
    _idle: int | None = None
    _watched: int = 0
    _charged: int = 0

    def begin(self, call: Call) -> None:
        """Start on the next recorded call."""
        self.call = call
        self.gap = self._idle = None if call.at is None or self._last_at is None else call.at - self._last_at
        self.found = Found()

    def bill(self, prompt: Prompt, output: int, compactions: Sequence[Compaction]) -> Usage:
        """Send one request through the cache; ``compactions`` are all decisions of the replay so far."""
        recorded = self.call.usage
        if self._requests == 0 and recorded is not None and recorded.cache_read:
            self.cache.prime(prompt, recorded.cache_read)
        usage = msgspec.structs.replace(self.cache.step(prompt), output=output)
        fresh = compactions[self._watched :]
        found = self.watch.observe(usage, prompt, gap_ms=self._idle, compactions=fresh, kept=self.cache.kept)
        self.found = self.found.plus(found)
        self._requests += 1
        self._watched = len(compactions)
        if self.call.at is not None:
            self._last_at, self._idle = self.call.at, 0
        return usage

    def storage(self) -> int:
        """Pico-dollars that the cache charged for storage since this was last asked."""
        before, self._charged = self._charged, storage_of(self.cache)
        return self._charged - before

    def output(self, reply: Message | None) -> int:
        """Output tokens of the recorded call: as billed where that can be trusted, else counted."""
        if self.call.usage is not None and self.call.output_reliable:
            return self.call.usage.output
        return 0 if reply is None else self.counter(reply)

    def begin_decision(self) -> None:
        """Forget what earlier decisions asked for."""
        self.spent, self.turns = [], []

    def charge(self, request: SummaryRequest, summary: Summary) -> None:
        """Note what one summary request costs."""
        self.spent.append(summary.usage or self._summary_usage(request, summary))

    def bill_turns(self, prompt: Prompt, compactions: Sequence[Compaction]) -> list[Usage]:
        """Usage of the model's own turns in this decision, sent with ``prompt`` as it stood before the decision."""
        return [self._turn(prompt, turn, compactions) for turn in self.turns]

    def _turn(self, prompt: Prompt, turn: Turn, compactions: Sequence[Compaction]) -> Usage:
        """One turn: the prompt with the status line behind it, answered with nothing but tool calls."""
        status, calls = turn
        line = Message(id="", role="user", blocks=(Text(text=status),))
        uses = tuple(ToolUse(id="", name=call.name, arguments=call.arguments) for call in calls)
        answer = self.counter(Message(id="", role="assistant", blocks=uses))
        return self.bill(prompt._replace(injected=prompt.injected + self.counter(line)), answer, compactions)

    def _summary_usage(self, request: SummaryRequest, summary: Summary) -> Usage:
        count = self.counter
        tokens = sum(map(count, request.messages)) + count.text(request.instructions) + count.text(request.previous)
        output = count.text(summary.text)
        if not request.warm:
            return Usage(uncached=tokens, output=output)
        tokens += self.overhead
        cached = min(tokens, self._cached())
        return Usage(uncached=tokens - cached, cache_read=cached, output=output)

    def _cached(self) -> int:
        """Tokens of the agent's prefix that a warm summary request can read: none once their lifetime has passed."""
        kept = self.cache.kept
        return kept.tokens if (self._idle or 0) <= kept.life_ms else 0

"""A recording read as a replay's rows: what each call was billed, the breaks that the bill shows, the client's compactions.

All usage is OBSERVED. Only the request that wrote a summary is MODELLED: no client records it, so its prompt is taken at
the recorded size and read from the cache while that lived, and its output is the recorded summary, counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from ullage.audit import CAUSES, Asked, asked, law_of
from ullage.audit_laws import Ask, Billed, IntervalsLaw, Law
from ullage.breaks import Break, BreakWatch, Signs, break_cost
from ullage.cache import TTL_MS, CacheRules
from ullage.caches._intervals import FOREVER_MS
from ullage.pricing import ModelPrices, PriceSheet
from ullage.tokens import Counter
from ullage.types import Call, Compaction, Moment, RecordedCompaction, Row, Trace, Usage

NO_MINIMUM = CacheRules(minimum=0)
EVENTS = {"model_change": "model change", "api_error": "API error", "setting_change": "setting change", "rewind": "rewind"}
"""Recorded events that explain a lost prefix where nothing stronger does, as causes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Between:
    """What lies between a call and the one before: the pause, what arrived, and what was recorded or said meanwhile."""

    ask: Ask
    events: tuple[str, ...] = ()
    cleared: int = 0
    said: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """One session as rows, one a billed call, with lists parallel to them.

    ``between`` is what lies before each, ``kept`` what it left in the cache, ``fresh`` how many of its tokens no earlier
    prompt held, ``ttls`` the lifetime that it wrote with.

    ``compactions`` are the summaries that the client wrote, ``sources`` the recorded events behind them. ``stable`` is
    the prefix that outlives a compaction. ``unbilled`` calls have no usage; the outputs of ``counted`` ones are recorded
    as placeholders, so they are counted from the reply.
    """

    trace: Trace
    law: str
    window: int
    stable: int
    rows: tuple[Row, ...]
    between: tuple[Between, ...]
    kept: tuple[int, ...]
    fresh: tuple[int, ...]
    ttls: tuple[str, ...]
    compactions: tuple[Compaction, ...]
    sources: tuple[RecordedCompaction, ...]
    unbilled: int = 0
    counted: int = 0

    @property
    def ttl_class(self) -> bool:
        """Whether each write has a lifetime of 5 minutes or an hour."""
        return self.trace.provenance.cache == "read_write"

    @property
    def usage(self) -> Usage:
        """All that was billed."""
        return sum((row.usage for row in self.rows), Usage())


def read_recording(trace: Trace, counter: Counter, window: int, stable: int, rules: CacheRules = NO_MINIMUM) -> Recorded:
    """Rows of a recording; ``counter`` gives true tokens, ``stable`` is the prefix that every request shares.

    ``rules`` hold the shortest prefixes that the session's models cache: a shorter stable prefix is lost as well.

    A trace without usage call by call has no rows, and ``law`` says why.
    """
    name, law = law_of(trace, counter, rules)
    summaries = [event for event in trace.compactions if event.kind == "summary"]
    steps = list(asked(trace, counter)) if law is not None else []
    stable = stable if stable >= rules.minimum_of(trace.meta.model) else 0
    reader = _Reader(trace, counter, window, stable, law)
    rows = tuple(reader.row(step, summaries) for step in steps)
    return Recorded(
        trace=trace,
        law=name,
        window=window,
        stable=stable,
        rows=rows,
        between=tuple(reader.between),
        kept=tuple(reader.kept),
        fresh=tuple(reader.fresh),
        ttls=tuple(reader.ttls),
        compactions=tuple(reader.compactions),
        sources=tuple(reader.sources),
        unbilled=len(trace.calls) - len(rows),
        counted=reader.counted,
    )


class _Reader:
    """Walks the billed calls of one session."""

    def __init__(self, trace: Trace, counter: Counter, window: int, stable: int, law: Law | None) -> None:
        self.trace, self.counter, self.stable, self.law = trace, counter, stable, law
        self.watch = BreakWatch(window)
        self.writes = trace.provenance.cache == "read_write"
        self.life = IntervalsLaw.LIFE_MS if isinstance(law, IntervalsLaw) else FOREVER_MS
        self.between: list[Between] = []
        self.kept: list[int] = []
        self.fresh: list[int] = []
        self.ttls: list[str] = []
        self.compactions: list[Compaction] = []
        self.sources: list[RecordedCompaction] = []
        self.taken = self.since = self.counted = 0

    def row(self, step: Asked, summaries: Sequence[RecordedCompaction]) -> Row:
        """The row of one billed call, with its break and the compactions before it."""
        ask, call, usage = step.ask, step.call, step.usage
        fresh, self.taken = _until(summaries, self.taken, ask.call)
        self.compactions += [self._compaction(event, step) for event in fresh]
        self.sources += fresh
        between, foreseen = self._between(step), self._foreseen(step)
        gap = _gap(step)
        life = TTL_MS[call.ttl or (self.ttls[-1] if self.ttls else "5m")] if self.writes else self.life
        kept = usage.cache_read + usage.cache_write if self.writes else usage.prompt
        signs = Signs(gap_ms=gap, announced=self.stable if fresh else None, cleared=bool(between.cleared))
        found = self.watch.notice(usage, signs, model=call.model, ttl_ms=life, kept=kept)
        self.since = ask.call + 1
        self.between.append(between)
        self.kept.append(kept)
        self.fresh.append(self._fresh(step, fresh))
        self.ttls.append(call.ttl or (self.ttls[-1] if self.ttls else "5m"))
        return Row(
            call=ask.call,
            at=call.at,
            model=call.model or self.trace.meta.model,
            prompt_tokens=usage.prompt,
            usage=msgspec.structs.replace(usage, output=self._output(call, usage)),
            messages=call.upto,
            compactions=tuple(range(len(self.compactions) - len(fresh), len(self.compactions))),
            gap=gap,
            break_tokens=found.tokens,
            break_cause=_cause(found.cause, between, foreseen, guaranteed=self.writes),
            alarm=found.alarm,
        )

    def _foreseen(self, step: Asked) -> str:
        """The reason that the session's law gives for a loss which it tells beforehand (empty: it tells none)."""
        if self.law is None:
            return ""
        guess = self.law.predict(step.ask) if step.before is not None else None
        self.law.learn(step.ask, Billed(step.usage, step.call.ttl, step.call.at))
        told = guess is not None and guess.rule in CAUSES and abs(guess.read - step.usage.cache_read) * 100 <= step.ask.prompt
        return guess.rule if guess is not None and told else ""

    def _output(self, call: Call, usage: Usage) -> int:
        """Billed output as recorded where that can be trusted, else counted from the reply."""
        if call.output_reliable or call.reply is None:
            return usage.output
        self.counted += 1
        return max(usage.output, self.counter(self.trace.messages[call.reply]))

    def _between(self, step: Asked) -> Between:
        start = _past(step.before)
        events = tuple(
            f"{EVENTS[event.kind]}: {event.detail}" if event.detail else EVENTS[event.kind]
            for event in self.trace.events
            if event.kind in EVENTS and self.since <= event.call <= step.ask.call
        )
        clearings = [event for event in self.trace.compactions if event.kind == "clearing"]
        cleared = sum(len(event.cleared) for event in clearings if self.since <= event.call <= step.ask.call)
        said = next((m.text for m in self.trace.messages[start : step.call.upto] if m.human and m.text), "")
        return Between(ask=step.ask, events=events, cleared=cleared, said=said)

    def _fresh(self, step: Asked, events: Sequence[RecordedCompaction]) -> int:
        """Tokens that no earlier prompt held: the growth; behind a summary only what arrived after it."""
        if step.before is None or step.before.usage is None:
            return step.usage.prompt
        if events:
            return min(self._arrived(events[-1], step), step.usage.prompt - step.usage.cache_read)
        return max(step.usage.prompt - step.before.usage.prompt, 0)

    def _arrived(self, event: RecordedCompaction, step: Asked) -> int:
        return sum(map(self.counter, self.trace.messages[event.position : step.call.upto]))

    def _compaction(self, event: RecordedCompaction, step: Asked) -> Compaction:
        """The client's compaction as an applied decision: sizes as recorded, else from the calls around it."""
        before = event.tokens_before
        if before is None:
            before = 0 if step.before is None or step.before.usage is None else step.before.usage.prompt
        after = event.tokens_after
        if after is None:
            after = max(step.ask.prompt - self._arrived(event, step), self.stable)
        return Compaction(
            call=step.ask.call,
            moment=Moment.BEFORE_CALL,
            edits=(),
            tier=event.kind,
            reason=event.trigger,
            tokens_before=before,
            tokens_after=min(after, before),
            first_changed=0,
            summarizer=self._request(event, step.before, before),
            summarizer_calls=1,
        )

    def _request(self, event: RecordedCompaction, last: Call | None, before: int) -> Usage:
        """What the unrecorded summary request must have been: MODELLED."""
        output = self.counter.text(event.summary)
        ttl = last.ttl if last is not None else ""
        life = TTL_MS[ttl or "5m"] if self.writes else self.life
        times = (None if last is None else last.at, event.at)
        lapsed = times[0] is not None and times[1] is not None and times[1] - times[0] > life
        read = 0 if lapsed or not self.kept else min(self.kept[-1], before)
        rest = before - read
        if not self.writes:
            return Usage(uncached=rest, cache_read=read, output=output)
        hour = ttl == "1h"
        return Usage(cache_read=read, cache_write_5m=0 if hour else rest, cache_write_1h=rest if hour else 0, output=output)


def _until(summaries: Sequence[RecordedCompaction], taken: int, call: int) -> tuple[list[RecordedCompaction], int]:
    """The summaries not taken yet that come before a call, and how many are taken then."""
    fresh = [event for event in summaries[taken:] if event.call <= call]
    return fresh, taken + len(fresh)


def _past(before: Call | None) -> int:
    """Index of the first message that a call after this one adds."""
    if before is None:
        return 0
    return before.upto if before.reply is None else before.reply + 1


def _gap(step: Asked) -> int | None:
    last = None if step.before is None else step.before.at
    started = step.ask.started
    return None if last is None or started is None else started - last


def _cause(cause: str, between: Between, foreseen: str, *, guaranteed: bool) -> str:
    """The watch's cause; for one that it cannot explain, what was recorded in between, else what the session's law foresaw."""
    if cause not in {"unexplained", "prompt shrank"}:
        return cause
    for name in ("API error", "setting change", "rewind"):
        if any(event.startswith(name) for event in between.events):
            return name
    if between.ask.restarted:
        return "client restart"
    if cause == "unexplained":
        return "changed request" if between.ask.launches else foreseen or (cause if guaranteed else "best effort")
    return cause


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedBreak:
    """A break that a bill shows, with what was going on: OBSERVED tokens, priced by the sheet (none: no price)."""

    lost: Break
    place: int
    at: int | None
    prompt: int
    read: int
    kept: int
    ttl: str
    detail: str


def recorded_breaks(recorded: Recorded, sheet: PriceSheet) -> tuple[RecordedBreak, ...]:
    """All breaks of a recording, worst first."""
    found = [_recorded_break(recorded, place, sheet) for place, row in enumerate(recorded.rows) if row.break_cause]
    return tuple(sorted(found, key=lambda one: (-(one.lost.cost or 0), -one.lost.tokens, one.lost.call)))


def _recorded_break(recorded: Recorded, place: int, sheet: PriceSheet) -> RecordedBreak:
    row = recorded.rows[place]
    prices = sheet.prices(row.model)
    cost = break_cost(row, recorded.fresh[place], prices) if isinstance(prices, ModelPrices) else None
    between = recorded.between[place]
    message = recorded.trace.messages[_last_sent(recorded, place)] if recorded.trace.messages else None
    lost = Break(
        call=row.call,
        tokens=row.break_tokens,
        cause=row.break_cause,
        gap_ms=row.gap,
        event=row.compactions[0] if row.compactions else None,
        message="" if message is None else message.id,
        cost=cost,
    )
    return RecordedBreak(
        lost=lost,
        place=place,
        at=row.at,
        prompt=row.prompt_tokens,
        read=row.usage.cache_read,
        kept=recorded.kept[place - 1],
        ttl=recorded.ttls[place - 1] if recorded.ttl_class else "",
        detail=_detail(row, between),
    )


def _last_sent(recorded: Recorded, place: int) -> int:
    return min(max(recorded.rows[place].messages - 1, 0), len(recorded.trace.messages) - 1)


def _detail(row: Row, between: Between) -> str:
    """What the recording says about the time before a broken call, as one clause."""
    parts = list(between.events)
    if between.cleared:
        parts.append(f"{between.cleared} tool results cleared by the client")
    if between.ask.launches:
        parts.append(f"started: {', '.join(between.ask.launches)}")
    if between.ask.restarted:
        parts.append("the client was left and started again")
    if row.break_cause == "changed request" and not between.ask.launches:
        parts.append("the person's turn after a skill or command that had changed the request")
    if row.break_cause == "prompt shrank" and between.ask.turn and not row.usage.cache_write:
        parts.append("first call of a turn: the reasoning of the finished turn is no longer sent (inferred)")
    if row.break_cause == "unexplained" and not row.usage.cache_read:
        parts.append("not even the start was read: system prompt or tools changed, or the client was started again (inferred)")
    if row.compactions:
        parts.append("a summary replaced the history")
    return "; ".join(parts)

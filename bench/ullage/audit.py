"""The audit: a law's prediction held against the bill, call by call, with every disagreement named and priced.

Reads are OBSERVED in the recording and MODELLED by a law; the two never blend. The law is asked with what was known
before the bill (``Ask``) and learns the bill afterwards, so no prediction can see the split that it predicts.
"""

from __future__ import annotations

import re
from collections import Counter as Tally
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any, NamedTuple

import msgspec

from ullage.audit_laws import Ask, Billed, Guess, IntervalsLaw, Law, MarksLaw, UnitsLaw
from ullage.cache import CacheRules
from ullage.context import Context
from ullage.pricing import PriceSheet, Unpriced, usd
from ullage.tokens import Counter
from ullage.types import Call, Message, RecordedCompaction, ToolUse, Trace, Usage

CAUSES = (
    "compaction",
    "idle past TTL",
    "model change",
    "API error",
    "recorded clearing",
    "client restart",
    "changed request",
    "setting change",
    "prompt shrank",
    "side request",
    "best effort",
    "unexplained",
)
UNFORESEEABLE = frozenset({"unexplained", "side request", "changed request", "best effort", "API error"})
"""Causes that leave no trace before the call: their share of the pairs is the error floor of any rule."""
_COMMAND = re.compile(r"<command-name>/?([^<]+)</command-name>")
THINKING = "thinkingLevel"
"""How the detail of a recorded change of the thinking level begins."""
_EXIT = frozenset({"exit", "quit"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """One call after another: what was predicted of the second, and what was billed.

    ``cause`` names why they differ by more than 1 % (empty: they do not); ``error`` is modelled less billed, in
    pico-dollars (none: no price).
    """

    call: int
    rule: str
    predicted: int
    read: int
    left: int
    prompt: int
    gap_ms: int | None
    cause: str = ""
    error: int | None = None

    @property
    def close(self) -> bool:
        """Whether the prediction is within 1 % of the billed read."""
        return abs(self.predicted - self.read) * 100 <= self.read


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionAudit:
    """One session's pairs and dollars (of the prompt side, in pico-dollars; none with a reason)."""

    trace: str
    law: str
    calls: int
    pairs: tuple[Pair, ...]
    billed: int | None = None
    modelled: int | None = None
    reason: str = ""

    @property
    def error(self) -> float | None:
        """Modelled over billed, less 1."""
        if self.billed is None or self.modelled is None or not self.billed:
            return None
        return self.modelled / self.billed - 1

    @property
    def causes(self) -> dict[str, int]:
        """How often each cause was behind a disagreement."""
        found = Tally(pair.cause for pair in self.pairs if pair.cause)
        return {cause: found[cause] for cause in CAUSES if found[cause]}


class Asked(NamedTuple):
    """One recorded call with the one before it, what may be known of it, and what was billed."""

    ask: Ask
    call: Call
    before: Call | None
    usage: Usage


def audit(trace: Trace, counter: Counter, sheet: PriceSheet) -> SessionAudit:
    """Walk one recorded session; sub-agents are sessions of their own. ``counter`` sizes what is new in a prompt."""
    name, law = law_of(trace, counter, sheet.rules(models_of(trace)))
    if law is None:
        return SessionAudit(trace=trace.id, law="", calls=len(trace.calls), pairs=(), reason=name)
    cleared = {event.call for event in trace.compactions if event.kind == "clearing"}
    failed = {event.call for event in trace.events if event.kind == "api_error"}
    pairs: list[Pair] = []
    bill = _Bill(trace, sheet)
    for step in asked(trace, counter):
        if step.before is None:
            guess = Guess(step.usage.cache_read, "first call")
            bill.add(step, guess)
        else:
            guess = law.predict(step.ask)
            error = bill.add(step, guess)
            pairs.append(_pair(step, guess, error, cleared=step.ask.call in cleared, failed=step.ask.call in failed))
        law.learn(step.ask, Billed(step.usage, step.call.ttl, step.call.at))
    return SessionAudit(
        trace=trace.id,
        law=name,
        calls=len(trace.calls),
        pairs=tuple(pairs),
        billed=None if bill.reason else bill.billed,
        modelled=None if bill.reason else bill.modelled,
        reason=bill.reason,
    )


def models_of(trace: Trace) -> tuple[str, ...]:
    """The models of a session, in the order in which they were called."""
    return tuple(dict.fromkeys(call.model or trace.meta.model for call in trace.calls))


def law_of(trace: Trace, counter: Counter, rules: CacheRules = CacheRules(minimum=0)) -> tuple[str, Law | None]:  # noqa: B008 - frozen
    """The law that holds for a recording, by what it records and whose model it is; or the reason why none does.

    ``rules`` hold the shortest prefixes that its models cache.
    """
    first = next((call for call in trace.calls if call.usage is not None), None)
    if first is None or trace.provenance.usage != "per_call":
        return "no usage is recorded call by call", None
    if trace.provenance.cache == "read_write":
        text = sum(map(counter, trace.messages[: first.upto]))
        return "marks", MarksLaw(text=text, rules=rules)
    if trace.provenance.cache != "read":
        return "no cache figures are recorded", None
    model = (first.model or trace.meta.model).lower()
    return ("units", UnitsLaw()) if "deepseek" in model else ("intervals", IntervalsLaw())


def asked(trace: Trace, counter: Counter) -> Iterator[Asked]:
    """All billed calls in order, each with what may be known before its bill. Calls without usage are passed over."""
    positions = Context.of(trace.messages, lambda _: 1)
    compactions: dict[int, list[RecordedCompaction]] = {}
    for event in trace.compactions:
        compactions.setdefault(event.call, []).append(event)
    levels = _thinking_levels(trace)
    before: Call | None = None
    pending: list[RecordedCompaction] = []
    level = ""
    for index, call in enumerate(trace.calls):
        pending += compactions.get(index, [])
        if call.usage is None or not call.usage.prompt:
            continue
        ask = _ask(trace, index, call, before, pending, counter)
        now = levels[index] if levels else ""
        yield Asked(
            ask._replace(positions=positions.cache_positions(call.upto), thinking=before is not None and now != level),
            call,
            before,
            call.usage,
        )
        before, pending, level = call, [], now


def _thinking_levels(trace: Trace) -> list[str]:
    """The thinking level at each call, as recorded changes say; empty where none is recorded."""
    changes = [event for event in trace.events if event.kind == "setting_change" and event.detail.startswith(THINKING)]
    if not changes:
        return []
    levels, level, taken = [], "", 0
    for index in range(len(trace.calls)):
        while taken < len(changes) and changes[taken].call <= index:
            level, taken = changes[taken].detail, taken + 1
        levels.append(level)
    return levels


def _ask(
    trace: Trace, index: int, call: Call, before: Call | None, compactions: Sequence[RecordedCompaction], counter: Counter
) -> Ask:
    start = 0 if before is None else before.upto if before.reply is None else before.reply + 1
    arrived = trace.messages[start : call.upto]
    reply = None if before is None or before.reply is None else trace.messages[before.reply]
    said = " ".join(message.text for message in arrived)
    commands = [name.strip() for name in _COMMAND.findall(said)]
    spoken = [message for message in arrived if message.at is not None and not message.tool_result_ids]
    return Ask(
        call=index,
        prompt=call.usage.prompt if call.usage is not None else 0,
        model=call.model,
        started=max(message.at or 0 for message in spoken) if spoken else call.at,
        arrived=sum(map(counter, arrived)),
        human=any(message.human for message in arrived),
        turn=reply is not None and not reply.tool_use_ids and not any(m.tool_result_ids for m in arrived),
        spoken=0 if reply is None else counter(reply),
        compacted=bool(compactions),
        summary=sum(counter.text(event.summary) for event in compactions),
        restarted=bool(_EXIT.intersection(commands)),
        launches=tuple(name for name in (*_skills(reply), *commands) if name not in _EXIT),
    )


def _skills(reply: Message | None) -> list[str]:
    """Names of the skills that a reply launches."""
    if reply is None:
        return []
    given = [block.arguments for block in reply.blocks if isinstance(block, ToolUse) and block.name == "Skill"]
    return [name for text in given for name in re.findall(r'"skill"\s*:\s*"([^"]+)"', text)]


class _Bill:
    """Sums the prompt side of a session, as billed and as modelled, in pico-dollars."""

    def __init__(self, trace: Trace, sheet: PriceSheet) -> None:
        self.trace, self.sheet = trace, sheet
        self.billed = self.modelled = 0
        self.reason = ""

    def add(self, step: Asked, guess: Guess) -> int | None:
        """Price one call both ways and return modelled less billed (none: no price). Output is on neither side."""
        prices = self.sheet.prices(step.call.model or self.trace.meta.model)
        if isinstance(prices, Unpriced):
            self.reason = self.reason or prices.reason
            return None
        billed = prices.price(msgspec.structs.replace(step.usage, output=0)).total
        modelled = billed if step.before is None else prices.price(self._split(step, guess)).total
        self.billed += billed
        self.modelled += modelled
        return modelled - billed

    def _split(self, step: Asked, guess: Guess) -> Usage:
        """The predicted usage: all that is not read is written, with the lifetime of the call before."""
        rest = step.ask.prompt - guess.read
        if self.trace.provenance.cache != "read_write":
            return Usage(uncached=rest, cache_read=guess.read)
        hour = step.before is not None and step.before.ttl == "1h"
        return Usage(cache_read=guess.read, cache_write_5m=0 if hour else rest, cache_write_1h=rest if hour else 0)


def _pair(step: Asked, guess: Guess, error: int | None, *, cleared: bool, failed: bool) -> Pair:
    before = step.before
    past = before.usage if before is not None and before.usage is not None else Usage()
    times = (None if before is None else before.at, step.ask.started)
    pair = Pair(
        call=step.ask.call,
        rule=guess.rule,
        predicted=guess.read,
        read=step.usage.cache_read,
        left=past.cache_read + past.cache_write,
        prompt=step.ask.prompt,
        gap_ms=None if times[0] is None or times[1] is None else times[1] - times[0],
        error=error,
    )
    if pair.close:
        return pair
    return replace(pair, cause=_cause(pair, step, past, cleared=cleared, failed=failed))


def _cause(pair: Pair, step: Asked, past: Usage, *, cleared: bool, failed: bool) -> str:
    """Name a disagreement, with the bill in hand: an event before the call, else what the figures show."""
    if step.ask.compacted:
        return "recorded clearing" if cleared else "compaction"
    if pair.rule in CAUSES and pair.rule != "side request":
        return pair.rule
    if failed:
        return "API error"
    shrank = pair.prompt < past.prompt
    if step.usage.cache_write == 0 and past.cache_write == 0:
        return "prompt shrank" if shrank else "best effort"
    more = pair.read > pair.predicted or (pair.rule == "side request" and pair.read >= pair.left)
    return "side request" if more else _loss(step.ask, shrank=shrank)


def _loss(ask: Ask, *, shrank: bool) -> str:
    """A prefix was lost without an event: by what the new messages and the size of the prompt show."""
    if shrank:
        return "prompt shrank"
    return "changed request" if ask.launches else "unexplained"


def summary(audits: Sequence[SessionAudit]) -> dict[str, Any]:
    """The figures of several sessions together, under the keys of ``audit-cache --json``."""
    pairs = [pair for one in audits for pair in one.pairs]
    priced = [one for one in audits if one.billed is not None and one.modelled is not None]
    billed = sum(one.billed or 0 for one in priced)
    off = [(one.modelled or 0) - (one.billed or 0) for one in priced]
    causes = Tally(pair.cause for pair in pairs if pair.cause)
    reasons = sorted({one.reason for one in audits if one.reason})
    blind = [pair for pair in pairs if pair.cause in UNFORESEEABLE]
    unforeseen = sum(pair.error or 0 for pair in blind)
    errors = [abs(one.error) for one in priced if one.error is not None]
    return {
        "calls": sum(one.calls for one in audits),
        "pairs": len(pairs),
        "exact": sum(pair.predicted == pair.read for pair in pairs),
        "within_1pct": sum(pair.close for pair in pairs),
        "usd_billed": usd(billed) if priced else None,
        "usd_modelled": usd(billed + sum(off)) if priced else None,
        "usd_error": _share(sum(off), billed),
        "usd_error_abs": _share(sum(map(abs, off)), billed),
        "usd_error_median": round(median(errors), 6) if errors else None,
        "causes": {cause: causes[cause] for cause in CAUSES if causes[cause]},
        "floor": round(len(blind) / len(pairs), 6) if pairs else None,
        "floor_usd": usd(unforeseen) if priced else None,
        "usd_error_foreseeable": _share(sum(off) - unforeseen, billed),
        "reasons": reasons,
    }


def _share(part: int, whole: int) -> float | None:
    return round(part / whole, 6) if whole else None


def disagreements(one: SessionAudit) -> list[dict[str, Any]]:
    """Every pair that is off by more than 1 %, the dearest first."""
    found = sorted((pair for pair in one.pairs if pair.cause), key=lambda pair: (-abs(pair.error or 0), pair.call))
    return [
        {
            "call": pair.call,
            "cause": pair.cause,
            "rule": pair.rule,
            "predicted": pair.predicted,
            "read": pair.read,
            "left": pair.left,
            "prompt": pair.prompt,
            "gap_s": None if pair.gap_ms is None else round(pair.gap_ms / 1000, 1),
            "usd": None if pair.error is None else usd(pair.error),
        }
        for pair in found
    ]

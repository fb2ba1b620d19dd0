"""What a better habit would have cost: a recorded session walked again with one thing changed.

The bill is the starting point, not a simulation: a habit changes only the calls that it touches, and what it changes is
computed by the law of a marked cache: a call reads what the one before left, writes the rest, and loses all but the
stable prefix when the lifetime has passed. So every difference is MODELLED, and nothing is added to what it starts from.
The agent's actions stay as they were recorded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from statistics import median

from ullage.cache import TTL_MS
from ullage.plain import several
from ullage.pricing import ModelPrices, PriceSheet
from ullage.recorded import Recorded
from ullage.spending import prices_by_model
from ullage.types import Compaction, Row, Usage

EARLIER = (0.5, 0.75)
"""Shares of the size at which the client compacted that are tried as earlier thresholds."""
SHARES = (0.5, 0.7, 0.85)
"""Shares of the window that are tried where the client never compacted."""
AFTER = 50_000
"""Prompt after a compaction where the session has none to show it: recorded ones leave 35,000 to 67,000 (format survey)."""
PAUSE_PAYS = 2
"""A compaction before a pause is tried where the prompt is at least so many times what one leaves."""
IDLE = "idle past TTL"


@dataclass(frozen=True, slots=True, kw_only=True)
class Habit:
    """One habit: what the session would have cost (pico-dollars, none with a reason) and how that differs from what it did.

    ``compactions`` is how many there would have been, ``detail`` one clause on what the figure rests on.
    """

    name: str
    cost: int | None
    difference: int | None
    compactions: int
    detail: str
    reason: str = ""


Trigger = Callable[[int, int], bool]
"""Tells from the place of a call and the size that its prompt would have whether a compaction comes before it."""


def habits_of(recorded: Recorded, sheet: PriceSheet) -> tuple[Habit, ...]:
    """All habits that mean something for a session, the greatest saving first; those without a figure last."""
    prices = prices_by_model(recorded, sheet)
    if not recorded.rows or any(row.model not in prices for row in recorded.rows):
        return ()
    walk = _Walk(recorded, prices)
    found = [*_pauses(walk), *_lifetimes(walk), *_models(walk), *_thresholds(walk), *_before_pauses(walk)]
    return tuple(sorted(found, key=lambda one: (one.difference is None, one.difference or 0, one.name)))


class _Walk:
    """A recorded session with its prices; walks it again under a habit."""

    def __init__(self, recorded: Recorded, prices: dict[str, ModelPrices]) -> None:
        self.recorded, self.prices = recorded, prices
        self.rows = recorded.rows
        self.base = sum(self.cost(row, row.usage) for row in self.rows) + sum(map(self.request, recorded.compactions))

    def cost(self, row: Row, usage: Usage) -> int:
        """What a call with this usage costs at its own model's rates."""
        return self.prices[row.model].price(usage).total

    def request(self, event: Compaction) -> int:
        """What the unrecorded summary request of a compaction costs."""
        model = next(row.model for row in self.rows if row.call == event.call)
        return self.prices[model].price(event.summarizer).total

    def habit(self, name: str, usages: list[Usage], detail: str) -> Habit:
        """A habit that changes the split of calls and no compaction."""
        changed = sum(self.cost(row, usage) for row, usage in zip(self.rows, usages, strict=True))
        cost = changed + sum(map(self.request, self.recorded.compactions))
        return Habit(
            name=name,
            cost=cost,
            difference=cost - self.base,
            compactions=len(self.recorded.compactions),
            detail=detail,
        )

    def ttl(self, place: int) -> str:
        """The lifetime that a call writes with; empty where the provider sells none."""
        return self.recorded.ttls[place] if self.recorded.ttl_class else ""


def _read_back(row: Row, ttl: str) -> Usage:
    """The usage of a broken call had it read what it lost."""
    return resplit(row, read=row.usage.cache_read + row.break_tokens, ttl=ttl)


def resplit(row: Row, *, read: int, ttl: str, prompt: int | None = None) -> Usage:
    """The usage of a recorded call if it had read so much of a prompt of that size.

    Plain input stays plain input as far as it was; what is left is written with the lifetime ``ttl``, or charged as
    input where the provider sells no writes (an empty lifetime).
    """
    whole = row.prompt_tokens if prompt is None else prompt
    read = max(min(read, whole), 0)
    rest = whole - read
    plain = min(row.usage.uncached, rest) if ttl else rest
    written = rest - plain
    return Usage(
        uncached=plain,
        cache_read=read,
        cache_write_5m=0 if ttl == "1h" else written,
        cache_write_1h=written if ttl == "1h" else 0,
        output=row.usage.output,
    )


def _pauses(walk: _Walk) -> Iterator[Habit]:
    lapsed = [place for place, row in enumerate(walk.rows) if row.break_cause == IDLE]
    if not lapsed:
        return
    usages = [_read_back(row, walk.ttl(place)) if row.break_cause == IDLE else row.usage for place, row in enumerate(walk.rows)]
    yield walk.habit(
        "answer before the cache lapses",
        usages,
        f"{several(len(lapsed), 'pause')} outlived the cache; each call after one would have read what it sent again",
    )


def _lifetimes(walk: _Walk) -> Iterator[Habit]:
    """The other lifetime for all writes; only providers that sell two have this choice."""
    if not walk.recorded.ttl_class:
        return
    written = {walk.ttl(place) for place, row in enumerate(walk.rows) if row.usage.cache_write}
    if "5m" in written:
        yield _all_hour(walk)
    if "1h" in written:
        yield _all_short(walk)


def _all_hour(walk: _Walk) -> Habit:
    saved, usages = 0, []
    for row in walk.rows:
        within = row.break_cause == IDLE and row.gap is not None and row.gap <= TTL_MS["1h"]
        saved += within
        usages.append(resplit(row, read=row.usage.cache_read + (row.break_tokens if within else 0), ttl="1h"))
    return walk.habit(
        "write everything with a lifetime of an hour",
        usages,
        f"{several(saved, 'pause')} of 5 to 60 minutes would have been bridged; each write costs 2 instead of 1.25 times the input",
    )


def _all_short(walk: _Walk) -> Habit:
    lost, usages = 0, []
    for place, row in enumerate(walk.rows):
        read = row.usage.cache_read
        if not row.break_cause and row.gap is not None and row.gap > TTL_MS["5m"] and place:
            lost += read > walk.recorded.stable
            read = min(read, walk.recorded.stable)
        usages.append(resplit(row, read=read, ttl="5m"))
    return walk.habit(
        "write everything with a lifetime of 5 minutes",
        usages,
        f"{several(lost, 'more pause')} would have lost the cache; each write costs 1.25 instead of 2 times the input",
    )


def _models(walk: _Walk) -> Iterator[Habit]:
    switches = [place for place, row in enumerate(walk.rows) if row.break_cause == "model change"]
    if not switches:
        return
    usages = [
        _read_back(row, walk.ttl(place)) if row.break_cause == "model change" else row.usage
        for place, row in enumerate(walk.rows)
    ]
    yield walk.habit(
        "stay with one model",
        usages,
        f"{several(len(switches), 'switch', 'switches')} sent the history again; every call is still priced at the model that made it",
    )


def _thresholds(walk: _Walk) -> Iterator[Habit]:
    """Compactions at other sizes than the client's, and none where the window allows it."""
    events, window = walk.recorded.compactions, walk.recorded.window
    peak = max(row.prompt_tokens for row in walk.rows)
    if events:
        at = int(median(event.tokens_before for event in events))
        sizes = [(f"compact at {int(share * at):,} tokens", int(share * at)) for share in EARLIER]
    else:
        sizes = [(f"compact at {int(share * window):,} tokens", int(share * window)) for share in SHARES]
    for name, size in sizes:
        if size < peak and size > PAUSE_PAYS * _after(walk) / 2:
            yield _walked(walk, name, lambda _, prompt, size=size: prompt > size)  # type: ignore[misc]  # the default binds the loop's value
    if events:
        yield _walked(walk, "never compact", lambda _place, _prompt: False)


def _before_pauses(walk: _Walk) -> Iterator[Habit]:
    """Compact before each pause that lost the cache, instead of sending the whole history again after it."""
    long = {place for place, row in enumerate(walk.rows) if row.break_cause == IDLE}
    least = PAUSE_PAYS * _after(walk)
    if any(walk.rows[place].prompt_tokens > least for place in long):
        events = {place for place, row in enumerate(walk.rows) if row.compactions}
        yield _walked(
            walk, "compact before a long pause", lambda place, prompt: place in events or (place in long and prompt > least)
        )


def _after(walk: _Walk) -> int:
    """The prompt that a compaction leaves: as recorded in this session, else as elsewhere."""
    left = [row.prompt_tokens for row in walk.rows if row.compactions]
    return int(median(left)) if left else walk.recorded.stable + AFTER


def _walked(walk: _Walk, name: str, trigger: Trigger) -> Habit:
    """The session with its compactions where ``trigger`` wants them; ``extra`` is what a prompt holds beyond the recorded one."""
    cost, made, extra, kept = 0, 0, 0, 0
    limit, after = walk.recorded.window, _after(walk)
    for place, row in enumerate(walk.rows):
        events = [walk.recorded.compactions[index] for index in row.compactions]
        whole = row.prompt_tokens + extra + sum(event.tokens_before - event.tokens_after for event in events)
        compacted = place > 0 and trigger(place, whole)
        if compacted:
            same = bool(events) and not extra
            cost += sum(map(walk.request, events)) if same else walk.cost(row, _request(walk, place, whole, kept))
            made, extra = made + 1, 0 if events else min(after - row.prompt_tokens, 0)
        elif whole > limit:
            reason = f"call {row.call} would not have fitted into the window of {limit:,} tokens"
            return Habit(name=name, cost=None, difference=None, compactions=made, detail="", reason=reason)
        else:
            extra = whole - row.prompt_tokens
        read = _reads(walk, row, kept, extra, compacted=compacted)
        usage = row.usage if not extra and read == row.usage.cache_read else _as_now(walk, place, read, extra)
        cost += walk.cost(row, usage)
        kept = usage.cache_read + usage.cache_write if walk.recorded.ttl_class else usage.prompt
    shown = "" if walk.recorded.compactions else ", as recorded ones of other sessions do: this one shows none"
    detail = f"{several(made, 'compaction')}, each leaving about {after:,} tokens{shown}" if made else "no compaction"
    return Habit(name=name, cost=cost, difference=cost - walk.base, compactions=made, detail=detail)


def _as_now(walk: _Walk, place: int, read: int, extra: int) -> Usage:
    row = walk.rows[place]
    return resplit(row, read=read, ttl=walk.ttl(place), prompt=row.prompt_tokens + extra)


def _reads(walk: _Walk, row: Row, kept: int, extra: int, *, compacted: bool) -> int:
    """What a call reads: as recorded where the cache was lost anyway, the stable prefix after a new compaction, else all."""
    if row.break_cause or (compacted and row.compactions) or not kept:
        return row.usage.cache_read
    if compacted:
        return min(walk.recorded.stable, kept)
    return kept if row.compactions else row.usage.cache_read + extra


def _request(walk: _Walk, place: int, prompt: int, kept: int) -> Usage:
    """The summary request of a compaction that was not recorded: warm, with an output as long as the recorded ones'."""
    outputs = [event.summarizer.output for event in walk.recorded.compactions]
    read = min(kept, prompt)
    rest, ttl = prompt - read, walk.ttl(place)
    return Usage(
        uncached=0 if ttl else rest,
        cache_read=read,
        cache_write_5m=rest if ttl == "5m" else 0,
        cache_write_1h=rest if ttl == "1h" else 0,
        output=int(median(outputs)) if outputs else SUMMARY,
    )


SUMMARY = 4_000
"""Output of a summary where the session has none: recorded ones hold 8 to 25 KB of text (format survey)."""

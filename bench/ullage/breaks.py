"""Cache breaks: where a request read less than the one before it had left in the cache, and why.

A break is a read below what the previous call left, by more than 5 % and more than 2,000 tokens, less what a
compaction announced: a decision that frees at least 2 % of the window says that the cache is lost from its first
change on. The alarm that clients raise is another figure: a fall against the previous *read*, which is blind to a
cache that stays broken.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from ullage.cache import TTL_MS, Kept, Prompt
from ullage.context import Context
from ullage.pricing import ModelPrices
from ullage.types import Block, Compaction, Drop, Edit, Erase, Insert, Message, Moment, Rewrite, Row, Usage

Cause = Literal["", "model change", "idle past TTL", "compaction", "edit", "recorded clearing", "prompt shrank", "unexplained"]

BREAK_SHARE = 20
"""A break, and an alarm, is more than one part in 20 (5 %): the threshold that Claude Code's own detector uses."""
BREAK_TOKENS = 2_000
"""And more than so many tokens (same source)."""
COMPACTION_SHARE = 50
"""A decision that frees at least one part in 50 (2 %) of the window is a compaction; smaller ones are edits."""


class Found(NamedTuple):
    """What one call showed: tokens lost to a break (0: none) with its cause, and whether a client would be alarmed."""

    tokens: int = 0
    cause: Cause = ""
    alarm: bool = False

    def plus(self, later: Found) -> Found:
        """Both as one; the earlier cause names it."""
        return Found(self.tokens + later.tokens, self.cause or later.cause, self.alarm or later.alarm)


class Signs(NamedTuple):
    """What is known about the time between two calls; ``announced`` is the prefix that a compaction left whole.

    ``gap_ms`` is none when no time was recorded, ``announced`` when there was no compaction; ``erased`` are tokens that
    the server deleted on request, which is no loss.
    """

    gap_ms: int | None = None
    announced: int | None = None
    erased: int = 0
    edited: bool = False
    cleared: bool = False


class BreakWatch:
    """Looks at one call after another; holds a few integers of the last one."""

    __slots__ = ("_left", "_model", "_prompt", "_read", "_ttl_ms", "_window")

    def __init__(self, window: int) -> None:
        self._window = window
        self._left = self._read = self._prompt = 0
        self._model, self._ttl_ms = "", TTL_MS["5m"]

    def observe(
        self, usage: Usage, prompt: Prompt, *, gap_ms: int | None, compactions: Sequence[Compaction], kept: Kept | None = None
    ) -> Found:
        """Look at a replayed call; ``compactions`` are those applied since the previous one, ``kept`` is what it leaves."""
        signs = self._signs(prompt, gap_ms, compactions) if compactions else Signs(gap_ms)
        tokens, life_ms = (None, TTL_MS[prompt.ttl]) if kept is None else kept
        return self.notice(usage, signs, model=prompt.model, ttl_ms=life_ms, kept=tokens)

    def notice(self, usage: Usage, signs: Signs, *, model: str, ttl_ms: int, kept: int | None = None) -> Found:
        """Look at any call, replayed or recorded, by its usage and the signs before it.

        ``kept`` are the tokens that it leaves in the cache, where that is more than it read and wrote.
        """
        read, prompt = usage.cache_read, usage.prompt
        expected = self._left - signs.erased
        if signs.announced is not None:
            expected = min(expected, signs.announced)
        lost = expected - read
        cause: Cause = self._cause(signs, model, prompt) if _matters(lost, expected) else ""
        found = Found(lost if cause else 0, cause, _matters(self._read - read, self._read))
        self._left = read + usage.cache_write_5m + usage.cache_write_1h if kept is None else kept
        self._read, self._prompt, self._model, self._ttl_ms = read, prompt, model, ttl_ms
        return found

    def _signs(self, prompt: Prompt, gap_ms: int | None, compactions: Sequence[Compaction]) -> Signs:
        announced, erased, edited = None, 0, False
        for event in compactions:
            if event.moment is Moment.ARRIVAL:
                continue  # what was never sent was never cached
            freed = event.tokens_before - event.tokens_after
            if event.first_changed is None:
                erased += max(freed, 0)
            elif freed * COMPACTION_SHARE >= self._window:
                whole = prompt.overhead + prompt.context.tokens(0, min(event.first_changed, len(prompt.context)))
                announced = whole if announced is None else min(announced, whole)
            else:
                edited = True
        return Signs(gap_ms, announced, erased, edited)

    def _cause(self, signs: Signs, model: str, prompt: int) -> Cause:
        """The first reason that applies, strongest first: a lapsed cache is not lost again by an edit."""
        if model != self._model:
            return "model change"
        if signs.gap_ms is not None and signs.gap_ms > self._ttl_ms:
            return "idle past TTL"
        if signs.announced is not None:
            return "compaction"
        if signs.edited:
            return "edit"
        if signs.cleared:
            return "recorded clearing"
        return "prompt shrank" if prompt < self._prompt else "unexplained"


def _matters(fall: int, whole: int) -> bool:
    return fall > BREAK_TOKENS and fall * BREAK_SHARE > whole


class Touch(NamedTuple):
    """The earliest change that edits make to what was sent: its position, the message there, the kind of edit, the block."""

    position: int
    message: str
    edit: str
    block: int | None


def first_touch(context: Context, edits: Iterable[Edit]) -> Touch | None:
    """Where edits of ``context``, not applied yet, first change the bytes that the client sends; none: nowhere."""
    return min((touch for edit in edits for touch in _touches(context, edit)), default=None, key=lambda touch: touch.position)


def _touches(context: Context, edit: Edit) -> Iterable[Touch]:
    if isinstance(edit, Drop):
        yield from (Touch(at, one, "drop", 0) for one in edit.ids if (at := context.position(one)) is not None)
    elif isinstance(edit, Rewrite):
        at = context.position(edit.id)
        if at is not None and context[at].blocks != edit.blocks:
            yield Touch(at, edit.id, "rewrite", _difference(context[at].blocks, edit.blocks))
    elif isinstance(edit, Insert):
        at = None if edit.after is None else context.position(edit.after)
        place = 0 if at is None else at + 1
        yield Touch(place, context[place].id if place < len(context) else "", "insert", 0)


def _difference(old: Sequence[Block], new: Sequence[Block]) -> int:
    """Index of the first block that differs; where one list goes on, that of its first further block."""
    return next((i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))


_Places = Mapping[str, tuple[int, Message]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Break:
    """One break with what stands behind it.

    ``tokens`` is what had to be sent again at a higher price, ``cost`` what that added to the bill in pico-dollars
    (none without prices). ``event`` indexes the run's compactions; ``message`` and ``block`` are the first that changed.
    """

    call: int
    tokens: int
    cause: str
    gap_ms: int | None = None
    event: int | None = None
    edit: str = ""
    message: str = ""
    block: int | None = None
    cost: int | None = None


def breaks_of(
    rows: Iterable[Row], compactions: Sequence[Compaction], messages: Sequence[Message] = (), prices: ModelPrices | None = None
) -> tuple[Break, ...]:
    """All breaks of a replay, worst first (by cost, else by tokens), each with the edit behind it.

    ``messages`` are the trace's, in order: they tell which of a decision's edits changed the earliest message where the
    decision itself does not.
    """
    places = {message.id: (place, message) for place, message in enumerate(messages)}
    found, before = [], None
    for row in rows:
        if row.break_cause:
            cost = None if prices is None else break_cost(row, grown(before, row, compactions), prices)
            found.append(_break(row, compactions, places, cost))
        before = row
    return tuple(sorted(found, key=lambda one: (-(one.cost or 0), -one.tokens, one.call)))


def _break(row: Row, compactions: Sequence[Compaction], places: _Places, cost: int | None) -> Break:
    event = _culprit(row, compactions)
    message, kind, block = ("", "", None) if event is None else _first_of(compactions[event], places)
    return Break(
        call=row.call,
        tokens=row.break_tokens,
        cause=row.break_cause,
        gap_ms=row.gap,
        event=event,
        edit=kind,
        message=message,
        block=block,
        cost=cost,
    )


def _first_of(event: Compaction, places: _Places) -> tuple[str, str, int | None]:
    if event.first_edit:
        return event.first_message, event.first_edit, event.first_block
    touched = tuple(_touched(event.edits, places))
    return min(touched, key=lambda one: places[one[0]][0] if one[0] in places else -1) if touched else ("", "", None)


def grown(before: Row | None, row: Row, compactions: Sequence[Compaction]) -> int:
    """Tokens of a prompt that no earlier one held: its growth, with what the decisions between took away added back."""
    if before is None:
        return row.prompt_tokens
    events = (compactions[index] for index in row.compactions)
    freed = sum(event.tokens_before - event.tokens_after for event in events if event.moment is not Moment.ARRIVAL)
    return max(row.prompt_tokens - before.prompt_tokens + freed, 0)


def break_cost(row: Row, grown: int, prices: ModelPrices) -> int:
    """What a break added to one call's bill, in pico-dollars: what was sent again, at what it paid less a read's rate.

    The call's ``grown`` new tokens would have been paid for anyway; they stand at the end of the prompt, so they are
    taken off what was charged in full first and off the writes then.
    """
    rates, usage = prices.rates_for(row.prompt_tokens), row.usage
    cost, fresh, left = 0, grown, row.break_tokens
    for tokens, rate in (
        (usage.uncached, rates.input),
        (usage.cache_write_5m, rates.write_5m),
        (usage.cache_write_1h, rates.write_1h),
    ):
        again = min(max(tokens - fresh, 0), left)
        cost += again * (rate - rates.read)
        fresh, left = max(fresh - tokens, 0), left - again
    return cost


def by_cause(breaks: Iterable[Break]) -> dict[str, tuple[int, int, int | None]]:
    """Count, tokens and pico-dollars of each cause, the most expensive first."""
    groups: dict[str, tuple[int, int, int | None]] = {}
    for one in breaks:
        count, tokens, cost = groups.get(one.cause, (0, 0, None))
        groups[one.cause] = (count + 1, tokens + one.tokens, cost if one.cost is None else (cost or 0) + one.cost)
    return dict(sorted(groups.items(), key=lambda item: (-(item[1][2] or 0), -item[1][1], item[0])))


def _culprit(row: Row, compactions: Sequence[Compaction]) -> int | None:
    """Of the decisions since the previous call, the one that changed the earliest position."""
    changed = [(first, index) for index in row.compactions if (first := compactions[index].first_changed) is not None]
    return min(changed)[1] if changed else None


def _touched(edits: Iterable[Edit], places: _Places) -> Iterable[tuple[str, str, int]]:
    """Each message that edits changed, with the kind of edit and its first block that differs."""
    for edit in edits:
        if isinstance(edit, Drop):
            yield from ((message, "drop", 0) for message in edit.ids)
        elif isinstance(edit, Rewrite):
            yield edit.id, "rewrite", _first_difference(edit, places)
        elif isinstance(edit, Erase):
            yield edit.id, "erase", 0
        elif isinstance(edit, Insert):
            yield edit.after or "", "insert", 0


def _first_difference(edit: Rewrite, places: _Places) -> int:
    return _difference(places[edit.id][1].blocks, edit.blocks) if edit.id in places else 0

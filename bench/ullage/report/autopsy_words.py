"""The sentences and cells of an autopsy, shared by the page and the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ullage.autopsy import Autopsy, CompactionReport
from ullage.breaks import by_cause
from ullage.economics import Account
from ullage.forgetting import Again, Forgetting, Lost, Rate
from ullage.habits import Habit
from ullage.plain import one_line, several
from ullage.pricing import usd
from ullage.recorded import RecordedBreak
from ullage.records import quote
from ullage.tables import UNKNOWN, thousands
from ullage.tables import dollars as dollar_text

QUOTED = 200
"""Characters of evidence around a fact: what a person needs to recognise it."""
HOUR, MINUTE, SECOND = 3_600_000, 60_000, 1_000
CAUSES = {
    "idle past TTL": "a pause longer than the cache lives",
    "model change": "another model: each has a cache of its own",
    "compaction": "less was left than the start of the prompt",
    "recorded clearing": "the client cleared old tool results",
    "client restart": "the client was left and started again",
    "changed request": "a skill or command changed the tools or the system prompt",
    "prompt shrank": "the prompt became shorter without a recorded compaction",
    "API error": "a request failed in between",
    "setting change": "a setting of the request was changed",
    "rewind": "the conversation was taken back",
    "best effort": "the provider gives no guarantee",
    "unexplained": "nothing in the recording explains it",
}
"""What each cause means for the person who pays."""
GLOSSARY = (
    (
        "OBSERVED",
        (
            "Usage that the provider billed, as the recording holds it, at the dated price sheet. Subscriptions are not billed by the token: "
            "there it is what the same tokens cost with an API key."
        ),
    ),
    (
        "MODELLED",
        (
            "What no recording holds: the requests that wrote summaries, what a compaction saved, and every habit. Computed from the recorded "
            "sizes and times. Never added to OBSERVED figures without saying so."
        ),
    ),
    (
        "Cache break",
        (
            "A call that read at least 5 % and 2,000 tokens less from the cache than the call before had left there, less what a compaction "
            "announced. Its price is what was sent again, at what was charged for it less what reading it would have cost."
        ),
    ),
    (
        "Compaction request",
        (
            "No client records the request that writes a summary. Its prompt is taken at the recorded size, read from the cache if that was "
            "still alive, and its output is the recorded summary."
        ),
    ),
    (
        "Break-even",
        (
            "Calls after which the compaction had paid for itself: its request and what it made to be sent again, over what each later call "
            "saves by not carrying the freed tokens."
        ),
    ),
    (
        "Forgotten",
        (
            "Facts are values, places, decisions and outcomes mined from the history by rule. One is kept where the words of its evidence stand "
            "in one line of the summary or of what was put back, or where its answer does. A summary in other words counts as lost, so this is "
            "an upper bound. No model is asked."
        ),
    ),
    (
        "Looked at again",
        (
            "Files and searches that the agent had seen before the compaction and opened again after it, each once; beside it the same count "
            "in as many messages before the compaction, which is what happens anyway."
        ),
    ),
    (
        "Other habits",
        (
            "The session walked again with one thing changed; a habit changes only the calls that it touches. The agent's actions stay as "
            "recorded: an earlier compaction may forget more and cause more work than it saves."
        ),
    ),
)


def money(pico: int | None) -> str:
    """Dollars of an amount in pico-dollars; a dash for an unknown one."""
    return UNKNOWN if pico is None else dollar_text(usd(pico)) if pico >= 0 else f"−{dollar_text(usd(-pico))}"


def signed(pico: int | None) -> str:
    """A difference in dollars with its sign."""
    return UNKNOWN if pico is None else f"+{money(pico)}" if pico > 0 else money(pico)


def duration(milliseconds: int | None) -> str:
    """A stretch of time in its two largest units."""
    if milliseconds is None:
        return UNKNOWN
    if milliseconds >= HOUR:
        return f"{milliseconds // HOUR} h {milliseconds % HOUR // MINUTE:02} min"
    if milliseconds >= MINUTE:
        return f"{milliseconds // MINUTE} min {milliseconds % MINUTE // SECOND:02} s"
    return f"{milliseconds / SECOND:.0f} s"


def started(one: Autopsy) -> int | None:
    """When the first call was made."""
    return next((call.at for call in one.trace.calls if call.at is not None), None)


def lasted(one: Autopsy) -> int | None:
    """From the first call to the last."""
    times = [call.at for call in one.trace.calls if call.at is not None]
    return max(times) - min(times) if times else None


def lead(one: Autopsy) -> str:
    """What was opened up, in two sentences."""
    who = f" of {one.trace.meta.model}" if one.trace.meta.model else ""
    through = f" through {one.trace.meta.client}" if one.trace.meta.client else ""
    span = f" over {duration(lasted(one))}" if lasted(one) else ""
    text = f"{several(len(one.trace.calls), 'call')}{who}{through}{span}"
    if one.agents:
        text += f", with {several(len(one.agents), 'sub-agent')}"
    return text + "."


def facts(one: Autopsy) -> list[tuple[str, str]]:
    """Settings of the session as pairs of name and value."""
    ttls = sorted({ttl for ttl, row in zip(one.recorded.ttls, one.recorded.rows, strict=True) if row.usage.cache_write and ttl})
    pairs = [
        ("session", one.trace.id),
        ("format", one.trace.meta.format),
        ("model", one.trace.meta.model),
        ("window", f"{thousands(one.window)} ({one.window_source})"),
        ("cache lifetime", " and ".join(ttls)),
        ("prefix that every call shares", f"{thousands(one.calibration.overhead)} ({one.calibration.overhead_method})"),
    ]
    return [(name, value) for name, value in pairs if value]


def cards(one: Autopsy) -> list[dict[str, str]]:
    """The figures that a person looks for first."""
    breaks = _sum(found.lost.cost for found in one.breaks)
    worst = next(iter(by_cause(found.lost for found in one.breaks)), "")
    found = [
        {
            "what": "billed, OBSERVED",
            "figure": money(one.billed),
            "who": f"and {money(one.requests)} for summary requests that no recording holds, MODELLED" if one.compactions else "",
        },
        {
            "what": "paid for cache breaks, OBSERVED",
            "figure": money(breaks) if one.recorded.rows else UNKNOWN,
            "who": f"{several(len(one.breaks), 'break')}, most of it: {worst}" if one.breaks else "no break",
        },
    ]
    if one.compactions:
        found.append(_compaction_card(one))
        found.append(_forgotten_card(one))
    best = one.habits[0] if one.habits and (one.habits[0].difference or 0) < 0 else None
    if best is not None:
        found.append({"what": "greatest saving by a habit, MODELLED", "figure": signed(best.difference), "who": best.name})
    return found


def _compaction_card(one: Autopsy) -> dict[str, str]:
    books = [report.account for report in one.compactions if report.account is not None]
    paid = sum(book.reached_after is not None for book in books)
    saved = sum(book.saved - book.cost for book in books)
    return {
        "what": "compactions saved, MODELLED",
        "figure": money(saved) if books else UNKNOWN,
        "who": f"{several(len(one.compactions), 'compaction')}, {paid} paid for themselves",
    }


def _forgotten_card(one: Autopsy) -> dict[str, str]:
    found = [report.forgetting for report in one.compactions]
    lost, known = sum(len(item.lost) for item in found), sum(item.facts for item in found)
    return {
        "what": "facts forgotten by compactions",
        "figure": f"{lost:,} of {known:,}",
        "who": f"{sum(item.gone for item in found):,} never came back, {sum(item.missed for item in found):,} were used again later",
    }


def _sum(costs: Any) -> int | None:
    items = list(costs)
    return None if any(cost is None for cost in items) else sum(items)


def cause_rows(one: Autopsy) -> list[dict[str, str]]:
    """Breaks by cause, the dearest first."""
    groups = by_cause(found.lost for found in one.breaks)
    return [
        {"cause": cause, "meaning": CAUSES.get(cause, ""), "count": f"{count:,}", "tokens": thousands(tokens), "usd": money(cost)}
        for cause, (count, tokens, cost) in groups.items()
    ]


def break_row(one: Autopsy, found: RecordedBreak) -> dict[str, str]:
    """The cells of one break."""
    first, lost = started(one), found.lost
    return {
        "call": f"{lost.call:,}",
        "when": duration(found.at - first) if found.at is not None and first is not None else UNKNOWN,
        "cause": lost.cause,
        "gap": duration(lost.gap_ms),
        "left": thousands(found.kept),
        "read": thousands(found.read),
        "prompt": thousands(found.prompt),
        "usd": money(lost.cost),
        "detail": one_line(found.detail, 240),
    }


def alarm_text(one: Autopsy) -> str:
    """How the client's own alarm relates to the breaks."""
    alarms = sum(row.alarm for row in one.recorded.rows)
    return (
        f"A client's own alarm, a fall of what is read against the call before, would have sounded {alarms:,} times: also at "
        "compactions, and not while a cache stays broken."
    )


def compaction_title(number: int, report: CompactionReport) -> str:
    """One line for a compaction."""
    event, source = report.event, report.source
    before = source.tokens_before if event is None else event.tokens_before
    after = source.tokens_after if event is None else event.tokens_after
    sizes = f"{thousands(before)} → {thousands(after)} tokens"
    return f"Compaction {number}, before call {source.call:,}{f' ({source.trigger})' if source.trigger else ''}: {sizes}"


def request_text(report: CompactionReport) -> str:
    """What the unrecorded request must have cost."""
    if report.event is None:
        return "No billed call follows, so nothing can be said about its cost."
    usage = report.event.summarizer
    unknown = "" if usage.output else "; the summary itself cannot be read, so its output is left out"
    paid = usage.prompt - usage.cache_read
    read = f"{thousands(usage.cache_read)} tokens read from the cache, " if usage.cache_read else "cache cold, "
    return f"{read}{thousands(paid)} paid in full, {thousands(usage.output)} written: {money(report.request)} MODELLED{unknown}."


def account_text(account: Account | None) -> str:
    """Build against carry for one compaction."""
    if account is None:
        return "Its books cannot be kept: no price, or it freed less than 2 % of the window."
    need = "never pays" if account.break_even is None else f"pays after {float(account.break_even):.1f} calls"
    reached = f"had paid after {account.reached_after}" if account.reached_after is not None else "had not paid"
    return (
        f"The next call sent {thousands(account.rewritten)} tokens, summary and what was put back, at the price of a write instead of a "
        f"read ({money(account.rewrite)} more, OBSERVED). The compaction saves "
        f"{money(account.saved_per_call)} on each later call, so it {need}; {several(account.calls, 'call')} followed before the next "
        f"compaction or the end: it {reached} and saved {money(account.saved - account.cost)} in all."
    )


def forgotten_text(found: Forgetting) -> str:
    """How many facts stood and what became of them."""
    if not found.facts:
        return "No fact that can be checked stood before it."
    back = len(found.lost) - found.gone
    unread = "" if found.readable else " The summary is not readable in the recording, so what only it holds counts as lost."
    return (
        f"{several(found.facts, 'fact')} stood before it; {found.kept:,} are in the summary or in what was put back, {len(found.lost):,} are "
        f"not. {back:,} of these came back later, {found.gone:,} never did; {found.missed:,} {'was' if found.missed == 1 else 'were'} used again by "
        f"later replies.{unread}"
    )


def rate_text(what: str, items: Sequence[Again], rate: Rate) -> str:
    """Repeats after a compaction against as many messages before it."""
    tokens = sum(item.tokens for item in items)
    cost = f" ({thousands(tokens)} tokens of results)" if tokens else ""
    return f"{what}: {len(items):,}{cost}; in the {rate.messages:,} messages after it {rate.after:,}, in as many before it {rate.before:,}."


def lost_row(one: Lost) -> dict[str, str]:
    """The cells of one forgotten fact."""
    evidence = one.evidence
    text, at, length = quote(evidence.text, evidence.at, evidence.at + evidence.length, QUOTED)
    tool = f" of {evidence.tool}" if evidence.tool else ""
    place = f"message {evidence.position:,}, {evidence.kind.replace('_', ' ')}{tool}"
    back = (
        f"came back in message {one.returned_at:,} ({one.returned_by})" if one.returned_at is not None else "never stated again"
    )
    used = f"; its value stands in {several(one.uses, 'later reply', 'later replies')}" if one.uses else ""
    return {
        "type": one.probe.type,
        "question": one.probe.question,
        "answer": " · ".join(one_line(text, 80) for text in one.probe.accept[:2]),
        "where": place,
        "before": text[:at],
        "span": text[at : at + length],
        "after": text[at + length :],
        "fate": back + used,
    }


def habit_row(habit: Habit) -> dict[str, str]:
    """The cells of one habit."""
    return {
        "name": habit.name,
        "usd": money(habit.cost),
        "difference": signed(habit.difference),
        "compactions": f"{habit.compactions:,}" if habit.cost is not None else UNKNOWN,
        "detail": habit.reason or habit.detail,
    }


def law_text(one: Autopsy) -> str:
    """How well the cache law that the modelled figures use tells this session's reads."""
    pairs = one.law.pairs
    if not pairs:
        return f"No cache law can be held against this session: {one.law.reason}."
    close = sum(pair.close for pair in pairs)
    error = "" if one.law.error is None else f", its dollars {one.law.error:+.1%} off the bill"
    return f"The law behind MODELLED figures tells {close / len(pairs):.1%} of this session's {len(pairs):,} reads within 1 %{error}."

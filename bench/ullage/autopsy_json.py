"""An autopsy as JSON: dollars with their label, a reason for each figure that is not known."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from ullage.audit import summary
from ullage.autopsy import Autopsy, CompactionReport
from ullage.breaks import by_cause
from ullage.forgetting import Again, Forgetting, Lost
from ullage.habits import Habit
from ullage.pricing import usd
from ullage.recorded import RecordedBreak

DIGITS = 6
"""Decimals of dollars: beyond what any figure here resolves."""


def as_json(one: Autopsy, path: str = "") -> dict[str, Any]:
    """One session; ``reasons`` names why a figure is null."""
    times = [call.at for call in one.trace.calls if call.at is not None]
    reasons: dict[str, str] = {}
    if one.billed is None:
        reasons["usd"] = one.spending.reason or ("a sub-agent has no price" if one.recorded.rows else one.recorded.law)
    if one.requests is None:
        reasons["usd_requests"] = one.spending.reason or "a compaction has no billed call after it"
    if not one.habits:
        reasons["habits"] = (
            one.spending.reason or one.recorded.law if not one.recorded.rows or one.spending.reason else "none applies"
        )
    return {
        "path": path,
        "trace": one.trace.id,
        "format": one.trace.meta.format,
        "model": one.trace.meta.model or None,
        "client": one.trace.meta.client or None,
        "calls": len(one.trace.calls),
        "billed_calls": len(one.recorded.rows),
        "first_at": min(times, default=None),
        "last_at": max(times, default=None),
        "window": one.window,
        "window_source": one.window_source,
        "usage": msgspec.to_builtins(one.spending.usage),
        "usd": dollars(one.billed),
        "usd_label": "OBSERVED",
        "usd_split": None if one.spending.money is None else one.spending.money.split(),
        "usd_requests": dollars(one.requests),
        "usd_requests_label": "MODELLED",
        "spent": _spent(one),
        "breaks": _breaks(one),
        "compactions": [_compaction(report) for report in one.compactions],
        "habits": [_habit(habit) for habit in one.habits],
        "agents": [
            {"trace": agent.trace, "calls": agent.calls, "usage": msgspec.to_builtins(agent.usage), "usd": dollars(agent.cost)}
            for agent in one.agents
        ],
        "facts": one.facts,
        "law": {"name": one.law.law or None} | {key: value for key, value in summary([one.law]).items() if key != "reasons"},
        "notes": [*one.notes, *one.spending.notes],
        "reasons": reasons,
    }


def dollars(pico: int | None) -> float | None:
    """Dollars of an amount in pico-dollars, rounded for JSON."""
    return None if pico is None else round(usd(pico), DIGITS)


def _spent(one: Autopsy) -> list[dict[str, Any]]:
    priced = one.spending.money is not None
    return [
        {"reason": spent.reason, "tokens": spent.tokens, "usd": dollars(spent.cost) if priced else None}
        for spent in one.spending.reasons
    ]


def _breaks(one: Autopsy) -> dict[str, Any]:
    causes = by_cause(found.lost for found in one.breaks)
    costs = [found.lost.cost for found in one.breaks]
    return {
        "label": "OBSERVED",
        "count": len(one.breaks),
        "tokens": sum(found.lost.tokens for found in one.breaks),
        "usd": None if any(cost is None for cost in costs) else dollars(sum(cost or 0 for cost in costs)),
        "alarms": sum(row.alarm for row in one.recorded.rows),
        "by_cause": [
            {"cause": cause, "count": count, "tokens": tokens, "usd": dollars(cost)}
            for cause, (count, tokens, cost) in causes.items()
        ],
        "list": [_break(found) for found in one.breaks],
    }


def _break(found: RecordedBreak) -> dict[str, Any]:
    lost = found.lost
    return {
        "call": lost.call,
        "at": found.at,
        "cause": lost.cause,
        "tokens": lost.tokens,
        "usd": dollars(lost.cost),
        "gap_s": None if lost.gap_ms is None else round(lost.gap_ms / 1000, 1),
        "left": found.kept,
        "read": found.read,
        "prompt": found.prompt,
        "ttl": found.ttl or None,
        "detail": found.detail,
    }


def _compaction(report: CompactionReport) -> dict[str, Any]:
    source, event, account = report.source, report.event, report.account
    entry: dict[str, Any] = {
        "call": source.call,
        "at": source.at,
        "trigger": source.trigger or None,
        "tokens_before": source.tokens_before if event is None else event.tokens_before,
        "tokens_after": source.tokens_after if event is None else event.tokens_after,
        "request": None
        if event is None
        else {"label": "MODELLED", "usage": msgspec.to_builtins(event.summarizer), "usd": dollars(report.request)},
        "account": None,
        "reasons": {},
    }
    if account is not None:
        entry["account"] = {
            "label": "MODELLED",
            "freed": account.freed,
            "warm": account.warm,
            "rewritten": account.rewritten,
            "rewrite_usd": dollars(account.rewrite),
            "cost_usd": dollars(account.cost),
            "saved_per_call_usd": dollars(account.saved_per_call),
            "break_even_calls": None if account.break_even is None else round(float(account.break_even), 3),
            "calls": account.calls,
            "saved_usd": dollars(account.saved),
            "reached_after": account.reached_after,
        }
    else:
        entry["reasons"]["account"] = (
            "no billed call after it" if event is None else "no price, or it freed less than 2 % of the window"
        )
    return entry | _forgotten(report.forgetting)


def _forgotten(found: Forgetting) -> dict[str, Any]:
    return {
        "summary_readable": found.readable,
        "facts": found.facts,
        "kept": found.kept,
        "lost": len(found.lost),
        "gone": found.gone,
        "missed": found.missed,
        "lost_facts": [_lost(one) for one in found.lost],
        "looked_again": _again(found.looks) | found.look_rate._asdict(),
        "ran_again": _again(found.commands) | found.command_rate._asdict(),
    }


def _lost(one: Lost) -> dict[str, Any]:
    return {
        "question": one.probe.question,
        "answer": list(one.probe.accept),
        "type": one.probe.type,
        "message": one.evidence.message,
        "evidence": one.evidence.text,
        "returned_at": one.returned_at,
        "returned_by": one.returned_by or None,
        "uses": one.uses,
    }


def _again(found: Iterable[Again]) -> dict[str, Any]:
    items = list(found)
    return {
        "count": len(items),
        "tokens": sum(one.tokens for one in items),
        "items": [{"kind": one.kind, "target": one.target, "message": one.again, "tokens": one.tokens} for one in items],
    }


def _habit(habit: Habit) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "habit": habit.name,
        "label": "MODELLED",
        "usd": dollars(habit.cost),
        "usd_difference": dollars(habit.difference),
        "compactions": habit.compactions,
        "detail": habit.detail,
        "reasons": {},
    }
    if habit.cost is None:
        entry["reasons"]["usd"] = habit.reason
    return entry


def total(sessions: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Sums over sessions; dollars only of those that have a price, with how many those are."""
    items = list(sessions)
    priced = [one for one in items if one["usd"] is not None]
    return {
        "sessions": len(items),
        "priced": len(priced),
        "calls": sum(one["calls"] for one in items),
        "usd": round(sum(one["usd"] for one in priced), DIGITS) if priced else None,
        "breaks": sum(one["breaks"]["count"] for one in items),
        "breaks_usd": round(sum(one["breaks"]["usd"] or 0 for one in priced), DIGITS) if priced else None,
        "compactions": sum(len(one["compactions"]) for one in items),
        "reasons": {} if priced else {"usd": "no session has a price"},
    }

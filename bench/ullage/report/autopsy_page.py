"""The page of an autopsy: one file, no script, no outside reference, in the look of the report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ullage.autopsy import Autopsy, CompactionReport
from ullage.forgetting import Again
from ullage.plain import one_line, several
from ullage.pricing import usd
from ullage.report import autopsy_words as words
from ullage.report.charts import Bar, BarChart, Column, Panel, StackChart, label_axis, scale
from ullage.report.pieces import figure, style_sheet, template
from ullage.spending import AGAIN, COMPACTED, OUTPUT, READ, SMALL
from ullage.tables import UNKNOWN, thousands

BREAKS_SHOWN, FACTS_SHOWN, REPEATS_SHOWN = 20, 12, 8
"""What a person reads of one session; the JSON holds all."""
COLUMNS_SHOWN = 300
"""Most bars of the picture over calls; longer sessions are binned, and the caption says so."""
KINDS = ("read again", "paid for the first time", "sent again", "output")


def autopsy_page(sessions: Sequence[Autopsy], prices: str, refused: Sequence[str] = ()) -> str:
    """The whole page as text; ``prices`` names the sheet and its date."""
    several_sessions = len(sessions) > 1
    context = {
        "css": style_sheet(),
        "title": "What did these sessions cost, and why?" if several_sessions else "What did this session cost, and why?",
        "overview": [_overview_row(number, one) for number, one in enumerate(sessions, 1)] if several_sessions else [],
        "sessions": [_session(number, one) for number, one in enumerate(sessions, 1)],
        "refused": list(refused),
        "glossary": words.GLOSSARY,
        "prices": prices,
    }
    return str(template("autopsy.html").render(context))


def _overview_row(number: int, one: Autopsy) -> dict[str, str]:
    lost = sum(len(report.forgetting.lost) for report in one.compactions)
    costs = [found.lost.cost for found in one.breaks]
    best = one.habits[0] if one.habits and (one.habits[0].difference or 0) < 0 else None
    return {
        "number": str(number),
        "id": one.trace.id,
        "model": one.trace.meta.model or UNKNOWN,
        "calls": f"{len(one.trace.calls):,}",
        "usd": words.money(one.billed),
        "breaks": f"{len(one.breaks):,}",
        "breaks_usd": UNKNOWN if any(cost is None for cost in costs) else words.money(sum(cost or 0 for cost in costs)),
        "compactions": f"{len(one.compactions):,}",
        "lost": f"{lost:,}" if one.compactions else UNKNOWN,
        "habit": best.name if best is not None else UNKNOWN,
        "saving": words.signed(best.difference) if best is not None else UNKNOWN,
    }


def _session(number: int, one: Autopsy) -> dict[str, Any]:
    return {
        "number": number,
        "id": one.trace.id,
        "lead": words.lead(one),
        "facts": words.facts(one),
        "cards": words.cards(one),
        "charts": [figure(chart) for chart in (spent_chart(number, one), calls_chart(number, one)) if chart is not None],
        "split": _split(one),
        "causes": words.cause_rows(one),
        "breaks": [words.break_row(one, found) for found in one.breaks[:BREAKS_SHOWN]],
        "breaks_left": max(len(one.breaks) - BREAKS_SHOWN, 0),
        "alarms": words.alarm_text(one),
        "compactions": [_compaction(place, report) for place, report in enumerate(one.compactions, 1)],
        "habits": [words.habit_row(habit) for habit in one.habits],
        "agents": [
            {
                "id": agent.trace,
                "calls": f"{agent.calls:,}",
                "prompt": thousands(agent.usage.prompt),
                "usd": words.money(agent.cost),
            }
            for agent in one.agents
        ],
        "law": words.law_text(one),
        "notes": [*one.notes, *one.spending.notes],
        "looked_for": several(one.facts, "fact"),
    }


def _split(one: Autopsy) -> list[tuple[str, str, str]]:
    usage, paid = one.spending.usage, one.spending.money
    names = (
        ("uncached input", usage.uncached, None if paid is None else paid.uncached),
        ("cache read", usage.cache_read, None if paid is None else paid.read),
        ("cache write, 5 minutes", usage.cache_write_5m, None if paid is None else paid.write_5m),
        ("cache write, 1 hour", usage.cache_write_1h, None if paid is None else paid.write_1h),
        ("output", usage.output, None if paid is None else paid.output),
    )
    return [(name, thousands(tokens), words.money(cost)) for name, tokens, cost in names if tokens]


def _compaction(place: int, report: CompactionReport) -> dict[str, Any]:
    found = report.forgetting
    return {
        "title": words.compaction_title(place, report),
        "short": f"{len(found.lost):,} of {found.facts:,} facts forgotten",
        "request": words.request_text(report),
        "account": words.account_text(report.account),
        "forgotten": words.forgotten_text(found),
        "lost": [words.lost_row(one) for one in found.lost[:FACTS_SHOWN]],
        "lost_left": max(len(found.lost) - FACTS_SHOWN, 0),
        "looks": words.rate_text("Looked at again", found.looks, found.look_rate),
        "commands": words.rate_text("Commands run again", found.commands, found.command_rate),
        "again": [_again(item) for item in (*found.looks[:REPEATS_SHOWN], *found.commands[:REPEATS_SHOWN])],
    }


def _again(item: Again) -> dict[str, str]:
    return {
        "kind": "command" if item.kind == "shell" else item.kind,
        "target": one_line(item.target, 200),
        "message": f"{item.again:,}",
        "tokens": thousands(item.tokens),
    }


def _kind(reason: str) -> str:
    if reason == READ:
        return KINDS[0]
    if reason == OUTPUT:
        return KINDS[3]
    return KINDS[2] if reason.startswith(AGAIN) or reason in {COMPACTED, SMALL} else KINDS[1]


def spent_chart(number: int, one: Autopsy) -> BarChart | None:
    """What the money was paid for, a bar a reason."""
    if one.spending.money is None or not one.spending.reasons:
        return None
    shown = [spent for spent in one.spending.reasons if spent.cost * 1000 >= one.spending.money.total]
    bars = tuple(
        Bar(
            label=spent.reason,
            style=0,
            values=tuple(usd(spent.cost) if kind == _kind(spent.reason) else 0.0 for kind in KINDS),
            total=f"{words.money(spent.cost)} · {thousands(spent.tokens)}",
        )
        for spent in shown
    )
    return BarChart(
        slug=f"spent-{number}",
        title="What the money was paid for",
        caption=(
            "Dollars (OBSERVED) by the reason why tokens were paid for as they were, with their number; n = "
            f"{several(len(one.recorded.rows), 'billed call')}. Reasons below a thousandth of the bill are left out."
        ),
        x=scale("dollars (OBSERVED)", "usd", max(usd(spent.cost) for spent in shown), about=4),
        y=label_axis("", tuple(bar.label for bar in bars)),
        parts=KINDS,
        bars=bars,
    )


def calls_chart(number: int, one: Autopsy) -> StackChart | None:
    """Each call's prompt by what was read, what was new and what was sent again."""
    rows = one.recorded.rows
    if not rows:
        return None
    values = []
    for row, fresh in zip(rows, one.recorded.fresh, strict=True):
        new = min(fresh, row.prompt_tokens - row.usage.cache_read)
        values.append((row.usage.cache_read, new, row.prompt_tokens - row.usage.cache_read - new))
    step = -(-len(rows) // COLUMNS_SHOWN)
    columns = tuple(
        Column(
            x=place - 0.5,
            width=float(len(values[place : place + step])),
            values=tuple(
                sum(part) / len(values[place : place + step]) for part in zip(*values[place : place + step], strict=True)
            ),
        )
        for place in range(0, len(values), step)
    )
    binned = f" Each bar is the mean of {step} calls." if step > 1 else ""
    events = tuple(float(place) for place, row in enumerate(rows) if row.compactions)
    return StackChart(
        slug=f"calls-{number}",
        title="Each call's prompt: read, new, and sent again",
        caption=(
            f"Prompt tokens of each of {several(len(rows), 'billed call')} (OBSERVED). Red is what had been sent before and was paid for in full "
            f"again; dotted lines are compactions.{binned}"
        ),
        x=scale("call", "count", len(rows), about=8),
        y=scale("tokens", "tokens", max(row.prompt_tokens for row in rows), about=3),
        parts=KINDS[:3],
        panels=(Panel(name="", style=0, columns=columns, events=events),),
    )

"""Does the order of strategies by cost hold? Under extra turns, under other providers' caches, and under other price lists.

A replay repeats the recorded actions, but an agent that lost something may need more turns than the recording took. So
from a strategy's first lossy decision on its bill is multiplied by 1 + e; before that nothing was lost and nothing
changes (methodology 5.7). ``flips`` gives the e at which two strategies change places. All dollars are MODELLED.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any

from ullage.billing import Replayed, bill_of_first, bill_replay
from ullage.pricing import PriceSheet, Unpriced, usd
from ullage.records import RunRecord
from ullage.types import Compaction, Drop, Erase, Rewrite, Row

EXTRA = (Fraction(0), Fraction(1, 10), Fraction(1, 5))
"""Shares of extra turns: 0, 10 and 20 % (methodology 5.7)."""
FARTHEST = Fraction(1)
"""A flip beyond twice the turns says more about the model than about the strategies; it is not listed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """One strategy on one trace under one scenario: pico-dollars up to its first lossy decision and from there on.

    ``died`` says that it could not make every call, so its bill is short; ``reason`` why there is no bill at all.
    """

    spec: str
    trace: str
    before: int = 0
    after: int = 0
    died: bool = False
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """One strategy over all traces of a scenario."""

    spec: str
    before: int
    after: int

    def at(self, extra: Fraction) -> Fraction:
        """Pico-dollars with this share of extra turns."""
        return self.before + self.after * (1 + extra)


@dataclass(frozen=True, slots=True, kw_only=True)
class Flip:
    """Two strategies and the share of extra turns from which the first, cheaper without, is the dearer one."""

    cheaper: str
    dearer: str
    at: Fraction


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """A way to bill the same replays: a cache policy, and the model whose prices hold (empty: each call's own).

    ``resimulate`` is true where the calls must be replayed, because another cache splits them differently.
    """

    name: str
    policy: str = ""
    model: str = ""
    resimulate: bool = False
    note: str = ""


PROVIDERS = tuple(
    Scenario(name=name, policy=policy, model=model, resimulate=True, note=note)
    for name, policy, model, note in (
        ("Anthropic, last block", "auto", "claude-sonnet-5", ""),
        ("Anthropic, Claude Code's marks", "claude_code", "claude-opus-5", ""),
        ("Anthropic, an hour", "claude_code(ttl='1h')", "claude-opus-5", "what a subscription uses"),
        ("Anthropic, reads at a fortieth", "claude_code", "claude-fable-5-1", ""),
        ("Bedrock, Claude", "bedrock", "us.anthropic.claude-sonnet-4-5-20250929-v1:0", ""),
        ("Bedrock, Nova", "bedrock_nova", "amazon.nova-pro-v1:0", ""),
        ("Vertex, Claude", "vertex", "vertex_ai/claude-sonnet-4-5", ""),
        ("OpenAI before GPT-5.6", "openai", "gpt-5", ""),
        ("OpenAI GPT-5.5", "openai(interval=512, minutes=1440)", "gpt-5.5", ""),
        ("OpenAI from GPT-5.6", "openai_marks", "gpt-5.6", ""),
        ("Azure", "azure", "azure/gpt-5", ""),
        ("Gemini, implicit", "gemini_implicit", "gemini-3.1-pro-preview", ""),
        ("Gemini, explicit", "gemini_explicit", "gemini-3.1-pro-preview", "with storage"),
        ("DeepSeek", "deepseek", "deepseek-chat", ""),
        ("xAI", "xai", "xai/grok-4.5", ""),
        ("Mistral", "mistral", "mistral/mistral-large-latest", ""),
        ("Moonshot", "moonshot", "moonshot/kimi-k3", ""),
        ("GLM", "glm", "zai/glm-4.7", ""),
        ("MiniMax", "minimax", "minimax/MiniMax-M2", ""),
        ("Qwen, implicit", "qwen_implicit", "dashscope/qwen-plus", ""),
        ("Qwen, explicit", "qwen_explicit", "dashscope/qwen-plus", ""),
        ("no cache", "none", "claude-sonnet-5", "a bound"),
        ("every prefix kept", "ideal", "claude-sonnet-5", "a bound"),
    )
)
"""Every provider's rules with the prices of one of its models that the sheet holds."""
PRICE_LISTS = tuple(
    Scenario(name=f"prices of {model}", model=model)
    for model in ("claude-haiku-4-5", "claude-sonnet-5", "claude-opus-5-5", "claude-fable-5-1", "gpt-5.6", "deepseek-chat")
)
"""The run's own usage under price lists that differ in what they ask for reads, writes and output against input."""


def first_loss(rows: Sequence[Row], compactions: Iterable[Compaction]) -> int:
    """How many calls were made before the first decision that took something away (all of them: none did)."""
    calls = [event.call for event in compactions if any(isinstance(edit, (Drop, Rewrite, Erase)) for edit in event.edits)]
    return sum(row.call < min(calls) for row in rows) if calls else len(rows)


def course_of(record: RunRecord) -> Course:
    """A record's course under the bill that it holds."""
    if record.bill is None:
        return Course(spec=record.spec, trace=record.inputs.trace, reason=record.unpriced or "it has no bill")
    calls = first_loss(record.rows, record.compactions)
    before = bill_of_first(record, calls) if calls < len(record.rows) else record.bill.total
    if before is None:
        return Course(spec=record.spec, trace=record.inputs.trace, reason="part of its calls cannot be priced")
    return Course(
        spec=record.spec,
        trace=record.inputs.trace,
        before=before,
        after=record.bill.total - before,
        died=record.died_at is not None,
    )


def repriced(record: RunRecord, sheet: PriceSheet, model: str) -> Course:
    """A record's course at the prices of a model (empty: each call's own) in a sheet."""
    return priced(record.spec, record.inputs.trace, Replayed.of(record), sheet, model, died=record.died_at is not None)


def priced(spec: str, trace: str, replayed: Replayed, sheet: PriceSheet, model: str, *, died: bool) -> Course:
    """The course of a replay, given what it sent."""
    whole = bill_replay(replayed, sheet, model)
    part = bill_replay(replayed.first(first_loss(replayed.rows, replayed.compactions)), sheet, model)
    if isinstance(whole, Unpriced) or isinstance(part, Unpriced):
        reason = whole.reason if isinstance(whole, Unpriced) else "part of its calls cannot be priced"
        return Course(spec=spec, trace=trace, reason=reason)
    return Course(spec=spec, trace=trace, before=part.total, after=whole.total - part.total, died=died)


def standings(courses: Iterable[Course]) -> tuple[list[Standing], dict[str, str]]:
    """Strategies that can be ranked, cheapest first, and why the others cannot: no price, or traces that they did not finish."""
    groups: dict[str, list[Course]] = {}
    for course in courses:
        groups.setdefault(course.spec, []).append(course)
    most = max((len(group) for group in groups.values()), default=0)
    found, left_out = [], {}
    for spec, group in groups.items():
        reason = _unranked(group, most)
        if reason:
            left_out[spec] = reason
        else:
            found.append(Standing(spec=spec, before=sum(c.before for c in group), after=sum(c.after for c in group)))
    return sorted(found, key=lambda one: (one.at(EXTRA[0]), one.spec)), left_out


def _unranked(group: Sequence[Course], most: int) -> str:
    reasons = sorted({course.reason for course in group if course.reason})
    if reasons:
        return "; ".join(reasons)
    died = sum(course.died for course in group)
    if died:
        return f"it could not make every call of {died} of {len(group)} traces, so its bill is short"
    return f"it has {len(group)} of {most} traces" if len(group) < most else ""


def ranking(found: Sequence[Standing], extra: Fraction) -> list[str]:
    """Specs from the cheapest to the dearest at a share of extra turns."""
    return [one.spec for one in sorted(found, key=lambda one: (one.at(extra), one.spec))]


def flips(found: Sequence[Standing]) -> list[Flip]:
    """Where two strategies change places, the smallest share first; pairs that never do, or only beyond ``FARTHEST``, are left out."""
    crossings = []
    for one, other in combinations(sorted(found, key=lambda s: (s.at(EXTRA[0]), s.spec)), 2):
        gap, faster = other.at(EXTRA[0]) - one.at(EXTRA[0]), one.after - other.after
        if faster > 0 and gap / faster <= FARTHEST:
            crossings.append(Flip(cheaper=one.spec, dearer=other.spec, at=gap / faster))
    return sorted(crossings, key=lambda flip: (flip.at, flip.cheaper, flip.dearer))


def entry(scenario: Scenario, courses: Iterable[Course], base: Sequence[str] = (), notes: Sequence[str] = ()) -> dict[str, Any]:
    """One scenario as JSON: dollars and order at each share of extra turns, flips, and whether the order is the run's own.

    ``notes`` are the rules that stood in for gaps in the price sheet.
    """
    found, left_out = standings(courses)
    orders = [ranking(found, extra) for extra in EXTRA]
    common = [spec for spec in base if spec in orders[0]]
    return {
        "scenario": scenario.name,
        "policy": scenario.policy or None,
        "model": scenario.model or None,
        "notes": [*([scenario.note] if scenario.note else []), *notes],
        "label": "MODELLED",
        "strategies": [
            {
                "spec": one.spec,
                "usd": [round(usd(round(one.at(extra))), 6) for extra in EXTRA],
                "usd_before_first_loss": round(usd(one.before), 6),
            }
            for one in found
        ],
        "order": orders,
        "flips": [
            {"cheaper": flip.cheaper, "dearer": flip.dearer, "extra_turns": round(float(flip.at), 4)} for flip in flips(found)
        ],
        "same_order_as_run": None if len(common) < 2 else [spec for spec in orders[0] if spec in common] == common,
        "unranked": left_out,
        "reasons": {} if len(common) >= 2 else {"same_order_as_run": "fewer than two strategies can be ranked in both"},
    }


def inversions(order: Sequence[str], base: Sequence[str]) -> list[tuple[str, str]]:
    """Pairs whose order is not that of ``base``: (now cheaper, was cheaper)."""
    places = {spec: n for n, spec in enumerate(base)}
    known = [spec for spec in order if spec in places]
    return [(one, other) for one, other in combinations(known, 2) if places[one] > places[other]]

"""The default summariser: sentences and lines of the history itself, chosen by salience, under sections, within a budget.

It needs no model and invents nothing. What it keeps is not what a probe asks for: prose with reasons and constraints
competes with values on equal terms, each section has its share of the budget, and the default budget is a small part of
what it reads.
"""

from __future__ import annotations

import math
import re
from collections import Counter as Tally
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from ullage.strategy import Summary, SummaryRequest
from ullage.summarizers import SummarizerPlugin
from ullage.summarizers._units import CONSTRAINT, DECISION, ERROR, FACT, FILE, GOAL, NEXT, SECTIONS, Unit, sentences, units_of
from ullage.terms import terms as terms_of

SHARES = {GOAL: 0.20, CONSTRAINT: 0.15, DECISION: 0.20, ERROR: 0.10, FILE: 0.10, FACT: 0.20, NEXT: 0.05}
"""Shares of the budget by section; what one does not use goes to the next. The first three are prose: more than half."""
SPEAKER_WEIGHT = {"user": 1.5, "assistant": 1.0, "call": 0.7, "tool": 0.5}
"""A line of a log is one of thousands, a sentence of the user one of few: the ratios of their counts, damped."""
TITLES = {
    "en": {
        GOAL: "Requests",
        CONSTRAINT: "Constraints",
        DECISION: "Decisions and reasons",
        ERROR: "Errors",
        FILE: "Files",
        FACT: "Facts",
        NEXT: "Next steps",
    },
    "zh": {GOAL: "请求", CONSTRAINT: "约束", DECISION: "决定与原因", ERROR: "错误", FILE: "文件", FACT: "事实", NEXT: "下一步"},
}
_VALUE = re.compile(r"\d|[/\\][\w.-]+|\b[A-Z][a-z]+[A-Z]\w*|\b\w+_\w+\b|`[^`]+`")
_EARLIER = "earlier"


@dataclass(frozen=True, slots=True, kw_only=True)
class Extractive(SummarizerPlugin):
    """Keeps at most ``max_tokens`` (the request's own limit when it is smaller) and ``share`` of what it reads."""

    max_tokens: int = 1500
    share: float = 0.25

    summary: ClassVar[str] = "salient sentences and lines under sections, within a budget; no model"

    def __post_init__(self) -> None:
        if self.max_tokens < 1:
            raise ValueError(f"found max_tokens={self.max_tokens}; expected at least 1")
        if not 0 < self.share <= 1:
            raise ValueError(f"found share={self.share}; expected a share above 0 and up to 1")

    def __call__(self, request: SummaryRequest) -> Summary:
        """Choose and write; the text never takes more than the budget by ``estimate``."""
        units = list(units_of(request.messages))
        earlier = [Unit(text, _section_of_line(title), -1, _EARLIER) for title, text in _lines(request.previous)]
        read = sum(estimate(unit.text) for unit in units) + estimate(request.previous)
        budget = min(self.max_tokens, request.max_tokens or self.max_tokens, max(20, int(read * self.share)))
        chinese = _is_chinese(unit.text for unit in units if unit.speaker in ("user", "assistant"))
        text = _write(_choose(units, earlier, budget), budget, TITLES["zh" if chinese else "en"])
        return Summary(text=text or _one([*earlier, *units], budget))


def estimate(text: str) -> int:
    """Tokens of a text, cautiously: a quarter a character, one and a half a Chinese one, rounded up."""
    wide = sum(1 for c in text if ord(c) > 0x2E7F)
    return math.ceil((len(text) - wide) / 4 + wide * 1.5)


def _one(units: Sequence[Unit], budget: int) -> str:
    """The most salient unit alone, cut to the budget: where there is no room for sections, something is still said."""
    text = _scored(units)[0].text if units else ""
    while text and estimate(text) > budget:
        text = text[: len(text) * budget // estimate(text)]
    return text


def _choose(units: Sequence[Unit], earlier: Sequence[Unit], budget: int) -> list[Unit]:
    """Fill each section's share with its best units, newest of equals first; leftovers go to the best of the rest."""
    room = budget - sum(estimate(title) + 2 for title in TITLES["en"].values())
    scored = _scored([*earlier, *units])
    chosen: dict[str, Unit] = {}
    spare = 0
    for section in (GOAL, CONSTRAINT, DECISION):
        # A short budget must still hold one sentence of each kind of prose, though it may be longer than the share.
        room -= _cost_of_first(chosen, [unit for unit in scored if unit.section == section], room // 3)
    for section in SECTIONS:
        limit = int(room * SHARES[section]) + spare
        spare = _fill(chosen, [unit for unit in scored if unit.section == section], limit)
    _fill(chosen, scored, spare)
    return sorted(chosen.values(), key=lambda unit: (SECTIONS.index(unit.section), unit.position))


def _cost_of_first(chosen: dict[str, Unit], candidates: Sequence[Unit], room: int) -> int:
    """Add the best candidate that fits, and return what it costs."""
    for unit in candidates:
        cost = estimate(unit.text) + 2
        if cost <= room and unit.text.casefold() not in chosen:
            chosen[unit.text.casefold()] = unit
            return cost
    return 0


def _fill(chosen: dict[str, Unit], candidates: Iterable[Unit], room: int) -> int:
    """Add candidates while they fit, passing over near repetitions; returns the room left."""
    said = {term for unit in chosen.values() for term in terms_of(unit.text)}
    for unit in candidates:
        if room <= 0:
            break
        cost = estimate(unit.text) + 2
        key = unit.text.casefold()
        if key in chosen or cost > room:
            continue
        terms = terms_of(unit.text)
        if terms and len(terms & said) > 0.8 * len(terms):
            continue
        chosen[key] = unit
        said |= terms
        room -= cost
    return max(room, 0)


def _scored(units: Sequence[Unit]) -> list[Unit]:
    """Units from the most to the least salient: rare words and values, by speaker, the newest of equals first."""
    known = Tally(term for unit in units for term in terms_of(unit.text))
    total = len(units) or 1
    last = max((unit.position for unit in units), default=0) or 1

    def salience(unit: Unit) -> tuple[float, int]:
        terms = terms_of(unit.text)
        if not terms:
            return 0.0, unit.position
        # Summed exactly: a set has no order, and the last bit of a sum would depend on it.
        rarity = math.fsum(math.log(1 + total / known[term]) for term in terms) / math.sqrt(len(terms))
        values = 1 + 0.15 * min(len(_VALUE.findall(unit.text)), 3)
        recent = 1 + 0.3 * max(unit.position, 0) / last
        return rarity * values * recent * SPEAKER_WEIGHT.get(unit.speaker, 1.2), unit.position

    return [unit for _, unit in sorted(((salience(u), u) for u in units), key=lambda pair: pair[0], reverse=True)]


def _write(units: Sequence[Unit], budget: int, titles: dict[str, str]) -> str:
    """Sections with their lines; lines that would break the budget are left out, whatever the choice had hoped for."""
    lines: list[str] = []
    spent = 0
    section = ""
    for unit in units:
        new = [f"{titles[unit.section]}:"] if unit.section != section else []
        new.append(f"- {unit.text}")
        cost = sum(estimate(line) + 1 for line in new)
        if spent + cost > budget:
            continue
        lines += new
        spent += cost
        section = unit.section
    return "\n".join(lines)


def _lines(text: str) -> list[tuple[str, str]]:
    """Lines of an earlier summary with the section title that they stand under; prose is taken sentence by sentence."""
    found, title = [], ""
    for line in text.split("\n"):
        if line.endswith(":") and not line.startswith("-"):
            title = line[:-1]
        elif line.startswith("- "):
            found.append((title, line[2:]))
        else:
            found += [(title, sentence) for sentence in sentences(line)]
    return found


def _section_of_line(title: str) -> str:
    return next((section for names in TITLES.values() for section, name in names.items() if name == title), FACT)


def _is_chinese(texts: Iterable[str]) -> bool:
    wide = plain = 0
    for text in texts:
        for c in text:
            wide += ord(c) > 0x2E7F
            plain += c.isascii() and c.isalpha()
    return wide * 3 > plain

"""Choosing among options: which of them a context says of what the question asks."""

from __future__ import annotations

import re

from ullage.readers._query import Query
from ullage.readers._retrieval import Corpus, Hit
from ullage.terms import fold, question_terms
from ullage.values import find, quantity

OPTION_SHARE = 0.6
"""Share of an option's own terms that must stand beside the question's."""
OPTION_ROOM = 0.1
"""How much less of the question a line must cover that holds an option too: the option is evidence in itself."""
VERBATIM = 0.3
"""What it is worth that an option stands word for word: less than half of what either of the two coverages can give."""


def answer_option(query: Query, corpus: Corpus, threshold: float) -> str | None:
    """The option that is best supported; of equals the later one, in one line the one closer to the question's words."""
    scored = []
    for option in candidates(query):
        best = _support(option, query, corpus, threshold)
        if best is not None:
            scored.append((best, option))
    scored.sort(reverse=True)
    if not scored or (len(scored) > 1 and scored[0][0] == scored[1][0]):
        return None
    return scored[0][1]


def candidates(query: Query) -> list[str]:
    """Options that can be the answer: of the kind that is asked for, and not said in the question already."""
    options = [o for o in query.question.choices if fold(o).lower() not in query.text.lower()]
    options = options if len(options) >= 2 else list(query.question.choices)
    suits = {"date": _is_date, "person": _is_person, "count": _is_number, "duration": _is_number, "percent": _is_number}.get(
        query.kind
    )
    fitting = [option for option in options if suits(option)] if suits else []
    return fitting if len(fitting) >= 2 else options


def _is_date(option: str) -> bool:
    return any(True for _ in find("date", option)) or re.search(r"\d", option) is not None


def _is_person(option: str) -> bool:
    return re.fullmatch(r"@?\w+|[A-Z][\w'-]+(?: [A-Z][\w'-]+)+|[\u4e00-\u9fff]{2,4}", option) is not None


def _is_number(option: str) -> bool:
    return quantity(option) is not None


def _support(option: str, query: Query, corpus: Corpus, threshold: float) -> tuple[float, int, int, int] | None:
    """The line that supports an option most: its score, the message, its number there, and how far off the option stands (negative)."""
    own = [term for term in question_terms(option) if term not in query.terms] or list(question_terms(option))
    if not own:
        return None
    focus = {corpus.resolved(term) for term in query.focus}
    light = query.light | query.type_nouns
    weights, asked = corpus.weights(own), corpus.weights(query.terms, light)
    best: tuple[float, int, int, int] | None = None
    for hit in corpus.rank((*query.terms, *own), light):
        mine, theirs = hit.share(weights), hit.share(asked)
        if mine < OPTION_SHARE or theirs < threshold - OPTION_ROOM or not focus <= hit.near:
            continue
        if denies(hit.unit.text, option) or hit.unit.text.rstrip().endswith(("?", "？")):
            continue
        distance = _distance(option, query, hit)
        worth = mine + theirs + (0.0 if distance is None else VERBATIM)
        score = (round(worth, 1), hit.message, hit.number, -(distance or 0))
        best = score if best is None or score > best else best
    return best


def _distance(option: str, query: Query, hit: Hit) -> int | None:
    """Characters between an option's words and the question's, twice as many before them; none when it does not stand there."""
    text = fold(hit.unit.text).lower()
    start = text.find(fold(option).lower())
    if start < 0:
        return None
    end = start + len(option)
    places = [m.span() for term in query.terms if term in hit.inside for m in re.finditer(re.escape(term), text)]
    gaps = [start - right if start >= right else 2 * max(0, left - end) for left, right in places]
    return min(gaps, default=0)


def denies(text: str, option: str) -> bool:
    """Whether a line names an option only to say that it is not so."""
    denial = r"(?:\bnot|\bnever|n't|\bno longer|\binstead of|\brather than|不是|而不是|并非|不要|不按|不用)"
    return re.search(rf"{denial}\s*(?:(?:the|a|an|to|from|by)\s+)?{re.escape(option)}", text, re.IGNORECASE) is not None

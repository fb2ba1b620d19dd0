"""Finding the lines of a context that cover a question's terms, weighted by how rare each term is in that context."""

from __future__ import annotations

import heapq
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cached_property
from typing import NamedTuple

from ullage.actions import Action, actions
from ullage.lines import Header, MessageIndex, Unit, index_of
from ullage.terms import ALONE, is_cjk, path_tails
from ullage.types import Message

HEADER_WEIGHT = 0.9
HEADING_WEIGHT = 0.7
NEIGHBOUR_WEIGHT = 0.4
"""What a term counts for when it stands not in the line itself but in the call that it answers, in the heading above it,
or in the sentence before it: the further away, the less it is evidence for the same fact."""
COMMON = 1000
"""Lines from which a term is too common to find lines by when rarer terms have found enough."""
LIGHT_WEIGHT = 0.04
"""What a word counts for that only frames a question ("the function", "when they last ran"): enough to break ties."""
UNSEEN_WEIGHT = 0.6
"""What a plain word counts for that the context never uses, or an unseen pair of Chinese characters: it may be another form
of a word that is used (shrink, shrank), and half of all pairs straddle two words. Names by exact spelling count in full."""
POOL = 400
"""Lines looked at closely for one question; the others cover fewer of its rare terms."""
SHORT_RESULT = 12
"""Lines of a result that are looked at when only its call matches the question."""
FINALISTS = 150

_EMPTY = Header("", {}, frozenset())
_SHIFT = 20


class Hit(NamedTuple):
    """A line that may answer: its message's position, its number there, the share of the question that it covers.

    ``factors`` tell for each term found how much it counts by where it stands, ``inside`` which stand in the line itself.
    """

    message: int
    number: int
    coverage: float
    unit: Unit
    header: Header
    heading: str
    factors: Mapping[str, float]
    inside: frozenset[str]

    @property
    def near(self) -> AbstractSet[str]:
        """Terms found in the line or around it."""
        return self.factors.keys()

    def share(self, weights: Mapping[str, float]) -> float:
        """Share of these weighted terms that the line covers, those around it counted for less."""
        whole = sum(weights.values())
        return sum(weight * self.factors.get(term, 0.0) for term, weight in weights.items()) / whole if whole else 0.0


class Corpus:
    """A context made searchable. Building it costs the messages that were not seen lately."""

    def __init__(self, messages: Sequence[Message]) -> None:
        self.messages = messages
        self.indices: list[MessageIndex] = [index_of(message) for message in messages]
        self.size = sum(len(index.units) for index in self.indices)
        self.headers: dict[str, Header] = {}
        self.results: dict[str, tuple[int, int]] = {}
        self._by_term: dict[str, set[str]] = defaultdict(set)
        self._where: dict[str, list[tuple[int, tuple[int, ...]]]] = {}
        for position, index in enumerate(self.indices):
            for call, header in index.headers.items():
                self.headers[call] = header
                for term in header.terms:
                    self._by_term[term].add(call)
            for block, call_id in enumerate(index.answers):
                if call_id is not None:
                    self.results[call_id] = (position, block)

    def resolved(self, term: str) -> str:
        """The term itself, or the longest end of a path that the context names so; the term when it knows none.

        A longer path that merely ends alike is another path.
        """
        if "/" not in term or self.where(term) or term in self._by_term:
            return term
        ends = (ALONE + tail for tail in path_tails(term))
        return next((end for end in ends if self.where(end) or end in self._by_term), term)

    def where(self, term: str) -> list[tuple[int, tuple[int, ...]]]:
        """Messages that hold a term, with the numbers of its lines."""
        known = self._where.get(term)
        if known is None:
            known = self._where[term] = [(n, found) for n, i in enumerate(self.indices) if (found := i.postings.get(term))]
        return known

    @cached_property
    def actions(self) -> list[Action]:
        """What the agent did, as far as the context still shows it."""
        return actions(self.messages)

    def idf(self, term: str) -> float:
        """How much a term tells (BM25's inverse document frequency over lines); most for a term that never occurs."""
        held = sum(len(numbers) for _, numbers in self.where(term))
        if not held:
            held = len(self._by_term.get(term, ()))
        return math.log(1 + (self.size - min(held, self.size) + 0.5) / (held + 0.5))

    def header_of(self, hit_message: int, unit: Unit) -> Header:
        """The call that a line belongs to: the one that its result answers, or the one that it is an argument of."""
        index = self.indices[hit_message]
        call = index.answers[unit.block] if unit.kind == "result" else None
        if unit.kind == "use":
            block = self.messages[hit_message].blocks[unit.block]
            call = getattr(block, "id", None)
        return self.headers.get(call, _EMPTY) if call else _EMPTY

    def weights(self, terms: Iterable[str], light: frozenset[str] = frozenset()) -> dict[str, float]:
        """Terms as the context spells them, with their weights; ``light`` ones count a fraction."""
        found = {}
        for term in terms:
            spelled = self.resolved(term)
            factor = LIGHT_WEIGHT if term in light or (len(term) == 1 and is_cjk(term)) else 1.0
            if factor == 1.0 and not self.where(spelled) and (is_cjk(term) or (term.isalpha() and term.islower())):
                factor = UNSEEN_WEIGHT
            found[spelled] = self.idf(spelled) * factor
        return found

    def rank(self, terms: Iterable[str], light: frozenset[str] = frozenset(), limit: int = FINALISTS) -> list[Hit]:
        """The lines that cover most of the terms, best first; of equals the later one first."""
        weights = self.weights(terms, light)
        whole = sum(weights.values())
        if not whole or not self.size:
            return []
        pool = self._pool(weights)
        hits = [self._hit(key >> _SHIFT, key & ((1 << _SHIFT) - 1), weights, whole) for key in pool]
        hits.sort(key=lambda hit: (-round(hit.coverage, 3), -hit.message, -hit.number))
        return hits[:limit]

    def _pool(self, weights: dict[str, float]) -> list[int]:
        scores: dict[int, float] = defaultdict(float)
        # Rare terms first: once they have given enough lines, common ones add none (each line's true coverage is found later).
        for term, weight in sorted(weights.items(), key=lambda item: -item[1]):
            if len(scores) >= POOL and sum(len(numbers) for _, numbers in self.where(term)) > COMMON:
                continue
            for position, numbers in self.where(term):
                base = position << _SHIFT
                for number in numbers:
                    scores[base | number] += weight
        for position, block, bonus in self._header_matches(weights):
            units = self.indices[position].units
            few = 0
            for number, unit in enumerate(units):
                if unit.block != block:
                    continue
                key = position << _SHIFT | number
                if key in scores or few < SHORT_RESULT:
                    scores[key] += bonus
                few += 1
        return heapq.nlargest(POOL, scores, key=lambda key: (scores[key], key))

    def _header_matches(self, weights: dict[str, float]) -> list[tuple[int, int, float]]:
        bonus: dict[str, float] = defaultdict(float)
        for term, weight in weights.items():
            for call in self._by_term.get(term, ()):
                bonus[call] += weight * HEADER_WEIGHT
        return [(*self.results[call], value) for call, value in sorted(bonus.items()) if call in self.results]

    def _hit(self, position: int, number: int, weights: dict[str, float], whole: float) -> Hit:
        index = self.indices[position]
        unit = index.units[number]
        header = self.header_of(position, unit)
        heading = index.units[unit.heading] if unit.heading >= 0 else None
        before = (
            index.units[number - 1] if number and unit.kind == "text" and index.units[number - 1].block == unit.block else None
        )
        terms = weights.keys()
        factors: dict[str, float] = {}
        for weight, place in ((NEIGHBOUR_WEIGHT, before), (HEADING_WEIGHT, heading), (HEADER_WEIGHT, header), (1.0, unit)):
            if place is not None:
                for term in place.terms & terms:
                    factors[term] = weight
        # In the question's order: sums of floats must not depend on the order of a set.
        score = sum(weight * factors.get(term, 0.0) for term, weight in weights.items())
        inside = unit.terms & terms
        text = heading.text if heading is not None else ""
        return Hit(position, number, score / whole, unit, header, text, factors, inside)

"""A candidate probe, and how several sightings of one fact become one question with one answer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from ullage.terms import fold
from ullage.types import Grader, RejectedProbe, Span
from ullage.values import kind_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A probe in the making. ``family`` is the rule that found it, ``names`` what a decoy would change in its question."""

    family: str
    type: str
    question: str
    accept: tuple[str, ...]
    reject: tuple[str, ...] = ()
    grader: Grader = "normalised"
    form: Literal["typed", "prose"] = "typed"
    choices: tuple[str, ...] = ()
    evidence: tuple[Span, ...]
    settled_at: int
    restated_at: int | None = None
    speaker: str = ""
    names: tuple[str, ...] = ()
    used: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sighting:
    """One statement of a fact: the value, the message that states it, and its place."""

    value: str
    message: int
    span: Span
    speaker: str = "tool"


@dataclass(frozen=True, slots=True)
class Settled:
    """What a chain of sightings comes to: the last value, what it replaced, and since when it holds."""

    value: str
    stale: tuple[str, ...]
    first: Sighting
    last: Sighting

    @property
    def restated_at(self) -> int | None:
        """The last message that states the value again, if any does."""
        return self.last.message if self.last.message > self.first.message else None


def settle(sightings: Sequence[Sighting]) -> Settled:
    """Latest wins: the value of the last sighting, its first statement since the last change, and all other values."""
    value = sightings[-1].value
    start = len(sightings) - 1
    while start and sightings[start - 1].value == value:
        start -= 1
    stale = tuple(dict.fromkeys(s.value for s in sightings if s.value != value))
    return Settled(value, stale, sightings[start], sightings[-1])


def value_candidate(family: str, question: str, name: str, settled: Settled) -> Candidate:
    """A question for the value that something has in the end; an update when it had another before."""
    return Candidate(
        family=family,
        type="update" if settled.stale else "recall",
        question=question,
        accept=(settled.value,),
        reject=settled.stale,
        grader="numeric" if kind_of(settled.value) == "number" else "normalised",
        evidence=(settled.first.span,),
        settled_at=settled.first.message,
        restated_at=settled.restated_at,
        speaker=settled.first.speaker,
        names=(name,),
        used=settled.value,
    )


@dataclass
class Rejections:
    """Candidates that became no probe. The first of each reason are kept whole, the rest are counted."""

    keep: int = 20

    def __post_init__(self) -> None:
        self._kept: list[RejectedProbe] = []
        self._counts: dict[tuple[str, str], int] = {}

    def add(self, question: str, type_: str, reason: str) -> None:
        """Note one candidate with its reason."""
        count = self._counts[type_, reason] = self._counts.get((type_, reason), 0) + 1
        if count <= self.keep:
            self._kept.append(RejectedProbe(question=question[:300], type=type_, reason=reason))

    def rows(self) -> tuple[RejectedProbe, ...]:
        """All that was noted, with one row for each reason that has more than was kept."""
        more = [
            RejectedProbe(question="", type=type_, reason=f"{reason}: {count - self.keep} more")
            for (type_, reason), count in sorted(self._counts.items())
            if count > self.keep
        ]
        return (*self._kept, *more)


def tell(language: str, english: str, chinese: str) -> str:
    """The wording for a language."""
    return chinese if language == "zh" else english


def holds(text: str, value: str) -> bool:
    """Whether a text holds a value as a person would see it: width and case aside."""
    return fold(value).lower().strip() in fold(text).lower()


def unique(values: Iterable[str]) -> tuple[str, ...]:
    """Values without repeats, in order."""
    return tuple(dict.fromkeys(values))

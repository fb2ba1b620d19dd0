"""The default reader: finds lines that cover a question's words and takes a typed answer out of them. No model, no key."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from ullage.readers import Question, Reader, Reply
from ullage.readers._choices import answer_choice, answer_set, covering
from ullage.readers._extraction import extract
from ullage.readers._query import Query, defining_file, read_question
from ullage.readers._retrieval import Corpus
from ullage.readers._sequences import answer_fix, answer_next
from ullage.types import Message

QUALITY_WEIGHT = 0.08
"""How much a surer extraction outweighs coverage: three steps make up for a quarter of the question's terms."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lexical(Reader):
    """Extractive and deterministic; declines when a line covers less than ``threshold`` of the question's idf-weighted terms."""

    threshold: float = 0.65

    summary: ClassVar[str] = "extractive: finds lines by their words, takes typed answers out of them, declines below a coverage"

    def read(self, context: Sequence[Message], questions: Sequence[Question], *, system: str = "", draw: int = 0) -> list[Reply]:  # noqa: ARG002 - the port's signature; one draw is like another, and the system prompt holds no session facts
        """Answer from the context alone; equal inputs give equal answers."""
        if not context:
            return [Reply() for _ in questions]
        corpus = Corpus(context)
        return [Reply(text=self._answer(corpus, read_question(question))) for question in questions]

    def _answer(self, corpus: Corpus, query: Query) -> str | None:
        if query.relation == "set":
            return answer_set(query, corpus, self.threshold)
        if query.relation == "next":
            return answer_next(query, corpus, self.threshold)
        if query.relation == "fix":
            return answer_fix(query, corpus, self.threshold) or self._value(corpus, query)
        if query.relation:
            return answer_choice(query, corpus, self.threshold)
        resolved = self._resolved(corpus, query)
        return None if resolved is None else self._value(corpus, resolved)

    def _resolved(self, corpus: Corpus, query: Query) -> Query | None:
        """The question with "the file that defines x" put as the file's name; none when that file is not known."""
        name, words = defining_file(query.text)
        if not name:
            return query
        path = self._value(corpus, read_question(Question(text=f"In which file is `{name}` defined?", grader="path")))
        if path is None:
            return None
        question = query.question
        return read_question(
            Question(text=query.text.replace(words, path.rsplit("/", 1)[-1]), grader=question.grader, language=question.language)
        )

    def _value(self, corpus: Corpus, query: Query) -> str | None:
        """The surest value among the covering lines; of equals the latest."""
        best: tuple[float, int, int] | None = None
        answer = None
        for hit in covering(query, corpus, self.threshold):
            found = extract(query, hit)
            if found is None:
                continue
            phrase = any(" " in quoted and quoted.lower() in hit.unit.text.lower() for quoted in query.quoted)
            rank = (round(hit.coverage + QUALITY_WEIGHT * (found.quality + 2 * phrase), 3), hit.message, hit.number)
            if best is None or rank > best:
                best, answer = rank, found.value
        return answer

"""Which stored entries a reader opens for a question: those whose place in the context covers the question's words best.

It knows of an entry what the context shows: the reference, the preview or summary around it, and the call that it answers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet

from ullage.lines import block_text
from ullage.readers import Opening, Question
from ullage.readers._query import Query, read_question
from ullage.readers._retrieval import Corpus
from ullage.terms import ALONE
from ullage.types import Message, ToolResult

LONGEST_PATTERN = 50
"""Characters of a search: three or four words. More of them match every other line."""
_WORD = re.compile(r"[^\s,;\[\](){}<>\"'`|]+")
"""What may be a reference: anything between blanks, brackets, quotes and commas."""

Pointers = dict[str, tuple[int, int]]
"""Reference → position of the newest message that shows it, and of the block there."""


def likely_openings(
    context: Sequence[Message], questions: Sequence[Question], refs: AbstractSet[str]
) -> list[tuple[Opening, ...]]:
    """All entries that the context points to, in the order in which each question would open them."""
    pointers = _pointers(context, refs)
    if not pointers:
        return [() for _ in questions]
    corpus = Corpus(context)
    return [tuple(_openings(corpus, read_question(question), pointers)) for question in questions]


def _pointers(context: Sequence[Message], refs: AbstractSet[str]) -> Pointers:
    return {
        ref: (position, number)
        for position, message in enumerate(context)
        for number, block in enumerate(message.blocks)
        for ref in _mentioned(block_text(block), refs)
    }


def _mentioned(text: str, refs: AbstractSet[str]) -> Iterator[str]:
    for match in _WORD.finditer(text):
        word = match.group().rstrip(".:")
        if word in refs:
            yield word


def _openings(corpus: Corpus, query: Query, pointers: Pointers) -> Iterator[Opening]:
    """Best covered first; of equals the newest, for what was put away last is what the work is about."""
    pattern = _pattern(corpus, query)
    if not pattern:
        return
    covered: dict[tuple[int, int], float] = {}
    for hit in corpus.rank(query.terms, query.light):
        place = (hit.message, hit.unit.block)
        covered[place] = max(covered.get(place, 0.0), round(hit.coverage, 3))
    for ref in sorted(pointers, key=lambda ref: (-covered.get(pointers[ref], 0.0), *(-n for n in pointers[ref]), ref)):
        yield Opening(ref, pattern, _call_of(corpus, pointers[ref]))


def _call_of(corpus: Corpus, place: tuple[int, int]) -> str:
    block = corpus.messages[place[0]].blocks[place[1]]
    return block.tool_use_id if isinstance(block, ToolResult) else ""


def _pattern(corpus: Corpus, query: Query) -> str:
    """A search for the question's most telling words in any case, as many as fit; empty when it has none."""
    weights = corpus.weights(query.terms, query.light)
    pattern = ""
    for term in sorted(weights, key=lambda term: (-weights[term], term)):
        word = re.sub(r"\W", ".", term.removeprefix(ALONE))
        longer = f"{pattern}|{word}" if pattern else f"(?i){word}"
        if term not in query.light and len(longer) <= LONGEST_PATTERN:
            pattern = longer
    return pattern

"""A small library of text documents with ranked search: what recorded agents use in place of the web."""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

SATURATION, LENGTH_WEIGHT = 1.2, 0.75
"""BM25's usual k1 and b."""
SNIPPET_WORDS = 45
_WORD = re.compile(r"[a-z0-9]+|[\u4e00-\u9fff]")


@dataclass(frozen=True)
class Document:
    """A document: its id is its file name without ending, its title the first line."""

    id: str
    text: str

    @property
    def title(self) -> str:
        """First line without heading marks."""
        return self.text.split("\n", 1)[0].lstrip("# ").strip()

    @cached_property
    def counts(self) -> Counter[str]:
        """How often each word occurs."""
        return Counter(words(self.text))


def words(text: str) -> list[str]:
    """Lower-case words; each Chinese character is a word."""
    return _WORD.findall(text.lower())


def load(folder: Path) -> dict[str, Document]:
    """All ``.md`` and ``.txt`` documents of a folder by id."""
    paths = sorted(p for p in folder.rglob("*") if p.suffix in (".md", ".txt"))
    return {p.stem: Document(p.stem, p.read_text(encoding="utf-8")) for p in paths}


def search(library: dict[str, Document], query: str, limit: int) -> list[tuple[Document, str]]:
    """The best documents by BM25, each with the passage that matches best; ties go by id."""
    wanted = set(words(query))
    sizes = {d.id: sum(d.counts.values()) for d in library.values()}
    mean = sum(sizes.values()) / max(1, len(sizes))
    weight = {w: _rarity(w, library) for w in wanted}

    def score(document: Document) -> float:
        norm = SATURATION * (1 - LENGTH_WEIGHT + LENGTH_WEIGHT * sizes[document.id] / mean)
        return sum(weight[w] * document.counts[w] * (SATURATION + 1) / (document.counts[w] + norm) for w in wanted)

    ranked = sorted(library.values(), key=lambda d: (-score(d), d.id))
    return [(d, _passage(d, weight)) for d in ranked[:limit] if score(d) > 0]


def shown(found: list[tuple[Document, str]]) -> str:
    """Search results as a tool prints them."""
    return "\n\n".join(f"{n}. [{d.id}] {d.title}\n   {passage}" for n, (d, passage) in enumerate(found, 1))


def _rarity(word: str, library: dict[str, Document]) -> float:
    holding = sum(1 for d in library.values() if word in d.counts)
    return math.log(1 + (len(library) - holding + 0.5) / (holding + 0.5))


def _passage(document: Document, weight: dict[str, float]) -> str:
    paragraphs = [" ".join(p.split()) for p in document.text.split("\n\n")[1:] if p.strip()] or [document.title]
    best = max(paragraphs, key=lambda p: sum(weight.get(w, 0.0) for w in set(words(p))))
    cut = best.split(" ")
    if len(cut) > SNIPPET_WORDS:
        return " ".join(cut[:SNIPPET_WORDS]) + " …"
    return best if len(best) <= SNIPPET_WORDS * 8 else best[: SNIPPET_WORDS * 4] + " …"

"""Questions about what follows what: the next item of a list, the file that was changed after an error."""

from __future__ import annotations

import re

from ullage.lines import Unit
from ullage.readers._choices import NEARLY_ALL, covering
from ullage.readers._query import Query
from ullage.readers._retrieval import Corpus

WITHIN = 40
"""Messages after an error in which its cure is looked for: later edits belong to something else."""
_ITEM_KEYS = re.compile(r"(?:^|; )(?:content|step|title|subject|text): (?P<item>.+?)(?=; \w+: |$)")
_BULLET = re.compile(r"^\s*(?:[-*•☐☑✓✔]|\d+[.)、]|\[[ xX]\])\s*(?:\[[ xX]\]\s*)?(?P<item>.+)$")


def answer_next(query: Query, corpus: Corpus, threshold: float) -> str | None:
    """The list item behind the one that the question names, on the latest list that shows both.

    A line that holds the item word for word goes before one that holds most of its words.
    """
    hits = covering(query, corpus, max(threshold, NEARLY_ALL))
    named = {hit.message << 32 | hit.number for hit in hits if any(q.lower() in hit.unit.text.lower() for q in query.quoted)}
    for hit in sorted(hits, key=lambda hit: (hit.message << 32 | hit.number not in named, -hit.message, -hit.number)):
        units = corpus.indices[hit.message].units
        after = units[hit.number + 1] if hit.number + 1 < len(units) else None
        if after is None or after.block != hit.unit.block or not item_of(hit.unit):
            continue
        found = item_of(after)
        if found:
            return found
    return None


def item_of(unit: Unit) -> str:
    """The text of a list item: the telling field of an object, or what stands behind a bullet; empty for other lines."""
    match = _ITEM_KEYS.search(unit.text) if unit.kind == "use" else _BULLET.match(unit.text)
    return match.group("item").strip(" *`") if match else ""


def answer_fix(query: Query, corpus: Corpus, threshold: float) -> str | None:
    """The first file changed after the latest line of output that shows the error."""
    shown = [hit.message for hit in covering(query, corpus, threshold) if hit.unit.kind == "result"]
    if not shown:
        return None
    error = max(shown)
    edits = (a.target for a in corpus.actions if a.changes and error < a.use.message <= error + WITHIN)
    return next(edits, None)

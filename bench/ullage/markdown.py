"""Markdown that hostile text cannot break out of."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ullage.plain import one_line

_MARKUP = frozenset("&<>`[]*|@\\")
"""Characters that start or end markup inside a line; a lone underscore, hash or bang does not."""


def code(text: str, limit: int = 300) -> str:
    """Text of unknown origin as one code span: no markup, link, mention or table cell comes out of it."""
    line = one_line(text, limit).replace("`", "ʼ").replace("|", "¦")
    return f"`{line}`" if line else ""


def inline(text: str) -> str:
    """A sentence that may quote text of unknown origin: what would be markup becomes an entity."""
    return "".join(f"&#{ord(c)};" if c in _MARKUP else c for c in one_line(text))


def table(header: Sequence[str], rows: Iterable[Sequence[str]], *, right: Iterable[int] = ()) -> str:
    """A table; ``right`` names the columns that are aligned to the right. Cells must be safe already."""
    aligned = set(right)
    rule = ["---:" if n in aligned else "---" for n in range(len(header))]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in ([*header], rule, *([*row] for row in rows)))

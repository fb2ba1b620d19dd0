"""Text of unknown origin made safe for one line of a terminal."""

from __future__ import annotations

import unicodedata


def plain(text: str) -> str:
    """Replace control, format and private characters (escape sequences among them) but newline and tab."""
    return "".join(c if c in "\n\t" or unicodedata.category(c)[0] != "C" else "\N{REPLACEMENT CHARACTER}" for c in text)


def one_line(text: str, limit: int = 2000) -> str:
    """The same on a single line, at most ``limit`` characters."""
    line = " ".join(plain(text).split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def several(count: int, one: str, many: str = "") -> str:
    """A count with its noun: 1 break, 2,000 breaks."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"

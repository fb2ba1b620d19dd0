"""Search in stored content: what the retrieval tools answer.

The layout of the answers is a format and follows the package: numbered lines, ``>`` before a match, ``---`` between
distant ones, a header that counts, a cut at a line's end. Source: Strands Agents 1.54 and 1.62.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ullage.strategies.shared.profiles import Profile

LONGEST_PATTERN = 200
NESTED_QUANTIFIER = re.compile(r"[*+]\s*\)\s*[*+]")
"""A group that ends in a repetition and is itself repeated: taken literally at 1.62, because it can take for ever."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """A search in one text: lines that match ``pattern``, or a range of lines, or both; at most ``max_chars`` come back."""

    pattern: str | None = None
    line_range: tuple[int, int] | None = None
    context_lines: int = 5
    max_chars: int = 10_000
    profile: Profile = "1.62"

    def run(self, text: str) -> str:
        """The answer; raises ``ValueError`` for a range outside the text."""
        lines = text.split("\n")
        if lines == [""]:
            return "There is no content (0 lines)."
        first, last = self._scope(len(lines))
        if self.pattern:
            return self._matches(lines, self.pattern, first, last)
        body = _numbered(lines, range(first, last + 1), frozenset())
        return f"[Lines {first + 1}-{last + 1} of {len(lines)}]\n\n{_cut(body, self.max_chars, 'range')}"

    def _scope(self, total: int) -> tuple[int, int]:
        if self.line_range is None:
            return 0, total - 1
        start, end = self.line_range
        if start < 1:
            raise ValueError(f"line_range starts at {start}; lines are counted from 1")
        if start > end:
            raise ValueError(f"line_range starts at {start} and ends at {end}, before it")
        if start > total:
            raise ValueError(f"line_range starts at {start}; the content has {total} lines")
        return start - 1, min(end - 1, total - 1)

    def _matches(self, lines: Sequence[str], pattern: str, first: int, last: int) -> str:
        regex = _compiled(pattern[:LONGEST_PATTERN], self.profile)
        found = frozenset(at for at in range(first, last + 1) if regex.search(lines[at]))
        label = f" in lines {first + 1}-{last + 1}" if self.line_range else ""
        if not found:
            return f"No line matches '{pattern}'{label} ({last - first + 1} lines searched)."
        around = max(0, self.context_lines)
        shown = sorted({n for at in found for n in range(max(first, at - around), min(last, at + around) + 1)})
        word = "match" if len(found) == 1 else "matches"
        spelled = re.sub(r"[\n\r/\]]", " ", pattern)[:50]
        body = _cut(_numbered(lines, shown, found), self.max_chars, "search")
        return f"[{len(found)} {word} for /{spelled}/{label}]\n\n{body}"


def _compiled(pattern: str, profile: Profile) -> re.Pattern[str]:
    literal = profile == "1.62" and NESTED_QUANTIFIER.search(pattern)
    try:
        return re.compile(re.escape(pattern) if literal else pattern)
    except re.error:
        return re.compile(re.escape(pattern))


def _numbered(lines: Sequence[str], shown: Sequence[int], found: frozenset[int]) -> str:
    width = len(str(shown[-1] + 1))
    output: list[str] = []
    for before, at in zip([shown[0] - 1, *shown], shown, strict=False):
        if at > before + 1:
            output.append("---")
        output.append(f"{'>' if at in found else ' '} {str(at + 1).rjust(width)}| {lines[at]}")
    return "\n".join(output)


def _cut(output: str, max_chars: int, what: str) -> str:
    if len(output) <= max_chars:
        return output
    end = output.rfind("\n", 0, max_chars)
    return f"{output[: end if end > 0 else max_chars]}\n\n[cut here; narrow the {what}]"

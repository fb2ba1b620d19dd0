"""JSON Lines as they are found: several objects on a line, empty lines, and a last line that was cut off."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import msgspec

from ullage.errors import TraceError
from ullage.formats import LineCounts, Source

_DECODER = msgspec.json.Decoder()


@dataclass(slots=True)
class LineReader:
    """Decodes the objects of a file and counts what became of its lines.

    ``repaired`` counts lines that held several objects or a cut end, ``opaque`` what the importer passes over on
    purpose. A line in the middle that does not decode is a ``TraceError``.
    """

    source: Source
    read: int = 0
    opaque: int = 0
    repaired: int = 0
    refused: int = 0
    problems: list[str] = field(default_factory=list)

    def objects(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Every JSON object with the number of its line."""
        lines = [(number, line) for number, line in self.source.lines() if line.strip()]
        for place, (number, line) in enumerate(lines):
            self.read += 1
            for value in self._decode(number, line, last=place == len(lines) - 1):
                if isinstance(value, dict):
                    yield number, value
                else:
                    raise TraceError(str(self.source), f"a JSON {type(value).__name__}", "a JSON object on each line", number)

    def note(self, line: int, text: str) -> None:
        """Keep one line of problem."""
        self.problems.append(f"{self.source}:{line}: {text}")

    def counts(self) -> LineCounts:
        """The tally so far."""
        return LineCounts(read=self.read, opaque=self.opaque, repaired=self.repaired, refused=self.refused)

    def _decode(self, number: int, line: bytes, *, last: bool) -> list[Any]:
        try:
            return [_DECODER.decode(line)]
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            values, rest = _several(line)
            if not rest and len(values) > 1:
                self.repaired += 1
                self.note(number, f"found {len(values)} objects on one line; read them one after the other")
                return values
            if last:
                self.repaired += 1
                self.note(number, "found half a last line; dropped it")
                return values
            found = _glimpse(line)
            raise TraceError(str(self.source), f"a line that is not JSON ({found})", "one JSON object on each line", number) from error


def _several(line: bytes) -> tuple[list[Any], str]:
    """Objects that stand one after the other on a line, and the rest that is no JSON."""
    text, values, decoder = line.decode("utf-8", "replace").strip(), [], json.JSONDecoder()
    while text:
        try:
            value, end = decoder.raw_decode(text)
        except (json.JSONDecodeError, RecursionError):
            break
        values.append(value)
        text = text[end:].lstrip()
    return values, text


def _glimpse(line: bytes) -> str:
    text = line[:40].decode("utf-8", "replace")
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)

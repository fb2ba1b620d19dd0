"""JSON as it is found: several objects on a line, empty lines, cut ends, broken escapes; and whole documents."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import msgspec

from ullage.errors import TraceError
from ullage.formats import LineCounts, Source

_DECODER = msgspec.json.Decoder()
_LENIENT = json.JSONDecoder(strict=False)
_FAULTS = (ValueError, RecursionError)
"""What the two decoders raise; msgspec's own error is a ``ValueError``."""


@dataclass(slots=True)
class LineReader:
    """Decodes the objects of a file and counts what became of its lines.

    ``repaired`` counts lines that held several objects, broken text or a cut end, ``opaque`` what the importer passes
    over on purpose. A line in the middle that does not decode is a ``TraceError``.
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
                if not isinstance(value, dict):
                    raise TraceError(str(self.source), f"a JSON {type(value).__name__}", "a JSON object on each line", number)
                yield number, value

    def note(self, line: int | None, text: str) -> None:
        """Keep one line of problem, at a line of the file or about all of it."""
        where = str(self.source) if line is None else f"{self.source}:{line}"
        self.problems.append(f"{where}: {text}")

    def counts(self) -> LineCounts:
        """The tally so far."""
        return LineCounts(read=self.read, opaque=self.opaque, repaired=self.repaired, refused=self.refused)

    def _decode(self, number: int, line: bytes, *, last: bool) -> list[Any]:
        try:
            return [_DECODER.decode(line)]
        except _FAULTS as error:
            values, rest = _several(line)
            if values and not rest:
                self.repaired += 1
                self.note(number, _how_repaired(values))
                return values
            if last:
                self.repaired += 1
                self.note(number, "found half a last line; dropped it")
                return values
            found = f"a line that is not JSON ({_glimpse(line)})"
            raise TraceError(str(self.source), found, "one JSON object on each line", number) from error


def document(source: Source, expected: str) -> tuple[Any, bool]:
    """The one JSON value of a file, and whether its text had to be repaired; ``TraceError`` with the line where it ends."""
    try:
        return decode_leniently(source.data)
    except json.JSONDecodeError as error:
        raise TraceError(str(source), f"JSON that breaks off ({error.msg})", expected, error.lineno) from error
    except ValueError as error:
        raise TraceError(str(source), f"JSON that cannot be read ({error})", expected) from error


def decode_leniently(data: bytes) -> tuple[Any, bool]:
    """A JSON value, and whether its text had to be repaired; raises ``ValueError``, with the place where there is one."""
    data = data.removeprefix(b"\xef\xbb\xbf")
    try:
        return _DECODER.decode(data), False
    except _FAULTS:
        pass
    try:
        return without_surrogates(_LENIENT.decode(data.decode("utf-8", "replace"))), True
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def first_value(head: bytes) -> Any:
    """The first JSON value of a file's head; none where it is cut or no JSON."""
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip().decode("utf-8", "replace")
    try:
        return _LENIENT.raw_decode(text)[0]
    except _FAULTS:
        return None


def first_objects(head: bytes, limit: int = 40) -> Iterator[dict[str, Any]]:
    """The objects that begin the first lines of a file; lines that hold none are passed over."""
    for line in head.removeprefix(b"\xef\xbb\xbf").split(b"\n")[:limit]:
        value = first_value(line)
        if isinstance(value, dict):
            yield value


def object_at(value: Any, *path: str) -> dict[str, Any]:
    """The object that a path of keys leads to; an empty one where something else stands there."""
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def list_at(value: Any, *path: str) -> list[Any]:
    """The list that a path of keys leads to; an empty one where something else stands there."""
    found = object_at(value, *path[:-1]).get(path[-1])
    return found if isinstance(found, list) else []


def objects_at(value: Any, *path: str) -> list[dict[str, Any]]:
    """The objects in the list that a path of keys leads to; anything else in it is left out."""
    return [item for item in list_at(value, *path) if isinstance(item, dict)]


def without_surrogates(value: Any) -> Any:
    """The same JSON value with half surrogate pairs, which no UTF-8 text can hold, replaced."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [without_surrogates(item) for item in value]
    if isinstance(value, dict):
        return {without_surrogates(key): without_surrogates(item) for key, item in value.items()}
    return value


def _several(line: bytes) -> tuple[list[Any], str]:
    """Objects that stand one after the other on a line, and the rest that is no JSON."""
    text, values = line.decode("utf-8", "replace").strip(), []
    while text:
        try:
            value, end = _LENIENT.raw_decode(text)
            values.append(without_surrogates(value))
        except _FAULTS:
            break
        text = text[end:].lstrip()
    return values, text


def _how_repaired(values: list[Any]) -> str:
    if len(values) > 1:
        return f"found {len(values)} objects on one line; read them one after the other"
    return "found text that strict JSON does not allow; read it with the broken characters replaced"


def _glimpse(line: bytes) -> str:
    text = line[:40].decode("utf-8", "replace")
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)

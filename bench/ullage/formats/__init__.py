"""Trace importers: one file a format. An importer repairs and counts, it never guesses silently."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from msgspec import Struct

from ullage.errors import TraceError
from ullage.types import Trace

HEAD_BYTES = 1 << 18
MAX_BYTES = 2 << 30
"""A file that unpacks to more than this is refused: recordings are megabytes, archives can be bombs."""


class LineCounts(Struct, frozen=True, kw_only=True):
    """What became of the lines (or items) of a file."""

    read: int = 0
    opaque: int = 0
    repaired: int = 0
    refused: int = 0


class Imported(Struct, frozen=True, kw_only=True):
    """One file, imported: its traces and all that was odd about it, one line a problem."""

    path: str
    format: str
    traces: tuple[Trace, ...]
    lines: LineCounts = LineCounts()
    problems: tuple[str, ...] = ()


@dataclass(frozen=True)
class Source:
    """A file to import, plain or gzip, with its unpacked size bounded."""

    path: Path
    limit: int = field(default=MAX_BYTES)

    def __str__(self) -> str:
        return str(self.path)

    @property
    def stem(self) -> str:
        """The file's name without ``.gz`` and without its last suffix: names a session whose file does not."""
        return Path(self.path.name.removesuffix(".gz")).stem

    @cached_property
    def data(self) -> bytes:
        """The whole unpacked content; raises ``TraceError`` when it is too large or not readable."""
        return self._read(self.limit)

    @cached_property
    def head(self) -> bytes:
        """The first bytes, for telling formats apart."""
        return self._read(HEAD_BYTES, whole=False)

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """Lines with their numbers from 1, without line ends; a byte order mark is removed."""
        for number, line in enumerate(self.data.removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1):
            yield number, line.rstrip(b"\r")

    def _read(self, limit: int, *, whole: bool = True) -> bytes:
        opener: Any = gzip.open if self._is_gzip() else Path.open
        try:
            with opener(self.path, "rb") as file:
                data: bytes = file.read(limit + 1 if whole else limit)
        except (OSError, EOFError, zlib.error) as error:
            raise TraceError(str(self.path), f"an unreadable file ({error})", "a readable trace, plain or gzip") from error
        if whole and len(data) > limit:
            raise TraceError(str(self.path), f"more than {limit:,} bytes", "a recording of bounded size")
        return data

    def _is_gzip(self) -> bool:
        try:
            with self.path.open("rb") as file:
                return file.read(2) == b"\x1f\x8b"
        except OSError as error:
            raise TraceError(str(self.path), f"an unreadable file ({error.strerror})", "a readable trace") from error


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """Base of all importers."""

    declares: ClassVar[tuple[str, ...]] = ("suffixes",)
    summary: ClassVar[str] = ""
    suffixes: ClassVar[tuple[str, ...]] = ()

    def matches(self, source: Source) -> bool:
        """Tell from the head of the file whether it is of this format; never raises for other content."""
        raise NotImplementedError

    def read(self, source: Source) -> Imported:
        """Import the file; raises ``TraceError`` with the line when it cannot be used."""
        raise NotImplementedError

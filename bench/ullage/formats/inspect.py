"""Inspect AI logs: samples with messages and events, as JSON or as a ZIP archive (``.eval``)."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from ullage.errors import TraceError
from ullage.formats import MAX_BYTES, Format, Imported, LineCounts, Source
from ullage.formats._inspect_sample import sample_trace
from ullage.formats._lines import decode_leniently, document, list_at, object_at

_EXPECTED = "an Inspect log: {version, eval, samples}, or an archive with header.json and samples/"
MAX_MEMBERS = 100_000
"""An archive holds a few files a sample; more than this is no log."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Inspect(Format):
    """One trace a sample; model events that belong to another conversation (graders, sub-agents) are its children."""

    summary: ClassVar[str] = "Inspect AI logs, .json and .eval (version 2)"
    suffixes: ClassVar[tuple[str, ...]] = (".json", ".eval")

    def matches(self, source: Source) -> bool:
        """An archive with a header, or an object whose eval part names a task."""
        head = source.head
        if head[:4] == b"PK\x03\x04":
            return source.path.name.endswith(".eval") or b"header.json" in head or b"_journal/" in head
        start = head.lstrip()[:65_536]
        return start[:1] == b"{" and all(key in start for key in (b'"eval"', b'"task"', b'"run_id"'))

    def read(self, source: Source) -> Imported:
        """Import every sample that holds messages."""
        archive = source.head[:4] == b"PK\x03\x04"
        header, samples, repaired = _from_archive(source) if archive else _from_document(source)
        evaluation = object_at(header, "eval")
        traces = [trace for sample in samples if (trace := sample_trace(sample, evaluation, source.path.name)) is not None]
        if not traces:
            raise TraceError(str(source), "no sample with messages", _EXPECTED)
        counts = LineCounts(read=len(samples), refused=len(samples) - len(traces), repaired=int(repaired))
        problems = (f"{source}: {counts.refused} samples hold no messages; refused",) if counts.refused else ()
        return Imported(path=str(source), format="inspect", traces=tuple(traces), lines=counts, problems=problems)


def _from_document(source: Source) -> tuple[dict[str, Any], list[dict[str, Any]], bool]:
    value, repaired = document(source, _EXPECTED)
    return object_at(value), [sample for sample in list_at(value, "samples") if isinstance(sample, dict)], repaired


def _from_archive(source: Source) -> tuple[dict[str, Any], list[dict[str, Any]], bool]:
    try:
        with zipfile.ZipFile(source.path) as archive:
            members = archive.infolist()
            size = sum(member.file_size for member in members)
            if len(members) > MAX_MEMBERS or size > MAX_BYTES:
                raise TraceError(str(source), f"{len(members):,} members of {size:,} bytes", "a log of bounded size")
            header = next((_member(archive, one, source) for one in members if one.filename == "header.json"), {})
            header = header or next(
                (_member(archive, one, source) for one in members if one.filename == "_journal/start.json"), {}
            )
            return header, list(_samples(archive, members, source)), False
    except (zipfile.BadZipFile, OSError, EOFError, zlib.error) as error:
        raise TraceError(str(source), f"an archive that cannot be read ({error})", _EXPECTED) from error


def _samples(archive: zipfile.ZipFile, members: list[zipfile.ZipInfo], source: Source) -> Iterator[dict[str, Any]]:
    """The samples in the order of their names."""
    for member in sorted(members, key=lambda one: one.filename):
        if member.filename.startswith("samples/") and member.filename.endswith(".json"):
            yield _member(archive, member, source)


def _member(archive: zipfile.ZipFile, member: zipfile.ZipInfo, source: Source) -> dict[str, Any]:
    """One member, read no further than the size that the archive states for it."""
    where = f"{source}:{member.filename}"
    try:
        with archive.open(member) as file:
            data = file.read(member.file_size + 1)
    except NotImplementedError as error:
        raise TraceError(where, f"a compression that is not supported ({error})", "members packed with deflate") from error
    if len(data) > member.file_size:
        raise TraceError(where, "more bytes than the archive states", "a sound archive")
    try:
        return object_at(decode_leniently(data)[0])
    except ValueError as error:
        raise TraceError(where, f"JSON that cannot be read ({error})", "a sample of an Inspect log") from error

"""The canonical form: one trace a line, as the nouns encode it."""

from __future__ import annotations

import gzip
import io
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import msgspec

from ullage.errors import TraceError
from ullage.formats import Format, Imported, LineCounts, Source
from ullage.types import Trace

_DECODER = msgspec.json.Decoder(Trace)
_ENCODER = msgspec.json.Encoder(order="deterministic")


@dataclass(frozen=True, slots=True, kw_only=True)
class UllageJsonl(Format):
    """Reads back exactly what ``write_traces`` wrote."""

    summary: ClassVar[str] = "canonical traces, one JSON object a line"
    suffixes: ClassVar[tuple[str, ...]] = (".jsonl", ".trace.jsonl")

    def matches(self, source: Source) -> bool:
        """The first line begins like a trace and names its own parts."""
        line = source.head.removeprefix(b"\xef\xbb\xbf").lstrip()[:4096].split(b"\n")[0]
        return line.startswith(b'{"id":') and any(key in line for key in (b'"messages":', b'"system":', b'"tools":', b'"calls":'))

    def read(self, source: Source) -> Imported:
        """Import every trace of the file."""
        traces, read = [], 0
        for number, line in source.lines():
            if not line.strip():
                continue
            read += 1
            try:
                traces.append(_DECODER.decode(line))
            except (msgspec.DecodeError, UnicodeDecodeError) as error:
                raise TraceError(str(source), f"a line that is no trace ({error})", "one canonical trace on each line", number) from error
        if not traces:
            raise TraceError(str(source), "no trace", "one canonical trace on each line")
        return Imported(path=str(source), format="ullage_jsonl", traces=tuple(traces), lines=LineCounts(read=read))


def encode_traces(traces: Iterable[Trace]) -> bytes:
    """Canonical lines of traces; equal traces give equal bytes."""
    return b"".join(_ENCODER.encode(trace) + b"\n" for trace in traces)


def write_traces(path: Path, traces: Iterable[Trace]) -> None:
    """Write canonical traces, gzip-compressed when the name ends in ``.gz`` (with no time in the header)."""
    data = encode_traces(traces)
    if path.suffix == ".gz":
        buffer = io.BytesIO()
        with gzip.GzipFile(filename="", mode="wb", fileobj=buffer, mtime=0, compresslevel=9) as packed:
            packed.write(data)
        data = buffer.getvalue()
    temporary = path.with_name(f".{path.name}.part")
    temporary.write_bytes(data)
    temporary.replace(path)

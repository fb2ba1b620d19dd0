"""The canonical form: one trace a line, as the nouns encode it."""

from __future__ import annotations

import gzip
import io
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import msgspec

from ullage.errors import TraceError
from ullage.formats import Format, Imported, LineCounts, Source
from ullage.formats._chat_files import conversation_at_head
from ullage.types import Trace

_DECODER = msgspec.json.Decoder(Trace)
_OPENING = re.compile(rb'\{\s*"id"\s*:\s*"')
_ENCODER = msgspec.json.Encoder(order="deterministic")


@dataclass(frozen=True, slots=True, kw_only=True)
class UllageJsonl(Format):
    """Reads back exactly what ``write_traces`` wrote."""

    summary: ClassVar[str] = "canonical traces, one JSON object a line"
    suffixes: ClassVar[tuple[str, ...]] = (".jsonl", ".trace.jsonl")

    def matches(self, source: Source) -> bool:
        """The first line begins like a trace, names its own parts, and its messages hold blocks and not ``content``."""
        line = source.head.removeprefix(b"\xef\xbb\xbf").lstrip()[:4096].split(b"\n")[0]
        own = _OPENING.match(line) is not None and any(
            key in line for key in (b'"messages"', b'"system"', b'"tools"', b'"calls"')
        )
        return own and conversation_at_head(source.head) is None and (b'"messages"' not in line or b'"role"' in source.head)

    def read(self, source: Source) -> Imported:
        """Import every trace of the file; a half last line behind whole ones is dropped and counted as repaired."""
        lines = [(number, line) for number, line in source.lines() if line.strip()]
        traces: list[Trace] = []
        problems: list[str] = []
        for number, line in lines:
            try:
                traces.append(_checked(_DECODER.decode(line), source, number))
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
                cut = "truncated" in str(error) and number == lines[-1][0]
                if not (cut and traces):
                    found = f"a line that is no trace ({error})"
                    raise TraceError(str(source), found, "one canonical trace on each line", number) from error
                problems.append(f"{source}:{number}: found half a last line; dropped it")
        if not traces:
            raise TraceError(str(source), "no trace", "one canonical trace on each line")
        counts = LineCounts(read=len(lines), repaired=len(problems))
        return Imported(path=str(source), format="ullage_jsonl", traces=tuple(traces), lines=counts, problems=tuple(problems))


def _checked(trace: Trace, source: Source, line: int) -> Trace:
    """The trace, once its calls stand inside its messages and its message ids are its own."""
    held = len(trace.messages)
    for call in trace.calls:
        if not (0 <= call.upto <= held and (call.reply is None or call.upto <= call.reply < held)):
            found = f"call {call.id!r} with upto {call.upto} and reply {call.reply} over {held} messages"
            raise TraceError(str(source), found, "0 <= upto <= reply < the number of messages", line)
    known: set[str] = set()
    for message in trace.messages:
        if message.id in known:
            raise TraceError(str(source), f"two messages with id {message.id!r}", "ids that are unique in their trace", line)
        known.add(message.id)
    for child in trace.children:
        _checked(child, source, line)
    return trace


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

"""Recordings on disk: a trace file and a bank file for each, with a list of checksums, written whole."""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

import msgspec

from ullage.banks import freeze
from ullage.corpus.recording import Recording
from ullage.errors import TraceError
from ullage.formats import Source
from ullage.formats.ullage_jsonl import write_traces
from ullage.traces import read_bank
from ullage.types import ProbeBank, Trace

CHECKSUMS = "checksums.json"
BANK = ".bank.json.gz"
_ENCODER = msgspec.json.Encoder(order="deterministic")


def file_names(trace: str) -> tuple[str, str]:
    """Names of the trace file and the bank file of a recording."""
    return f"{trace}.jsonl.gz", f"{trace}{BANK}"


def save(recording: Recording, folder: Path) -> ProbeBank:
    """Write a trace and its frozen bank (plot and mined probes that the reader can answer) into a folder; the bank."""
    folder.mkdir(parents=True, exist_ok=True)
    trace_name, bank_name = file_names(recording.trace.id)
    bank = freeze(recording.trace, recording.probes)
    write_traces(folder / trace_name, [recording.trace])
    _write(folder / bank_name, gzip.compress(_ENCODER.encode(bank), compresslevel=9, mtime=0))
    return bank


def shelved(root: Path) -> Iterator[tuple[Trace, ProbeBank]]:
    """Every trace below a folder with its bank, in order of names; raises ``TraceError`` for a file that cannot be used."""
    for path in sorted(root.rglob("*.jsonl.gz")):
        try:
            trace = msgspec.json.decode(Source(path).data, type=Trace)
        except msgspec.DecodeError as error:
            raise TraceError(str(path), f"no trace ({error})", "one recorded trace") from error
        yield trace, read_bank(path.with_name(path.name.removesuffix(".jsonl.gz") + BANK))


def write_checksums(root: Path) -> Path:
    """List every trace and bank file with its SHA-256, and every trace with its content digest."""
    files = sorted([*root.rglob("*.jsonl.gz"), *root.rglob(f"*{BANK}")])
    sums = {path.relative_to(root).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}
    digests = {trace.id: trace.digest for trace, _ in shelved(root)}
    path = root / CHECKSUMS
    _write(path, (json.dumps({"files": sums, "traces": digests}, indent=1, sort_keys=True) + "\n").encode())
    return path


def read_digests(root: Path) -> dict[str, str]:
    """Content digests of traces by id, as ``write_checksums`` listed them; raises ``TraceError``."""
    path = root / CHECKSUMS
    try:
        found: dict[str, str] = json.loads(path.read_text(encoding="utf-8"))["traces"]
    except (OSError, ValueError, KeyError) as error:
        raise TraceError(str(path), f"no list of digests ({error})", "a list that `ullage.corpus build` wrote") from error
    return found


def _write(path: Path, data: bytes) -> None:
    temporary = path.with_name(f".{path.name}.part")
    temporary.write_bytes(data)
    temporary.replace(path)

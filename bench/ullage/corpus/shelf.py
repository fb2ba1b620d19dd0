"""Recordings on disk: a trace file and a bank file for each, written whole."""

from __future__ import annotations

import gzip
from pathlib import Path

import msgspec

from ullage.banks import freeze
from ullage.corpus.recording import Recording
from ullage.formats.ullage_jsonl import write_traces
from ullage.types import ProbeBank

_ENCODER = msgspec.json.Encoder(order="deterministic")


def file_names(trace: str) -> tuple[str, str]:
    """Names of the trace file and the bank file of a recording."""
    return f"{trace}.jsonl.gz", f"{trace}.bank.json.gz"


def save(recording: Recording, folder: Path) -> ProbeBank:
    """Write the trace and its bank into a folder; the bank."""
    folder.mkdir(parents=True, exist_ok=True)
    trace_name, bank_name = file_names(recording.trace.id)
    write_traces(folder / trace_name, [recording.trace])
    bank = freeze(recording.trace, recording.probes)
    write_bank(folder / bank_name, bank)
    return bank


def write_bank(path: Path, bank: ProbeBank) -> None:
    """Write a bank, packed without a time so that equal banks are equal files."""
    data = gzip.compress(_ENCODER.encode(bank), compresslevel=9, mtime=0)
    temporary = path.with_name(f".{path.name}.part")
    temporary.write_bytes(data)
    temporary.replace(path)

"""Frozen probe banks on disk, and what a reader makes of one before it is used."""

from __future__ import annotations

import gzip
import io
import re
from pathlib import Path
from typing import Any

import msgspec

from ullage import registry
from ullage.examining import Examiner, rate
from ullage.options import RunOptions
from ullage.pricing import PriceSheet
from ullage.types import ProbeBank, Trace

_ENCODER = msgspec.json.Encoder(order="deterministic")


def write_bank(folder: Path, trace: Trace, bank: ProbeBank) -> Path:
    """Write a bank beside its trace, compressed, with no time in it; equal banks give equal bytes."""
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", trace.id)[:80] or "trace"
    path = folder / f"{name}-{trace.digest[:8]}.bank.json.gz"
    buffer = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", fileobj=buffer, mtime=0, compresslevel=9) as packed:
        packed.write(_ENCODER.encode(bank))
    part = path.with_name(f".{path.name}.part")
    part.write_bytes(buffer.getvalue())
    part.replace(path)
    return path


def check_bank(trace: Trace, bank: ProbeBank, reader: str) -> dict[str, Any]:
    """Floor, ceiling, decoys and eligibility of a bank at the end of its trace, with one reader."""
    from ullage.worker import prepare  # noqa: PLC0415 - only a check of a bank needs the worker's preparation

    options = RunOptions(strategies=("null",), reader=reader)
    prepared = prepare(trace, options, PriceSheet.load(), bank)
    examiner = Examiner(prepared=prepared, reader=registry.load("readers", reader), options=options)
    last = len(trace.calls) - 1
    asked = [probe for probe in examiner.open_probes(last) if probe.grader != "abstain"]
    decoys = [probe for probe in examiner.open_probes(last) if probe.grader == "abstain"]
    full = examiner.ceiling(last)
    eligible = [probe for probe in examiner.eligible(last) if probe.grader != "abstain"]
    answered = sum(any(answer.text is not None for answer in full[probe.id]) for probe in decoys)
    wrong = sum(any(answer.outcome == "wrong" for answer in full[probe.id]) for probe in asked)
    return {
        "trace": trace.id,
        "probes": len(bank.probes),
        "asked": len(asked),
        "eligible": len(eligible),
        "floor": sum(rate(examiner.floors[p.id]) for p in eligible) / len(eligible) if eligible else None,
        "ceiling": sum(rate(full[p.id]) for p in eligible) / len(eligible) if eligible else None,
        "ceiling_all": sum(rate(full[p.id]) for p in asked) / len(asked) if asked else None,
        "decoys": len(decoys),
        "decoys_answered": answered,
        "wrong_on_full": wrong,
        "rejected": len(bank.rejected),
        "digest": bank.digest,
    }

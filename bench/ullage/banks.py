"""Frozen probe banks on disk, and what a reader makes of one before it is used."""

from __future__ import annotations

import gzip
import io
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from ullage import registry
from ullage.examining import Examiner, rate
from ullage.options import RunOptions
from ullage.pricing import PriceSheet
from ullage.probes import mine
from ullage.types import Probe, ProbeBank, RejectedProbe, Trace

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


PROSE_SHARE = 3
"""At least one lexical probe in so many is a fact in prose, so that no summariser is built around paths and numbers."""
MINED = 200
"""Mined candidates that a frozen bank is chosen from."""
ENOUGH = 40
"""Lexical probes that a bank should hold even where too little prose is answerable to be a third of them."""
LEXICAL = 60
"""Lexical probes of a frozen bank at most, decoys apart."""


def freeze(trace: Trace, plot: Sequence[Probe] = (), *, reader: str = "lexical") -> ProbeBank:
    """A frozen bank of plot and mined probes: lexical ones that the reader answers on everything and not on nothing.

    Plot probes come first, then mined ones, prose before typed values until prose is a third. Paraphrases are for model
    readers and are not judged here. What did not become a probe is kept with its reason.
    """
    mined = mine(trace, limit=MINED)
    known = {probe.question.casefold() for probe in plot}
    fresh = [p for p in mined.probes if p.question.casefold() not in known]
    lexical = [probe for probe in (*plot, *fresh) if probe.tier == "lexical"]
    judged = ProbeBank(trace=trace.id, trace_digest=trace.digest, probes=tuple(_numbered(lexical, "x")))
    reasons = _faults(trace, judged, reader)
    sound = [p for p, judged_as in zip(lexical, judged.probes, strict=True) if judged_as.id not in reasons]
    decoys = [probe for probe in sound if probe.grader == "abstain"]
    chosen = _mixed([probe for probe in sound if probe.grader != "abstain"])
    paraphrases = [probe for probe in plot if probe.tier == "paraphrase"]
    rejected = [
        RejectedProbe(question=p.question, type=p.type, reason=reasons[named.id])
        for p, named in zip(lexical, judged.probes, strict=True)
        if named.id in reasons
    ]
    left = {p.question for p in sound} - {p.question for p in chosen} - {p.question for p in decoys}
    rejected += [RejectedProbe(question=q, type="", reason="not sampled") for q in sorted(left)]
    probes = tuple(_numbered([*chosen, *decoys[: max(4, len(chosen) // 6)], *paraphrases], "p"))
    return ProbeBank(trace=trace.id, trace_digest=trace.digest, probes=probes, rejected=(*mined.rejected, *rejected))


def _mixed(sound: Sequence[Probe]) -> list[Probe]:
    """At most ``LEXICAL`` probes, in their order: up to half in prose, and typed ones up to twice that or ``ENOUGH`` in all."""
    prose = _chosen([probe for probe in sound if probe.form == "prose"], LEXICAL // 2)
    room = min(LEXICAL, max(ENOUGH, PROSE_SHARE * len(prose))) - len(prose)
    kept = {id(probe) for probe in (*prose, *_chosen([probe for probe in sound if probe.form != "prose"], room))}
    return [probe for probe in sound if id(probe) in kept]


def _chosen(probes: Sequence[Probe], most: int) -> list[Probe]:
    """At most so many: speakers take turns, and for each of them types do.

    Else most questions would be about what people and the agent said, and a strategy that only clears tool results would
    look as if it kept everything.
    """
    found = []
    speakers = _grouped(probes, lambda probe: probe.speaker)
    for speaker, share in _shares({name: len(held) for name, held in speakers.items()}, most).items():
        types = _grouped(speakers[speaker], lambda probe: probe.type)
        for name, part in _shares({name: len(held) for name, held in types.items()}, share).items():
            found += _preferred(types[name], part)
    return found


def _grouped(probes: Sequence[Probe], key: Callable[[Probe], str]) -> dict[str, list[Probe]]:
    groups: dict[str, list[Probe]] = {}
    for probe in probes:
        groups.setdefault(key(probe), []).append(probe)
    return groups


def _preferred(probes: Sequence[Probe], most: int) -> list[Probe]:
    """At most so many: planted facts, then mined ones that a later reply used, then others, each spread over the trace."""
    found: list[Probe] = []
    ranks = _grouped(probes, lambda probe: "0" if probe.provenance == "plot" else "1" if probe.uses else "2")
    for rank in sorted(ranks):
        found += _spread(ranks[rank], max(0, most - len(found)))
    return found


def _shares(sizes: Mapping[str, int], most: int) -> dict[str, int]:
    """How many of each type: one after another in turn, until all are taken or nothing is left to give."""
    shares, left = dict.fromkeys(sorted(sizes), 0), min(most, sum(sizes.values()))
    while left > 0:
        for name in shares:
            if left and shares[name] < sizes[name]:
                shares[name] += 1
                left -= 1
    return shares


def _spread(probes: Sequence[Probe], most: int) -> list[Probe]:
    """At most so many, evenly over the list, so that no part of a trace is left out."""
    if len(probes) <= most:
        return list(probes)
    return [probes[n * len(probes) // most] for n in range(most)]


def _numbered(probes: Iterable[Probe], letter: str) -> list[Probe]:
    return [msgspec.structs.replace(probe, id=f"{letter}{n:03}") for n, probe in enumerate(probes, 1)]


def _faults(trace: Trace, bank: ProbeBank, reader: str) -> dict[str, str]:
    """Why probes may not be asked at the end of their trace, by id; sound ones are left out."""
    from ullage.worker import prepare  # noqa: PLC0415 - as below

    options = RunOptions(strategies=("null",), reader=reader)
    prepared = prepare(trace, options, PriceSheet.load(), bank)
    examiner = Examiner(prepared=prepared, reader=registry.load("readers", reader), options=options)
    last = len(trace.calls) - 1
    open_ones = {probe.id for probe in examiner.open_probes(last)}
    eligible = {probe.id for probe in examiner.eligible(last)}
    full = examiner.ceiling(last)
    found = {}
    for probe in bank.probes:
        if probe.id not in open_ones:
            known = rate(examiner.floors[probe.id])
            found[probe.id] = "answered from the question alone" if known else "settled or evidenced after the last call"
        elif probe.id not in eligible:
            found[probe.id] = f"not answered on the full context ({full[probe.id][0].outcome})"
    return found


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

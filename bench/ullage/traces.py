"""Trace files: found in folders, recognised, imported, reported on; and the probe bank that belongs to a trace."""

from __future__ import annotations

import importlib.resources
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from ullage import registry
from ullage.errors import TraceError, UserError
from ullage.formats import Format, Imported, Source
from ullage.types import ProbeBank, Trace, Usage

SUFFIXES = (".jsonl", ".json", ".traj", ".eval", ".jsonl.gz", ".json.gz", ".traj.gz")
"""How files that may hold traces end; in a folder no other file is looked at."""
NOT_TRACES = (".bank.json", ".bank.json.gz", "card.json", "checksums.json", "plan.json", "manifest.json")
LAST = ("anthropic_messages", "openai_messages")
"""Formats that match by shape alone are asked after those that match by their own names, the more particular first."""


class Loaded(NamedTuple):
    """Traces with the files that could not be used, one line each."""

    traces: tuple[Trace, ...]
    failures: tuple[str, ...]
    problems: tuple[str, ...]


def find_files(paths: Iterable[str | Path]) -> list[tuple[Path, bool]]:
    """All files that may hold traces, in order; each with whether it was named itself and not found in a folder."""
    found: list[tuple[Path, bool]] = []
    for given in map(Path, paths):
        if given.is_dir():
            inside = sorted(p for p in given.rglob("*") if p.is_file() and _may_hold_traces(p))
            if not inside:
                raise UserError(f"{given}: found no trace file; expected files that end in {', '.join(SUFFIXES[:4])} (or .gz)")
            found += [(path, False) for path in inside]
        elif given.is_file():
            found.append((given, True))
        elif given.exists():
            raise UserError(f"{given}: found neither a file nor a folder; expected a file that can be read more than once")
        else:
            raise UserError(f"{given}: no such file or folder; {_near(given)}")
    return found


def detect(source: Source) -> Format:
    """The importer for a file: the first by name that knows its own marks, then those of ``LAST``; ``TraceError`` when none does."""
    if not source.head.strip():
        raise TraceError(str(source), "an empty file", f"a recording ({', '.join(registry.names('formats'))})")
    for name in sorted(registry.names("formats"), key=lambda n: (LAST.index(n) + 1 if n in LAST else 0, n)):
        form: Format = registry.load("formats", name)
        if form.matches(source):
            return form
    raise TraceError(str(source), _looks_like(source.head), f"a recording ({', '.join(registry.names('formats'))})")


def import_file(path: Path) -> Imported:
    """Import one file; raises ``TraceError``, also for a structure that the format's importer has not met before."""
    source = Source(path)
    form = detect(source)
    try:
        return form.read(source)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError, RecursionError) as error:
        name = type(form).__module__.rpartition(".")[2]
        found = f"a structure unknown to the {name} importer ({type(error).__name__}: {_one_line(str(error))})"
        raise TraceError(str(path), found, f"a recording as {form.summary or name}") from error


def load_traces(paths: Sequence[str | Path]) -> Loaded:
    """Import every file. A bad file that was named itself raises; one found in a folder is listed and the others run.

    Equal traces are taken once, of several snapshots of one session the longest, and sub-agents with their session only.
    """
    traces: dict[str, Trace] = {}
    failures: list[str] = []
    problems: list[str] = []
    for path, named in find_files(paths):
        try:
            imported = import_file(path)
        except TraceError as error:
            if named:
                raise
            failures.append(str(error))
            continue
        problems += imported.problems
        for trace in imported.traces:
            traces.setdefault(trace.digest, trace)
    kept, dropped = _once(tuple(traces.values()))
    return Loaded(kept, tuple(failures), (*problems, *dropped))


def _once(traces: tuple[Trace, ...]) -> tuple[tuple[Trace, ...], list[str]]:
    """Without children imported alone as well, and without traces whose calls all stand in a recording as long or longer."""
    agents = {child.id for trace in traces for child in trace.children}
    sessions: dict[str, list[tuple[int, int, Trace]]] = {}
    for place, trace in enumerate(traces):
        sessions.setdefault(trace.id, []).append((len(trace.messages), -place, trace))
    kept, dropped = [], []
    for place, trace in enumerate(traces):
        calls, size = {call.id for call in trace.calls}, (len(trace.messages), -place)
        longer = [other for *rank, other in sessions[trace.id] if tuple(rank) > size]
        if trace.id in agents:
            dropped.append(f"{trace.meta.source}: sub-agent {trace.id} stands in the recording of its session; left out")
        elif calls and any(calls <= {call.id for call in other.calls} for other in longer):
            dropped.append(f"{trace.meta.source}: session {trace.id} is also in a recording that is as long or longer; left out")
        else:
            kept.append(trace)
    return tuple(kept), dropped


def bundled() -> Path:
    """The folder of the traces that the package carries."""
    return Path(str(importlib.resources.files("ullage.data")))


def load_bundled() -> Loaded:
    """The traces that the package carries."""
    return load_traces([bundled()])


def report(imported: Imported) -> dict[str, Any]:
    """What is in a file, in the form that ``import --json`` prints."""
    return {
        "path": imported.path,
        "format": imported.format,
        "traces": [trace_report(trace) for trace in imported.traces],
        "lines": msgspec.to_builtins(imported.lines),
        "problems": list(imported.problems),
    }


def trace_report(trace: Trace) -> dict[str, Any]:
    """What is in one trace; an unknown figure is null with its reason under ``reasons``."""
    recorded = [call.usage for call in trace.calls if call.usage is not None]
    total = sum(recorded, Usage()) if recorded else trace.total_usage
    reasons = {key: f"the recording names no {key}" for key in ("model", "client") if not getattr(trace.meta, key)}
    if total is None:
        reasons["usage"] = "the recording holds no usage"
    if not any(call.at is not None for call in trace.calls):
        reasons["first_at"] = reasons["last_at"] = "the recording holds no times"
    if total is not None and not trace.provenance.output_reliable:
        reasons["usage.output"] = "the recorded output counts are placeholders or partial"
    times = [call.at for call in trace.calls if call.at is not None]
    return {
        "id": trace.id,
        "calls": len(trace.calls),
        "messages": len(trace.messages),
        "usage": None if total is None else msgspec.to_builtins(total),
        "compactions": sum(event.kind == "summary" for event in trace.compactions),
        "clearings": sum(event.kind == "clearing" for event in trace.compactions),
        "children": [trace_report(child) | {"parent": child.parent} for child in trace.children],
        "provenance": msgspec.to_builtins(trace.provenance)
        | {
            "usage": trace.provenance.usage,
            "cache": trace.provenance.cache,
            "prompt_complete": trace.provenance.prompt_complete,
            "output_reliable": trace.provenance.output_reliable,
        },
        "model": trace.meta.model or None,
        "client": trace.meta.client or None,
        "starts_midway": trace.starts_midway,
        "first_at": min(times) if times else None,
        "last_at": max(times) if times else None,
        "reasons": reasons,
    }


def bank_for(trace: Trace, folder: Path | None = None) -> ProbeBank | None:
    """The frozen probe bank of a trace, from a folder or from those that the package carries; none where there is none."""
    for place in [folder, bundled()]:
        if place is None:
            continue
        for path in (*sorted(place.rglob("*.bank.json.gz")), *sorted(place.rglob("*.bank.json"))):
            bank = read_bank(path)
            if bank.trace_digest == trace.digest:
                return bank
    return None


def banks_in(folder: Path) -> dict[str, ProbeBank]:
    """All probe banks below a folder, by the digest of their trace."""
    paths = [*sorted(folder.rglob("*.bank.json.gz")), *sorted(folder.rglob("*.bank.json"))]
    return {bank.trace_digest: bank for bank in map(read_bank, paths)}


def read_bank(path: Path) -> ProbeBank:
    """A probe bank file; raises ``TraceError`` when it is something else."""
    try:
        return msgspec.json.decode(Source(path).data, type=ProbeBank)
    except msgspec.DecodeError as error:
        raise TraceError(str(path), f"no probe bank ({error})", "a ProbeBank as `ullage probes build` writes it") from error


def _may_hold_traces(path: Path) -> bool:
    return path.name.endswith(SUFFIXES) and not path.name.endswith(NOT_TRACES) and not path.name.startswith(".")


def _near(path: Path) -> str:
    from ullage.specs import nearest  # noqa: PLC0415 - only on an error

    folder = path.parent
    return nearest(path.name, [p.name for p in folder.iterdir()]) if folder.is_dir() else f"the folder {folder} does not exist"


def _one_line(text: str) -> str:
    return " ".join(text.split())[:120]


def _looks_like(head: bytes) -> str:
    if b"\x00" in head[:4096]:
        return "a binary file"
    start = head.lstrip()[:1]
    if start in (b"{", b"["):
        return "JSON of another kind"
    return "text that is no recording"

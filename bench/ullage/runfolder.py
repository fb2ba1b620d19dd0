"""The folder of a run: records and tables written whole or not at all, and read back with one line for what is wrong."""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import platform
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from ullage import __version__
from ullage.errors import UserError
from ullage.records import RunRecord, check_unique, decode_lines, encode_all
from ullage.runner import RunPlan
from ullage.types import Answer, Exam, Row, Usage

RECORDS, MANIFEST = "records.jsonl", "manifest.json"
PACKAGES = ("msgspec", "tiktoken", "litellm", "numpy", "pyarrow", "matplotlib", "joblib")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFolder:
    """A finished run as it lies on disk. ``order`` are its strategies as they were asked for, where the manifest says."""

    path: Path
    records: tuple[RunRecord, ...]
    manifest: Mapping[str, Any]

    @property
    def name(self) -> str:
        """The folder's name."""
        return self.path.name

    @property
    def order(self) -> tuple[str, ...]:
        """The strategies in the order in which they were given."""
        return tuple(str(spec) for spec in self.manifest.get("strategies", ()))

    def overhead_ms(self) -> dict[str, float]:
        """Wall time of each strategy's own decisions in milliseconds, from ``timings.parquet``; empty without it."""
        path = self.path / "timings.parquet"
        if not path.is_file():
            return {}
        import pyarrow.parquet as pq  # noqa: PLC0415 - 0.3 s, only where timings are wanted

        table = pq.read_table(path, columns=["spec", "decide_ns"]).to_pydict()
        totals: dict[str, int] = {}
        for spec, spent in zip(table["spec"], table["decide_ns"], strict=True):
            totals[spec] = totals.get(spec, 0) + spent
        return {spec: spent / 1e6 for spec, spent in totals.items()}


def read_run(path: Path) -> RunFolder:
    """A finished run, given its folder or its ``records.jsonl``; raises ``UserError`` for anything else.

    The records stand in the order in which their strategies were asked for, where the manifest knows it.
    """
    folder = path.parent if path.name == RECORDS else path
    file = folder / RECORDS
    if not file.is_file():
        parts = len(list((folder / "parts").glob("*.json"))) if folder.is_dir() else 0
        state = f"an unfinished run ({parts} records so far); run the same command again" if parts else f"no {RECORDS}"
        raise UserError(f"{path}: found {state if folder.is_dir() else 'no such folder'}; expected the folder of a finished run")
    with file.open("rb") as lines:
        records = tuple(decode_lines(lines, where=str(file)))
    if not records:
        raise UserError(f"{file}: found no record; expected one a line")
    check_unique(records, where=str(file))
    found = RunFolder(path=folder, records=records, manifest=_manifest_at(folder / MANIFEST))
    place = {spec: n for n, spec in enumerate(found.order)}
    return replace(found, records=tuple(sorted(records, key=lambda record: place.get(record.spec, len(place)))))


def write_run(
    folder: Path, plan: RunPlan, records: Sequence[RunRecord], timings: Sequence[Struct], files: Mapping[str, bytes]
) -> None:
    """Write everything that a finished run leaves; ``records.jsonl`` comes last, so its presence means a whole folder.

    ``files`` are rendered reports by name relative to the folder. Each file appears whole or not at all.
    """
    folder.mkdir(parents=True, exist_ok=True)
    data = {
        "rows.parquet": _parquet(row_columns(records)),
        "answers.parquet": _parquet(answer_columns(records)),
        "timings.parquet": _parquet(_columns([msgspec.structs.asdict(timing) for timing in timings])),
        **files,
    }
    for name, content in data.items():
        write_whole(folder / name, content)
    lines = encode_all(records)
    write_whole(folder / MANIFEST, _json(manifest(plan, {**data, RECORDS: lines})))
    write_whole(folder / RECORDS, lines)


def write_files(folder: Path, files: Mapping[str, bytes]) -> list[Path]:
    """Write rendered files into a folder and return their paths."""
    for name, content in files.items():
        write_whole(folder / name, content)
    return [folder / name for name in files]


def write_whole(path: Path, data: bytes) -> None:
    """Write a file so that it appears whole or not at all, whenever the process dies."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with temporary.open("wb") as out:
            out.write(data)
            out.flush()
            os.fsync(out.fileno())
        temporary.replace(path)
    finally:
        with contextlib.suppress(FileNotFoundError):
            temporary.unlink()


def manifest(plan: RunPlan, files: Mapping[str, bytes]) -> dict[str, Any]:
    """What may differ from run to run, and what the folder holds: versions, git, host, time, digests of the files."""
    return {
        "run": plan.run,
        "strategies": list(plan.options.strategies),
        "options": msgspec.to_builtins(plan.options),
        "traces": list(plan.traces),
        "harness": plan.harness,
        "ullage": __version__,
        "python": sys.version.split()[0],
        "packages": {name: _version(name) for name in PACKAGES},
        "host": {
            "system": platform.system(),
            "release": platform.release(),
            "machine": platform.machine(),
            "cores": os.cpu_count(),
        },
        "git": _git(),
        "written_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "files": {name: hashlib.sha256(data).hexdigest() for name, data in sorted(files.items())},
    }


def row_columns(records: Iterable[RunRecord]) -> dict[str, list[Any]]:
    """The columns of ``rows.parquet``: one row a call, usage spread over five columns."""
    found = []
    for record in sorted(records, key=lambda r: (r.spec, r.trace.id, r.inputs.trace)):
        head = {"spec": record.spec, "trace": record.trace.id, "trace_digest": record.inputs.trace}
        for row in record.rows:
            fields = msgspec.structs.asdict(row)
            fields |= msgspec.structs.asdict(fields.pop("usage"))
            found.append(head | fields | {"compactions": len(row.compactions)})
    names = ["spec", "trace", "trace_digest", *(f for f in Row.__struct_fields__ if f != "usage"), *Usage.__struct_fields__]
    return _columns(found, names)


def answer_columns(records: Iterable[RunRecord]) -> dict[str, list[Any]]:
    """The columns of ``answers.parquet``: one row an answer, with its exam's place and its probe's type and grader."""
    found = []
    for record in sorted(records, key=lambda r: (r.spec, r.trace.id, r.inputs.trace)):
        head = {"spec": record.spec, "trace": record.trace.id, "trace_digest": record.inputs.trace}
        probes = {asked.probe.id: asked.probe for asked in record.probes}
        for answer in record.answers:
            exam, probe = record.exams[answer.exam], probes[answer.probe]
            place = {"call": exam.call, "kind": exam.kind, "share": exam.share, "type": probe.type, "grader": probe.grader}
            found.append(head | place | msgspec.structs.asdict(answer))
    places = [name for name in Exam.__struct_fields__ if name in {"call", "kind", "share"}]
    return _columns(found, ["spec", "trace", "trace_digest", *places, "type", "grader", *Answer.__struct_fields__])


def _columns(rows: Sequence[Mapping[str, Any]], names: Sequence[str] = ()) -> dict[str, list[Any]]:
    keys = list(names) or list(rows[0]) if rows or names else []
    return {name: [row[name] for row in rows] for name in keys}


def _parquet(columns: Mapping[str, list[Any]]) -> bytes:
    import pyarrow as pa  # noqa: PLC0415 - 0.3 s, only when a run is written
    import pyarrow.parquet as pq  # noqa: PLC0415 - as above

    out = io.BytesIO()
    pq.write_table(pa.table({name: pa.array(values) for name, values in columns.items()}), out, compression="zstd")
    return out.getvalue()


def _json(value: Any) -> bytes:
    return msgspec.json.format(msgspec.json.encode(value), indent=1) + b"\n"


def _manifest_at(path: Path) -> Mapping[str, Any]:
    if not path.is_file():
        return {}
    try:
        return msgspec.json.decode(path.read_bytes(), type=dict[str, Any])
    except msgspec.DecodeError as error:
        raise UserError(f"{path}: found a damaged manifest ({error}); expected a JSON object") from None


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _git() -> dict[str, Any] | None:
    """Commit of the working directory and whether it is changed; none outside a repository or without git."""
    try:
        commit, status = (
            subprocess.run(["git", *arguments], capture_output=True, text=True, timeout=10, check=True).stdout  # noqa: S603, S607 - fixed words
            for arguments in (("rev-parse", "HEAD"), ("status", "--porcelain", "--untracked-files=no"))
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return {"commit": commit.strip(), "changed": bool(status.strip())}

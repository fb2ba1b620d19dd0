"""A run: traces × strategies over processes, resumable at any instant, written as one folder."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

import msgspec
from msgspec import Struct

from ullage import __version__
from ullage.errors import UserError
from ullage.options import RunOptions
from ullage.records import RunRecord
from ullage.types import ProbeBank, Trace, digest_of

Executor = Literal["local", "dask", "ray"]
PLAN = "plan.json"
PARTS = "parts"
"""Folder inside a run that holds finished records until the run is whole."""
Progress = Callable[[int, int, str], None]


class RunPlan(Struct, frozen=True, kw_only=True):
    """What a run folder is for: a folder with another plan is refused, the same one is continued."""

    run: str
    options: RunOptions
    traces: tuple[str, ...]
    harness: str
    banks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """A finished run: its records with timings in canonical order, and how many were taken over from an earlier try."""

    plan: RunPlan
    finished: tuple[Any, ...]
    reused: int

    @property
    def records(self) -> tuple[RunRecord, ...]:
        """The records alone."""
        return tuple(one.record for one in self.finished)


Banks = Mapping[str, ProbeBank]
"""Frozen banks by the digest of their trace; a trace without one is mined."""


def plan_of(options: RunOptions, traces: Sequence[Trace], banks: Banks = MappingProxyType({})) -> RunPlan:
    """The plan of a run; its id covers options, traces and the code of the harness and its strategies."""
    digests = tuple(trace.digest for trace in traces)
    harness = harness_digest()
    frozen = tuple(banks[digest].digest if digest in banks else "" for digest in digests)
    run = digest_of((options, digests, frozen, harness))[:12]
    return RunPlan(run=run, options=options, traces=digests, harness=harness, banks=frozen)


def harness_digest() -> str:
    """Digest over the source of the whole package, so that a change of code starts a new run."""
    root = Path(__file__).parent
    files = sorted(root.rglob("*.py"), key=lambda path: path.relative_to(root).as_posix())
    files += sorted((root / "strategies").resolve().rglob("*.py"))
    return digest_of([__version__, *(path.read_text(encoding="utf-8") for path in dict.fromkeys(files))])


def open_folder(folder: Path, plan: RunPlan) -> None:
    """Claim a run folder: a new one, or one with the same plan; another run's folder is a ``UserError``."""
    path = folder / PLAN
    if path.is_file():
        found = read_plan(folder)
        if found.run != plan.run:
            raise UserError(f"{folder}: holds another run ({found.run}); expected a new folder or run {plan.run}")
        return
    if folder.exists() and any(not one.name.startswith(f".{PLAN}.") for one in folder.iterdir()):
        raise UserError(f"{folder}: found a folder that is not empty and no run; expected a new or empty folder")
    folder.mkdir(parents=True, exist_ok=True)
    _write_whole(path, msgspec.json.format(msgspec.json.encode(plan), indent=1))


def read_plan(folder: Path) -> RunPlan:
    """The plan of a run folder; raises ``UserError`` when there is none."""
    path = folder / PLAN
    try:
        return msgspec.json.decode(path.read_bytes(), type=RunPlan)
    except FileNotFoundError:
        raise UserError(f"{path}: no such file; expected the folder of a run") from None
    except msgspec.DecodeError as error:
        raise UserError(f"{path}: found a damaged plan ({error}); expected a run folder of this tool") from error


def execute(
    plan: RunPlan,
    traces: Sequence[Trace],
    folder: Path,
    *,
    jobs: int,
    executor: Executor = "local",
    progress: Progress,
    banks: Banks = MappingProxyType({}),
) -> Outcome:
    """Do what is missing of a run and return all of it. Each finished trace and spec is on disk before the next begins."""
    from ullage.worker import Finished  # noqa: PLC0415 - the worker loads the whole harness; a plan alone does not need it

    wanted = [(trace, spec) for spec in plan.options.strategies for trace in traces]
    (folder / PARTS).mkdir(exist_ok=True)
    done = {part for trace, spec in wanted if _is_whole(part := _part(folder, plan, trace, spec))}
    tasks = []
    for trace in sorted(traces, key=lambda t: -len(t.calls)):
        missing = [spec for spec in plan.options.strategies if _part(folder, plan, trace, spec) not in done]
        if missing:
            tasks.append((trace, missing))
    for count, trace_id in enumerate(_run_tasks(tasks, plan, folder, jobs=jobs, executor=executor, banks=banks), 1):
        progress(count, len(tasks), trace_id)
    parts = [_part(folder, plan, trace, spec).read_bytes() for trace, spec in wanted]
    finished = tuple(msgspec.json.decode(part, type=Finished) for part in parts)
    return Outcome(plan=plan, finished=finished, reused=len(done))


def _run_tasks(
    tasks: Sequence[tuple[Trace, list[str]]], plan: RunPlan, folder: Path, *, jobs: int, executor: Executor, banks: Banks
) -> Iterator[str]:
    arguments = [
        (msgspec.json.encode(trace), msgspec.json.encode(banks.get(trace.digest)), plan, specs, str(folder))
        for trace, specs in tasks
    ]
    if executor == "local" and (jobs <= 1 or len(tasks) <= 1):
        for one in arguments:
            yield do_trace(*one)
        return
    from joblib import Parallel, delayed, parallel_config  # noqa: PLC0415 - 0.2 s, only for parallel runs

    backend = {"local": "loky", "dask": "dask", "ray": "ray"}[executor]
    _check_backend(executor)
    with parallel_config(backend=backend, n_jobs=jobs):
        yield from Parallel(return_as="generator_unordered")(delayed(do_trace)(*one) for one in arguments)


def _check_backend(executor: Executor) -> None:
    """Make the back-end known to joblib, or say which optional part is missing."""
    if executor == "local":
        return
    try:
        if executor == "dask":
            from distributed import Client  # noqa: PLC0415 - an optional part

            Client.current() if os.environ.get("DASK_SCHEDULER_ADDRESS") else Client(processes=True)
        else:
            from ray.util.joblib import register_ray  # noqa: PLC0415 - an optional part

            register_ray()
    except ImportError as error:
        raise UserError(f"executor {executor!r}: not installed; pip install 'ullage[{executor}]'") from error


def do_trace(trace_json: bytes, bank_json: bytes, plan: RunPlan, specs: list[str], folder: str) -> str:
    """Work of one process: run one trace under each missing spec and write each result whole; returns the trace's id."""
    from ullage.worker import run_trace  # noqa: PLC0415 - loaded in the worker process

    trace = msgspec.json.decode(trace_json, type=Trace)
    bank = msgspec.json.decode(bank_json, type=ProbeBank | None)
    for finished in run_trace(trace, plan.options, specs, bank):
        _write_whole(_part(Path(folder), plan, trace, finished.record.spec), msgspec.json.encode(finished))
    return trace.id


def _part(folder: Path, plan: RunPlan, trace: Trace, spec: str) -> Path:
    return folder / PARTS / f"{digest_of((plan.run, trace.digest, spec))}.json"


def _is_whole(part: Path) -> bool:
    """Whether a finished record stands there; one that a failing machine left empty or cut is made again."""
    from ullage.worker import Finished  # noqa: PLC0415 - as in ``execute``

    try:
        msgspec.json.decode(part.read_bytes(), type=Finished)
    except (FileNotFoundError, msgspec.DecodeError, UnicodeDecodeError):
        return False
    return True


def _write_whole(path: Path, data: bytes) -> None:
    """Write a file so that it appears whole or not at all."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_bytes(data)
    temporary.replace(path)

"""Data sets by name: the bundled traces, folders with a card, and public trajectory sets through Hugging Face ``datasets``."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ullage.errors import UserError
from ullage.formats._chat import chat_trace
from ullage.specs import nearest
from ullage.traces import Loaded, bundled, load_bundled, load_traces
from ullage.types import Trace

CARD = "card.json"
"""The machine-readable part of a data set's card: name, licence, default window, splits."""
_HUB = re.compile(r"hf:(?P<name>[\w.\-]+/[\w.\-]+|[^\[\]]+?)(?:\[(?P<split>[\w.\-]+)\])?(?::(?P<limit>\d+))?")
MESSAGE_COLUMNS = ("messages", "trajectory", "conversations")
ID_COLUMNS = ("id", "instance_id", "traj_id", "trajectory_id", "task_id")
HUB_LIMIT = 50
"""Rows taken from a public set unless the name says ``:N``; the sets hold tens of thousands."""


def load_any(paths: Sequence[str]) -> tuple[Loaded, str]:
    """Traces from files, folders and data set names, with a short name for all of them; nothing given: the bundled ones."""
    if not paths:
        return load_bundled(), "bundled"
    traces: dict[str, Trace] = {}
    failures: list[str] = []
    problems: list[str] = []
    for given in paths:
        loaded = _load_one(given)
        traces.update((trace.digest, trace) for trace in loaded.traces)
        failures += loaded.failures
        problems += loaded.problems
    name = Path(paths[0].removeprefix("hf:")).name.split(".")[0] or "traces"
    if "/" in paths[0] and not Path(paths[0]).exists():
        name = paths[0].removeprefix("hf:")
    return Loaded(tuple(traces.values()), tuple(failures), tuple(problems)), name if len(
        paths
    ) == 1 else f"{name}+{len(paths) - 1}"


def _load_one(given: str) -> Loaded:
    if given.startswith("hf:"):
        return Loaded(tuple(hub_traces(given)), (), ())
    if Path(given).exists():
        return load_traces([given])
    name, _, split = given.partition("/")
    for folder in folders():
        if folder.name == name or _card(folder).get("name") == name:
            return load_folder(folder, split)
    known = [folder.name for folder in folders()]
    raise UserError(f"{given}: no such file, folder or data set; {nearest(name, known)}")


def folders() -> list[Path]:
    """Data sets within reach: folders with a card in ``datasets/`` here, and the bundled one."""
    found = [path.parent for path in sorted(Path("datasets").glob(f"*/{CARD}"))]
    return [*found, bundled()]


def bank_folders(paths: Sequence[str]) -> list[Path]:
    """Folders where the probe banks of these paths lie: the folder itself, a file's own, a data set's; always the bundled one."""
    found = [bundled()]
    for given in paths:
        path = Path(given)
        if path.exists():
            found.append(path if path.is_dir() else path.parent)
        else:
            name = given.partition("/")[0]
            found += [folder for folder in folders() if name in (folder.name, _card(folder).get("name"))]
    return list(dict.fromkeys(found))


def load_folder(folder: Path, split: str = "") -> Loaded:
    """The traces of a data set folder, of one split where one is named."""
    loaded = load_traces([folder])
    splits = sorted({trace.meta.split for trace in loaded.traces if trace.meta.split})
    if split and split not in splits:
        raise UserError(f"{folder.name}/{split}: no such split; {nearest(split, splits)}")
    kept = tuple(trace for trace in loaded.traces if not split or trace.meta.split == split)
    return Loaded(kept, loaded.failures, loaded.problems)


def _card(folder: Path) -> Mapping[str, Any]:
    path = folder / CARD
    if not path.is_file():
        return {}
    try:
        card = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise UserError(f"{path}: found text that is not JSON ({error}); expected a card") from error
    return card if isinstance(card, dict) else {}


def describe_datasets() -> list[dict[str, Any]]:
    """One entry a data set: name, how to name it, what it is, and what its card declares."""
    entries: list[dict[str, Any]] = []
    for folder in folders():
        card = dict(_card(folder))
        name = str(card.get("name") or ("bundled" if folder == bundled() else folder.name))
        files = sum(1 for p in folder.rglob("*.jsonl*") if p.is_file())
        entries.append(
            {
                "name": name,
                "spec": "" if folder == bundled() else name,
                "summary": str(card.get("summary") or f"{files} trace files"),
                "parameters": [],
                "files": files,
                "licence": card.get("licence"),
                "window": card.get("window"),
                "splits": card.get("splits"),
            }
        )
    hub = {
        "name": "hf",
        "spec": "hf:ORG/NAME[split]:N",
        "summary": "public trajectory sets through Hugging Face datasets",
        "parameters": [],
    }
    return [*entries, hub]


def hub_traces(given: str) -> Iterator[Trace]:
    """Conversations of a public set: ``hf:ORG/NAME[split]:N``, or a local folder or Parquet file in place of ``ORG/NAME``."""
    match = _HUB.fullmatch(given)
    if match is None:
        raise UserError(f"{given}: expected hf:ORG/NAME[split] or hf:ORG/NAME[split]:N")
    name, split = match["name"], match["split"] or "train"
    rows = _hub_rows(name, split)
    for number, row in enumerate(rows):
        if number >= int(match["limit"] or HUB_LIMIT):
            return
        yield row_trace(dict(row), f"{Path(name).stem}#{number + 1}", given)


def row_trace(row: Mapping[str, Any], name: str, where: str) -> Trace:
    """One row of a trajectory set (columns ``messages``, ``trajectory`` or ``conversations``, with or without ``tools``)."""
    column = next((key for key in MESSAGE_COLUMNS if row.get(key) is not None), None)
    value = row.get(column or "")
    if isinstance(value, str):
        value = json.loads(value)
    if column is None or not isinstance(value, (list, tuple)):
        raise UserError(
            f"{where}: found columns {', '.join(sorted(row))}; expected one of {', '.join(MESSAGE_COLUMNS)} with chat messages"
        )
    messages = [
        {key: item for key, item in message.items() if item is not None} | {"content": message.get("content")}
        for message in value
    ]
    given = next((str(row[key]) for key in ID_COLUMNS if row.get(key)), name)
    return chat_trace(
        given, messages, tools=row.get("tools"), model=str(row.get("model") or ""), source=where, form="hub_messages"
    )


def _hub_rows(name: str, split: str) -> Any:
    import datasets as hugging_face  # noqa: PLC0415 - two seconds, only when a public set is asked for

    if not hasattr(hugging_face, "load_dataset"):
        raise UserError("data set hf: the package datasets is not installed; pip install datasets")
    try:
        path = Path(name)
        if path.suffix == ".parquet":
            return hugging_face.load_dataset("parquet", data_files={split: str(path)}, split=split)
        return hugging_face.load_dataset(name, split=split, streaming=not path.exists())
    except Exception as error:
        raise UserError(f"data set hf:{name}[{split}]: {type(error).__name__}: {str(error).splitlines()[0][:200]}") from error

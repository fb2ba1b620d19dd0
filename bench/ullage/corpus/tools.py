"""The tools of the recorded agents. Each really does its work in the workspace and returns what it printed."""

from __future__ import annotations

import base64
import json
import re
import sqlite3
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from ullage.corpus import documents
from ullage.corpus.workspace import Workspace, clipped
from ullage.types import Image, ResultItem, Text, ToolSpec

MATCH_LIMIT = 250
"""Lines that ``grep`` shows before it says how many are missing."""
ROW_LIMIT = 200
READ_LIMIT = 2000
SQL_STEPS = 200_000_000
"""Virtual-machine steps after which a query is stopped."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """What a tool gave back."""

    items: tuple[ResultItem, ...]
    is_error: bool = False

    @property
    def text(self) -> str:
        """The text items joined."""
        return "\n".join(item.text for item in self.items if isinstance(item, Text))


Run = Callable[[Workspace, dict[str, Any], int], Output]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A tool as it is offered to the model, with the code that runs it."""

    spec: ToolSpec
    run: Run


def use(workspace: Workspace, name: str, arguments: dict[str, Any], at: int) -> Output:
    """Run a tool by name; what a tool refuses comes back as an error result, as it does in a real session."""
    try:
        output = TOOLS[name].run(workspace, arguments, at)
    except (OSError, ValueError, sqlite3.Error) as error:
        output = said(workspace.normalise(f"Error: {error}"), is_error=True)
    if name in CHANGING:
        workspace.stamp(at)
    return output


def said(text: str, *, is_error: bool = False) -> Output:
    """A result of one text."""
    return Output(items=(Text(text=text),), is_error=is_error)


def _bash(workspace: Workspace, arguments: dict[str, Any], at: int) -> Output:
    output, code = workspace.run(arguments["command"], at)
    if code:
        return said(f"{output.rstrip()}\nexit code {code}".lstrip("\n"), is_error=True)
    return said(output.rstrip("\n") or "(no output)")


def _run_tests(workspace: Workspace, arguments: dict[str, Any], at: int) -> Output:
    command = f"python -m pytest {arguments.get('arguments', '')}".rstrip()
    output, code = workspace.run(command, at, timeout=120)
    return said(f"{output.rstrip()}\nexit code {code}", is_error=code not in (0, 1))


def _read(workspace: Workspace, arguments: dict[str, Any], _at: int) -> Output:
    path = workspace.path(arguments["path"])
    lines = path.read_text(encoding="utf-8").splitlines()
    start = arguments.get("offset", 1)
    if start > max(1, len(lines)):
        raise ValueError(f"{arguments['path']} has {len(lines)} lines; offset {start} is past its end")
    shown = lines[start - 1 : start - 1 + arguments.get("limit", READ_LIMIT)]
    return said(clipped(numbered(shown, start)) or "(empty file)")


def numbered(lines: list[str], start: int) -> str:
    """Lines with their numbers, one tab after each number."""
    return "\n".join(f"{number:>5}\t{line}" for number, line in enumerate(lines, start))


def _write(workspace: Workspace, arguments: dict[str, Any], _at: int) -> Output:
    path = workspace.path(arguments["path"])
    existed = path.exists()
    workspace.put({arguments["path"]: arguments["content"]})
    lines = len(arguments["content"].splitlines())
    return said(f"{'Replaced' if existed else 'Created'} {arguments['path']} ({lines} lines)")


def _edit(workspace: Workspace, arguments: dict[str, Any], _at: int) -> Output:
    path, old, new = workspace.path(arguments["path"]), arguments["old"], arguments["new"]
    text = path.read_text(encoding="utf-8")
    found = text.count(old)
    if not found:
        raise ValueError(f"the text to replace does not occur in {arguments['path']}")
    if found > 1 and not arguments.get("all"):
        raise ValueError(f"the text to replace occurs {found} times in {arguments['path']}; give more of it, or set all")
    changed = text.replace(old, new)
    path.write_text(changed, encoding="utf-8")
    first = text[: text.index(old)].count("\n")
    lines = changed.splitlines()
    last = min(len(lines), first + new.count("\n") + 4)
    start = max(0, first - 3)
    times = f" ({found} places)" if found > 1 else ""
    return said(f"Edited {arguments['path']}{times}\n{numbered(lines[start:last], start + 1)}")


def _grep(workspace: Workspace, arguments: dict[str, Any], _at: int) -> Output:
    pattern = re.compile(arguments["pattern"], re.IGNORECASE if arguments.get("ignore_case") else 0)
    around = arguments.get("context", 0)
    lines: list[str] = []
    for path in _files(workspace, arguments.get("path", "."), arguments.get("glob", "*")):
        try:
            content = path.read_text(encoding="utf-8").splitlines()
        except UnicodeDecodeError:
            continue
        hits = [n for n, line in enumerate(content) if pattern.search(line)]
        name = path.relative_to(workspace.root.resolve()).as_posix()
        if arguments.get("files_only"):
            lines += [f"{name}: {len(hits)}"] if hits else []
        else:
            lines += _shown(name, content, hits, around)
    if not lines:
        return said("No matches")
    rest = [f"({len(lines) - MATCH_LIMIT} more lines)"] if len(lines) > MATCH_LIMIT else []
    return said(clipped("\n".join(lines[:MATCH_LIMIT] + rest)))


def _shown(name: str, content: list[str], hits: list[int], around: int) -> list[str]:
    if not around:
        return [f"{name}:{n + 1}:{content[n]}" for n in hits]
    keep = sorted({k for n in hits for k in range(n - around, n + around + 1) if 0 <= k < len(content)})
    shown: list[str] = []
    for before, n in zip([None, *keep], keep, strict=False):
        if before is not None and n != before + 1:
            shown.append("--")
        mark = ":" if n in hits else "-"
        shown.append(f"{name}{mark}{n + 1}{mark}{content[n]}")
    return [*shown, "--"] if shown else []


def _files(workspace: Workspace, where: str, glob: str) -> Iterator[Path]:
    root = workspace.path(where)
    if root.is_file():
        yield root
        return
    if not root.exists():
        raise ValueError(f"{where} does not exist")
    for path in sorted(p for p in root.rglob("*") if p.is_file()):
        if ".git" not in path.parts and fnmatch(path.name, glob):
            yield path


def _sql(workspace: Workspace, arguments: dict[str, Any], _at: int) -> Output:
    path = workspace.path(arguments["database"])
    if not path.exists():
        raise ValueError(f"{arguments['database']} does not exist")
    with sqlite3.connect(path) as connection:
        connection.set_progress_handler(_Budget(SQL_STEPS // 1000), 1000)
        cursor = connection.execute(arguments["query"])
        if cursor.description is None:
            connection.commit()
            return said(f"ok, {max(cursor.rowcount, 0)} rows changed")
        rows = cursor.fetchmany(ROW_LIMIT + 1)
        names = [column[0] for column in cursor.description]
    connection.close()
    cut = f"\n(first {ROW_LIMIT} rows; there are more)" if len(rows) > ROW_LIMIT else f"\n({len(rows)} rows)"
    return said(clipped(table(names, rows[:ROW_LIMIT]) + cut))


class _Budget:
    """Stops a query after so many calls."""

    def __init__(self, calls: int) -> None:
        self.left = calls

    def __call__(self) -> int:
        self.left -= 1
        return int(self.left < 0)


def table(names: list[str], rows: list[tuple[Any, ...]]) -> str:
    """Rows in aligned columns under their names; a null is shown as NULL."""
    cells = [names, *[["NULL" if v is None else str(v) for v in row] for row in rows]]
    widths = [min(60, max(len(row[k]) for row in cells)) for k in range(len(names))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells]
    return "\n".join([lines[0], "  ".join("-" * width for width in widths), *lines[1:]])


def _search(workspace: Workspace, arguments: dict[str, Any], _at: int) -> Output:
    found = documents.search(documents.load(workspace.path("library")), arguments["query"], arguments.get("limit", 6))
    return said(documents.shown(found) or "No documents match")


def _open(workspace: Workspace, arguments: dict[str, Any], _at: int) -> Output:
    library = documents.load(workspace.path("library"))
    if arguments["id"] not in library:
        raise ValueError(f"no document {arguments['id']!r}")
    return said(clipped(library[arguments["id"]].text))


def _view(workspace: Workspace, arguments: dict[str, Any], _at: int) -> Output:
    return Output(items=(png_block(workspace.path(arguments["path"]).read_bytes()),))


def png_block(data: bytes) -> Image:
    """A PNG file as an image block with its size."""
    if not data.startswith(b"\x89PNG"):
        raise ValueError("not a PNG file")
    width, height = struct.unpack(">II", data[16:24])
    return Image(media_type="image/png", data=base64.b64encode(data).decode(), width=width, height=height)


def _schema(required: dict[str, str], **optional: str) -> str:
    kinds = {"text": "string", "count": "integer", "flag": "boolean"}
    properties = {}
    for name, meaning in (required | optional).items():
        kind, words = meaning.split(": ", 1)
        properties[name] = {"type": kinds[kind], "description": words}
    return json.dumps({"type": "object", "properties": properties, "required": list(required)}, ensure_ascii=False)


def _tool(name: str, description: str, run: Run, required: dict[str, str], **optional: str) -> tuple[str, Tool]:
    return name, Tool(spec=ToolSpec(name=name, description=description, schema=_schema(required, **optional)), run=run)


TOOLS: dict[str, Tool] = dict(
    [
        _tool("bash", "Run a shell command in the project folder and return what it prints.", _bash,
              {"command": "text: the command, run by bash"}),
        _tool("read", "Read a text file with line numbers.", _read, {"path": "text: file, relative to the project folder"},
              offset="count: first line to show, from 1", limit="count: how many lines"),
        _tool("write", "Create or replace a text file.", _write,
              {"path": "text: file to write", "content": "text: the whole new content"}),
        _tool("edit", "Replace one exact piece of text in a file; it must occur once unless all is set.", _edit,
              {"path": "text: file to change", "old": "text: what stands there now", "new": "text: what shall stand there"},
              all="flag: replace every occurrence"),
        _tool("grep", "Search files by regular expression.", _grep, {"pattern": "text: a Python regular expression"},
              path="text: file or folder to search", glob="text: only files whose name matches",
              context="count: lines shown around each match", files_only="flag: only names and counts",
              ignore_case="flag: ignore case"),
        _tool("run_tests", "Run the project's tests with pytest.", _run_tests, {}, arguments="text: arguments for pytest"),
        _tool("sql", "Run one SQL statement on a SQLite file.", _sql,
              {"database": "text: the SQLite file", "query": "text: one statement"}),
        _tool("search_documents", "Search the document library by words; returns the best passages.", _search,
              {"query": "text: a few words"}, limit="count: how many documents"),
        _tool("open_document", "Show one document of the library whole.", _open, {"id": "text: its id"}),
        _tool("view_image", "Look at a PNG file.", _view, {"path": "text: the file"}),
    ]
)  # fmt: skip
DELEGATE = ToolSpec(
    name="delegate",
    description="Give a bounded task to a helper that works in the same folder; returns its answer.",
    schema=_schema({"title": "text: a few words", "task": "text: everything that the helper must know"}),
)
CHANGING = {"bash", "write", "edit", "run_tests", "sql"}

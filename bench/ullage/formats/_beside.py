"""Files that stand beside a recording and belong to it: looked for by name in its own folder, never elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ullage.errors import TraceError
from ullage.formats import Source
from ullage.formats._lines import document

LONGEST_NAME = 255
"""Bytes of a file name that every file system takes; a longer one is no name."""


def file_beside(source: Source, named: Any) -> Path | None:
    """The file of this name in the folder of a recording, plain or gzip; a path in the name is left out."""
    name = Path(named).name if isinstance(named, str) else ""
    if not name or name == ".." or len(name.encode("utf-8", "replace")) > LONGEST_NAME - len(".gz"):
        return None
    paths = (source.path.with_name(name), source.path.with_name(f"{name}.gz"))
    return next((path for path in paths if path.is_file() and path != source.path), None)


def document_beside(path: Path, expected: str, problems: list[str]) -> Any:
    """The JSON value of a file beside a recording; none, and a line of ``problems``, where it cannot be read."""
    try:
        return document(Source(path), expected)[0]
    except TraceError as error:
        problems.append(f"{error}; left out")
        return None

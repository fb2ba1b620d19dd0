"""How commands speak: data on standard output, talk on standard error, colour only on a terminal."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ullage.plain import one_line


def say(line: str) -> None:
    """One line of talk."""
    print(one_line(line), file=sys.stderr)


def show_json(value: Any) -> None:
    """Data for machines: indented JSON with non-ASCII text as it is; a NaN anywhere is our bug and raises."""
    print(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False))


def show_table(header: Sequence[str], rows: Sequence[Sequence[Any]], *, title: str = "", right: Sequence[int] = ()) -> None:
    """An aligned table on standard output; ``right`` names the columns of numbers."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(width=None if sys.stdout.isatty() else 400, highlight=False)
    table = Table(
        title=Text(one_line(title)) if title else None, title_justify="left", box=None, pad_edge=False, padding=(0, 2, 0, 0)
    )
    for n, name in enumerate(header):
        table.add_column(name, justify="right" if n in right else "left", overflow="fold", header_style="bold")
    for row in rows:
        table.add_row(*(Text(one_line(str(cell))) for cell in row))
    console.print(table)


def write_json(path: Path, value: Any) -> None:
    """Write indented JSON so that it appears whole or not at all."""
    part = path.with_name(f".{path.name}.part")
    part.write_text(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n", encoding="utf-8")
    part.replace(path)

"""Tables on a terminal: aligned, coloured only there, safe against what recordings contain."""

from __future__ import annotations

import csv
import io
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import IO, Any

from ullage.plain import one_line
from ullage.tables import HEADER, UNKNOWN, table_notes, table_rows

TEXT_COLUMNS = frozenset({"strategy", "metric", "a", "b", "probe", "trace", "question"})
ALARMING = frozenset({"violations", "faults"})
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
"""First characters that make a spreadsheet take a cell for a formula (OWASP, CSV injection)."""
FILE_WIDTH = 400
"""Columns of a table that goes to a file or a pipe: wide enough never to fold."""


def run_table(summary: Mapping[str, Any], stream: IO[str]) -> None:
    """Print the table of ``run --json`` and the reasons behind its dashes."""
    print_table(HEADER, table_rows(summary), stream)
    print_lines(table_notes(summary), stream)


def print_table(header: Sequence[str], rows: Sequence[Sequence[Any]], stream: IO[str], *, title: str = "") -> None:
    """Print one aligned table; on a terminal too narrow for it, two or more that repeat the first column."""
    from rich.console import Console  # noqa: PLC0415 - 0.1 s that `--help` need not pay

    console = Console(file=stream, width=None if stream.isatty() else FILE_WIDTH, highlight=False, soft_wrap=False)
    cells = [[one_line(str(cell)) for cell in row] for row in rows]
    for n, columns in enumerate(_parts(header, cells, console.width)):
        console.print(_table(header, cells, columns, "" if n else title))


def print_lines(lines: Iterable[str], stream: IO[str]) -> None:
    """Print lines of talk or notes, each made safe and kept on one line."""
    for line in lines:
        print(one_line(line), file=stream)


def csv_text(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Comma-separated values that a spreadsheet takes for text: cells that begin like a formula get an apostrophe."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([csv_cell(name) for name in header])
    writer.writerows([csv_cell(cell) for cell in row] for row in rows)
    return out.getvalue()


def csv_cell(value: Any) -> Any:
    """Numbers as they are, nothing as an empty cell, text on one line and never a formula."""
    if value is None or (isinstance(value, (int, float)) and not isinstance(value, bool)):
        return "" if value is None else value
    text = str(value)
    safe = one_line(text)
    return f"'{safe}" if text.lstrip(" ").startswith(FORMULA_STARTS) or safe.startswith(FORMULA_STARTS) else safe


def _parts(header: Sequence[str], cells: Sequence[Sequence[str]], width: int) -> list[list[int]]:
    """Column numbers of each table: as many columns as fit beside the first one."""
    from rich.cells import cell_len  # noqa: PLC0415 - as above

    sizes = [max(cell_len(text) for text in (name, *(row[n] for row in cells))) + 2 for n, name in enumerate(header)]
    parts, room = [[0]], width - sizes[0]
    for column in range(1, len(header)):
        if sizes[column] > room and len(parts[-1]) > 1:
            parts.append([0])
            room = width - sizes[0]
        parts[-1].append(column)
        room -= sizes[column]
    return parts


def _table(header: Sequence[str], cells: Sequence[Sequence[str]], columns: Sequence[int], title: str) -> Any:
    from rich.table import Table  # noqa: PLC0415 - as above
    from rich.text import Text  # noqa: PLC0415 - as above

    head = Text(one_line(title)) if title else None
    table = Table(title=head, title_justify="left", box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for n in columns:
        text = header[n] in TEXT_COLUMNS
        table.add_column(header[n], justify="left" if text else "right", overflow="fold", no_wrap=not text)
    for row in cells:
        table.add_row(*(_styled(row[n], header[n], ALARMING) for n in columns))
    return table


def _styled(text: str, column: str, alarming: Collection[str]) -> Any:
    from rich.text import Text  # noqa: PLC0415 - as above

    if text == UNKNOWN:
        return Text(text, style="dim")
    if column in alarming and text != "0":
        return Text(text, style="red")
    return Text(text, style="bold" if column == "strategy" else "")

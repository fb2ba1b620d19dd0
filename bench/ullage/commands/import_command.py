"""``ullage import``: what is in a recording."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import click

from ullage.commands._output import say, show_json, show_table
from ullage.errors import TraceError
from ullage.formats import Imported


@click.command("import", short_help="What is in a recording; writes canonical traces with --to.")
@click.argument("files", nargs=-1, required=True, metavar="FILE …")
@click.option(
    "--to",
    "target",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Write canonical traces and a card there.",
)
@click.option("--json", "as_json", is_flag=True, help="One object a file on standard output.")
def command(files: tuple[str, ...], target: Path | None, *, as_json: bool) -> int:
    """Say what is in recordings: calls, messages, usage, compactions, sub-agents, problems."""
    from ullage.traces import report

    imported, refused = read_all(files)
    reports = [report(one) for one in imported]
    for line in refused:
        say(f"refused: {line}")
    if target is not None:
        _write(imported, target)
    if as_json:
        show_json(reports)
    else:
        _show(reports)
    return 2 if refused and not imported else 0


def read_all(files: tuple[str, ...]) -> tuple[list[Imported], list[str]]:
    """Import every file; a bad one that was named itself raises, one in a folder is returned as a line."""
    from ullage.traces import find_files, import_file

    imported, refused = [], []
    for path, named in find_files(files):
        try:
            imported.append(import_file(path))
        except TraceError as error:
            if named:
                raise
            refused.append(str(error))
    return imported, refused


def _show(reports: list[dict[str, Any]]) -> None:
    header = (
        "file",
        "format",
        "trace",
        "calls",
        "messages",
        "uncached",
        "read",
        "write 5m",
        "write 1h",
        "output",
        "compactions",
        "sub-agents",
    )
    rows = []
    for entry in reports:
        for trace in entry["traces"]:
            usage = trace["usage"] or {}
            rows.append(
                (
                    Path(entry["path"]).name,
                    entry["format"],
                    trace["id"],
                    trace["calls"],
                    trace["messages"],
                    *(
                        f"{usage[k]:,}" if k in usage else "–"
                        for k in ("uncached", "cache_read", "cache_write_5m", "cache_write_1h", "output")
                    ),
                    trace["compactions"],
                    len(trace["children"]),
                )
            )
        for problem in entry["problems"]:
            say(problem)
    show_table(header, rows, right=range(3, 12))


def _write(imported: list[Imported], target: Path) -> None:
    """Canonical traces, one file each, and a card that says where they come from."""
    from ullage.commands._output import write_json
    from ullage.formats.ullage_jsonl import write_traces

    target.mkdir(parents=True, exist_ok=True)
    entries = []
    for one in imported:
        for trace in one.traces:
            name = re.sub(r"[^A-Za-z0-9._-]+", "-", trace.id)[:80].lstrip(".-") or "trace"
            path = target / f"{name}-{trace.digest[:8]}.jsonl.gz"
            write_traces(path, [trace])
            entries.append(
                {"file": path.name, "trace": trace.id, "digest": trace.digest, "format": one.format, "calls": len(trace.calls)}
            )
    write_json(
        target / "card.json",
        {"name": target.name, "summary": f"{len(entries)} imported traces", "licence": None, "traces": entries},
    )
    say(f"wrote {len(entries)} traces and card.json to {target}")

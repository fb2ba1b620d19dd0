"""``ullage audit-cache``: the cache laws against what recordings were billed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ullage.commands._output import say, show_json, show_table

if TYPE_CHECKING:
    from ullage.audit import SessionAudit
    from ullage.types import Trace

EXPLAIN_ABOVE = 0.05
"""A session whose dollars are further off than this is explained disagreement by disagreement."""
SHOWN = 12
"""Disagreements of one session on a terminal; all are in the JSON."""


@click.command("audit-cache", short_help="Hold the cache simulator against the billed usage of recordings.")
@click.argument("files", nargs=-1, required=True, metavar="FILE …")
@click.option(
    "--prices", type=click.Path(path_type=Path), metavar="FILE", help="JSON price sheet that overrides the bundled one."
)
@click.option("--json", "as_json", is_flag=True, help="One object on standard output.")
def command(files: tuple[str, ...], prices: Path | None, *, as_json: bool) -> int:
    """Predict what each recorded call reads from the cache, and compare with its bill."""
    result = audit_files(files, prices)
    if as_json:
        show_json(result)
    else:
        _show(result)
    return 0


def audit_files(files: tuple[str, ...], prices: Path | None = None) -> dict[str, Any]:
    """Audit every session of the files; a bad file in a folder is named under ``refused`` and the others go on."""
    from ullage.audit import summary
    from ullage.commands.import_command import read_all
    from ullage.pricing import PriceSheet
    from ullage.tokens import Counter, tiktoken_counter

    counter, sheet = Counter(count_text=tiktoken_counter()), PriceSheet.load(prices)
    imported, refused = read_all(files)
    for line in refused:
        say(f"refused: {line}")
    entries: list[dict[str, Any]] = []
    everything: list[SessionAudit] = []
    for one in imported:
        audits = [_audit(trace, counter, sheet) for trace in one.traces]
        everything += audits
        sessions = [_session(done, trace, counter, sheet) for done, trace in zip(audits, one.traces, strict=True)]
        entries.append({"path": one.path, "format": one.format, **summary(audits), "sessions": sessions})
    return {
        "prices": sheet.dated,
        "label": "MODELLED against OBSERVED",
        "files": entries,
        "total": summary(everything),
        "refused": refused,
    }


def _audit(trace: Trace, counter: Any, sheet: Any) -> SessionAudit:
    from ullage.audit import audit

    return audit(trace, counter, sheet)


def _session(done: SessionAudit, trace: Trace, counter: Any, sheet: Any) -> dict[str, Any]:
    from ullage.audit import disagreements, summary

    children = [_audit(child, counter, sheet) for child in trace.children]
    return {
        "trace": done.trace,
        "law": done.law,
        **summary([done]),
        "children": summary(children),
        "disagreements": disagreements(done),
    }


def _show(result: dict[str, Any]) -> None:
    header = ("file", "law", "pairs", "exact", "within 1 %", "billed $", "modelled $", "error", "disagreements")
    rows = [(Path(entry["path"]).name, ", ".join(_laws(entry)), *_figures(entry)) for entry in result["files"]]
    total = result["total"]
    rows.append(("total", "", *_figures(total)))
    show_table(header, rows, title="cache audit: MODELLED against OBSERVED, prompt side only", right=range(2, 8))
    if total["usd_error_abs"] is not None:
        say(
            f"sum of absolute errors {total['usd_error_abs']:.2%}, median session {total['usd_error_median']:.2%}, {result['prices']}"
        )
    if total["floor"] is not None:
        say(_floor(total))
    for reason in total["reasons"]:
        say(f"not audited, or not priced: {reason}")
    for entry in result["files"]:
        for session in entry["sessions"]:
            if abs(session["usd_error"] or 0) > EXPLAIN_ABOVE:
                _explain(session)


def _floor(total: dict[str, Any]) -> str:
    pairs = f"error floor: {total['floor']:.2%} of the pairs left no trace before the call"
    if total["usd_error_foreseeable"] is None:
        return pairs
    return f"{pairs}, {_signed(total['floor_usd'])} $ of the error; all others together are off by {total['usd_error_foreseeable']:+.2%}"


def _laws(entry: dict[str, Any]) -> list[str]:
    return sorted({session["law"] or "none" for session in entry["sessions"]})


def _figures(entry: dict[str, Any]) -> tuple[str, ...]:
    pairs = entry["pairs"]
    causes = ", ".join(f"{cause} {count}" for cause, count in entry["causes"].items())
    return (
        f"{pairs:,}",
        _percent(entry["exact"], pairs),
        _percent(entry["within_1pct"], pairs),
        _dollars(entry["usd_billed"]),
        _dollars(entry["usd_modelled"]),
        "–" if entry["usd_error"] is None else f"{entry['usd_error']:+.2%}",
        causes or "–",
    )


def _percent(part: int, whole: int) -> str:
    return f"{part / whole:.1%}" if whole else "–"


def _dollars(amount: float | None) -> str:
    return "–" if amount is None else f"{amount:,.4f}"


def _explain(session: dict[str, Any]) -> None:
    header = ("call", "cause", "predicted", "read", "left before", "prompt", "idle s", "$")
    rows = [
        (one["call"], one["cause"], one["predicted"], one["read"], one["left"], one["prompt"], one["gap_s"], _signed(one["usd"]))
        for one in session["disagreements"][:SHOWN]
    ]
    show_table(
        header,
        rows,
        title=f"session {session['trace']}: off by {session['usd_error']:+.1%}, the dearest first",
        right=(0, 2, 3, 4, 5, 6, 7),
    )
    if len(session["disagreements"]) > SHOWN:
        say(f"{len(session['disagreements']) - SHOWN} smaller disagreements are in --json")


def _signed(amount: float | None) -> str:
    return "–" if amount is None else f"{amount:+.4f}"

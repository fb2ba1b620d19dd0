"""``ullage autopsy``: what one real session's compactions and cache breaks lost and cost."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ullage.commands._output import say, show_json, show_table
from ullage.errors import UserError

if TYPE_CHECKING:
    from ullage.autopsy import Autopsy

BREAKS, FACTS = 6, 5
"""Breaks and forgotten facts of one session on a terminal; the page and the JSON hold more."""


@click.command("autopsy", short_help="What one real session's compactions and cache breaks lost and cost.")
@click.argument("files", nargs=-1, required=True, metavar="FILE …")
@click.option(
    "--out", type=click.Path(path_type=Path, dir_okay=False), metavar="PAGE", help="Write one self-contained HTML page."
)
@click.option(
    "--prices", type=click.Path(path_type=Path), metavar="FILE", help="JSON price sheet that overrides the bundled one."
)
@click.option("--json", "as_json", is_flag=True, help="One object on standard output.")
def command(files: tuple[str, ...], out: Path | None, prices: Path | None, *, as_json: bool) -> int:
    """Open recorded sessions up: the recorded compactions, what they forgot, every cache break with its cause and price.

    FILE may be a folder. Files whose calls all stand in a longer recording of the same session are left out.
    """
    from ullage.autopsy_json import as_json as session_json
    from ullage.autopsy_json import total
    from ullage.pricing import PriceSheet

    sheet = PriceSheet.load(prices)
    sessions, refused = _open(files, sheet)
    if not sessions:
        raise UserError(f"autopsy: no file could be opened ({len(refused)} refused); expected at least one recording")
    if out is not None:
        from ullage.report.autopsy_page import autopsy_page
        from ullage.runfolder import write_whole

        write_whole(out, autopsy_page([one for _, one in sessions], sheet.dated, refused).encode())
        say(f"wrote {out}")
    if as_json:
        entries = [session_json(one, path) for path, one in sessions]
        show_json({"prices": sheet.dated, "sessions": entries, "total": total(entries), "refused": refused})
        return 0
    for path, one in sessions:
        _show(path, one)
    return 0


def _open(files: tuple[str, ...], sheet: Any) -> tuple[list[tuple[str, Autopsy]], list[str]]:
    """Every session of the files with its path; a bad file in a folder is a line, one that was named itself raises."""
    from ullage.autopsy import autopsy
    from ullage.tokens import Counter, tiktoken_counter
    from ullage.traces import load_traces

    loaded = load_traces(files)
    for line in (*(f"refused: {failure}" for failure in loaded.failures), *loaded.problems):
        say(line)
    counter = Counter(count_text=tiktoken_counter())
    sessions = [(trace.meta.source, autopsy(trace, counter, sheet)) for trace in loaded.traces if trace.calls]
    refused = [*loaded.failures, *(f"{t.meta.source or t.id}: it holds no model call" for t in loaded.traces if not t.calls)]
    return sessions, refused


def _show(path: str, one: Autopsy) -> None:
    """One session on a terminal: the bill, the breaks, the compactions, the habits."""
    from ullage.report import autopsy_words as words

    print()
    _tell(f"{Path(path).name or one.trace.id}: {words.lead(one)}")
    for card in words.cards(one):
        _tell(f"{card['figure']} {card['what']}{': ' + card['who'] if card['who'] else ''}", 2)
    for note in one.notes:
        say(f"note: {note}")
    _show_spending(one)
    _show_breaks(one)
    for number, report in enumerate(one.compactions, 1):
        print()
        _tell(words.compaction_title(number, report))
        _tell(f"request (not recorded): {words.request_text(report)}", 2)
        _tell(words.account_text(report.account), 2)
        _tell(words.forgotten_text(report.forgetting), 2)
        for row in map(words.lost_row, report.forgetting.lost[:FACTS]):
            _tell(f"{row['question']} {row['answer']} – {row['fate']}", 4)
        _tell(words.rate_text("looked at again", report.forgetting.looks, report.forgetting.look_rate), 2)
    _show_habits(one)
    say(words.law_text(one))


def _tell(text: str, indent: int = 0) -> None:
    """One line of the summary, safe whatever the recording holds."""
    from ullage.plain import one_line

    print(" " * indent + one_line(text, 400))


def _show_spending(one: Autopsy) -> None:
    from ullage.report import autopsy_words as words
    from ullage.tables import thousands

    rows = [(spent.reason, thousands(spent.tokens), words.money(spent.cost)) for spent in one.spending.reasons]
    if rows and one.spending.money is not None:
        print()
        show_table(("paid for", "tokens", "dollars"), rows, title="where the money went, OBSERVED", right=(1, 2))


def _show_breaks(one: Autopsy) -> None:
    from ullage.report import autopsy_words as words

    if not one.breaks:
        return
    print()
    rows = [(row["cause"], row["count"], row["tokens"], row["usd"], row["meaning"]) for row in words.cause_rows(one)]
    show_table(("cause", "breaks", "tokens", "dollars more", ""), rows, title="cache breaks, OBSERVED", right=(1, 2, 3))
    listed = [words.break_row(one, found) for found in one.breaks[:BREAKS]]
    keys = ("call", "cause", "gap", "left", "read", "usd", "detail")
    header = ("call", "cause", "pause", "left", "read", "dollars more", "")
    show_table(header, [tuple(row[key] for key in keys) for row in listed], right=(0, 2, 3, 4, 5))


def _show_habits(one: Autopsy) -> None:
    from ullage.report import autopsy_words as words

    rows = [words.habit_row(habit) for habit in one.habits]
    if rows:
        print()
        keys = ("name", "usd", "difference", "compactions", "detail")
        header = ("habit", "dollars", "difference", "compactions", "")
        show_table(
            header,
            [tuple(row[key] for key in keys) for row in rows],
            title="what another habit would have cost, MODELLED",
            right=(1, 2, 3),
        )

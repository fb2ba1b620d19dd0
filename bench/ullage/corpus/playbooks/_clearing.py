"""What the bank has of ``credit_note``: its own view of a month, and the log of the validator that bounced the file."""

from __future__ import annotations

import json
import random
from datetime import date, datetime, timedelta
from typing import Any

from msgspec import Struct, convert

from ullage.corpus.recording import EPOCH_MS
from ullage.corpus.workspace import Workspace

SCRIPT = """python - {month} <<'EOF' > "$TMPDIR/books.json"
import json, sys
sys.path.insert(0, ".")
from tallybook import load, statement
from tallybook.export import csv_lines
month = sys.argv[1]
vouchers = json.load(open("data/vouchers.json"))
documents = list(load.documents(f"data/{{month}}.jsonl"))
lines = list(csv_lines(documents, vouchers))[1:]
rows = [
    dict(number=d.number, kind=d.kind, customer=d.customer, currency=d.currency, on=str(d.on), count=len(d.lines), csv=line,
         lines=str(statement.line_total(d, vouchers)), head=str(statement.headline(d, vouchers)))
    for d, line in zip(documents, lines)
]
json.dump(rows, sys.stdout)
EOF"""
RATES = """python - <<'EOF' > "$TMPDIR/rates.json"
import importlib, json, sys
sys.path.insert(0, ".")
from tallybook.regions import REGIONS
json.dump({name: importlib.import_module(f"tallybook.regions.{name}").RATES for name in REGIONS}, sys.stdout)
EOF"""
SUMMER = "2026-07-01"
DECIMALS = {"ISK": 0, "KWD": 3}


class Row(Struct, frozen=True):
    """One document as the statement and the CSV of the moment show it."""

    number: str
    kind: str
    customer: str
    currency: str
    on: str
    count: int
    csv: str
    lines: str
    head: str

    @property
    def day(self) -> int:
        """Day of the month."""
        return date.fromisoformat(self.on).day


def _printed(workspace: Workspace, script: str, name: str) -> Any:
    """What a script leaves as JSON in the scratch folder."""
    workspace.run(script, EPOCH_MS)
    path = workspace.scratch / name
    found = json.loads(path.read_text(encoding="utf-8"))
    path.unlink()
    return found


def books(workspace: Workspace, month: str) -> list[Row]:
    """Every document of a month, by the code that stands in the workspace now."""
    return convert(_printed(workspace, SCRIPT.format(month=month), "books.json"), list[Row])


def sheet(workspace: Workspace, values: dict[str, str]) -> str:
    """The finance sheet for the summer: all rates as they are, and two categories of one region changed from July."""
    regions = _printed(workspace, RATES, "rates.json")
    lines = ["region;category;from;percent;signed"]
    for name, rates in regions.items():
        for category, steps in rates.items():
            lines += [f"{name};{category};{start};{points // 100},{points % 100:02d};yes" for start, points in steps]
            if name == values["region"] and category in ("postage", "books"):
                lines.append(f"{name};{category};{SUMMER};{int(values['new_postage']) + (category == 'books')},00;no")
    return "\n".join(lines) + "\n"


def validator(rows: list[Row], earlier: list[Row], values: dict[str, str], rng: random.Random) -> str:
    """The log of the validator: four or five lines a record, in the manner of such programs."""
    at = datetime(2026, 3, 1, 5, rng.randrange(60), rng.randrange(60))  # noqa: DTZ001 - the log names no zone
    seen = {row.number for row in earlier}
    name = f"tallybook-{values['month']}.csv"
    lines = [
        f"{at.isoformat(sep=' ')}.000 clr[{rng.randrange(2000, 9000)}] run {values['reference']} file={name} profile=STRICT-2 records={len(rows)}"
    ]
    for number, row in enumerate(rows, 1):
        at += timedelta(milliseconds=rng.randrange(12, 90))
        stamp = at.isoformat(sep=" ", timespec="milliseconds")
        lines += [f"{stamp} rec={number:05d} {text}" for text in _checks(row, row.number in seen, rng)]
    bad = sum(row.lines != row.head for row in rows)
    lines.append(
        f"{at.isoformat(sep=' ', timespec='milliseconds')} run {values['reference']} state=BOUNCED reason=sum-mismatch n={bad}"
    )
    return "\n".join(lines) + "\n"


def _checks(row: Row, seen: bool, rng: random.Random) -> list[str]:  # noqa: FBT001 - a property of the record
    amount = row.csv.split(";")[3]
    places = len(amount.partition(",")[2])
    wanted = DECIMALS.get(row.currency, 2)
    texts = [f"num={row.number} key={row.number}/{row.on} cust={row.customer} cur={row.currency} amt={amount} st=RECV"]
    if seen:
        texts.append(f"chk=NUMBER res=WARN code=W08 num={row.number} seen in an earlier file, other date")
    texts.append(f"chk=SCALE places={places} wanted={wanted} res={'OK' if places == wanted else 'FAIL code=E22'}")
    if row.lines != row.head:
        texts.append(f"chk=SUM lines={row.lines} head={row.head} tolerance=0 res=FAIL code=E17")
    else:
        texts.append(f"chk=SUM lines={row.lines} head={row.head} res=OK")
    if rng.random() < 0.05:
        texts.append(f"chk=PARTY cust={row.customer} cache=stale, asked registry again in {rng.randrange(40, 900)} ms res=OK")
    return texts

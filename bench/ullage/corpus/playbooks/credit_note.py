"""A bug hunt: a cent goes missing on credit notes."""

from __future__ import annotations

import random
import re
from datetime import date

from ullage.corpus.drawing import bars
from ullage.corpus.playbooks import _clearing
from ullage.corpus.playbooks._tallybook import REGIONS, currencies, month, region_tests, regions
from ullage.corpus.recording import EPOCH_MS, Playbook
from ullage.corpus.screenplay import Stage, data_file, filled, sections
from ullage.corpus.workspace import Workspace

PEOPLE = "Ingrid Solheim|Tomasz Bielak|Yara Haddad|Owen Pritchard|Mei Tanaka|Luca Ferrante|Nadia Rahimi|Piet Verhoeven".split("|")
BANKS = ("Nordhafen Bank", "Kestrel Clearing", "Banque Valmont", "Ostsee Giro")
DAY_MS = 86_400_000


class CreditNote(Playbook):
    """Two suspects are cleared before the sign of a remainder turns out to be the cause."""

    domain = "bug hunt in a code base"
    summary = "cents lost on credit notes; rounding and cache cleared; allocate() fixed; exports follow"
    project = "tallybook"
    split = "dev"
    offers = ("bash", "read", "write", "edit", "grep", "run_tests", "view_image")

    def prepare(self, workspace: Workspace, rng: random.Random) -> dict[str, str]:
        """The project with its history, three months of data and a chart."""
        values = _values(rng)
        files = {name: filled(text, values) for name, text in sections(data_file("credit_note.files")).items()}
        files |= {"tallybook/currencies.py": currencies(), "tests/test_regions.py": region_tests(rng)} | regions(rng)
        files["data/vouchers.json"] = '{"SPRING": 1250, "PARTNER": 733, "MOVE": 411}\n'
        for key in ("month_a", "month_b", "month"):
            first = date.fromisoformat(f"{values[key]}-01")
            busy = int(values["bad_day"]) if key == "month" else 0
            files[f"data/{values[key]}.jsonl"] = month(rng, first, values["customer"], values["frequent"], busy)
        _commit(workspace, files, values["person_a"])
        text = files[f"tallybook/regions/{values['region']}.py"]
        values["retention"] = text.rsplit("RETENTION_YEARS = ", 1)[1].strip()
        return values | _pasted(_clearing.books(workspace, values["month"]), rng)

    def play(self, stage: Stage) -> None:
        """The hunt, the corrections of the next hours, and the release."""
        workspace, values = stage.session.workspace, stage.session.values
        before = _clearing.books(workspace, values["month"])
        earlier = [row for key in ("month_a", "month_b") for row in _clearing.books(workspace, values[key])]
        stage.play("task", "orient", "rounding", "cache", "pattern", "fix", "correction", "customers")
        self._customers(stage)
        stage.play("customers_end", "export")
        workspace.put({"data/bank/validator.log": _clearing.validator(before, earlier, values, stage.session.rng)})
        stage.play("validator", "vouchers", "months_test", "audit_ask")
        self._audit(stage)
        stage.play("audit_end")
        workspace.put({"data/finance/sheet.csv": _clearing.sheet(workspace, values)})
        stage.play("sheet", "helper", "since_when")
        gaps = [sum(row.lines != row.head and row.day == day for row in before) for day in range(1, 29)]
        workspace.path("data/gaps.png").write_bytes(bars([1 + 2 * count for count in gaps]))
        stage.play("chart", "corrections", "release")
        stage.play("more_months")
        values["wrong_sum"] = str(sum(int(values[key]) for key in ("wrong", "wrong_a", "wrong_b")))
        stage.play("earlier_letters")
        self._earlier(stage)
        stage.play("earlier_end", "written_down", "facts_end", "close")

    def _customers(self, stage: Stage) -> None:
        """Statements of the affected customers that the old code lists, some at a time."""
        counted = re.findall(r"^ +(\d+) (C-\d+)$", stage.session.output, re.MULTILINE)
        listed = [customer for _, customer in counted if customer != stage.session.values["customer"]]
        month = stage.session.values["month"]
        credits_of: dict[str, int] = {}
        for some in _batches(listed, 7):
            text = stage.session.call(
                "bash", command=_loop(some, f"python -m tallybook.cli statement --customer $c --month {month}")
            )
            parts = re.split(r"^== (C-\d+)\n", text, flags=re.MULTILINE)
            credits_of |= {who: part.count(" credit ") for who, part in zip(parts[1::2], parts[2::2], strict=True)}
        best = min(credits_of, key=lambda customer: (-credits_of[customer], customer))
        stage.session.values |= {
            "listed": " ".join(sorted(listed)),
            "letters": str(len(listed)),
            "most_count": str(credits_of[best]),
        }

    def _earlier(self, stage: Stage) -> None:
        """The statements of two earlier months, for every customer with a credit note."""
        notes = stage.notes("letter_notes")
        for key in ("b", "a"):
            month = stage.session.values[f"month_{key}"]
            command = f"grep '\"kind\": \"credit\"' data/{month}.jsonl | grep -oE 'C-[0-9]+' | sort -u"
            stage.session.say(notes.pop(0))
            customers = stage.session.call("bash", command=command).split("\n")
            stage.session.values[f"letters_{key}"] = str(len(customers))
            for some in _batches(customers, 4):
                each = f'python -m tallybook.cli statement --customer $c --month {month}; grep "\\"$c\\"" data/{month}.jsonl'
                stage.session.call("bash", command=_loop(some, each))

    def _audit(self, stage: Stage) -> None:
        """Read every region; the lines that the summary will need are noted on the way."""
        for start in range(0, len(REGIONS), 3):
            some = REGIONS[start : start + 3]
            if stage.session.rng.random() < 0.3:
                stage.session.together([("read", {"path": f"tallybook/regions/{name}.py"}) for name in some])
                continue
            for name in some:
                stage.session.call("read", path=f"tallybook/regions/{name}.py")


def _batches(names: list[str], size: int) -> list[list[str]]:
    return [names[start : start + size] for start in range(0, len(names), size)]


def _loop(names: list[str], command: str) -> str:
    return f'for c in {" ".join(names)}; do echo "== $c"; {command}; done'


def _pasted(rows: list[_clearing.Row], rng: random.Random) -> dict[str, str]:
    """The two lines of the wrong CSV that accounting pastes: one in krónur, one in dinars."""
    found: dict[str, str] = {}
    for key, currency in (("isk", "ISK"), ("kwd", "KWD")):
        row = rng.choice([r for r in rows if r.currency == currency and r.kind == "invoice"])
        found |= {f"pasted_{key}": row.csv, f"{key}_number": row.number}
    return found | {"kwd_serial": found["kwd_number"].split("-")[1]}


def _values(rng: random.Random) -> dict[str, str]:
    months = rng.choice((("2025-11", "2025-12", "2026-01"), ("2025-12", "2026-01", "2026-02")))
    people = rng.sample(PEOPLE, 5)
    ticket = f"TB-{rng.randrange(1200, 4900)}"
    major, minor, patch = rng.randrange(2, 6), rng.randrange(3, 30), rng.randrange(1, 9)
    region = rng.choice(REGIONS)
    train = rng.choice(("osprey", "heron", "plover", "curlew"))
    return {
        "month": months[2],
        "month_b": months[1],
        "month_a": months[0],
        "tolerance_until": {"01": "December", "02": "January"}[months[2][5:]],
        "bank": rng.choice(BANKS),
        "customer": f"C-{rng.randrange(10_300, 10_900)}",
        "frequent": f"C-{rng.randrange(10_200, 10_290)}",
        "ticket": ticket,
        "branch_old": f"fix/{ticket.lower()}-cents",
        "branch_new": f"train/{train}-{rng.randrange(11, 49)}",
        "reviewer_old": people[0],
        "reviewer_new": people[1],
        "person_a": people[2],
        "person_b": people[3],
        "contact": people[4],
        "deadline_old": rng.choice(("Tuesday noon", "Wednesday 17:00", "Thursday 09:00")),
        "deadline_new": rng.choice(("Friday 14:30", "Saturday 08:00", "Friday 18:00")),
        "letters_old": rng.choice(("by e-mail", "through the customer portal")),
        "reference": f"{rng.choice(('RJ', 'VQ', 'KX'))}{rng.randrange(10_000, 99_999)}",
        "importer": rng.choice(("Greta Lindholm", "Samuel Osei", "Beatriz Nunes")),
        "sheet_until": rng.choice(("mid June", "the first week of June", "Whitsun")),
        "new_postage": str(rng.randrange(5, 9)),
        "archive": rng.choice(("the east archive", "the basement archive", "the tax office's own archive")),
        "old_incident": rng.choice(("November 2022", "January 2023", "August 2023", "October 2022")),
        "version": f"{major}.{minor}.{patch}",
        "next_version": f"{major}.{minor}.{patch + 1}",
        "final_version": f"{major}.{minor + 1}.0",
        "region": region,
        "country": region.split("_")[0].upper(),
        "bad_day": str(rng.randrange(4, 20)),
    }


def _commit(workspace: Workspace, files: dict[str, str], rounder: str) -> None:
    """A history in four steps, so that suspects can be looked up in it."""
    money, rates = files["tallybook/money.py"], files["tallybook/rates.py"]
    early = files | {
        "tallybook/money.py": money.replace("ROUND_HALF_EVEN", "ROUND_HALF_UP"),
        "tallybook/rates.py": rates.replace("@lru_cache(maxsize=4096)\n", "").replace("from functools import lru_cache\n", ""),
    }
    early = {name: text for name, text in early.items() if not name.startswith("data/")}
    steps = (
        ("Invoices, credit notes and statements", early, 400),
        ("Cache rates: a lookup was a third of a run", {"tallybook/rates.py": rates}, 310),
        ("Round half to even, as the auditors asked", {"tallybook/money.py": money}, 120),
        ("Documents of the last three months", {n: t for n, t in files.items() if n.startswith("data/")}, 1),
    )
    workspace.run("git init -q", EPOCH_MS)
    for message, changed, days in steps:
        workspace.put(changed)
        author = (
            f" --author='{rounder} <{rounder.split(maxsplit=1)[0].lower()}@example.org>'" if message.startswith("Round") else ""
        )
        workspace.run(f"git add -A && git commit -q -m '{message}'{author}", EPOCH_MS - days * DAY_MS)

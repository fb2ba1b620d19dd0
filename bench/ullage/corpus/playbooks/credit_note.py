"""A bug hunt: a cent goes missing on credit notes."""

from __future__ import annotations

import random
import re
from datetime import date

from ullage.corpus.drawing import bars
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
            files[f"data/{values[key]}.jsonl"] = month(rng, first, values["customer"])
        _commit(workspace, files)
        heights = [rng.randrange(2, 14) for _ in range(28)]
        heights[int(values["bad_day"]) - 1] = 21
        workspace.path("data/gaps.png").write_bytes(bars(heights))
        workspace.run("git add -A && git commit -q -m 'Chart of the gaps, for the ticket'", EPOCH_MS - DAY_MS)
        text = files[f"tallybook/regions/{values['region']}.py"]
        values["retention"] = text.rsplit("RETENTION_YEARS = ", 1)[1].strip()
        return values

    def play(self, stage: Stage) -> None:
        """The hunt, the corrections of the next hours, and the release."""
        stage.play("task", "orient", "rounding", "cache", "pattern", "fix", "correction", "customers")
        self._customers(stage)
        stage.play("customers_end", "export", "vouchers", "audit_ask")
        self._audit(stage)
        stage.play("audit_end", "helper", "chart", "release")
        stage.play("more_months")
        values = stage.session.values
        values["wrong_sum"] = str(sum(int(values[key]) for key in ("wrong", "wrong_a", "wrong_b")))
        stage.play("earlier_letters")
        self._earlier(stage)
        stage.play("earlier_end", "facts_end", "close")

    def _customers(self, stage: Stage) -> None:
        """One statement for each affected customer that the old code lists."""
        counted = re.findall(r"^ +(\d+) (C-\d+)$", stage.session.output, re.MULTILINE)
        listed = [customer for _, customer in counted if customer != stage.session.values["customer"]]
        month = stage.session.values["month"]
        credits_of = {}
        for customer in listed:
            text = stage.session.call("bash", command=f"python -m tallybook.cli statement --customer {customer} --month {month}")
            credits_of[customer] = text.count(" credit ")
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
            for customer in customers:
                command = f"python -m tallybook.cli statement --customer {customer} --month {month}; grep '\"{customer}\"' data/{month}.jsonl"
                stage.session.call("bash", command=command)

    def _audit(self, stage: Stage) -> None:
        """Read every region; the lines that the summary will need are noted on the way."""
        for start in range(0, len(REGIONS), 3):
            some = REGIONS[start : start + 3]
            if stage.session.rng.random() < 0.3:
                stage.session.together([("read", {"path": f"tallybook/regions/{name}.py"}) for name in some])
                continue
            for name in some:
                stage.session.call("read", path=f"tallybook/regions/{name}.py")


def _values(rng: random.Random) -> dict[str, str]:
    year, latest = rng.choice((2024, 2025)), rng.randrange(3, 12)
    people = rng.sample(PEOPLE, 4)
    kwd_serial = f"{rng.randrange(10, 260):06d}"
    ticket = f"TB-{rng.randrange(1200, 4900)}"
    major, minor, patch = rng.randrange(2, 6), rng.randrange(3, 30), rng.randrange(1, 9)
    region = rng.choice(REGIONS)
    days = rng.sample(("Tuesday noon", "Wednesday 17:00", "Thursday evening", "Friday 14:30", "Saturday 08:00"), 2)
    train = rng.choice(("osprey", "heron", "plover", "curlew"))
    return {
        "month": f"{year}-{latest:02d}",
        "month_b": f"{year}-{latest - 1:02d}",
        "month_a": f"{year}-{latest - 2:02d}",
        "bank": rng.choice(BANKS),
        "customer": f"C-{rng.randrange(10_300, 10_900)}",
        "ticket": ticket,
        "branch_old": f"fix/{ticket.lower()}-cents",
        "branch_new": f"train/{train}-{rng.randrange(11, 49)}",
        "reviewer_old": people[0],
        "reviewer_new": people[1],
        "person_a": people[2],
        "person_b": people[3],
        "deadline_old": days[0],
        "deadline_new": days[1],
        "old_incident": rng.choice(("November 2022", "January 2023", "August 2023", "October 2022")),
        "version": f"{major}.{minor}.{patch}",
        "next_version": f"{major}.{minor}.{patch + 1}",
        "final_version": f"{major}.{minor + 1}.0",
        "region": region,
        "country": region.split("_")[0].upper(),
        "bad_day": str(rng.randrange(4, 20)),
        "pasted_isk": f"IS{rng.randrange(10, 99)}-{rng.randrange(10, 260):06d};C-{rng.randrange(10_100, 10_190)};{rng.randrange(900, 9000)},00;ISK",
        "kwd_serial": kwd_serial,
        "pasted_kwd": f"AT{rng.randrange(10, 99)}-{kwd_serial};C-{rng.randrange(10_100, 10_190)};{rng.randrange(20, 300)},{rng.randrange(10, 99)};KWD",
    }


def _commit(workspace: Workspace, files: dict[str, str]) -> None:
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
        ("Documents of the last three months", {n: t for n, t in files.items() if n.startswith("data/")}, 9),
    )
    workspace.run("git init -q", EPOCH_MS)
    for message, changed, days in steps:
        workspace.put(changed)
        workspace.run(f"git add -A && git commit -q -m '{message}'", EPOCH_MS - days * DAY_MS)

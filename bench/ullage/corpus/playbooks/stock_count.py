"""Data reconciliation: the stock count of thirty stores against the books."""

from __future__ import annotations

import random
import re

from ullage.corpus.playbooks import _stock_rooms
from ullage.corpus.recording import Playbook
from ullage.corpus.screenplay import Stage, data_file, filled, sections
from ullage.corpus.workspace import Workspace

ROLES = ("Ines Almeida", "Georg Pichler", "Hanna Virtanen", "Said Rahmani", "Clara Dubois", "Pavel Novotny")
FIRST, SECOND = 10, 20
"""After how many stores the user has a word."""


class StockCount(Playbook):
    """Packs taken for pieces, zones scanned twice, sales after the freeze; tolerance and freeze change on the way."""

    domain = "data reconciliation"
    summary = "thirty stores counted against their books, difference by difference"
    project = "stock-count"
    split = "test"
    offers = ("bash", "read", "write", "edit", "grep")

    def prepare(self, workspace: Workspace, rng: random.Random) -> dict[str, str]:
        """Stores, articles and rules."""
        values = _values(rng)
        sold = _stock_rooms.articles(rng)
        files = {name: filled(body, values) for name, body in sections(data_file("stock_count.files")).items()}
        files["articles.csv"] = "article,pack,price\n" + "".join(f"{name},{pack},{price}\n" for name, pack, price in sold)
        rows = []
        for number in range(1, _stock_rooms.STORES + 1):
            code = f"S{number:02d}"
            made, _ = _stock_rooms.store(code, sold, rng)
            files |= made
            rows.append(
                f"{code},{rng.choice(('north', 'coast', 'valley', 'city'))},{rng.choice(('store lead', 'deputy', 'area lead'))}"
            )
        files["stores.csv"] = "store,region,signed_by\n" + "\n".join(rows) + "\n"
        workspace.put(files)
        return values

    def play(self, stage: Stage) -> None:
        """Store by store; what the tools print says what is wrong."""
        stage.play("task")
        notes = stage.notes("store_notes")
        for number in range(1, _stock_rooms.STORES + 1):
            code = f"S{number:02d}"
            if code == stage.session.values["left_out"]:
                continue
            if number % 2 == 0 and notes:
                stage.session.say(notes.pop(0))
            self._store(stage, code)
            if number == FIRST:
                stage.play("after_first")
            if number == SECOND:
                self._totals(stage, "second")
                stage.play("after_second")
        self._totals(stage, "last")
        stage.play("finish", "close")

    def _store(self, stage: Stage, code: str) -> None:
        """Compare, look where it comes from, correct what a document explains, compare again."""
        call = stage.session.call
        before = call("bash", command=f"python tools/compare.py {code} 45")
        zones = call("bash", command=f"python tools/zones.py {code}")
        lines = [f"drop {zone} {first}" for zone, first in re.findall(r"^(Z\d\d) .*?(sc\d), sc\d.*TWICE$", zones, re.MULTILINE)]
        for zone in re.findall(r"^(Z\d\d) ", zones, re.MULTILINE)[:: stage.session.rng.choice((3, 4))]:
            call("bash", command=f"grep '^{zone},' {code}/count.csv | head -40")
        if lines:
            call("write", path=f"{code}/corrections.txt", content="\n".join(lines) + "\n")
            call("bash", command=f"python tools/post.py {code} {code}/corrections.txt")
            before = call("bash", command=f"python tools/compare.py {code} 45")
        packs = [(name, pack) for name, have, want, _gap, pack, _value in _gaps(before) if have * pack == want and have]
        if packs:
            call(
                "bash", command=f"grep -nE '{'|'.join(name for name, _ in packs)}' {code}/count.csv {code}/book.csv articles.csv"
            )
        later = [f"times {name} {pack}" for name, pack in packs]
        moves = call("read", path=f"{code}/moves.csv")
        sold = re.findall(r"\d\d:\d\d,([a-z]+-\d+),-(\d+),sold after the freeze", moves)
        later += [f"add {name} {pieces}" for name, pieces in sold]
        call("bash", command=f"head -60 {code}/book.csv | column -c 110; wc -l {code}/*.csv")
        call("write", path=f"{code}/corrections_2.txt", content="\n".join(later) + "\n")
        call("bash", command=f"python tools/post.py {code} {code}/corrections_2.txt")
        after = call("bash", command=f"python tools/compare.py {code} 45")
        rest = re.search(r"(\d+) articles differ, value (\d+), book \d+, ([\d.]+) per mille", after)
        if rest and float(rest[3]) > 9:
            raise ValueError(f"{code}: {rest[3]} per mille stay unexplained: {after[-300:]}")
        for name, *_ in _gaps(after)[:3]:
            call("bash", command=f"grep -rn '^[^,]*,*{name},' {code}/ | head -30; grep -c {name} {code}/moves.csv")

    def _totals(self, stage: Stage, key: str) -> None:
        """All stores that are done, in one list."""
        output = stage.session.call(
            "bash", command="for s in S*/; do [ -f $s/count.fixed.csv ] && python tools/compare.py ${s%/} 0 | tail -1; done"
        )
        rows = re.findall(r"^(S\d\d): \d+ articles differ, value (\d+), book \d+, ([\d.]+) per mille", output, re.MULTILINE)
        worst = max(rows, key=lambda row: (float(row[2]), row[0]))
        stage.session.values |= {
            f"{key}_done": str(len(rows)),
            f"{key}_value": str(sum(int(row[1]) for row in rows)),
            f"{key}_worst": worst[0],
            f"{key}_mille": worst[2],
            f"{key}_clean": str(sum(row[1] == "0" for row in rows)),
        }


def _gaps(text: str) -> list[tuple[str, int, int, int, int, int]]:
    found = re.findall(r"^([a-z]+-\d+) +(\d+) +(\d+) +(-?\d+) +(\d+) +(\d+)$", text, re.MULTILINE)
    return [(name, int(a), int(b), int(c), int(d), int(e)) for name, a, b, c, d, e in found]


def _values(rng: random.Random) -> dict[str, str]:
    people = rng.sample(ROLES, 5)
    return {
        "year": str(rng.randrange(2023, 2027)),
        "last_year": rng.choice(("2019", "2020", "2021")),
        "head": people[0],
        "auditor_old": people[1],
        "auditor_new": people[2],
        "area": people[3],
        "tolerance_old": rng.choice(("8", "9")),
        "tolerance_new": rng.choice(("5", "6")),
        "freeze_old": "17:30",
        "freeze_new": rng.choice(("17:45", "18:00")),
        "left_out": f"S{rng.randrange(12, 19):02d}",
        "water": rng.choice(("a burst pipe", "a roof leak", "a sprinkler test")),
        "report": f"report-{rng.choice(('count', 'stock'))}-{rng.randrange(100, 999)}.md",
        "due_old": rng.choice(("Monday", "Tuesday")),
        "due_new": rng.choice(("Thursday", "Friday")),
        "insurer": rng.choice(("Havn Mutual", "Greif", "Altus Re")),
        "claim": f"K-{rng.randrange(20000, 90000)}",
    }

"""Data reconciliation: the stock count of forty stores against the books."""

from __future__ import annotations

import random
import re

from ullage.corpus.playbooks import _stock_rooms
from ullage.corpus.playbooks._stock_clerk import Clerk
from ullage.corpus.playbooks._stock_rooms import Plan, Transfer
from ullage.corpus.recording import Playbook
from ullage.corpus.screenplay import Stage, data_file, filled, sections
from ullage.corpus.workspace import Workspace

ROLES = ("Ines Almeida", "Georg Pichler", "Hanna Virtanen", "Said Rahmani", "Clara Dubois", "Pavel Novotny", "Milo Sanders")
BY_HAND, WORDS = 8, {4: "word", 8: "tool", 10: "after_first", 14: "window", 20: "after_second", 29: "middle"}
"""Stores reconciled before a script is written; and after how many stores which scene comes."""
OCCASIONS = ("twice", "packs", "sales", "checks", "reopened", "whole", "counterpart", "left", "clean")


class StockCount(Playbook):
    """Packs taken for pieces, zones scanned twice, sales around the freeze, unbooked transfers; two rules change on the way."""

    domain = "data reconciliation"
    summary = "forty stores counted against their books, difference by difference"
    project = "stock-count"
    weekday = 2
    week = 0
    split = "test"
    offers = ("bash", "read", "write", "edit", "grep")

    def prepare(self, workspace: Workspace, rng: random.Random) -> dict[str, str]:
        """Stores, articles, transfer notes and rules."""
        values = _values(rng)
        sold = _stock_rooms.articles(rng)
        parts = sections(data_file("stock_count.files"))
        remarks = parts.pop("remarks").strip().split("\n")
        files = {name: filled(body, values) for name, body in parts.items()}
        files["articles.csv"] = "article,pack,price\n" + "".join(f"{name},{pack},{price}\n" for name, pack, price in sold)
        plan = _plan(values, sold, rng)
        files |= _stock_rooms.notes(plan, sold, rng)
        rows = []
        for number in range(1, _stock_rooms.STORES + 1):
            code = f"S{number:02d}"
            files |= _stock_rooms.store(code, sold, plan, remarks, rng)
            region, role = rng.choice(("north", "coast", "valley", "city")), rng.choice(("store lead", "deputy", "area lead"))
            rows.append(f"{code},{region},{role}")
        files["stores.csv"] = "store,region,signed_by\n" + "\n".join(rows) + "\n"
        workspace.put(files)
        return values

    def play(self, stage: Stage) -> None:
        """Store by store; what the tools print says what is wrong."""
        stage.play("task")
        clerk = Clerk(stage, {name: _raw(stage, f"{name}_notes") for name in OCCASIONS})
        for number in range(1, _stock_rooms.STORES + 1):
            code = f"S{number:02d}"
            if code != stage.session.values["left_out"]:
                clerk.store(code, by_hand=number <= BY_HAND)
            if number in WORDS:
                self._word(stage, clerk, WORDS[number])
        if clerk.waiting:
            clerk.record()
        _totals(stage, "last")
        stage.play("finish", "close")

    def _word(self, stage: Stage, clerk: Clerk, scene: str) -> None:
        """A break in the round: figures where the scene needs them, then the scene."""
        if clerk.waiting:
            clerk.record()
        if scene == "after_second":
            _totals(stage, "second")
        stage.play(scene)
        if scene == "after_second":
            clerk.take_back()
            stage.play("taken_back")


def _raw(stage: Stage, name: str) -> list[str]:
    """Remarks that are filled when they are said."""
    stage.played.add(name)
    return [part.strip() for part in stage.scenes[name].split("\n\n") if part.strip()]


def _totals(stage: Stage, key: str) -> None:
    """All stores that are done, in one list."""
    output = stage.session.call(
        "bash", command="for s in S*/; do [ -f $s/count.fixed.csv ] && python tools/compare.py ${s%/} 0 | tail -1; done; true"
    )
    rows = re.findall(r"^(S\d\d): \d+ articles differ, value (\d+), book \d+, ([\d.]+) per mille", output, re.MULTILINE)
    worst = max(rows, key=lambda row: (float(row[2]), row[0]))
    limit = float(stage.session.values["tolerance_new"])
    stage.session.values |= {
        f"{key}_done": str(len(rows)),
        f"{key}_value": str(sum(int(row[1]) for row in rows)),
        f"{key}_worst": worst[0],
        f"{key}_mille": worst[2],
        f"{key}_clean": str(sum(row[1] == "0" for row in rows)),
        f"{key}_above": str(sum(float(row[2]) > limit for row in rows)),
    }


def _plan(values: dict[str, str], sold: _stock_rooms.Sold, rng: random.Random) -> Plan:
    """Which stores are special; none of them is the one that is left out."""
    early = (f"S{rng.randrange(3, 6):02d}", f"S{rng.randrange(19, 21):02d}", f"S{rng.randrange(33, 37):02d}")
    heavy = {f"S{rng.randrange(6, 9):02d}": 7.2, f"S{rng.randrange(24, 28):02d}": rng.choice((11.5, 13.0, 14.5))}
    pairs = ((1, 9), (10, 30), (22, 38), (31, 39))
    names = rng.sample(sorted(name for name, pack, _ in sold if pack > 6), len(pairs))
    numbers = rng.sample(range(1000, 1999), len(pairs))
    moved = tuple(
        Transfer(f"T-{number}", f"S{source:02d}", f"S{target:02d}", name, rng.choice((14, 18, 22, 26)))
        for number, (source, target), name in zip(numbers, pairs, names, strict=True)
    )
    if values["left_out"] in {*early, *heavy}:
        raise ValueError(f"{values['left_out']} is left out and special at once")
    return Plan(early=frozenset(early), heavy=heavy, transfers=moved)


def _values(rng: random.Random) -> dict[str, str]:
    people = rng.sample(ROLES, 6)
    return {
        "year": str(rng.randrange(2025, 2027)),
        "last_year": rng.choice(("2019", "2020", "2021")),
        "head": people[0],
        "auditor_old": people[1],
        "auditor_new": people[2],
        "area": people[3],
        "finance": people[4],
        "window_person": people[5],
        "tolerance_old": rng.choice(("8", "9")),
        "tolerance_new": rng.choice(("5", "6")),
        "freeze_old": "17:30",
        "freeze_new": rng.choice(("17:45", "18:00")),
        "left_out": f"S{rng.randrange(12, 18):02d}",
        "water": rng.choice(("a burst pipe", "a roof leak", "a sprinkler test")),
        "report": f"report-{rng.choice(('count', 'stock'))}-{rng.randrange(100, 999)}.md",
        "due_old": rng.choice(("Monday", "Tuesday")),
        "due_new": rng.choice(("Thursday", "Friday")),
        "insurer": rng.choice(("Havn Mutual", "Greif", "Altus Re")),
        "claim": f"K-{rng.randrange(20000, 90000)}",
        "quarrel": rng.choice(("the coast and the valley", "the north and the city", "the valley and the north")),
        "rival": rng.choice(("bonuses", "parking spaces", "the new van")),
        "second_day": rng.choice(("right after lunch", "within the hour")),
    }

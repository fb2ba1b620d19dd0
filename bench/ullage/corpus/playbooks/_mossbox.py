"""Generates the database of ``churn_autumn``: a year of a plant-box subscription in which one carrier spoils three regions."""

from __future__ import annotations

import random
import sqlite3
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path

REGIONS = (
    "Alben Birkental Corvia Dornsee Elmshof Farnau Gelsen Hartwald Ilmtal Jorn Kalkfeld Lindau-Ost Moorend Niedersee Ostrand Pfalzgrund "
    "Quellbach Rehheim Seeblick Talburg"
).split()
CARRIERS = ("Bluefreight", "Dovetail", "Heidepost", "Kranich", "Marlin", "Rapido")
REASONS = ("too expensive", "box arrived late", "plants arrived damaged", "no time for plants", "moving abroad", "other", "")
CHANNELS = ("search", "friends", "fair", "newsletter", "partner")
START = date(2025, 1, 6)
"""A Monday: the first delivery week."""
WEEKS = 48

SCHEMA = """
CREATE TABLE regions (code INTEGER PRIMARY KEY, name TEXT, depot TEXT);
CREATE TABLE customers (id INTEGER PRIMARY KEY, region INTEGER, joined TEXT, channel TEXT, plan TEXT, kind TEXT);
CREATE TABLE assignments (region INTEGER, carrier TEXT, valid_from TEXT);
CREATE TABLE boxes (id INTEGER PRIMARY KEY, customer INTEGER, week INTEGER, promised TEXT, delivered TEXT, carrier TEXT, batch TEXT);
CREATE TABLE cancellations (customer INTEGER, on_day TEXT, reason TEXT, note TEXT);
CREATE TABLE pauses (customer INTEGER, from_day TEXT, to_day TEXT);
CREATE TABLE prices (plan TEXT, minor INTEGER, valid_from TEXT);
CREATE TABLE tickets (id INTEGER PRIMARY KEY, customer INTEGER, on_day TEXT, topic TEXT, text TEXT);
CREATE TABLE imports (batch TEXT, loaded_at TEXT, rows INTEGER, source TEXT);
"""
TEXTS = (
    "the box came on {day} instead of {other}, the {plant} was limp",
    "driver rang at the wrong house again, {day} evening",
    "where is my box? tracking says depot since {day}",
    "please move my delivery from {day} to {other}",
    "the {plant} has flies, can I get another one",
    "charged twice in one month?",
    "can I skip the box while I am away until {day}",
    "love the {plant}, thank you",
    "label unreadable, neighbour took the box on {day}",
)
PLANTS = "calathea pilea fern ivy fig begonia monstera pothos oxalis palm".split()
DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday".split()


@dataclass(frozen=True, slots=True)
class Year:
    """What the plot fixes: the bad carrier, its regions, the week it takes over, the batch that came twice."""

    bad: str
    regions: tuple[int, ...]
    takeover: int
    price_week: int
    batch: str


def build(path: Path, year: Year, rng: random.Random, customers: int = 2400) -> None:
    """Write the database."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with sqlite3.connect(path) as db:
        db.executescript(SCHEMA)
        _fixed(db, year, rng)
        for identity in range(1, customers + 1):
            _customer(db, identity, year, rng)
        _double(db, year, rng)
    db.close()


def _fixed(db: sqlite3.Connection, year: Year, rng: random.Random) -> None:
    depots = ("north", "river", "old mill", "airport")
    db.executemany("INSERT INTO regions VALUES (?,?,?)", [(n, name, rng.choice(depots)) for n, name in enumerate(REGIONS, 1)])
    for region in range(1, len(REGIONS) + 1):
        usual = rng.choice([c for c in CARRIERS if c != year.bad])
        db.execute("INSERT INTO assignments VALUES (?,?,?)", (region, usual, START.isoformat()))
        if region in year.regions:
            db.execute("INSERT INTO assignments VALUES (?,?,?)", (region, year.bad, _monday(year.takeover)))
    for plan, before, after in (("sprout", 1490, 1690), ("bush", 2490, 2790), ("jungle", 3990, 4390)):
        db.execute("INSERT INTO prices VALUES (?,?,?)", (plan, before, START.isoformat()))
        db.execute("INSERT INTO prices VALUES (?,?,?)", (plan, after, _monday(year.price_week)))


def _customer(db: sqlite3.Connection, identity: int, year: Year, rng: random.Random) -> None:
    region = rng.randrange(1, len(REGIONS) + 1)
    first = max(0, rng.randrange(-30, WEEKS - 4))
    kind = rng.choices(("regular", "trial", "staff"), (88, 9, 3))[0]
    plan = rng.choices(("sprout", "bush", "jungle"), (5, 4, 1))[0]
    db.execute("INSERT INTO customers VALUES (?,?,?,?,?,?)", (identity, region, _monday(first), rng.choice(CHANNELS), plan, kind))
    usual = db.execute("SELECT carrier FROM assignments WHERE region = ? ORDER BY valid_from", (region,)).fetchall()[0][0]
    recent: list[bool] = []
    for week in range(first, WEEKS, 2):
        bad = region in year.regions and week >= year.takeover
        delay = _delay(bad, rng)
        recent = [*recent[-3:], delay > 1]
        late = sum(recent)
        promised = START + timedelta(weeks=week, days=identity % 6)
        batch = f"B-{week:02d}{'ab'[week // 2 % 2]}"
        db.execute(
            "INSERT INTO boxes (customer, week, promised, delivered, carrier, batch) VALUES (?,?,?,?,?,?)",
            (identity, week, str(promised), str(promised + timedelta(days=delay)), year.bad if bad else usual, batch),
        )
        if rng.random() < 0.05 + 0.25 * (delay > 1):
            _ticket(db, identity, promised, delay, rng)
        if _leaves(kind, late, week, year, rng):
            _cancel(db, identity, promised, late, rng)
            return
        if rng.random() < 0.012:
            db.execute("INSERT INTO pauses VALUES (?,?,?)", (identity, str(promised), str(promised + timedelta(days=28))))


def _delay(bad: bool, rng: random.Random) -> int:  # noqa: FBT001 - who carries it
    if rng.random() < 0.004:
        return rng.randrange(15, 60)
    return rng.choices((0, 1, 2, 3, 5), (46, 16, 18, 13, 7) if bad else (80, 13, 4, 2, 1))[0]


def _leaves(kind: str, late: int, week: int, year: Year, rng: random.Random) -> bool:
    chance = {"regular": 0.010, "trial": 0.10, "staff": 0.002}[kind]
    if week == year.price_week:
        chance += 0.004
    return rng.random() < chance + (0.15 if late >= 2 and kind != "staff" else 0.0)


def _cancel(db: sqlite3.Connection, identity: int, day: date, late: int, rng: random.Random) -> None:
    reason = rng.choices(REASONS, (3, 5, 1, 1, 0, 2, 6) if late >= 2 else (4, 1, 1, 4, 1, 3, 5))[0]
    note = rng.choice(
        ("", "", "", "sorry to go", "maybe next spring", "second time I write this", "ask my neighbour, same story")
    )
    db.execute(
        "INSERT INTO cancellations VALUES (?,?,?,?)", (identity, str(day + timedelta(days=rng.randrange(1, 9))), reason, note)
    )


def _ticket(db: sqlite3.Connection, identity: int, day: date, delay: int, rng: random.Random) -> None:
    topic = "delivery" if delay > 1 else rng.choice(("delivery", "plants", "billing", "other"))
    text = rng.choice(TEXTS[:4] if topic == "delivery" else TEXTS[4:])
    text = text.format(day=rng.choice(DAYS), other=rng.choice(DAYS), plant=rng.choice(PLANTS))
    db.execute(
        "INSERT INTO tickets (customer, on_day, topic, text) VALUES (?,?,?,?)",
        (identity, str(day + timedelta(days=delay)), topic, text),
    )


def _double(db: sqlite3.Connection, year: Year, rng: random.Random) -> None:
    """The batch that was loaded twice: its boxes stand in the table two times, with new ids."""
    copied = "INSERT INTO boxes (customer, week, promised, delivered, carrier, batch) SELECT customer, week, promised, delivered, carrier, batch FROM boxes WHERE batch = ?"
    db.execute(copied, (year.batch,))
    rows = db.execute("SELECT batch, min(promised), count(*) FROM boxes GROUP BY batch ORDER BY min(promised)").fetchall()
    for batch, day, count in rows:
        times = 2 if batch == year.batch else 1
        for turn in range(times):
            stamp = f"{day}T0{4 + turn}:{rng.randrange(10, 59)}:00Z"
            db.execute("INSERT INTO imports VALUES (?,?,?,?)", (batch, stamp, count // times, "carrier-feed"))


def _monday(week: int) -> str:
    return str(START + timedelta(weeks=week))

"""Generates the database of ``churn_autumn``: a year of a plant-box subscription in which one carrier spoils three regions."""

from __future__ import annotations

import random
import re
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
DELAYED = (
    ("where is my box?", "second time now,", "hello,", "sorry to write again,", "my box again:", "please help,", ""),
    (
        "tracking says depot since {day}",
        "the tracking has not moved since {day}",
        "it sat in the depot until {day}",
        "it came on {day} instead of {other}",
        "every day the tracking says tomorrow",
    ),
    (
        "and the {plant} was limp",
        "the {plant} has lost its leaves",
        "I stayed at home twice for nothing",
        "the soil was dry as dust",
        "nobody answers the phone",
        "there will be no third time",
        "",
    ),
)
"""A ticket about a late box is one of each: how it begins, what happened, what came of it."""
DELAYED_ELSEWHERE = (
    DELAYED[0],
    ("it came on {day} instead of {other}", "two days late, {day}", "the van did not come on {day}"),
    DELAYED[2],
)
TEXTS = {
    "delivery": (
        "please move my delivery from {day} to {other}",
        "can I skip the box while I am away until {day}",
        "driver rang at the wrong house again, {day} evening",
        "neighbour took the box on {day}, all fine, only so you know",
        "new address from {day} on, where do I change it",
        "could the driver use the side door on {day}",
        "label unreadable, the post office brought it on {day}",
    ),
    "plants": (
        "the {plant} has flies, can I get another one",
        "two leaves of the {plant} are brown, is that normal",
        "how much water does a {plant} want in winter",
        "the pot of the {plant} was cracked",
        "no {plant} next time please, the cat eats it",
        "is {plant} poisonous for dogs",
    ),
    "billing": (
        "charged twice in one month?",
        "the invoice still shows my old address",
        "can I pay by card from {day} on",
        "my voucher for a {plant} is not on the bill",
    ),
    "other": (
        "love the {plant}, thank you",
        "may I give my {plant} to a school",
        "do you take the boxes back on {day}",
        "photo of the {plant} attached, it flowers!",
    ),
}
NOTES = (
    "sorry to go",
    "maybe next spring",
    "moving in with somebody who has plants enough",
    "the balcony is full",
    "too much travelling",
    "it was a nice present",
    "baby instead of plants",
    "will come back when I have light",
)
LATE_NOTES = (
    "second time I write this",
    "ask my neighbour, same story",
    "plants cannot wait four days in a van",
    "nobody answered my tickets",
    "three boxes, three times late",
    "I like you, I do not like your van",
    "dead plants are no present",
    "was fine until summer",
)
PLANTS = "calathea pilea fern ivy fig begonia monstera pothos oxalis palm".split()
DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday".split()
AN = re.compile(r"\ba (?=[aeiou])")


@dataclass(frozen=True, slots=True)
class Year:
    """What the plot fixes: the bad carrier, its regions, the week it takes over, the batch that came twice.

    ``depots`` holds one depot for each region.
    """

    bad: str
    regions: tuple[int, ...]
    takeover: int
    price_week: int
    batch: str
    depots: tuple[str, ...]


def missed_days(year: Year, rng: random.Random) -> frozenset[tuple[int, date]]:
    """Regions and days on which the truck of the bad carrier comes after the belt has closed."""
    days = [START + timedelta(weeks=week, days=n) for week in range(year.takeover, WEEKS) for n in range(6)]
    return frozenset((region, day) for region in year.regions for day in days if rng.random() < 0.47)


def build(path: Path, year: Year, missed: frozenset[tuple[int, date]], rng: random.Random, customers: int = 2400) -> None:
    """Write the database."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with sqlite3.connect(path) as db:
        db.executescript(SCHEMA)
        _fixed(db, year, rng)
        for identity in range(1, customers + 1):
            _customer(db, identity, year, missed, rng)
        _double(db, year, rng)
    db.close()


def _fixed(db: sqlite3.Connection, year: Year, rng: random.Random) -> None:
    places = [(n, name, depot) for n, (name, depot) in enumerate(zip(REGIONS, year.depots, strict=True), 1)]
    db.executemany("INSERT INTO regions VALUES (?,?,?)", places)
    for region in range(1, len(REGIONS) + 1):
        usual = rng.choice([c for c in CARRIERS if c != year.bad])
        db.execute("INSERT INTO assignments VALUES (?,?,?)", (region, usual, START.isoformat()))
        if region in year.regions:
            db.execute("INSERT INTO assignments VALUES (?,?,?)", (region, year.bad, _monday(year.takeover)))
    for plan, before, after in (("sprout", 1490, 1690), ("bush", 2490, 2790), ("jungle", 3990, 4390)):
        db.execute("INSERT INTO prices VALUES (?,?,?)", (plan, before, START.isoformat()))
        db.execute("INSERT INTO prices VALUES (?,?,?)", (plan, after, _monday(year.price_week)))


def _customer(db: sqlite3.Connection, identity: int, year: Year, missed: frozenset[tuple[int, date]], rng: random.Random) -> None:
    region = rng.randrange(1, len(REGIONS) + 1)
    first = max(0, rng.randrange(-30, WEEKS - 4))
    kind = rng.choices(("regular", "trial", "staff"), (88, 9, 3))[0]
    plan = rng.choices(("sprout", "bush", "jungle"), (5, 4, 1))[0]
    db.execute("INSERT INTO customers VALUES (?,?,?,?,?,?)", (identity, region, _monday(first), rng.choice(CHANNELS), plan, kind))
    usual = db.execute("SELECT carrier FROM assignments WHERE region = ? ORDER BY valid_from", (region,)).fetchall()[0][0]
    recent: list[bool] = []
    for week in range(first, WEEKS, 2):
        bad = region in year.regions and week >= year.takeover
        promised = START + timedelta(weeks=week, days=identity % 6)
        delay = _delay((region, promised) in missed, rng)
        recent = [*recent[-3:], delay > 1]
        late = sum(recent)
        batch = f"B-{week:02d}{'ab'[week // 2 % 2]}"
        db.execute(
            "INSERT INTO boxes (customer, week, promised, delivered, carrier, batch) VALUES (?,?,?,?,?,?)",
            (identity, week, str(promised), str(promised + timedelta(days=delay)), year.bad if bad else usual, batch),
        )
        if rng.random() < 0.05 + 0.25 * (delay > 1):
            _ticket(db, identity, promised, delay, DELAYED if bad else DELAYED_ELSEWHERE, rng)
        if _leaves(kind, late, week, year, rng):
            _cancel(db, identity, promised, late, rng)
            return
        if rng.random() < 0.012:
            db.execute("INSERT INTO pauses VALUES (?,?,?)", (identity, str(promised), str(promised + timedelta(days=28))))


def _delay(missed: bool, rng: random.Random) -> int:  # noqa: FBT001 - whether the box missed the belt
    if rng.random() < 0.004:
        return rng.randrange(15, 60)
    return rng.choices((0, 1, 2, 3, 5), (8, 15, 41, 25, 11) if missed else (80, 13, 4, 2, 1))[0]


def _leaves(kind: str, late: int, week: int, year: Year, rng: random.Random) -> bool:
    chance = {"regular": 0.010, "trial": 0.10, "staff": 0.002}[kind]
    if week in (year.price_week, year.price_week + 1):
        chance += 0.018
    return rng.random() < chance + (0.15 if late >= 2 and kind != "staff" else 0.0)


def _cancel(db: sqlite3.Connection, identity: int, day: date, late: int, rng: random.Random) -> None:
    reason = rng.choices(REASONS, (3, 5, 1, 1, 0, 2, 6) if late >= 2 else (4, 1, 1, 4, 1, 3, 5))[0]
    note = rng.choice(LATE_NOTES if late >= 2 else NOTES) if rng.random() < 0.6 else ""
    db.execute(
        "INSERT INTO cancellations VALUES (?,?,?,?)", (identity, str(day + timedelta(days=rng.randrange(1, 9))), reason, note)
    )


def _ticket(
    db: sqlite3.Connection, identity: int, day: date, delay: int, parts: tuple[tuple[str, ...], ...], rng: random.Random
) -> None:
    topic = "delivery" if delay > 1 else rng.choice(("delivery", "plants", "billing", "other"))
    text = " ".join(filter(None, map(rng.choice, parts))) if delay > 1 else rng.choice(TEXTS[topic])
    first, second = rng.sample(DAYS, 2)
    text = AN.sub("an ", text.format(day=first, other=second, plant=rng.choice(PLANTS)))
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

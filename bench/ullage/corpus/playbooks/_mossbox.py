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
OPENINGS = ("", "hello, ", "please help, ", "where is my box? ")
OPENINGS_AGAIN = ("second time now, ", "sorry to write again, ", "my box again: ", "")
"""How a ticket about a late box begins, and how it does when an earlier box was late too."""
NO_THIRD = ", there will be no third time"
"""What only those add who were let down before."""
WAITING = (
    "tracking says depot since {promised}",
    "the tracking has not moved since {promised}",
    "every day the tracking says tomorrow",
)
WAITING_ELSEWHERE = ("the van did not come on {promised}", "nothing on {promised} and nothing since")
WAITED = (", I stayed at home twice for nothing", ", nobody answers the phone", ", can I have my money back", "")
"""Tickets of those whose box is still on its way, and what they add."""
ARRIVED = ("it sat in the depot until {delivered}", "it came on {delivered} instead of {promised}")
ARRIVED_ELSEWHERE = ("it came on {delivered} instead of {promised}", "{count} days late, {delivered}")
SUFFERED = (
    " and the {plant} was limp",
    ", the {plant} has lost its leaves",
    ", the soil was dry as dust",
    ", I stayed at home twice for nothing",
    "",
)
TEXTS = {
    "delivery": (
        "please move my delivery from {promised} to {other}",
        "can I skip the box while I am away until {other}",
        "driver rang at the wrong house again, {delivered} evening",
        "neighbour took the box on {delivered}, all fine, only so you know",
        "new address from {other} on, where do I change it",
        "could the driver use the side door on {promised}",
        "label unreadable, the post office brought it on {delivered}",
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
        "can I pay by card from {other} on",
        "my voucher for a {plant} is not on the bill",
    ),
    "other": (
        "love the {plant}, thank you",
        "may I give my {plant} to a school",
        "do you take the boxes back on {promised}",
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
    "late again and again",
    "I like you, I do not like your van",
    "dead plants are no present",
    "was fine until summer",
)
"""The last of these is written after the summer only."""
SUMMER = 8
"""August, its last month."""
PLANTS = "calathea pilea fern ivy fig begonia monstera pothos oxalis palm".split()
DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday".split()
LONG = 6
"""A box that comes this many days late is spoken of by its date, no longer by the day of the week."""
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
    skipped = -1
    for week in range(first, WEEKS, 2):
        if week == skipped:
            continue
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
        if delay > 1 and rng.random() < 0.3:
            _complaint(db, identity, promised, delay, rng, bad=bad, again=late > 1)
        elif delay <= 1 and rng.random() < 0.05:
            _ticket(db, identity, promised, delay, rng)
        if _leaves(kind, late, week, year, rng):
            _cancel(db, identity, promised, late, rng)
            return
        if rng.random() < 0.012:
            skipped = week + 2
            db.execute(
                "INSERT INTO pauses VALUES (?,?,?)",
                (identity, str(promised + timedelta(days=1)), str(promised + timedelta(days=27))),
            )


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
    reason = rng.choices(REASONS, (1, 5, 1, 1, 0, 2, 6) if late >= 2 else (4, 1, 1, 4, 1, 3, 5))[0]
    late_notes = LATE_NOTES if day.month > SUMMER else LATE_NOTES[:-1]
    note = rng.choice(late_notes if late >= 2 else NOTES) if rng.random() < 0.6 else ""
    db.execute(
        "INSERT INTO cancellations VALUES (?,?,?,?)", (identity, str(day + timedelta(days=rng.randrange(1, 9))), reason, note)
    )


def _ticket(db: sqlite3.Connection, identity: int, day: date, delay: int, rng: random.Random) -> None:
    """What people write when nothing is wrong with their box, on the day on which it comes."""
    topic = rng.choice(("delivery", "plants", "billing", "other"))
    _write(db, identity, topic, rng.choice(TEXTS[topic]), (day, day + timedelta(days=delay), day + timedelta(days=delay)), rng)


def _complaint(
    db: sqlite3.Connection, identity: int, day: date, delay: int, rng: random.Random, *, bad: bool, again: bool
) -> None:
    """A ticket about a late box, from somebody who still waits for it or, as often, on the day on which it came at last."""
    delivered = day + timedelta(days=delay)
    if rng.random() < 0.5:
        written = day + timedelta(days=min(rng.randrange(1, delay), 9))
        opening = rng.choice(OPENINGS_AGAIN if again else OPENINGS)
        text = opening + rng.choice(WAITING if bad else WAITING_ELSEWHERE) + rng.choice((*WAITED, NO_THIRD) if again else WAITED)
    else:
        written = delivered
        opening = rng.choice(OPENINGS_AGAIN if again else OPENINGS[:3])
        text = (
            opening + rng.choice(ARRIVED if bad else ARRIVED_ELSEWHERE) + rng.choice((*SUFFERED, NO_THIRD) if again else SUFFERED)
        )
    _write(db, identity, "delivery", text, (day, delivered, written), rng)


def _write(
    db: sqlite3.Connection, identity: int, topic: str, text: str, days: tuple[date, date, date], rng: random.Random
) -> None:
    """Store a ticket. ``days`` are those on which the box was promised, came, and the ticket was written."""
    promised, delivered, written = days
    delay = (delivered - promised).days
    filled = text.format(
        promised=f"{promised:%A}",
        delivered=f"{delivered:%A}" if delay < LONG else f"{delivered.day} {delivered:%B}",
        other=rng.choice([name for name in DAYS if name != f"{promised:%A}"]),
        count={2: "two", 3: "three", 5: "five"}.get(delay, delay),
        plant=rng.choice(PLANTS),
    )
    row = (identity, str(written), topic, AN.sub("an ", filled))
    db.execute("INSERT INTO tickets (customer, on_day, topic, text) VALUES (?,?,?,?)", row)


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

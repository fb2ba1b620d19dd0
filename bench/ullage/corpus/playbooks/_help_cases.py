"""Generates the desk of ``help_desk``: cases as mail threads, and the shop's database; and what the policies say of each."""

from __future__ import annotations

import random
import re
import sqlite3
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path

KINDS = ("late", "damaged", "wrong", "mind", "lost", "charged", "warranty")
ARTICLES = {
    "oak table": ("frame", 419), "slatted bed": ("frame", 539), "reading lamp": ("lamp", 64), "wool rug": ("fabric", 228), "linen curtain": ("fabric", 84),
    "made-to-measure shelf": ("frame", 362), "desk chair": ("frame", 187), "feather duvet": ("bedding", 143), "standing desk": ("electronics", 611), "sofa cover": ("fabric", 156),
}  # fmt: skip
NAMES = (
    "Abel Bruns Carow Dietz Elbers Frahm Gohl Hinz Ihde Jansen Kolbe Lührs Mahnke Nagel Ohm Pahl Quade Rohde Sievers Timm".split()
)
WARRANTY = {"frame": 5, "fabric": 2, "lamp": 2, "electronics": 3, "bedding": 2}
TODAY = date(2026, 3, 16)
EARLY = 14
"""Returns among so many first cases lie outside the old window and inside the new one, so that the change means something."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One case: its number, kind, order and the days that decide."""

    number: int
    kind: str
    customer: int
    order: int
    article: str
    price: int
    delivered: date
    promised: date
    photo: bool
    scanned: int = 9

    @property
    def last_scan(self) -> date:
        """Day of the parcel's last scan: as many days after dispatch as it was scanned, while it is under way."""
        return self.promised - timedelta(days=9 - self.scanned)

    @property
    def days(self) -> int:
        """Days since delivery."""
        return (TODAY - self.delivered).days


def cases(rng: random.Random, count: int) -> list[Case]:
    """All cases of the day."""
    found = []
    for number in range(1, count + 1):
        kind = KINDS[(number * 5 + rng.randrange(3)) % len(KINDS)]
        article = rng.choice(sorted(ARTICLES))
        promised = TODAY - timedelta(days=rng.randrange(4, 34))
        delivered = TODAY - timedelta(days=rng.randrange(2, 40))
        if kind == "mind" and number <= EARLY:
            article, delivered = "oak table", TODAY - timedelta(days=rng.randrange(22, 29))
        if kind == "warranty":
            delivered = TODAY - timedelta(days=rng.randrange(200, 2300))
        if kind not in ("late", "lost"):
            promised = delivered + timedelta(days=rng.randrange(-2, 2))
        found.append(
            Case(
                number=number, kind=kind, customer=rng.randrange(10_000, 99_000), order=rng.randrange(500_000, 999_000), article=article,
                price=ARTICLES[article][1] + rng.randrange(-9, 60), delivered=delivered, promised=promised, photo=rng.random() < 0.7,
                scanned=rng.randrange(3, 6) if kind in ("late", "lost") else rng.randrange(9, 12),
            )
        )  # fmt: skip
    return found


def thread(case: Case, bank: dict[str, list[str]], rng: random.Random, extra: str = "", order: int | None = None) -> str:
    """The mails of a case, newest first, with what mail programs add; ``extra`` is one more sentence of the customer.

    ``order`` is the number that the customer gives when it is not the right one.
    """
    sender = f"{rng.choice('abcdefghk')}.{rng.choice(NAMES).lower()}@example.com"
    first = TODAY - timedelta(days=rng.randrange(1, 6))
    body = [
        rng.choice(bank["opening"]),
        "",
        f"{rng.choice(bank[case.kind])} {' '.join(rng.sample(bank['story'], rng.randrange(2, 5)))}",
        "",
        *([extra, ""] if extra else []),
        rng.choice(bank["wish"]),
        "",
        rng.choice(bank["closing"]),
        "",
        f"-- {rng.choice(bank['footer'])}",
    ]
    text = [_fill(line, case) for line in body]
    robot = [f"> {_fill(line, case)}" for line in bank["robot"]]
    older = [f">> {line}".rstrip() for line in text[:3]]
    lines = [
        f"Case: HD-{case.number:03d}",
        f"Order: {order or case.order}",
        *_headers(rng, first),
        f"From: {sender}",
        f"Date: {first}",
        f"Subject: Re: [HD-{case.number:03d}] {case.article}",
        f"X-Spam-Score: {rng.randrange(0, 30) / 10}",
        f"Message-ID: <{rng.getrandbits(64):016x}@mail.example.com>",
        f"Attachments: {'photo_1.jpg, photo_2.jpg' if case.photo else 'none'}",
        "",
    ]
    lines += [*text, "", f"On {first - timedelta(days=1)} the desk wrote:", *robot, ">", *older]
    if rng.random() < 0.5:
        again = [
            _fill(rng.choice(bank[case.kind]), case),
            _fill(" ".join(rng.sample(bank["story"], 2)), case),
            rng.choice(bank["wish"]),
        ]
        lines += [">>", ">> On the day before the customer wrote:", *(f">>> {line}" for line in again)]
    return "\n".join(lines) + "\n"


def _headers(rng: random.Random, day: date) -> list[str]:
    """What mail servers put on top of a letter."""
    found = []
    for hop in range(rng.randrange(2, 6)):
        clock = f"{rng.randrange(24):02d}:{rng.randrange(60):02d}:{rng.randrange(60):02d}"
        found.append(
            f"Received: from mx{hop}.example.net (mx{hop}.example.net [10.{rng.randrange(256)}.{rng.randrange(256)}.{rng.randrange(256)}])"
        )
        found.append(
            f"        by in{rng.randrange(1, 9)}.example.com with ESMTPS id {rng.getrandbits(60):015X}; {day} {clock} +0100"
        )
    found.append(
        f"DKIM-Signature: v=1; a=rsa-sha256; d=example.com; s=s{rng.randrange(1, 9)}; h=from:date:subject; bh={rng.getrandbits(128):032x};"
    )
    found.append(f"        b={rng.getrandbits(256):064x}")
    return found


def carrier_log(rng: random.Random) -> str:
    """What the carrier wrote about its depots and vans in the first half of the month."""
    lines = ["# carrier, March, all depots: day time depot event"]
    for day in range(1, 16):
        for minute in sorted(rng.sample(range(300, 1320), 34)):
            depot = rng.choice(("north", "river", "harbour", "hill"))
            event = rng.choice((
                f"trailer {rng.randrange(100, 999)} in, {rng.randrange(40, 400)} parcels", f"van {rng.randrange(1, 30)} out, {rng.randrange(20, 90)} stops",
                f"van {rng.randrange(1, 30)} back, {rng.randrange(0, 9)} undelivered", f"sorter stopped {rng.randrange(2, 50)} minutes",
                "labels reprinted", f"shift change, {rng.randrange(6, 19)} people",
            ))  # fmt: skip
            lines.append(f"2026-03-{day:02d} {minute // 60:02d}:{minute % 60:02d} {depot:<8} {event}")
    return "\n".join(lines) + "\n"


def _fill(text: str, case: Case) -> str:
    values = {"article": case.article, "promised": str(case.promised), "today": str(TODAY), "case": f"HD-{case.number:03d}"}
    return re.sub(r"\{(\w+)\}", lambda m: values[m[1]], text)


def database(path: Path, found: list[Case], rng: random.Random) -> None:
    """The shop's database: orders, payments, scans of parcels, earlier goodwill."""
    with sqlite3.connect(path) as db:
        db.executescript(
            "CREATE TABLE orders (id INTEGER PRIMARY KEY, customer INTEGER, article TEXT, price INTEGER, promised TEXT, delivered TEXT, state TEXT);"
            "CREATE TABLE payments (order_id INTEGER, day TEXT, amount INTEGER, way TEXT, reference TEXT);"
            "CREATE TABLE scans (order_id INTEGER, day TEXT, place TEXT, note TEXT);"
            "CREATE TABLE goodwill (customer INTEGER, day TEXT, amount INTEGER, reason TEXT);"
        )
        for case in found:
            _rows(db, case, rng)
            for _ in range(rng.randrange(4, 19)):
                article = rng.choice(sorted(ARTICLES))
                day = TODAY - timedelta(days=rng.randrange(60, 1500))
                db.execute(
                    "INSERT OR IGNORE INTO orders VALUES (?,?,?,?,?,?,?)",
                    (
                        rng.randrange(100_000, 499_000),
                        case.customer,
                        article,
                        ARTICLES[article][1],
                        str(day),
                        str(day),
                        "delivered",
                    ),
                )
    db.close()


def _rows(db: sqlite3.Connection, case: Case, rng: random.Random) -> None:
    pending = case.kind in ("late", "lost")
    db.execute(
        "INSERT INTO orders VALUES (?,?,?,?,?,?,?)",
        (
            case.order,
            case.customer,
            case.article,
            case.price,
            str(case.promised),
            None if pending else str(case.delivered),
            "shipped" if pending else "delivered",
        ),
    )
    paid = str(case.promised - timedelta(days=9))
    way = rng.choice(("card", "transfer", "invoice"))
    for _ in range(2 if case.kind == "charged" else 1):
        db.execute(
            "INSERT INTO payments VALUES (?,?,?,?,?)", (case.order, paid, case.price, way, f"P{rng.randrange(10**7, 10**8)}")
        )
    places = [
        "hall 3",
        "belt 9",
        "trailer",
        "depot north",
        "sorter",
        "depot river",
        "ramp",
        "van 12",
        "first try",
        "front door",
        "neighbour",
    ]
    last = case.scanned
    begin = case.promised - timedelta(days=8) if pending else case.delivered - timedelta(days=last - 1)
    for step, place in enumerate(places[:last]):
        note = "signature" if place == "neighbour" else rng.choice(("", "", "gently", "label torn", "two pieces"))
        db.execute("INSERT INTO scans VALUES (?,?,?,?)", (case.order, str(begin + timedelta(days=step)), place, note))
    if rng.random() < 0.2:
        db.execute(
            "INSERT INTO goodwill VALUES (?,?,?,?)",
            (case.customer, str(TODAY - timedelta(days=rng.randrange(30, 400))), rng.randrange(5, 25), "late last year"),
        )


@dataclass(frozen=True, slots=True)
class Rules:
    """The figures of the policies that are in force at a moment."""

    return_days: int
    damage_days: int
    late_from: int
    voucher: int
    limit: int


def decide(case: Case, rules: Rules) -> tuple[str, str, int]:
    """What the policies give: decision, reason, and the money that leaves the shop."""
    by_kind = {"late": _late, "damaged": _damaged, "mind": _returned, "warranty": _warranty}
    if case.kind in by_kind:
        return by_kind[case.kind](case, rules)
    silent = (TODAY - case.last_scan).days
    recent = silent < 9
    single = {
        "wrong": ("send the right article, collect the wrong one", "what was sent is not what was ordered", 0),
        "lost": (
            "send again, file the claim",
            f"last scan {silent} days ago, a parcel is lost after nine" if recent else f"no scan for {silent} days",
            0,
        ),
        "charged": ("refund the second payment today", "two payments of one amount on one day", case.price),
    }
    if case.kind == "lost" and recent:
        return "wait, explain", single["lost"][1], 0
    return single[case.kind]


def _late(case: Case, rules: Rules) -> tuple[str, str, int]:
    late = (TODAY - case.promised).days
    if late >= 21:
        return (
            "offer cancellation with full refund",
            f"{late} days late, from the twenty-first day on the order may be cancelled",
            case.price,
        )
    reason = f"{late} days late, the voucher begins with day {rules.late_from}"
    return (f"voucher of {rules.voucher} euros", reason, 0) if late >= rules.late_from else ("no voucher, explain", reason, 0)


def _damaged(case: Case, rules: Rules) -> tuple[str, str, int]:
    if case.days > rules.damage_days:
        return "refuse, offer repair at cost", f"reported {case.days} days after delivery, the rule gives {rules.damage_days}", 0
    if case.photo:
        return "replace", f"reported after {case.days} days with a photo", 0
    return "ask for a photo", f"reported in time after {case.days} days, a photo is missing", 0


def _warranty(case: Case, _rules: Rules) -> tuple[str, str, int]:
    limit = WARRANTY[ARTICLES[case.article][0]]
    good = TODAY.year - case.delivered.year <= limit
    reason = f"delivered {case.delivered}, {limit} years for this kind of article, the year of delivery counts whole"
    return "repair under warranty" if good else "refuse, name the workshop", reason, 0


def _returned(case: Case, rules: Rules) -> tuple[str, str, int]:
    if case.article == "made-to-measure shelf":
        return "refuse", "made to measure, no return without a reason", 0
    if case.article == "feather duvet":
        return "accept if unopened", "bedding, only when the seal is whole", case.price
    if case.days > rules.return_days:
        return "refuse", f"asked {case.days} days after delivery, the rule gives {rules.return_days}", 0
    return "accept, refund after the scan", f"asked {case.days} days after delivery, within {rules.return_days}", case.price

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
NAMES = "Abel Bruns Carow Dietz Elbers Frahm Gohl Hinz Ihde Jansen Kolbe Luehrs Mahnke Nagel Ohm Pahl Quade Rohde Sievers Timm".split()
WARRANTY = {"frame": 5, "fabric": 2, "lamp": 2, "electronics": 3}
TODAY = date(2026, 3, 16)
EARLY = 14
"""Returns among so many first cases lie outside the old window and inside the new one, so that the change means something."""
TEXTILE = ("wool rug", "linen curtain", "feather duvet", "sofa cover")
LEGS = ("oak table", "slatted bed", "desk chair", "standing desk")
HEAVY = (*LEGS, "made-to-measure shelf")
PLACES = (
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
)
"""Where a parcel is scanned, in this order."""
WAITING = ("late", "lost")
"""Kinds whose parcel is still under way."""
REASONS = (
    "parcel a week late",
    "screws missing",
    "scratch on a hidden side",
    "wrong colour sent first",
    "van came on the wrong day",
)
"""What earlier goodwill was given for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One case: its number, kind, order and the days that decide.

    ``asked`` is the day of the first letter, ``written`` of the last one; ``wish`` is what the customer wants for a damage;
    ``scanned`` says at how many places the parcel was seen, ``last_scan`` when at the last of them.
    """

    number: int
    kind: str
    customer: int
    order: int
    article: str
    price: int
    delivered: date
    promised: date
    asked: date
    written: date
    photo: bool
    wish: str
    scanned: int
    last_scan: date
    sender: str

    @property
    def silent(self) -> int:
        """Days without a scan."""
        return (TODAY - self.last_scan).days

    @property
    def days(self) -> int:
        """Days from delivery to the first letter."""
        return (self.asked - self.delivered).days


def cases(rng: random.Random, count: int) -> list[Case]:
    """All cases of the day, each from a sender of its own."""
    senders = rng.sample([f"{letter}.{name.lower()}@example.com" for name in NAMES for letter in "abcdefghk"], count)
    return [_case(rng, number, sender) for number, sender in enumerate(senders, 1)]


def _case(rng: random.Random, number: int, sender: str) -> Case:
    kind = KINDS[(number * 5 + rng.randrange(3)) % len(KINDS)]
    early = number <= EARLY
    article = "oak table" if kind == "mind" and early else rng.choice(_articles(kind))
    promised = _workday(TODAY - timedelta(days=rng.randrange(4, 34)))
    written = TODAY - timedelta(days=rng.randrange(1, min(6, (TODAY - promised).days)))
    room = (written - promised).days if kind in WAITING else 9
    asked = written - timedelta(days=rng.randrange(1, 4)) if room > 3 and rng.random() < 0.55 else written
    delivered = _workday(asked - timedelta(days=_after(kind, rng, early=early)))
    scanned = rng.randrange(9, 12)
    last = delivered
    if kind in WAITING:
        scanned = rng.randrange(4, 8) if kind == "late" else rng.randrange(3, 6)
        last = _silence(kind, rng, promised + timedelta(days=scanned - 9), asked)
    else:
        promised = _workday(delivered + timedelta(days=rng.randrange(-2, 2)))
    return Case(
        number=number, kind=kind, customer=rng.randrange(10_000, 99_000), order=_order(promised, number * 4 + rng.randrange(4)), article=article,
        price=ARTICLES[article][1] + rng.randrange(-9, 60), delivered=delivered, promised=promised, asked=asked, written=written,
        photo=kind in ("damaged", "wrong", "warranty") and rng.random() < 0.7, wish=rng.choice(("refund", "replace")),
        scanned=scanned, last_scan=last, sender=sender,
    )  # fmt: skip


def _workday(day: date) -> date:
    """The day, or the Saturday before a Sunday: nothing is promised or delivered on Sundays."""
    return day - timedelta(days=1) if day.weekday() == 6 else day


def _silence(kind: str, rng: random.Random, planned: date, asked: date) -> date:
    """The last scan of a parcel under way: days ago when it is late, and for a lost one long or shortly before the letter."""
    if kind == "late":
        return TODAY - timedelta(days=rng.randrange(2, 7))
    return planned if rng.random() < 0.6 else max(planned, asked - timedelta(days=rng.randrange(2, 5)))


def _articles(kind: str) -> list[str]:
    """What a trouble of a kind can befall."""
    return [name for name in sorted(ARTICLES) if kind != "warranty" or name != "feather duvet"]


def _after(kind: str, rng: random.Random, *, early: bool) -> int:
    """Days from delivery to the first letter."""
    if kind == "warranty":
        return rng.randrange(200, 2300)
    if kind == "damaged":
        return rng.randrange(2, 14)
    if kind == "mind" and early:
        return rng.randrange(21, 30)
    return rng.randrange(2, 40)


def _order(day: date, at: int) -> int:
    """The number of an order, the ``at``-th of at most three hundred of a day: numbers rise with the days."""
    return 990_000 - (TODAY - day).days * 300 + at


def thread(case: Case, bank: dict[str, list[str]], rng: random.Random, extra: str = "") -> str:
    """The mails of a case, newest first, with what mail programs add; ``extra`` is one more sentence of the customer."""
    told = rng.randrange(3, 6)
    stories = rng.sample(_fitting(case, bank), 1) + rng.sample(bank["story"], 7)
    first = _letter(case, bank, rng, rng.choice(_troubles(case, bank)), rng.sample(stories[:told], told))
    again = _letter(case, bank, rng, rng.choice(bank["again"]), stories[told : told + rng.randrange(2, 4)])
    newest = first if case.asked == case.written else again
    lines = [
        f"Case: HD-{case.number:03d}",
        f"Order: {case.order}",
        *_headers(rng, case.written),
        f"From: {case.sender}",
        f"Date: {case.written}",
        f"Subject: {'' if newest is first else 'Re: '}[HD-{case.number:03d}] {case.article}",
        f"X-Spam-Score: {rng.randrange(0, 30) / 10}",
        f"Message-ID: <{rng.getrandbits(64):016x}@mail.example.com>",
        f"Attachments: {'photo_1.jpg, photo_2.jpg' if case.photo else 'none'}",
        "",
        *newest[:4],
        *([extra, ""] if extra else []),
        *newest[4:],
        "",
        f"-- {rng.choice(bank['footer'])}",
    ]
    if newest is again:
        lines += ["", f"On {case.asked} the desk wrote:", *(f"> {_fill(line, case)}" for line in bank["robot"]), ">"]
        lines += [f">> On {case.asked} the customer wrote:", *(f">>> {line}".rstrip() for line in first)]
    return "\n".join(lines) + "\n"


def _letter(case: Case, bank: dict[str, list[str]], rng: random.Random, matter: str, stories: list[str]) -> list[str]:
    """One letter: greeting, matter with what else people tell, wish, close."""
    wish = rng.choice(bank["wish"])
    if case.kind == "damaged":
        wish = rng.choice(bank[f"wish_{case.wish}"])
    elif case.kind in ("mind", "charged"):
        wish = rng.choice(bank["wish_refund" if case.kind == "mind" else "wish_charged"] + bank["wish"])
    text = [rng.choice(bank["opening"]), "", " ".join((matter, *stories)), "", wish, "", rng.choice(bank["closing"])]
    return [_fill(line, case) for line in text]


def _fitting(case: Case, bank: dict[str, list[str]]) -> list[str]:
    """What customers tell besides, where it can be true."""
    if case.kind in WAITING:
        return bank["story_waiting"]
    if case.kind == "charged":
        return bank["story_charged"]
    if case.kind == "warranty":
        return bank["story_warranty"] + (bank["story_stands"] if case.article in HEAVY else [])
    found = bank["story_mind" if case.kind == "mind" else "story_unpacked"] + (
        bank["story_heavy"] if case.article in HEAVY else []
    )
    return found + (bank["story_neighbour"] if case.scanned == len(PLACES) else [])


def _troubles(case: Case, bank: dict[str, list[str]]) -> list[str]:
    """Sentences for the trouble of a case that fit its article."""
    if case.kind == "warranty":
        return bank[f"warranty_{ARTICLES[case.article][0]}"]
    found = list(bank[case.kind])
    if case.kind in ("damaged", "mind"):
        found += bank[f"{case.kind}_{'textile' if case.article in TEXTILE else 'hard'}"]
    if case.kind == "damaged" and case.article in LEGS:
        found += bank["damaged_legs"]
    return found


def _headers(rng: random.Random, day: date) -> list[str]:
    """What mail servers put on top of a letter, the last hop first."""
    found = []
    clock = rng.randrange(5 * 3600, 23 * 3600)
    for hop in range(rng.randrange(2, 6)):
        stamp = f"{clock // 3600:02d}:{clock // 60 % 60:02d}:{clock % 60:02d}"
        clock -= rng.randrange(1, 40)
        found.append(
            f"Received: from mx{hop}.example.net (mx{hop}.example.net [10.{rng.randrange(256)}.{rng.randrange(256)}.{rng.randrange(256)}])"
        )
        found.append(
            f"        by in{rng.randrange(1, 9)}.example.com with ESMTPS id {rng.getrandbits(60):015X}; {day} {stamp} +0100"
        )
    found.append(
        f"DKIM-Signature: v=1; a=rsa-sha256; d=example.com; s=s{rng.randrange(1, 9)}; h=from:date:subject; bh={rng.getrandbits(128):032x};"
    )
    found.append(f"        b={rng.getrandbits(256):064x}")
    return found


def carrier_log(rng: random.Random, storm: str) -> str:
    """What the carrier wrote about its depots and vans in the first half of the month, with the days of the ``storm``."""
    first, last = map(int, re.findall(r"\d+", storm))
    lines = ["# carrier, March, all depots: day time depot event"]
    for day in range(1, 16):
        rough = first <= day <= last
        sunday = date(TODAY.year, TODAY.month, day).weekday() == 6
        for minute in sorted(rng.sample(range(300, 1320), 24 if sunday else 38 if rough else 62)):
            depot = rng.choice(("north", "river", "harbour", "hill"))
            event = _event(rng, rough=rough, vans=not sunday)
            lines.append(f"2026-03-{day:02d} {minute // 60:02d}:{minute % 60:02d} {depot:<8} {event}")
    return "\n".join(lines) + "\n"


def _event(rng: random.Random, *, rough: bool, vans: bool) -> str:
    """One line of a depot; in rough weather yards are shut and vans stay."""
    if rough and rng.random() < 0.7:
        return rng.choice((
            "yard shut, gusts", f"van {rng.randrange(1, 30)} called back, storm",
            f"trailer {rng.randrange(100, 999)} held on the road, storm", f"{rng.randrange(3, 20)} vans stay in, storm",
        ))  # fmt: skip
    van = rng.randrange(1, 30)
    driven: tuple[str, ...] = (
        f"van {van} out, {rng.randrange(20, 90)} stops",
        f"van {van} back, {rng.randrange(0, 9)} undelivered",
    )
    usual: tuple[str, ...] = (
        f"trailer {rng.randrange(100, 999)} in, {rng.randrange(40, 400)} parcels", f"sorter stopped {rng.randrange(2, 50)} minutes",
        "labels reprinted", f"shift change, {rng.randrange(6, 19)} people", *(driven if vans else ()),
    )  # fmt: skip
    return rng.choice(usual)


def _fill(text: str, case: Case) -> str:
    values = {
        "article": case.article, "an_article": f"{'an' if case.article[0] in 'aeiou' else 'a'} {case.article}", "promised": _spoken(case.promised),
        "asked": _spoken(case.asked), "place": PLACES[case.scanned - 1], "case": f"HD-{case.number:03d}",
    }  # fmt: skip
    return re.sub(r"\{(\w+)\}", lambda m: values[m[1]], text)


def _spoken(day: date) -> str:
    """A day as people write it in a letter."""
    return f"{day.day} {day:%B}"


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
        for case in found:
            for _ in range(rng.randrange(3, 15)):
                _history(db, case.customer, rng)
    db.close()


def _history(db: sqlite3.Connection, customer: int, rng: random.Random) -> None:
    """An earlier order of a customer."""
    article = rng.choice(sorted(ARTICLES))
    day = TODAY - timedelta(days=rng.randrange(60, 1500))
    row = (_order(day, rng.randrange(292, 300)), customer, article, ARTICLES[article][1], str(day), str(day), "delivered")
    db.execute("INSERT OR IGNORE INTO orders VALUES (?,?,?,?,?,?,?)", row)


def _rows(db: sqlite3.Connection, case: Case, rng: random.Random) -> None:
    pending = case.kind in WAITING
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
    _scans(db, case, rng)
    if rng.random() < 0.3:
        day = TODAY - timedelta(days=rng.randrange(30, 400))
        db.execute("INSERT INTO goodwill VALUES (?,?,?,?)", (case.customer, str(day), rng.randrange(5, 15), rng.choice(REASONS)))


def _scans(db: sqlite3.Connection, case: Case, rng: random.Random) -> None:
    """A scan a day, and the last one when the parcel was last seen."""
    begin = case.promised - timedelta(days=8) if case.kind in WAITING else case.delivered - timedelta(days=case.scanned - 1)
    for step, place in enumerate(PLACES[: case.scanned]):
        day = case.last_scan if step == case.scanned - 1 else begin + timedelta(days=step)
        db.execute("INSERT INTO scans VALUES (?,?,?,?)", (case.order, str(day), place, _note(case, place, rng)))


def _note(case: Case, place: str, rng: random.Random) -> str:
    """What the scanner has to remark, which is mostly nothing."""
    if place == "neighbour":
        return "signature"
    if place == "hall 3" and case.article in HEAVY:
        return "two pieces"
    return rng.choice(("label torn", "label reprinted", "box wet")) if rng.random() < 0.2 else ""


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
    recent = case.silent < 9
    single = {
        "wrong": ("send the right article, collect the wrong one", "what was sent is not what was ordered", 0),
        "lost": (
            "send again, file the claim",
            f"last scan on {case.last_scan}, {case.silent} days ago, a parcel is lost after nine"
            if recent
            else f"no scan since {case.last_scan}, {case.silent} days",
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
        wanted = "the price back" if case.wish == "refund" else "a new one"
        reason = f"reported after {case.days} days with a photo, the customer asks for {wanted}"
        return case.wish, reason, case.price if case.wish == "refund" else 0
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

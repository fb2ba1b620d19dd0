"""Generates the stores of ``stock_count``: book, count, moves, scan logs and transfer notes, with the mistakes that people make."""

from __future__ import annotations

import random
from dataclasses import dataclass

STORES = 40
ARTICLES = 150
KINDS = ("tape", "bolt", "hinge", "brush", "lamp", "hose", "paint", "glove", "plug", "drill", "clamp", "sieve")
WITH_PACK = frozenset(f"S{n:02d}" for n in range(1, 9))
"""Stores whose zone scanned twice holds an article counted in packs: what a script that adds all scans gets wrong."""
START = 19 * 60 + 40
"""Minute of the day from which minutes of the count run; by then the last late sale is over."""


@dataclass(frozen=True, slots=True)
class Transfer:
    """Goods that went from one store to another and were never booked."""

    number: str
    source: str
    target: str
    article: str
    pieces: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What is special in which store: sales that the book already knew, missing goods in per mille, transfers."""

    early: frozenset[str]
    heavy: dict[str, float]
    transfers: tuple[Transfer, ...]


@dataclass(slots=True, kw_only=True)
class Shelf:
    """One store while it is generated: what the book says, and how many pieces are on the shelf."""

    code: str
    book: dict[str, int]
    there: dict[str, int]
    free: list[str]

    def take(self, rng: random.Random, count: int) -> list[str]:
        """Some articles with which nothing else is wrong."""
        chosen = rng.sample(self.free, count)
        self.free = [name for name in self.free if name not in chosen]
        return chosen


Sold = list[tuple[str, int, int]]


def articles(rng: random.Random) -> Sold:
    """Name, pack size and price in cents of every article."""
    return [(f"{KINDS[n % len(KINDS)]}-{n:03d}", rng.choice((6, 10, 12, 20)), rng.randrange(90, 4_900)) for n in range(ARTICLES)]


def store(code: str, sold: Sold, plan: Plan, remarks: list[str], rng: random.Random) -> dict[str, str]:
    """The files of one store."""
    sizes = {name: pack for name, pack, _ in sold}
    prices = {name: price for name, _, price in sold}
    here = [t for t in plan.transfers if code in (t.source, t.target)]
    chosen = {name for name, _, _ in rng.sample(sold, rng.randrange(85, 125))} | {t.article for t in here}
    book = {name: sizes[name] * rng.randrange(3, 14) for name in sorted(chosen)}
    shelf = Shelf(code=code, book=book, there=dict(book), free=[n for n in sorted(chosen) if n not in {t.article for t in here}])
    for transfer in here:
        shelf.there[transfer.article] += transfer.pieces if code == transfer.target else -transfer.pieces
    packs = shelf.take(rng, rng.randrange(1, 5))
    moved = _sales(shelf, rng, 1090, 1180, rng.randrange(1, 5))
    known = _sales(shelf, rng, 1053, 1063, 1) if code in plan.early else []
    for _, name, pieces in moved:
        shelf.there[name] -= pieces
    _lose(shelf, prices, plan.heavy.get(code, 0.0), rng)
    rows, log = _count(shelf, {n: sizes[n] for n in packs}, rng)
    return {
        f"{code}/book.csv": "article,pieces,unit\n"
        + "".join(f"{name},{pieces},piece\n" for name, pieces in sorted(book.items())),
        f"{code}/count.csv": "zone,article,pieces,scanner,minute\n" + "".join(f"{row}\n" for row in rows),
        f"{code}/moves.csv": _moves([*moved, *known], shelf, sizes, rng),
        f"{code}/scan.log": "\n".join(log) + "\n",
        f"{code}/notes.txt": f"Notes of the night, {code}\n\n" + "".join(f"- {line}\n" for line in rng.sample(remarks, 9)),
    }


def _sales(shelf: Shelf, rng: random.Random, first: int, last: int, count: int) -> list[tuple[int, str, int]]:
    return [(rng.randrange(first, last), name, rng.randrange(2, 12)) for name in shelf.take(rng, count)]


def _lose(shelf: Shelf, prices: dict[str, int], mille: float, rng: random.Random) -> None:
    """Pieces that nobody can explain: a handful, or so much that a store leaves the tolerance."""
    if not mille:
        for name in shelf.take(rng, rng.choice((0, 0, 1, 1, 2))):
            shelf.there[name] -= rng.randrange(1, 5)
        return
    left = mille / 1000 * sum(pieces * prices[name] for name, pieces in shelf.book.items())
    while left > 0:
        name = shelf.take(rng, 1)[0]
        pieces = min(shelf.book[name] // 2 - 1, max(1, round(left / prices[name])))
        shelf.there[name] -= pieces
        left -= pieces * prices[name]
        left = 0 if left < min(prices.values()) * 20 else left


def _count(shelf: Shelf, packs: dict[str, int], rng: random.Random) -> tuple[list[str], list[str]]:
    zones = [f"Z{n:02d}" for n in range(1, rng.randrange(12, 19))]
    by_zone: dict[str, list[tuple[str, int]]] = {zone: [] for zone in zones}
    for name in sorted(shelf.there):
        seen = shelf.book[name] // packs[name] if name in packs else shelf.there[name]
        parts = [seen] if name in packs or seen < 8 or rng.random() < 0.5 else [seen // 3, seen - seen // 3]
        for part, zone in zip(parts, rng.sample(zones, len(parts)), strict=True):
            by_zone[zone].append((name, part))
    long_ones = [z for z in zones if len(by_zone[z]) > 2]
    with_pack = [z for z in long_ones if any(name in packs for name, _ in by_zone[z])]
    twice = rng.choice(with_pack if shelf.code in WITH_PACK and with_pack else long_ones) if rng.random() < 0.6 else ""
    rows: list[str] = []
    log: list[str] = []
    minute = rng.randrange(5, 30)
    for zone in zones:
        scanner = f"sc{rng.randrange(1, 7)}"
        lines = [(n, max(1, p - rng.choice((0, 0, 1, 3)))) for n, p in by_zone[zone]] if zone == twice else by_zone[zone]
        minute = _scan(zone, scanner, lines, minute, rng, rows, log)
    if twice:
        log.append(f"{_clock(minute)}:00 {twice} reopened: {rng.choice(('shelf was being filled', 'scanner showed no receipt'))}")
        _scan(twice, f"sc{rng.randrange(7, 9)}", by_zone[twice], minute, rng, rows, log)
    return rows, log


def _scan(
    zone: str, scanner: str, lines: list[tuple[str, int]], minute: int, rng: random.Random, rows: list[str], log: list[str]
) -> int:
    """One scanner goes through one zone; the minute at which it is done."""
    log.append(f"{_clock(minute)}:00 {zone} opened by {scanner}, battery {rng.randrange(31, 100)} %")
    for name, pieces in lines:
        rows.append(f"{zone},{name},{pieces},{scanner},{minute}")
        log.append(
            f"{_clock(minute)}:{rng.randrange(60):02d} {scanner} {zone} {name} {pieces} {rng.choice(('ok', 'ok', 'ok', 'typed'))}"
        )
        minute += rng.randrange(1, 3)
    log.append(f"{_clock(minute - 1)}:59 {zone} closed, {len(lines)} lines")
    return minute


def _clock(minute: int) -> str:
    return f"{(START + minute) // 60 % 24:02d}:{(START + minute) % 60:02d}"


def _moves(late: list[tuple[int, str, int]], shelf: Shelf, sizes: dict[str, int], rng: random.Random) -> str:
    rows = [(minute, name, -pieces, "sold after the freeze") for minute, name, pieces in late]
    for _ in range(rng.randrange(24, 40)):
        name = rng.choice(sorted(shelf.book))
        kind = rng.choice(("sold", "sold", "goods in", "returned", "broken"))
        pieces = {"sold": -rng.randrange(1, 7), "goods in": sizes[name], "returned": rng.randrange(1, 3), "broken": -1}[kind]
        rows.append((rng.randrange(480, 1045), name, pieces, kind))
    lines = [
        f"{minute // 60:02d}:{minute % 60:02d},{name},{pieces},{note},D{rng.randrange(10_000, 99_999)}\n"
        for minute, name, pieces, note in sorted(rows)
    ]
    return "time,article,pieces,note,document\n" + "".join(lines)


def notes(plan: Plan, sold: Sold, rng: random.Random) -> dict[str, str]:
    """Transfer notes: the unbooked ones of the plan among many that are in order."""
    found = {}
    codes = [f"S{n:02d}" for n in range(1, STORES + 1)]
    for transfer in plan.transfers:
        found[f"transfers/{transfer.number}.txt"] = _note(transfer, [(transfer.article, transfer.pieces)], "-", rng)
    while len(found) < 22:
        number = f"T-{rng.randrange(2000, 9000)}"
        source, target = rng.sample(codes, 2)
        lines = [(name, pack) for name, pack, _ in rng.sample(sold, rng.randrange(2, 7))]
        found[f"transfers/{number}.txt"] = _note(
            Transfer(number, source, target, "", 0), lines, f"{rng.randrange(20, 28)} Feb", rng
        )
    return found


def _note(transfer: Transfer, lines: list[tuple[str, int]], booked: str, rng: random.Random) -> str:
    goods = "".join(f"    {name:<12}{pieces:>5} pieces\n" for name, pieces in lines)
    return (
        f"TRANSFER {transfer.number}\nfrom {transfer.source}  to {transfer.target}   van {rng.randrange(1, 6)}\n\n{goods}\n"
        f"loaded by: {rng.choice(('deputy', 'store lead', 'trainee'))}   received and signed: {rng.choice(('store lead', 'deputy'))}\n"
        f"booked out: {booked}   booked in: {booked}\n"
    )

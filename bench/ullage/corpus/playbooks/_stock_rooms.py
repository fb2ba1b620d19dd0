"""Generates the stores of ``stock_count``: book, count and moves, with the mistakes that people make."""

from __future__ import annotations

import random
from dataclasses import dataclass

STORES = 30
ARTICLES = 150
KINDS = ("tape", "bolt", "hinge", "brush", "lamp", "hose", "paint", "glove", "plug", "drill", "clamp", "sieve")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mistakes:
    """What went wrong in one store; each is corrected by one line."""

    packs: tuple[str, ...]
    twice: tuple[str, str] | None
    moved: tuple[tuple[str, int], ...]
    missing: tuple[str, int] | None


def articles(rng: random.Random) -> list[tuple[str, int, int]]:
    """Name, pack size and price in cents of every article."""
    return [(f"{KINDS[n % len(KINDS)]}-{n:03d}", rng.choice((6, 10, 12, 20)), rng.randrange(90, 4_900)) for n in range(ARTICLES)]


def store(code: str, sold: list[tuple[str, int, int]], rng: random.Random) -> tuple[dict[str, str], Mistakes]:
    """The files of one store, and its mistakes."""
    chosen = rng.sample(sold, rng.randrange(85, 125))
    book = {name: pack * rng.randrange(2, 14) for name, pack, _ in chosen}
    packs = tuple(rng.sample(sorted(book), rng.randrange(1, 5)))
    rest = [name for name in sorted(book) if name not in packs]
    moved = tuple((name, rng.randrange(2, 12)) for name in rng.sample(rest, rng.randrange(1, 5)))
    free = [name for name in rest if name not in dict(moved)]
    missing = (rng.choice(free), rng.randrange(1, 5)) if rng.random() < 0.5 else None
    rows, twice = _count(book, Mistakes(packs=packs, twice=None, moved=moved, missing=missing), sold, rng)
    files = {
        f"{code}/book.csv": "article,pieces,unit\n"
        + "".join(f"{name},{pieces},piece\n" for name, pieces in sorted(book.items())),
        f"{code}/count.csv": "zone,article,pieces,scanner,minute\n" + "".join(f"{row}\n" for row in rows),
        f"{code}/moves.csv": _moves(moved, sorted(book), rng),
    }
    return files, Mistakes(packs=packs, twice=twice, moved=moved, missing=missing)


def _count(
    book: dict[str, int], wrong: Mistakes, sold: list[tuple[str, int, int]], rng: random.Random
) -> tuple[list[str], tuple[str, str] | None]:
    sizes = {name: pack for name, pack, _ in sold}
    gone = dict(wrong.moved) | (dict([wrong.missing]) if wrong.missing else {})
    zones = [f"Z{n:02d}" for n in range(1, rng.randrange(12, 19))]
    by_zone: dict[str, list[str]] = {zone: [] for zone in zones}
    for name, pieces in book.items():
        seen = pieces // sizes[name] if name in wrong.packs else pieces - gone.get(name, 0)
        parts = [seen] if name in wrong.packs or seen < 8 or rng.random() < 0.5 else [seen // 3, seen - seen // 3]
        for part, zone in zip(parts, rng.sample(zones, len(parts)), strict=True):
            by_zone[zone].append(f"{name},{part}")
    rows, minute = [], rng.randrange(5, 30)
    scanners = {zone: f"sc{rng.randrange(1, 7)}" for zone in zones}
    for zone, lines in by_zone.items():
        for line in lines:
            rows.append(f"{zone},{line},{scanners[zone]},{minute}")
            minute += rng.randrange(1, 3)
    if rng.random() < 0.6:
        zone = rng.choice([z for z in zones if by_zone[z]])
        other = f"sc{rng.randrange(7, 9)}"
        return rows + [f"{zone},{line},{other},{minute + n}" for n, line in enumerate(by_zone[zone])], (zone, scanners[zone])
    return rows, None


def _moves(moved: tuple[tuple[str, int], ...], names: list[str], rng: random.Random) -> str:
    rows = [(rng.randrange(1090, 1180), name, -pieces, "sold after the freeze") for name, pieces in moved]
    rows += [
        (
            rng.randrange(480, 1060),
            rng.choice(names),
            rng.choice((-3, -2, -1, 6, 12)),
            rng.choice(("sold", "goods in", "returned", "to window")),
        )
        for _ in range(rng.randrange(24, 40))
    ]
    lines = [
        f"{minute // 60:02d}:{minute % 60:02d},{name},{pieces},{note},D{rng.randrange(10_000, 99_999)}\n"
        for minute, name, pieces, note in sorted(rows)
    ]
    return "time,article,pieces,note,document\n" + "".join(lines)

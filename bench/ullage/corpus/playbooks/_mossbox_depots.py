"""Generates the scan logs of the depots for ``churn_autumn``: when vans came and left, and what they left behind."""

from __future__ import annotations

import random
from datetime import date, timedelta

from ullage.corpus.playbooks._mossbox import REGIONS, START, Year

DEPOTS = ("north", "river", "old mill", "airport")
WEEKS = range(28, 41)
"""Weeks of the year that the logs cover."""
BELT_STOPS = 10 * 60 + 15
"""Minute of the day at which the sorting belt closes."""
HEAD = """# scans of the handheld in depot {depot}; one line for each region and delivery day
# date       day  region      carrier      in     out    pallets  left
"""


def file_name(depot: str) -> str:
    """Where the log of a depot lies."""
    return f"depot/{depot.replace(' ', '_')}.log"


def logs(
    year: Year, usual: dict[int, str], missed: frozenset[tuple[int, date]], wrong_clock: str, rng: random.Random
) -> dict[str, str]:
    """The log of every depot by path. ``usual`` is the carrier of each region before the takeover.

    The handheld of the depot ``wrong_clock`` shows two hours more than there are.
    """
    files = {}
    for depot in DEPOTS:
        codes = [n for n in range(1, len(REGIONS) + 1) if year.depots[n - 1] == depot]
        lines = [
            _line(day, code, year, usual[code], (code, day) in missed, 120 if depot == wrong_clock else 0, rng)
            for week in WEEKS
            for day in (START + timedelta(weeks=week, days=n) for n in range(6))
            for code in codes
        ]
        files[file_name(depot)] = HEAD.format(depot=depot) + "".join(lines)
    return files


def _line(day: date, code: int, year: Year, usual: str, late: bool, shift: int, rng: random.Random) -> str:  # noqa: FBT001 - whether the truck missed the belt
    bad = code in year.regions and day >= START + timedelta(weeks=year.takeover)
    first, last = (BELT_STOPS + 1, 11 * 60 + 5) if late else (9 * 60 + 25, BELT_STOPS) if bad else (4 * 60 + 40, 5 * 60 + 35)
    came = rng.randrange(first, last)
    pallets = rng.randrange(1, 4)
    left = pallets if late else int(rng.random() < 0.03)
    gone = came + rng.randrange(22, 58)
    clock = [f"{(minute + shift) // 60:02d}:{(minute + shift) % 60:02d}" for minute in (came, gone)]
    carrier = year.bad if bad else usual
    return f"{day} {day:%a}  {REGIONS[code - 1]:<11} {carrier:<12} {clock[0]}  {clock[1]}  {pallets:>7}  {left:>4}\n"

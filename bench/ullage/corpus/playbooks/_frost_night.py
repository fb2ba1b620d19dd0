"""Readings of one frosty night for ``fleet_config``: every house, every ten minutes, and a door that stood open."""

from __future__ import annotations

import random

STEPS = 54
"""Readings from 21:30 to 06:20."""
DIP = range(43, 47)
"""Readings while the door is open: from 04:40 to 05:10."""


def clock(step: int) -> str:
    """The time of a reading."""
    minutes = (21 * 60 + 30 + 10 * step) % (24 * 60)
    return f"{minutes // 60:02d}:{minutes % 60:02d}"


def readings(rng: random.Random, nights: dict[str, int], cold: str) -> str:
    """A line a house and reading: temperatures in tenths of a degree, heating and vents in per cent."""
    lines = ["house,time,inside,outside,heating,vent"]
    outside = [round(20 - 1.6 * step + rng.randrange(-4, 5) + max(0, step - 44) * 3) for step in range(STEPS)]
    for house, night in nights.items():
        inside = night + rng.randrange(4, 14)
        for step in range(STEPS):
            inside += rng.choice((-3, -2, -1, 0, 1, 2)) + (2 if inside < night else -1)
            shown, heating = inside, max(0, min(100, (night + 12 - inside) * 6 + 25 - outside[step] // 4))
            if house == cold and step in DIP:
                shown, heating = 66 + (step - DIP.start) * 9 + rng.randrange(3), 100
            vent = 5 if heating < 20 and rng.random() < 0.2 else 0
            lines.append(f"{house},{clock(step)},{shown},{outside[step]},{heating},{vent}")
    return "\n".join(lines) + "\n"

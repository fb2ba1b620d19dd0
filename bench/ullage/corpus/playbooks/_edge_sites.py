"""Generates the sites of ``edge_rollout``: defaults, profiles, overrides with their reasons, and what the gateways run."""

from __future__ import annotations

import json
import random
import tomllib
from dataclasses import dataclass

TOWNS = (
    "alm bor cas dun eck fal gor hal ink jev kol lim mer nor osk pel qui ros sal tur ulm ven wis xan yst zel arl bry cor dov "
    "elm fir gap hov isl jar kem lor mys nev"
).split()
PROFILES = ("clinic", "depot", "office", "kiosk")
REASONS = {
    "max_clients": ("counted by hand on {day}", "tablets of the trainees came on {day}", "guests use this net too", "fire drill of {day}: everybody came at once"),
    "upload_kbps": ("the line is shared with the neighbours", "new contract since {day}", "the old modem does no more", "cameras go out on this line since {day}"),
    "burst_kb": ("old switch in the cellar does not like more", "tried on {day}, above it the phones crackle", "measured on {day} with the provider"),
    "channel": ("the hotel next door has the default", "moved on {day}, too many neighbours", "survey of {day}"),
    "power_dbm": ("thick walls, second antenna until the fit-out", "heard in the street, lowered on {day}", "the cold store eats the signal"),
    "beacon_ms": ("the old scanners miss slower ones", "asked for by the site on {day}", "cell phones of the guards drop out otherwise"),
    "depth": ("reports come all at once in the evening", "full on {day}, enlarged", "little memory in this model"),
    "flush_ms": ("slow disk, see the ticket of {day}", "the lift's panel polls often", "the provider asked for fewer packets"),
    "retry_s": ("the landlord's line drops idle connections", "night modem needs its time", "asked for by the site on {day}; review when the line is repaired"),
    "battery_low_pct": ("battery of {day}, holds longer", "old battery, swap is ordered", "cleaners pull the plug"),
    "fan_on_c": ("stands beside the oven", "fan is loud, desk asked on {day}", "cellar, always cool", "cupboard without a grille"),
}  # fmt: skip
"""Why a site differs from the defaults, by the key that differs."""
SECTIONS: dict[str, dict[str, tuple[int, int]]] = {
    "limits": {"idle_timeout_s": (600, 900), "max_clients": (40, 400), "upload_kbps": (500, 9000), "burst_kb": (64, 2048)},
    "radio": {"channel": (1, 13), "power_dbm": (8, 20), "beacon_ms": (90, 210)},
    "queue": {"depth": (100, 5000), "flush_ms": (50, 900), "retry_s": (2, 60)},
    "power": {"battery_low_pct": (10, 30), "fan_on_c": (38, 55)},
}


@dataclass(frozen=True, slots=True)
class Site:
    """One site: its code, kind, and the firmware that it says it has and that it really has."""

    code: str
    profile: str
    firmware: str
    real_firmware: str


def sites(rng: random.Random, count: int, firmware: str, old: int, lying: int) -> list[Site]:
    """All sites; ``old`` of them have old firmware, ``lying`` say that they are newer than they are."""
    names = [f"{town}{rng.randrange(1, 9)}" for town in TOWNS[:count]]
    major, minor = map(int, firmware.split("."))
    older = f"{major}.{minor - rng.randrange(1, 3)}"
    marked = rng.sample(range(count), old + lying)
    found = []
    for number, code in enumerate(names):
        profile = rng.choices(PROFILES, (2, 3, 3, 2))[0] if number not in marked[old:] else "depot"
        newest = f"{major}.{minor + rng.randrange(0, 4)}"
        said = older if number in marked[:old] else newest
        found.append(Site(code, profile, said, older if number in marked else said))
    return found


def files(everything: list[Site], rng: random.Random, resolvers: tuple[str, str], keep: int) -> dict[str, str]:
    """The whole tree of settings, with the state of each gateway."""
    made = {"common/defaults.toml": _defaults(resolvers, keep)}
    for profile in PROFILES:
        made[f"common/profiles/{profile}.toml"] = _profile(profile, rng)
    for site in everything:
        made[f"sites/{site.code}/site.toml"] = _site(site, rng)
    for site in everything:
        merged = _merge(
            _merge(tomllib.loads(made["common/defaults.toml"]), tomllib.loads(made[f"common/profiles/{site.profile}.toml"])),
            tomllib.loads(made[f"sites/{site.code}/site.toml"]),
        )
        state = {"generation": rng.randrange(11, 70), "running": merged, "before": None}
        made[f"state/{site.code}.json"] = json.dumps(state, sort_keys=True) + "\n"
    return made


def _defaults(resolvers: tuple[str, str], keep: int) -> str:
    lines = [
        "# defaults of all gateways",
        "",
        "[tls]",
        'minimum = "1.2"',
        "session_cache = 256",
        "ocsp = true",
        "",
        "[dns]",
        f'resolvers = ["{resolvers[0]}", "{resolvers[1]}"]',
        "timeout_ms = 1500",
        "",
    ]
    lines += ["[log]", f"keep_days = {keep}", 'level = "info"', "ship_every_s = 30", ""]
    for section, keys in SECTIONS.items():
        lines += [f"[{section}]", *(f"{key} = {(low + high) // 2}" for key, (low, high) in keys.items()), ""]
    return "\n".join(lines)


def _profile(profile: str, rng: random.Random) -> str:
    lines = [f"# {profile}", ""]
    for section in rng.sample(sorted(SECTIONS), 2):
        keys = SECTIONS[section]
        lines += [
            f"[{section}]",
            *(f"{key} = {rng.randrange(low, high)}" for key, (low, high) in keys.items() if key != "idle_timeout_s"),
            "",
        ]
    if profile == "clinic":
        lines += ["[alarm]", 'contact = "ward desk"', "quiet = false", ""]
    return "\n".join(lines)


def _site(site: Site, rng: random.Random) -> str:
    lines = [
        "[site]",
        f'code = "{site.code}"',
        f'profile = "{site.profile}"',
        f'firmware = "{site.firmware}"',
        f'real_firmware = "{site.real_firmware}"',
        f'serial = "GW-{rng.randrange(10**6, 10**7)}"',
        f"installed = {rng.randrange(2017, 2025)}",
        "",
    ]
    for section in sorted(SECTIONS):
        chosen = [key for key in SECTIONS[section] if rng.random() < 0.45 and key != "idle_timeout_s"]
        if chosen:
            lines.append(f"[{section}]")
        for key in chosen:
            low, high = SECTIONS[section][key]
            day = f"{rng.randrange(1, 29)} {rng.choice(('May', 'June', 'October', 'January'))}"
            lines.append(f"{key} = {rng.randrange(low, high)}  # {rng.choice(REASONS[key]).format(day=day)}")
        lines += [""] if chosen else []
    lines.append("[routes]")
    for number in range(rng.choice((18, 26, 34, 48))):
        lines.append(f'"10.{rng.randrange(20, 90)}.{number}.0/24" = "10.{rng.randrange(2, 9)}.0.{rng.randrange(2, 250)}"')
    lines += ["", "[schedule]"]
    for day in ("mon", "tue", "wed", "thu", "fri", "sat", "sun"):
        lines.append(f'{day} = "{rng.randrange(5, 9):02d}:{rng.choice((0, 15, 30)):02d}-{rng.randrange(17, 23):02d}:00"')
    return "\n".join(lines) + "\n"


def _merge(base: dict[str, object], over: dict[str, object]) -> dict[str, object]:
    result = dict(base)
    for key, value in over.items():
        old = result.get(key)
        result[key] = _merge(old, value) if isinstance(value, dict) and isinstance(old, dict) else value
    return result

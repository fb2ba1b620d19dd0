"""Generates the glasshouses of ``fleet_config``: four files each, baselines, exceptions, and where they drift apart."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from datetime import date, timedelta

CROPS = {"tomato": (195, 165), "orchid": (235, 195), "lettuce": (160, 95), "cucumber": (215, 180), "basil": (205, 170)}
"""Day and frost night of each crop, in tenths of a degree."""
FARMS = ("Noord", "Oever", "Dijk")
GROWERS = ("Femke", "Joost", "Wietske", "Sjoerd", "Marleen", "Teun", "Anouk", "Ruben")
REMARKS = (
    "sensor by the door reads two too high",
    "was lower, the corner stayed wet",
    "after the new screen cloth",
    "{g} measured again on {d}",
    "do not lower before the second truss",
    "copied from house {h}",
    "sticker on the cabinet says otherwise",
    "agreed with {g}",
    "the pump hums above this",
    "{d}: back to what it was",
    "as in the year of the big storm",
    "leave it, {g} knows why",
    "valve replaced on {d}",
    "row {n} is always the first to wilt",
    "drain water smelled, less from now on",
    "half of the line is blocked since {d}",
)
REASONS = (
    "propagation bench",
    "trial of the seed firm",
    "old glass and a cold corner",
    "grafted plants",
    "saleable by feast days",
    "botrytis last year",
)
MODULES = ("climate", "irrigation", "screens", "boiler", "co2", "weather", "scales", "camera")


@dataclass(slots=True)
class House:
    """One house; ``drift`` holds what differs from the baseline by (file, key), ``twice`` ini keys that stand twice."""

    code: str
    crop: str
    farm: str
    firmware: str
    grower: str
    area: int
    zones: int
    valves: int
    address: str
    drift: dict[tuple[str, str], int | str] = field(default_factory=dict)
    twice: set[str] = field(default_factory=set)
    bare_clock: bool = False


@dataclass(slots=True)
class Fleet:
    """Draws all houses. ``values`` are the session's: broker, phone, humidity."""

    rng: random.Random
    values: dict[str, str]
    houses: list[House] = field(default_factory=list)
    exceptions: list[tuple[str, str, str, str]] = field(default_factory=list)

    def build(self, count: int) -> dict[str, str]:
        """All files below the root."""
        crops = list(CROPS)
        for number in range(count):
            crop = crops[number % len(crops)] if number % 7 else "tomato"
            self.houses.append(self._house(f"K{number + 3:02d}", crop))
        for house in self.rng.sample(self.houses, 5):
            house.bare_clock = True
        first, second = self.rng.sample(self.houses, 2)
        second.address = first.address
        self.values |= {
            "clash_a": min(first.code, second.code),
            "clash_b": max(first.code, second.code),
            "clash_ip": first.address,
        }
        files = {f"baseline/{crop}.toml": self._baseline(crop) for crop in crops}
        for house in self.houses:
            self._drift(house)
            files |= {f"houses/{house.code}/{name}": text for name, text in self._files(house).items()}
        rows = [f"{h.code},{h.crop},{h.farm},{h.firmware},{h.grower},{h.area}" for h in self.houses]
        files["fleet.csv"] = "house,crop,farm,firmware,grower,area\n" + "\n".join(rows) + "\n"
        files["exceptions.csv"] = "house,key,reason,until\n" + "".join(",".join(e) + "\n" for e in self.exceptions)
        return files

    def _house(self, code: str, crop: str) -> House:
        rng, farm = self.rng, self.rng.choice(FARMS)
        firmware = rng.choice(("3.8", "3.9", "4.1", "4.2", "4.2"))
        address = f"10.20.{FARMS.index(farm) + 1}.{int(code[1:]) + 10}"
        return House(
            code,
            crop,
            farm,
            firmware,
            rng.choice(GROWERS),
            rng.randrange(8, 90) * 100,
            rng.choice((2, 3, 3)),
            rng.randrange(9, 11),
            address,
        )

    def wanted(self, crop: str) -> dict[tuple[str, str], int | str]:
        """The baseline of a crop; zones and valves beyond those of a house are ignored by the tools."""
        day, night = CROPS[crop]
        found: dict[tuple[str, str], int | str] = {}
        for zone in range(1, 4):
            found |= {
                ("climate.toml", f"day_z{zone}"): day,
                ("climate.toml", f"night_z{zone}"): night,
                ("climate.toml", f"vent_open_z{zone}"): day + 35,
            }
        found |= {("climate.toml", "floor"): 60}
        for valve in range(1, 11):
            found |= {("irrigation.ini", f"valve{valve}.ec"): 18 + len(crop), ("irrigation.ini", f"valve{valve}.ph"): 58}
        values = self.values
        found |= {
            ("network.yaml", "broker"): values["broker_0"],
            ("network.yaml", "broker_port"): 1883,
            ("network.yaml", "retention_days"): 30,
        }
        return found | {
            ("alarms.yaml", "first"): values["phone_0"],
            ("alarms.yaml", "humidity_high"): int(values["humidity_0"]),
            ("alarms.yaml", "temp_low"): 80,
            ("alarms.yaml", "temp_high"): 340,
        }

    def _baseline(self, crop: str) -> str:
        lines, table = [f"# frost baseline of {crop}, agreed in the growers' meeting"], ""
        for (name, key), value in self.wanted(crop).items():
            if name != table:
                lines += ["", f'["{name}"]']
                table = name
            shown = f'"{value}"' if isinstance(value, str) else value
            lines.append(f'"{key}" = {shown}')
        return "\n".join(lines) + "\n"

    def _drift(self, house: House) -> None:
        """Draw where a house differs: summer nights, odd salts, private alarm limits, and what an exception covers."""
        rng, night = self.rng, CROPS[house.crop][1]
        zones = rng.sample(range(1, house.zones + 1), rng.choice((0, 1, 1, 2)))
        house.drift |= {("climate.toml", f"night_z{zone}"): night + rng.choice((10, 15, 20, 25)) for zone in zones}
        for valve in rng.sample(range(1, house.valves + 1), rng.choice((0, 1, 1, 2))):
            house.drift["irrigation.ini", f"valve{valve}.ec"] = 18 + len(house.crop) + rng.choice((-4, -3, 3, 5))
            if rng.random() < 0.25:
                house.twice.add(f"valve{valve}.ec")
        if rng.random() < 0.35:
            house.drift["alarms.yaml", "humidity_high"] = int(self.values["humidity_0"]) + rng.choice((1, 2, 3))
        if rng.random() < 0.25:
            house.drift["network.yaml", "retention_days"] = rng.choice((14, 60, 90))
        today = date.fromisoformat(self.values["today"])
        for _, key in sorted(house.drift):
            if rng.random() < 0.4:
                days = rng.choice((-90, -41, -12, 30, 75, 120))
                self.exceptions.append((house.code, key, rng.choice(REASONS), str(today + timedelta(days=days))))

    def value(self, house: House, name: str, key: str) -> int | str:
        """What a file of a house really holds."""
        return house.drift.get((name, key), self.wanted(house.crop)[name, key])

    def _remark(self, mark: str) -> str:
        if self.rng.random() < 0.6:
            return ""
        day = date(2019, 2, 1) + timedelta(days=self.rng.randrange(2300))
        text = self.rng.choice(REMARKS).format(
            g=self.rng.choice(GROWERS), d=day, h=f"K{self.rng.randrange(3, 28):02d}", n=self.rng.randrange(2, 40)
        )
        return f"  {mark} {text}"

    def _files(self, house: House) -> dict[str, str]:
        return {
            "climate.toml": self._climate(house),
            "irrigation.ini": self._irrigation(house),
            "network.yaml": self._network(house),
            "alarms.yaml": self._alarms(house),
        }

    def _climate(self, house: House) -> str:
        rng, lines = self.rng, [f"# {house.code} {house.crop}, farm {house.farm}, {house.area} m2; tenths of a degree"]
        for zone in range(1, house.zones + 1):
            lines += ["", f"[zone{zone}]"]
            for key in ("day", "night", "vent_open"):
                lines.append(f"{key}_z{zone} = {self.value(house, 'climate.toml', f'{key}_z{zone}')}{self._remark('#')}")
            for key, value in (("vent_min", rng.choice((0, 0, 5, 10))), ("vent_max", rng.choice((60, 80, 100))), ("screen_close", rng.randrange(8, 30) * 10), ("co2", rng.randrange(55, 100) * 10), ("pipe_min", rng.randrange(20, 45) * 10), ("ramp_minutes", rng.randrange(20, 90))):  # fmt: skip
                lines.append(f"{key}_z{zone} = {value}{self._remark('#')}")
        lines += ["", "[frost]", f"floor = {self.value(house, 'climate.toml', 'floor')}  # never below, by insurance"]
        return "\n".join(lines) + "\n"

    def _irrigation(self, house: House) -> str:
        rng, lines = self.rng, [f"; {house.code} irrigation, EC and pH in tenths"]
        for valve in range(1, house.valves + 1):
            name = f"valve{valve}"
            lines += [
                "",
                f"[{name}]",
                f"line = {'ABCD'[valve % 4]}",
                f"start = {rng.randrange(5, 9):02d}:{rng.choice((0, 15, 30, 45)):02d}{self._remark(';')}",
                f"minutes = {rng.randrange(4, 25)}",
            ]
            right = self.wanted(house.crop)["irrigation.ini", f"{name}.ec"]
            if f"{name}.ec" in house.twice:
                lines.append(f"ec = {right}")
            lines += [
                f"ph = {self.value(house, 'irrigation.ini', f'{name}.ph')}",
                f"ec = {self.value(house, 'irrigation.ini', f'{name}.ec')}{self._remark(';')}",
                f"drain_percent = {rng.randrange(15, 40)}",
            ]
        return "\n".join(lines) + "\n"

    def _network(self, house: House) -> str:
        rng = self.rng
        lines = [f"house: {house.code}", f"address: {house.address}", f"gateway: 10.20.{FARMS.index(house.farm) + 1}.1"]
        lines += [
            f"{key}: {self.value(house, 'network.yaml', key)}{self._remark('#')}"
            for key in ("broker", "broker_port", "retention_days")
        ]
        lines += ["modules:"]
        for node, name in enumerate(rng.sample(MODULES, rng.randrange(4, 8)), 1):
            lines += [
                f"  - name: {name}",
                f"    node: {node}",
                f"    revision: {rng.randrange(1, 9)}.{rng.randrange(0, 20)}",
                f"    seen: {date(2025, 1, 1) + timedelta(days=rng.randrange(390))}",
            ]
        return "\n".join(lines) + "\n"

    def _alarms(self, house: House) -> str:
        rng = self.rng
        lines = [
            f"# alarms of {house.code}",
            f'first: "{self.value(house, "alarms.yaml", "first")}"',
            f'second: "+31 6 {rng.randrange(10_000_000, 99_999_999)}"',
        ]
        lines += [
            f"{key}: {self.value(house, 'alarms.yaml', key)}{self._remark('#')}"
            for key in ("humidity_high", "temp_low", "temp_high")
        ]
        quote = "" if house.bare_clock else '"'
        lines += [f"quiet_from: {quote}22:00{quote}", 'quiet_to: "05:30"', "log:"]
        for _ in range(rng.randrange(40, 80)):
            day = date(2025, 10, 1) + timedelta(days=rng.randrange(120))
            lines.append(
                f'  - "{day} {rng.choice(("humidity", "temp_low", "temp_high", "link"))} {rng.choice(("acknowledged", "cleared by itself", "called " + rng.choice(GROWERS)))}"'
            )
        return "\n".join(lines) + "\n"

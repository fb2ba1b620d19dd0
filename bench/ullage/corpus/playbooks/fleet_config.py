"""Configuration and operations: late frost comes to twenty-six glasshouses whose settings have drifted apart."""

from __future__ import annotations

import random
import re
from datetime import date, timedelta

from ullage.corpus.drawing import bars
from ullage.corpus.playbooks import _frost_night, _glasshouse
from ullage.corpus.recording import EPOCH_MS, Playbook
from ullage.corpus.screenplay import Stage, data_file, filled, sections
from ullage.corpus.workspace import Workspace

WOMEN = ("Hanneke Vos", "Liesbeth Mulder", "Carla Brink", "Esmee Postma")
MEN = ("Gerrit Halsema", "Pieter Zandstra", "Bas Kuipers", "Maurits Teller")
FOLLOWERS = ("a spare pump", "the old boiler", "two weather masts", "a stack of shade cloth")
FILES = ("climate.toml", "irrigation.ini", "network.yaml", "alarms.yaml")
COUNT, DAY_MS = 26, 86_400_000


class FleetConfig(Playbook):
    """A night value that changes three times, a broker that changes twice, and alarms that ring because of two missing quotes."""

    domain = "configuration and operations"
    summary = (
        "frost settings for 26 glasshouses: drift, expired exceptions, an address twice, quiet hours lost, values corrected again"
    )
    project = "glasshouses"
    week = 0
    split = "dev"
    offers = ("bash", "read", "write", "edit", "grep", "view_image")

    def prepare(self, workspace: Workspace, rng: random.Random) -> dict[str, str]:
        """The tree with its history and a chart of last night's calls."""
        values = _values(rng)
        fleet = _glasshouse.Fleet(rng, values)
        files = fleet.build(COUNT)
        values |= _about(fleet, rng)
        files |= {name: filled(text, values) for name, text in sections(data_file("fleet_config.files")).items()}
        workspace.put(files)
        heights = [1 + rng.randrange(3) for _ in range(24)]
        heights[int(values["call_hour"])] = 19
        workspace.path("calls.png").write_bytes(bars(heights))
        workspace.run("git init -q && git add -A && git commit -q -m 'Settings as of December'", EPOCH_MS - 90 * DAY_MS)
        return values

    def play(self, stage: Stage) -> None:
        """Farm by farm, with corrections between them."""
        stage.play("task", "survey")
        self._farm(stage, "Noord", "noord_notes")
        stage.play("noord_end", "night_one")
        self._again(stage, ("Noord",))
        stage.play("night_one_end", "ringing")
        self._boots(stage)
        stage.play("ringing_end")
        self._farm(stage, "Oever", "oever_notes")
        stage.play("oever_end", "broker", "night_two")
        self._again(stage, ("Noord", "Oever"))
        stage.play("night_two_end", "vents")
        self._vents(stage)
        stage.play("vents_end")
        self._farm(stage, "Dijk", "dijk_notes")
        stage.play("dijk_end")
        self._salts(stage)
        stage.play("salts_end", "phone")
        self._frost(stage)
        stage.play("frost_night", "audit", "report", "review", "facts_end", "close")

    def _houses(
        self, stage: Stage, farms: tuple[str, ...] = _glasshouse.FARMS, crops: tuple[str, ...] = tuple(_glasshouse.CROPS)
    ) -> list[list[str]]:
        """Rows of the fleet file, without the house that must not be touched."""
        rows = [
            line.split(",") for line in stage.session.workspace.path("fleet.csv").read_text(encoding="utf-8").splitlines()[1:]
        ]
        return [row for row in rows if row[2] in farms and row[1] in crops and row[0] != stage.session.values["contract"]]

    def _farm(self, stage: Stage, farm: str, notes_name: str) -> None:
        """Every house of a farm: what drifts, its files, what must go back, a dry start."""
        notes = stage.notes(notes_name)
        for number, (house, *_) in enumerate(self._houses(stage, (farm,))):
            if number % 2 == 0 and notes:
                stage.session.say(notes.pop(0))
            rows = self._drift(stage, house)
            stage.session.together([("read", {"path": f"houses/{house}/{name}"}) for name in FILES])
            for name, key, _, right, says in rows:
                if key.endswith(".ec"):
                    if not says.startswith("until"):
                        stage.session.values["open_ec"] += f" {house}/{key}"
                elif not says.startswith("until"):
                    self._change(stage, house, name, key, right)
            stage.session.call("bash", command=f"python tools/boot.py {house}")

    def _drift(self, stage: Stage, house: str) -> list[tuple[str, str, str, str, str]]:
        output = stage.session.call("bash", command=f"python tools/drift.py {house}")
        return re.findall(r"^(\w+\.\w+) +(\S+) +(\S+) +(\S.*?) {2,}(\S.*)$", output, re.MULTILINE)

    def _change(self, stage: Stage, house: str, name: str, key: str, right: str) -> None:
        """Set one value by an exact edit of its line; a valve's line is found below its heading."""
        path = f"houses/{house}/{name}"
        text = stage.session.workspace.path(path).read_text(encoding="utf-8")
        if name == "irrigation.ini":
            section, short = key.split(".")
            block = re.search(rf"^\[{section}\]\n(?:.+\n)*", text, re.MULTILINE)
            old = block[0].strip("\n") if block else ""
            lines = [line for line in old.split("\n") if not line.startswith(f"{short} = ")]
            lines.insert(-1, next(line for line in reversed(old.split("\n")) if line.startswith(f"{short} = ")))
            new = re.sub(rf"^{short} = \S+", f"{short} = {right}", "\n".join(lines), flags=re.MULTILINE)
        else:
            found = re.search(rf"^{key}( = |: )(\S+)(.*)$", text, re.MULTILINE)
            old = found[0] if found else ""
            new = old.replace(found[2], right, 1) if found else ""
        stage.session.call("edit", path=path, old=old, new=new)

    def _again(self, stage: Stage, farms: tuple[str, ...]) -> None:
        """Tomato houses that were done already, once more against the changed baseline."""
        for house, *_ in self._houses(stage, farms, ("tomato",)):
            for name, key, _, right, says in self._drift(stage, house):
                if key.startswith("night") and not says.startswith("until"):
                    self._change(stage, house, name, key, right)

    def _boots(self, stage: Stage) -> None:
        """Dry starts of the houses that rang, and of one that did not."""
        values = stage.session.values
        for house in (*values["ringers"].split(), values["calm"]):
            stage.session.call("bash", command=f"python tools/boot.py {house}")

    def _vents(self, stage: Stage) -> None:
        """A vent minimum of five where the new firmware would keep them shut, in tomato and cucumber."""
        rows = [row for row in self._houses(stage, crops=("tomato", "cucumber")) if row[3].startswith("4.")]
        for house, *_ in rows:
            text = stage.session.workspace.path(f"houses/{house}/climate.toml").read_text(encoding="utf-8")
            shut = re.findall(r"^(vent_min_z\d) = 0\b", text, re.MULTILINE)
            for key in shut:
                self._change(stage, house, "climate.toml", key, "5")
            if shut:
                stage.session.call(
                    "bash",
                    command=f"python tools/boot.py {house} | grep -E 'WARN|ERROR|zone' ; git diff --stat -- houses/{house}",
                )

    def _salts(self, stage: Stage) -> None:
        """Salts back to the baseline, or a row of exception, as the growers said."""
        for place, entry in enumerate(stage.session.values["open_ec"].split()):
            house, key = entry.split("/")
            row = next(r for r in self._drift(stage, house) if r[1] == key)
            self._slip(stage, house, row)
            if place % 3 == 0:
                day = stage.session.values["exception_until"]
                stage.session.call(
                    "bash",
                    command=f"echo '{house},{key},grower wants it,{day}' >> exceptions.csv && python tools/drift.py {house} | tail -3",
                )
            else:
                self._change(stage, house, "irrigation.ini", key, row[3])

    def _frost(self, stage: Stage) -> None:
        """The readings of a frosty night arrive; a door of one house stood open in it."""
        session = stage.session
        nights = {}
        for house, *_ in self._houses(stage):
            text = session.workspace.path(f"houses/{house}/climate.toml").read_text(encoding="utf-8")
            nights[house] = min(int(night) for night in re.findall(r"^night_z\d = (\d+)", text, re.MULTILINE))
        cold = session.rng.choice([house for house in nights if house != session.values["calm"]])
        session.values |= {"cold": cold, "dip_from": _frost_night.clock(_frost_night.DIP.start)}
        session.workspace.put({"logs/night.csv": _frost_night.readings(session.rng, nights, cold)})

    def _slip(self, stage: Stage, house: str, row: tuple[str, str, str, str, str]) -> None:
        """The first edit of a salt by its line alone, which stands more than once in a file of valves."""
        path, old = f"houses/{house}/irrigation.ini", f"ec = {row[2]}"
        if "slip" in stage.session.values or stage.session.workspace.path(path).read_text(encoding="utf-8").count(old) < 2:
            return
        stage.session.call("edit", path=path, old=old, new=f"ec = {row[3]}")
        stage.session.values["slip"] = house


def _about(fleet: _glasshouse.Fleet, rng: random.Random) -> dict[str, str]:
    """Names of houses that the story needs."""
    bare = sorted(house.code for house in fleet.houses if house.bare_clock)
    others = [h for h in fleet.houses if not h.bare_clock and h.code not in (fleet.values["clash_a"], fleet.values["clash_b"])]
    contract = rng.choice(others)
    calm = rng.choice([h for h in others if h is not contract])
    old = sorted(h.code for h in fleet.houses if h.firmware.startswith("3."))
    return {
        "contract": contract.code,
        "calm": calm.code,
        "ringers": " ".join(bare),
        "ringers_list": ", ".join(bare),
        "old_count": str(len(old)),
        "old_list": ", ".join(old),
    }


def _values(rng: random.Random) -> dict[str, str]:
    women, men = rng.sample(WOMEN, 3), rng.sample(MEN, 3)
    today = date(2026, 3, 2)
    hour = rng.randrange(1, 4)
    phones = [f"+31 6 {n}" for n in rng.sample(range(10_000_000, 99_999_999), 2)]
    nights = rng.choice(((158, 162), (156, 161), (159, 163)))
    return {
        "coop": rng.choice(("Zonnedak", "De Warme Hof", "Kasgenoten")), "today": str(today), "week": str(rng.randrange(18, 21)), "ticket": f"GH-{rng.randrange(110, 990)}",
        "agronomist": women[0], "approver_old": men[0], "approver_new": women[1], "tech": men[1], "insurer": rng.choice(("Hagelunie", "Glasvast", "Tuinborg")), "seed_firm": rng.choice(("Zaadrijk", "Novasem", "Kiemkracht")),
        "manager": women[2], "botanist": men[2], "night_1": str(nights[0]), "night_2": str(nights[1]),
        "humidity_0": str(rng.choice((91, 92))), "humidity_1": str(rng.choice((88, 89))),
        "broker_0": f"10.20.0.{rng.randrange(5, 30)}", "broker_1": f"broker.{rng.choice(('kas', 'teelt', 'glas'))}.lan", "broker_2": f"10.20.0.{rng.randrange(40, 90)}",
        "phone_0": phones[0], "phone_1": phones[1], "cutover_old": rng.choice(("Friday 06:00", "Thursday 05:00")), "cutover_new": rng.choice(("Sunday 04:30", "Saturday 04:00")),
        "call_hour": str(hour), "call_time": f"0{hour}:{rng.randrange(10, 55)}", "exception_until": str(today + timedelta(days=rng.randrange(80, 110))), "contract_until": rng.choice(("the end of May", "mid June", "Whitsun")),
        "gas": rng.choice(("a third", "forty per cent", "half")), "spare_ip": f"10.20.9.{rng.randrange(20, 200)}", "loan": rng.choice(FOLLOWERS), "open_ec": "",
    }  # fmt: skip

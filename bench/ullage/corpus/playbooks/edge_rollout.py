"""Configuration and operations: a rollout over forty gateways in four waves."""

from __future__ import annotations

import random
import re

from ullage.corpus.playbooks import _edge_sites
from ullage.corpus.playbooks._edge_sites import Site
from ullage.corpus.recording import EPOCH_MS, Playbook
from ullage.corpus.screenplay import Stage, data_file, filled, sections
from ullage.corpus.session import Session
from ullage.corpus.workspace import Workspace

PEOPLE = (
    "Greta Sandvik",
    "Ravi Menon",
    "Bruno Castell",
    "Aoife Byrne",
    "Kofi Mensah",
    "Lotte Brandsma",
    "Emil Horvat",
    "Tove Lindqvist",
)
COUNT, OLD, LYING = 40, 5, 3
WAVES = ("kiosk", "office", "depot", "clinic")
FULL = 70
"""Percent of a disk from which longer logs are a risk."""
STOP_AT = 2
"""Red probes in one wave after which the runbook asks to stop; from then on the real firmware is read beforehand."""
DAY_MS = 86_400_000


class EdgeRollout(Playbook):
    """A resolver that does not answer, three gateways that lie about their firmware, a retention that changes twice."""

    domain = "configuration and operations"
    summary = "TLS 1.3, new resolvers and log retention on forty gateways in four waves, with rollbacks"
    project = "edge-config"
    split = "test"
    week = 1
    offers = ("bash", "read", "write", "edit", "grep")

    def prepare(self, workspace: Workspace, rng: random.Random) -> dict[str, str]:
        """The settings repository with one commit, and the state of every gateway."""
        values = _values(rng)
        everything = _edge_sites.sites(rng, COUNT, values["firmware"], OLD, LYING)
        values |= _about(everything)
        files = {name: filled(text, values) for name, text in sections(data_file("edge_rollout.files")).items()}
        files |= _edge_sites.files(everything, rng, (values["resolver_a"], values["dead_resolver"]), int(values["keep_0"]))
        workspace.put(files)
        workspace.run("git init -q && git add -A && git commit -q -m 'Settings of all gateways'", EPOCH_MS - 30 * 86_400_000)
        return values

    def play(self, stage: Stage) -> None:
        """Defaults first, then wave by wave."""
        stage.play("task", "defaults")
        notes = {wave: _raw(stage, f"{wave}_notes") for wave in WAVES}
        for wave in WAVES:
            if wave == "clinic":
                _wait_for_night(stage.session)
            if wave == "office":
                self._disks(stage)
            stage.play(f"{wave}_start")
            for number, code in enumerate(stage.session.values[f"{wave}_codes"].split()):
                stage.session.values["site"] = code
                if number % 2 == 1 and notes[wave]:
                    stage.session.say(stage.fill(notes[wave].pop(0)))
                self._site(stage, code, number, first=wave == "kiosk" and number == 0)
            stage.play(f"{wave}_end")
        stage.play("report", "handover")

    def _disks(self, stage: Stage) -> None:
        """Which disks are too full for longer logs, as the gateways themselves say."""
        stage.play("disks")
        found = re.findall(r"^(\w+) (\d+) % used$", stage.session.output, re.MULTILINE)
        kiosks = stage.session.values["kiosk_codes"].split()
        full = {code: used for code, used in found if int(used) >= FULL and code not in kiosks}
        stage.session.values |= {
            "full": ", ".join(f"{code} ({used} %)" for code, used in sorted(full.items())),
            "full_count": str(len(full)),
            "full_codes": " ".join(f"{code}:{used}" for code, used in sorted(full.items())),
        }
        stage.play("disks_found")

    def _site(self, stage: Stage, code: str, number: int, *, first: bool) -> None:
        """One gateway by the runbook; what the tools print decides the way, and habit how many steps go into one command."""
        session = stage.session
        text = session.call("read", path=f"sites/{code}/site.toml")
        full = dict(pair.split(":") for pair in session.values.get("full_codes", "").split())
        if code in full:
            line = f"[log]\nkeep_days = {session.values['keep_1']}  # disk is {full[code]} % full, spare disk in April"
            self._override(session, code, text, line)
        check, render = f"python tools/check.py {code}", f"python tools/render.py {code}"
        one_go, at_once = number % 4 == 1, number % 4 == 3
        if " 0 with problems" not in session.call("bash", command=f"{check} && {render}" if one_go else check):
            self._override(session, code, text, _tls("firmware is too old for TLS 1.3"))
            session.call("bash", command=check)
        elif int(session.values["lies"]) >= STOP_AT and _older(text, session.values["firmware"]):
            self._lie(stage, code, text)
            session.call("bash", command=check)
        steps = [f"python tools/apply.py {code}", f"python tools/probe.py {code}"]
        for command in [" && ".join([render, *steps])] if at_once else steps if one_go else [render, *steps]:
            session.call("bash", command=command)
        if f"{code}: RED" in session.output:
            self._red(stage, code, text, first=first)

    def _red(self, stage: Stage, code: str, text: str, *, first: bool) -> None:
        """A red probe: back at once, then find out why."""
        session = stage.session
        session.values["red"] = code
        session.call("bash", command=f"python tools/apply.py {code} --back && python tools/probe.py {code}")
        if first:
            stage.play("resolver")
        else:
            self._lie(stage, code, text)
        session.call(
            "bash", command=f"python tools/check.py {code} && python tools/apply.py {code} && python tools/probe.py {code}"
        )
        if f"{code}: green" not in session.output:
            raise ValueError(f"{code} stays red: {session.output[-400:]}")

    def _lie(self, stage: Stage, code: str, text: str) -> None:
        """A gateway with older firmware than its file says: the scene of its number, then TLS 1.2."""
        values = stage.session.values
        count = str(int(values["lies"]) + 1)
        values |= {"red": code, "lies": count, f"liar_{count}": code}
        stage.play(f"liar_{count}")
        self._override(stage.session, code, text, _tls("the firmware is older than it says, see the report"))

    def _override(self, session: Session, code: str, text: str, lines: str) -> None:
        """Let one site differ from the defaults, with the reason beside it."""
        head = next(line.split("\t", 1)[1] for line in text.split("\n") if "\tserial = " in line)
        installed = next(line.split("\t", 1)[1] for line in text.split("\n") if "\tinstalled = " in line)
        old = f"{head}\n{installed}"
        session.call("edit", path=f"sites/{code}/site.toml", old=old, new=f"{old}\n\n{lines}")


def _older(text: str, needed: str) -> bool:
    """Tell whether a site's file names a real firmware below the needed one."""
    real = re.search(r'real_firmware = "(\d+)\.(\d+)"', text)
    return real is not None and (int(real[1]), int(real[2])) < tuple(map(int, needed.split(".")))


def _tls(reason: str) -> str:
    return f'[tls]\nminimum = "1.2"  # {reason}'


def _raw(stage: Stage, name: str) -> list[str]:
    """Remarks that are filled when they are said."""
    stage.played.add(name)
    return [part.strip() for part in stage.scenes[name].split("\n\n") if part.strip()]


def _wait_for_night(session: Session) -> None:
    """Nothing happens until the window of the clinics opens."""
    hours, minutes = map(int, session.values["night_from"].split(":"))
    begin = (hours * 60 + minutes) * 60_000
    session.pause(((begin - session.clock.now) % DAY_MS) / 60_000)


def _about(everything: list[Site]) -> dict[str, str]:
    """Which sites there are in each wave."""
    counts = {f"{wave}_codes": " ".join(s.code for s in everything if s.profile == wave) for wave in WAVES}
    sizes = {f"{wave}_count": str(len(codes.split())) for wave, codes in zip(WAVES, counts.values(), strict=True)}
    return counts | sizes | {"lies": "0", "sites": str(len(everything))}


def _values(rng: random.Random) -> dict[str, str]:
    people = rng.sample(PEOPLE, 6)
    net = rng.randrange(20, 90)
    keep = rng.choice((14, 21))
    nights = rng.choice((("22:30", "04:30"), ("23:00", "05:00"), ("21:45", "04:00")))
    return {
        "change": f"CHG-{rng.randrange(4100, 9900)}",
        "owner": people[0],
        "backup_old": people[1],
        "backup_new": people[2],
        "security": people[3],
        "store": people[4],
        "nurse": people[5],
        "firmware": f"{rng.randrange(5, 9)}.{rng.randrange(4, 7)}",
        "resolver_a": f"10.{net}.0.53",
        "dead_resolver": f"10.{net}.8.53",
        "bad_resolver": f"10.{net + 1}.4.{rng.randrange(10, 90)}",
        "good_resolver": f"10.{net + 2}.7.{rng.randrange(10, 90)}",
        "second_resolver": f"10.{net + 3}.1.{rng.randrange(10, 90)}",
        "keep_0": str(keep),
        "keep_1": "30",
        "keep_2": str(rng.choice((45, 60))),
        "night_from": nights[0],
        "night_to": nights[1],
        "law": rng.choice(("the clinics' insurance", "the new hospital act", "the data office")),
        "window_old": rng.choice(("Thursday", "Friday")),
        "window_new": rng.choice(("next Monday", "next Tuesday")),
        "vendor_case": f"V{rng.randrange(30000, 90000)}",
        "spare": str(rng.randrange(2, 6)),
        "cafe": rng.choice(("market week", "the trade fair", "the harvest fair")),
    }

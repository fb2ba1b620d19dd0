"""Generates what is large in the project of ``ledger_refactor``: rules, tariffs, reports, importers, their tests, and visits."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from ullage.corpus.screenplay import data_file, filled, sections

SERVICES = (
    "pilotage mooring berth_dues anchorage channel_dues light_dues ice_dues water shore_power crane stevedoring weighing lashing "
    "reefer_plugs fumigation escort security passenger_fee bunkering dredging_levy tonnage_tax gangway fire_watch divers launch"
).split()
SPECIAL = ("towage", "waste", "storage", "demurrage", "cruise")
REPORTS = "by_account by_day by_memo currencies largest month_end income advances".split()
IMPORTERS = "harbour_bank customs_office nordic_lines union_agents fishermen lock_office".split()
BASES = ("steps", "metre_day", "tonne", "hours", "berth", "heads")
EXTRAS = ("night", "weekend", "dangerous", "green", "frequent", "late", "ice", "fuel", "lay_by")
POSTINGS = ("waive", "correct", "prepay", "split", "accrue", "settle")
FIELDS = ("account", "amount", "currency", "memo", "when")
REMARKS = (
    "resolution {n} of the board, in force since {d}",
    "unchanged since {d}",
    "row {n} of the signed table; the old row is on file",
    "the agents objected on {d}, see protocol {n}",
    "rounded to full units by the board, {d}",
    "provisional until the next sitting, minute {n}",
)
COLUMNS = (
    "call vessel agent arrived left tonnage length_cm cargo heads berth currency ice_class index calls notice_hours tags services"
).split()
VESSELS = (
    "Alma Brita Corvo Dorthe Elida Fenja Gerda Hilke Ines Jorun Kaisa Lotte Maren Nelly Oline Petra Runa Signe Tilda Vera".split()
)


def account_of(number: int) -> str:
    """Account of a service by its place in the list."""
    return str(4400 + number * 10 if number > 7 else 4130 + number * 10)


@dataclass(slots=True)
class Rule:
    """A rule module: its text, and the functions of it that touch the ledger."""

    name: str
    text: str
    functions: list[str]
    test: str


@dataclass(slots=True)
class Quay:
    """Draws the project. ``parts`` are the pieces of code by name."""

    rng: random.Random
    agents: tuple[str, ...]
    parts: dict[str, str] = field(default_factory=lambda: sections(data_file("ledger_refactor_parts.files")))
    calls: list[str] = field(default_factory=list)

    def remark(self) -> str:
        """A comment as tables of an authority carry them."""
        day = datetime(2011, 1, 1) + timedelta(days=self.rng.randrange(4800))  # noqa: DTZ001 - a day in a comment
        return self.rng.choice(REMARKS).format(n=self.rng.randrange(100, 990), d=day.date())

    def rule(self, name: str, number: int) -> tuple[Rule, str]:
        """A rule module with its test, and its tariff."""
        basis = self.rng.choice(BASES)
        extras = self.rng.sample(EXTRAS, self.rng.choice((2, 3, 3)))
        postings = ["charge", *self.rng.sample(POSTINGS, self.rng.choice((1, 2, 2)))]
        values = {"service": name}
        functions = [filled(self.parts[f"posting {p}"], values).strip("\n") for p in postings]
        adds = " + ".join(["minor", *(f"{e}(visit, minor)" for e in extras)])
        head = (
            f'"""{name.replace("_", " ").capitalize()}: {basis.replace("_", " and ")}, with {", ".join(extras).replace("_", "-")}."""\n\n'
            "from __future__ import annotations\n\nfrom quayledger import ledger\n"
            f"from quayledger.tariff import {name} as tariff\nfrom quayledger.visits import Visit\n\n"
            f'ACCOUNT, COUNTER = "{account_of(number)}", "1310"'
        )
        body = [self.parts[f"basis {basis}"], *(self.parts[f"extra {e}"] for e in extras)]
        total = f'def total(visit: Visit) -> int:\n    """Base and surcharges, in whole minor units."""\n    minor = base(visit)\n    return {adds}'
        text = "\n\n\n".join([head, *(b.strip("\n") for b in body), total, *functions]) + "\n"
        return Rule(name, text, functions, self._test(name, postings)), self.tariff(name, basis, extras)

    def _test(self, name: str, postings: list[str]) -> str:
        few = self.rng.sample(self.calls, 5)
        values = {
            "service": name,
            "calls": ", ".join(f'"{c}"' for c in few),
            "first": few[0],
            "second": few[1],
            "agent": self.agents[1],
        }
        tests = [filled(self.parts[f"test {p}"], values).strip("\n") for p in postings]
        return (
            test_head(
                f"Tests of {name.replace('_', ' ')}.", f"from quayledger.rules import {name}\nfrom tests.visits import visit"
            )
            + "\n\n\n".join(tests)
            + "\n"
        )

    def tariff(self, name: str, basis: str, extras: list[str]) -> str:
        """The table behind a rule."""
        lines = [
            f'"""{name.replace("_", " ").capitalize()}: table signed by the harbour board, resolution {self.rng.randrange(100, 990)}; do not edit."""',
            "",
        ]
        lines += self._basis(basis)
        for extra in extras:
            lines += [f"# {self.remark()}", *self._extra(extra)]
        return "\n".join(lines) + "\n"

    def _basis(self, basis: str) -> list[str]:
        rng, price = self.rng, self.rng.randrange(12, 95)
        if basis == "steps":
            limits = [500 * 2**k for k in range(8)]
            rows = [
                f"    ({limit}, {price * 100 + k * rng.randrange(900, 2400)}),  # {self.remark()}"
                for k, limit in enumerate(limits)
            ]
            return ["STEPS = (", *rows, ")", f"BEYOND = {rng.randrange(400, 1500)}"]
        if basis == "berth":
            berths = [
                f'    "{q}{n}": {price * 100 + rng.randrange(0, 9000)},  # {self.remark()}' for q in "ABCD" for n in range(1, 5)
            ]
            quays = ", ".join(f'"{q}": {price * 100 + rng.randrange(0, 5000)}' for q in "ABCDEF")
            return ["BERTHS = {", *berths, "}", f"QUAYS = {{{quays}}}", f"OTHERWISE = {price * 90}"]
        simple = {
            "metre_day": [f"MINIMUM = {price * 200}", f"RATE = {price}"],
            "tonne": [f"FREE_TONNES = {rng.randrange(1, 9) * 10}", f"RATE = {price // 4 + 2}"],
            "hours": [f"BLOCK_HOURS = {rng.choice((2, 4, 6, 8))}", f"RATE = {price * 60}"],
            "heads": [f"CREW_UP_TO = {rng.randrange(8, 20)}", f"CREW_RATE = {price}", f"RATE = {price * 3}"],
        }
        return [line for row in simple[basis] for line in (f"# {self.remark()}", row)]

    def _extra(self, extra: str) -> list[str]:
        rng = self.rng
        return {
            "night": [f"NIGHT_PERCENT = {rng.choice((15, 20, 25, 30))}"],
            "weekend": [f"WEEKEND_PERCENT = {rng.choice((10, 20, 25, 50))}"],
            "dangerous": [
                f"DANGEROUS_MINIMUM = {rng.randrange(40, 160) * 100}",
                f"DANGEROUS_PERCENT = {rng.choice((8, 10, 12, 15))}",
            ],
            "green": [f"GREEN_FROM = {rng.randrange(30, 60)}", f"GREEN_PERCENT = {rng.choice((5, 8, 10))}"],
            "frequent": [
                f"FREQUENT = (({rng.randrange(40, 60)}, 12), ({rng.randrange(20, 35)}, 8), ({rng.randrange(8, 15)}, 3))"
            ],
            "late": [f"NOTICE_HOURS = {rng.choice((12, 24, 36))}", f"LATE_NOTICE = {rng.randrange(50, 240) * 100}"],
            "ice": [f'ICE_PERCENT = {{"IA": 0, "IB": 5, "IC": 10, "II": 15, "": {rng.choice((20, 25, 30))}}}'],
            "fuel": ["FUEL_REFERENCE = 1000", f"FUEL_INDEX = {rng.randrange(1010, 1190)}"],
            "lay_by": [f"LAY_BY_FREE = {rng.randrange(3, 7)}"],
        }[extra]


def test_head(title: str, imports: str) -> str:
    """How every test file of the old project begins."""
    return (
        f'"""{title}"""\n\nimport pytest\n\nfrom quayledger import ledger\n{imports}\n\n\n'
        "@pytest.fixture(autouse=True)\ndef clean():\n    ledger.reset()\n\n\n"
    )


def moved(code: str, cls: str, var: str) -> str:
    """A function of the old style in the new one: the book comes first, entries are objects."""
    code = re.sub(r"^def (\w+)\(\)", rf"def \1({var}: {cls})", code, flags=re.MULTILINE)
    code = re.sub(rf"^def (\w+)\((?!{var}: )", rf"def \1({var}: {cls}, ", code, flags=re.MULTILINE)
    code = re.sub(r"ledger\.post\((.+)\)$", rf"{var}.post(Entry(\1))", code, flags=re.MULTILINE)
    code = re.sub(r"ledger\.post\(\n([\s\S]*?)\n    \)", rf"{var}.post(Entry(\n\1\n    ))", code)
    code = re.sub(r"\bledger\.", f"{var}.", code)
    for place, name in enumerate(FIELDS):
        code = code.replace(f"entry[{place}]", f"entry.{name}")
    return code


def visits(
    rng: random.Random, month: str, agents: tuple[str, ...], first: int, count: int, services: tuple[str, ...]
) -> tuple[str, list[str]]:
    """Calls of a month as a CSV file, and their numbers."""
    rows, calls = [",".join(COLUMNS)], []
    for number in range(first, first + count):
        arrived = datetime.fromisoformat(f"{month}-01T00:10") + timedelta(minutes=rng.randrange(27 * 1440))
        left = arrived + timedelta(hours=rng.choice((5, 9, 14, 20, 31, 50, 80, 160)), minutes=rng.randrange(60))
        call = f"V{number:05d}"
        calls.append(call)
        some = sorted(rng.sample(services, rng.randrange(3, 8)))
        rows.append(",".join(map(str, (
            call, f"{rng.choice(VESSELS)} {rng.choice('ABCDEFGH')}", rng.choice(agents), arrived.isoformat(timespec="minutes"), left.isoformat(timespec="minutes"),
            rng.randrange(300, 60_000), rng.randrange(3_000, 29_000), rng.randrange(0, 9_000), rng.randrange(5, 900), f"{rng.choice('ABCDEF')}{rng.randrange(1, 7)}",
            rng.choice(("EUR", "EUR", "EUR", "SEK", "GBP")), rng.choice(("IA", "IB", "IC", "II", "", "")), rng.randrange(100), rng.randrange(1, 70), rng.randrange(2, 90),
            rng.choice(("", "", "pass", "imdg", "slops", "pass slops", "imdg slops")), " ".join(some),
        ))))  # fmt: skip
    return "\n".join(rows) + "\n", calls

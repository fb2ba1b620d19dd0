"""Reports, importers, accounts and special tariffs of the project of ``ledger_refactor``."""

from __future__ import annotations

import random
from datetime import date, timedelta

from ullage.corpus.playbooks._quay import IMPORTERS, REPORTS, SERVICES, SPECIAL, Quay, account_of, test_head
from ullage.corpus.screenplay import filled

SOME = (
    ("1310", 7000, "EUR", "pilotage V1"),
    ("4130", -7000, "EUR", "pilotage V1"),
    ("1010", 900, "SEK", "advance V2"),
    ("2150", -900, "SEK", "advance V2"),
)
ARGUMENTS = {"by_account": '"EUR"', "by_day": '"1310"', "by_memo": '"pilotage"', "month_end": '"2025-02-28"'}
WANTED = {
    "by_account": '[("1310", 7000), ("4130", -7000)]',
    "by_day": '[("2025-02-03", 7000)]',
    "by_memo": '[("V1", 7000)]',
    "currencies": '[("EUR", 2), ("SEK", 2)]',
    "largest": '[("pilotage V1", 7000), ("pilotage V1", -7000), ("advance V2", 900), ("advance V2", -900)]',
    "month_end": '[("1010", 900), ("1310", 7000), ("2150", -900)]',
    "income": '[("Pilotage", 7000)]',
    "advances": '[("V2", 900)]',
}
SPECIAL_TARIFFS = {
    "towage": "TUGS = ((2000, 1), (8000, 2), (25000, 3))\nMOST_TUGS = 4\nFAR = {{'E': 1, 'F': 2}}\nRATE = {0}\n",
    "waste": "MINIMUM = {0}\nRATE = 45\nOILY = 2300\n",
    "storage": "FREE_DAYS = 2\nRATE = 7\nLIMIT_DAYS = 3\nOVERSTAY = {0}\n",
    "demurrage": "ALLOWANCE = 60\nNOTICE = 24\nRATE = {0}\nCAP = 900000\n",
    "cruise": "RATE = {0}\n",
}


def accounts() -> str:
    """The chart of accounts."""
    rows = {
        "1010": "Bank",
        "1310": "Agents",
        "1390": "Accrued income",
        "2150": "Advances",
        "2160": "Set-offs",
        "6810": "Bank fees",
    }
    rows |= {
        "4120": "Towage",
        "4210": "Waste",
        "4215": "Oily water",
        "4310": "Storage",
        "4320": "Demurrage",
        "4410": "Cruise calls",
    }
    for number, name in enumerate(SERVICES):
        rows[account_of(number)] = name.replace("_", " ").capitalize()
    listed = "\n".join(f'    "{n}": "{rows[n]}",' for n in sorted(rows))
    return f'"""Chart of accounts."""\n\nACCOUNTS = {{\n{listed}\n}}\n'


def registry() -> str:
    """The package that lists the rules."""
    names = sorted((*SERVICES, *SPECIAL))
    imports = "\n".join(f"    {n}," for n in names)
    rows = "\n".join(f'    "{n}": {n},' for n in names)
    return (
        f'"""All rules by the name of their service."""\n\nfrom quayledger.rules import (\n{imports}\n)\nfrom quayledger.visits import Visit\n\n'
        f'RULES = {{\n{rows}\n}}\n\n\ndef run(visit: Visit) -> None:\n    """Charge every service of a visit."""\n'
        "    for name in visit.services.split():\n        RULES[name].charge(visit)\n"
    )


def special_tariffs(rng: random.Random) -> dict[str, str]:
    """Tables of the five rules that are written by hand."""
    return {
        f"quayledger/tariff/{name}.py": f'"""{name.capitalize()}: table signed by the harbour board; do not edit."""\n\n'
        + text.format(rng.randrange(11, 80) * 100)
        for name, text in SPECIAL_TARIFFS.items()
    }


def reports(quay: Quay) -> dict[str, str]:
    """All report modules with their tests."""
    files = {}
    for name in REPORTS:
        body = quay.parts[f"report {name}"].strip("\n")
        extra = "from quayledger.accounts import ACCOUNTS\n" if "ACCOUNTS" in body else ""
        files[f"quayledger/reports/{name}.py"] = (
            f'"""Report: {name.replace("_", " ")}."""\n\nfrom __future__ import annotations\n\nfrom quayledger import ledger\n{extra}\n\n{body}\n\n\n'
            f'def show(rows_: list[tuple[str, int]], width: int = {quay.rng.randrange(28, 44)}) -> str:\n    """Rows as a text table."""\n'
            '    lines = [f"{str(key)[:width]:<{width}}{value:>14}" for key, value in rows_]\n    return "\\n".join(lines) or "(nothing)"\n'
        )
        values = {"name": name, "argument": ARGUMENTS.get(name, ""), "wanted": WANTED[name]}
        head = test_head(f"Tests of the report {name}.", f"from quayledger.reports import {name}").replace(
            "import pytest\n\n", "import pytest\n\n", 1
        )
        some = "SOME = (\n" + "".join(f"    {row!r},\n".replace("'", '"') for row in SOME) + ")\n\n\n"
        files[f"tests/test_report_{name}.py"] = head + some + filled(quay.parts["test report"], values)
    return files


def importers(quay: Quay) -> dict[str, str]:
    """All importers with their tests."""
    files = {}
    for number, name in enumerate(IMPORTERS):
        kind = ("plain", "grouped", "returned")[number % 3]
        amount, day = (
            ("comma", "point", "cents")[(number + quay.rng.randrange(3)) % 3],
            ("dotted", "iso", "short")[quay.rng.randrange(3)],
        )
        delimiter = quay.rng.choice((";", "|", "\\t"))
        order = quay.rng.sample(("AMOUNT", "DAY", "CURRENCY", "REFERENCE"), 4)
        constants = [
            f'SOURCE = "{name.replace("_", " ")}"',
            f'ENCODING = "{quay.rng.choice(("utf-8", "latin-1", "cp1252"))}"',
            f'DELIMITER = "{delimiter}"',
        ]
        constants += [f"HEADER_LINES = {quay.rng.randrange(0, 3)}", f"{', '.join(order)} = 0, 1, 2, 3"]
        constants += [f"FEE = {quay.rng.randrange(3, 12) * 50}"] if kind == "returned" else []
        imports = "from datetime import date\nfrom pathlib import Path\n" if day == "iso" else "from pathlib import Path\n"
        pieces = [
            quay.parts[f"amount {amount}"].strip("\n"),
            quay.parts[f"day {day}"].strip("\n"),
            quay.parts[f"read {kind}"].strip("\n"),
        ]
        files[f"quayledger/importers/{name}.py"] = (
            f'"""Payments as {name.replace("_", " ")} sends them."""\n\nfrom __future__ import annotations\n\n{imports}\nfrom quayledger import ledger\n\n'
            + "\n".join(constants) + "\n\n\n" + "\n\n\n".join(pieces) + "\n"
        )  # fmt: skip
        files[f"tests/test_importer_{name}.py"] = _importer_test(
            quay, name, amount, day, order, delimiter, int(constants[3].split()[-1])
        )
    return files


def _importer_test(quay: Quay, name: str, amount: str, day: str, order: list[str], delimiter: str, headers: int) -> str:
    lines, total = ["sender's heading"] * headers, 0
    for number in range(6):
        minor = quay.rng.randrange(1_000, 900_000)
        on = date(2025, 2, 1) + timedelta(days=quay.rng.randrange(25))
        total += minor
        whole, part = divmod(minor, 100)
        shown = {"comma": f"{whole:,}".replace(",", ".") + f",{part:02d}", "point": f"{whole:,}.{part:02d}", "cents": str(minor)}[
            amount
        ]
        days = {"dotted": on.strftime("%d.%m.%Y"), "iso": on.isoformat(), "short": on.strftime("%y%m%d")}[day]
        cells = {"AMOUNT": shown, "DAY": days, "CURRENCY": "EUR", "REFERENCE": f"V{quay.rng.randrange(10_000, 20_000)}-{number}"}
        lines.append(delimiter.join(cells[key] for key in order))
    sample = 'SAMPLE = """' + "\n".join(lines) + '\n"""\n\n\n'
    head = test_head(f"Tests of the importer {name}.", f"from quayledger.importers import {name}")
    return head + sample + filled(quay.parts["test importer"], {"name": name, "total": str(total)})

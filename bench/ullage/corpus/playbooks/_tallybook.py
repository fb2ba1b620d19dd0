"""Generates what is large in the project of ``credit_note``: currencies, region modules, their tests, a month of data."""

from __future__ import annotations

import json
import random
from datetime import date, timedelta

CODES = (
    "AED ARS AUD BGN BHD BRL CAD CHF CLP COP CZK DKK DZD EGP EUR GBP HKD HUF IDR ILS INR ISK JOD JPY KES KRW KWD MAD MXN MYR NOK "
    "NZD OMR PEN PHP PLN QAR RON SAR SEK SGD THB TND TRY TWD UAH USD UYU VND ZAR"
).split()
THREE, NONE = {"BHD", "JOD", "KWD", "OMR", "TND"}, {"CLP", "ISK", "JPY", "KRW", "VND"}
REGIONS = (
    "at_wien be_bru ch_zh cz_pha de_be de_by dk_kbh ee_tll es_mad es_can fi_hel fr_idf fr_cor gr_ath hr_zag hu_bud ie_dub is_rvk it_laz "
    "lt_vno lu_lux lv_rix no_osl pl_waw pt_lis pt_mad ro_buc se_sto si_lju sk_bts"
).split()
CATEGORIES = ("standard", "reduced", "books", "hosting", "training", "hardware", "travel", "postage")
PRODUCTS = (
    "seat archive relay vault beacon ledger-api sandbox audit-pack onsite-day handbook router-kit probe-kit courier storage-block "
    "support-gold support-silver migration workshop certificate domain".split()
)
NOTES = (
    "reviewed with the {place} office; next review with the budget",
    "the step of {day} follows the transitional act",
    "finance sheet row {row}; the row below is kept for reprints",
    "reduced rate confirmed in writing, letter on file {row}",
    "books include audio books since {day}",
    "postage follows the carrier's own exemption, see row {row}",
)


def currencies() -> str:
    """The currency table as a module."""
    rows = [f'    "{code}": {3 if code in THREE else 0 if code in NONE else 2},' for code in CODES]
    return '"""Decimals of each currency."""\n\nEXPONENT = {\n' + "\n".join(rows) + "\n}\n"


def regions(rng: random.Random) -> dict[str, str]:
    """All region modules, and the package that lists them."""
    listed = "\n".join(f'    "{name}",' for name in REGIONS)
    files = {"tallybook/regions/__init__.py": f'"""Regions, generated."""\n\nREGIONS = (\n{listed}\n)\n'}
    return files | {f"tallybook/regions/{name}.py": _region(name, rng) for name in REGIONS}


def _region(name: str, rng: random.Random) -> str:
    country, place = name.split("_")
    lines = [
        f'"""{country.upper()} / {place}: generated from the finance sheet, revision {rng.randrange(210, 480)}; do not edit."""',
        "",
    ]
    lines += ["RATES = {"]
    top = rng.choice((1700, 1900, 2000, 2100, 2200, 2400, 2500))
    for category in CATEGORIES:
        if rng.random() < 0.55:
            lines.append(f"    # {_note(place, rng)}")
        lines.append(f'    "{category}": (')
        day = date(2009, 1, 1)
        base = top if category in ("standard", "hardware", "training") else rng.choice((500, 600, 700, 900, 1000, 1200))
        for _ in range(rng.randrange(2, 6)):
            lines.append(f'        ("{day}", {base}),')
            day += timedelta(days=rng.randrange(300, 1700))
            base = max(0, base + rng.choice((-100, -50, 50, 100, 200)))
        lines.append("    ),")
    lines += ["}", "", "EXEMPT = frozenset(", "    {"]
    lines += [f'        "{product}",' for product in sorted(rng.sample(PRODUCTS, rng.randrange(2, 6)))]
    lines += ["    }", ")", "", "NUMBERING = {"]
    lines += [
        f'    "invoice": "{country.upper()}{rng.randrange(10, 99)}-{{serial:06d}}",',
        f'    "credit": "{country.upper()}C-{{serial:06d}}",',
        "}",
    ]
    lines += ["", f'LEGAL_NOTE = "{_legal(country, rng)}"', f"RETENTION_YEARS = {rng.choice((6, 7, 8, 10))}"]
    return "\n".join(lines) + "\n"


def _note(place: str, rng: random.Random) -> str:
    day = date(2010, 1, 1) + timedelta(days=rng.randrange(5000))
    return rng.choice(NOTES).format(place=place, day=day, row=rng.randrange(100, 999))


def _legal(country: str, rng: random.Random) -> str:
    return (
        f"Registered in {country.upper()}, number {rng.randrange(10**7, 10**8)}; payable within {rng.choice((14, 21, 30))} days; "
        f"late interest {rng.choice((4, 5, 8, 9))} % above the base rate."
    )


def region_tests(rng: random.Random) -> str:
    """A parametrised test over regions and days, as large as such tests grow."""
    rows = []
    for name in REGIONS:
        rows += [
            f'        ("{name}", "{category}", "{date(2019, 1, 1) + timedelta(days=rng.randrange(2300))}"),'
            for category in rng.sample(CATEGORIES, 4)
        ]
    head = '"""Every region answers for every category that is sold."""\n\nfrom datetime import date\n\nimport pytest\n\nfrom tallybook import rates\n'
    body = '\n\n@pytest.mark.parametrize(\n    ("region", "category", "on"),\n    [\n' + "\n".join(rows) + "\n    ],\n)\n"
    check = "def test_rate_is_sane(region, category, on):\n    assert 0 <= rates.rate(region, category, date.fromisoformat(on)) <= 3000\n"
    return head + body + check


def month(rng: random.Random, first: date, customer: str, frequent: str, busy_day: int = 0, count: int = 260) -> str:
    """A month of documents as JSON lines; every sixth is a credit note, and two customers have more than their share.

    Every third credit note is dated on ``busy_day``, where there is one.
    """
    rows = []
    for serial in range(1, count + 1):
        region = rng.choice(REGIONS)
        credit = serial % 6 == 0
        lines = [_line(rng, credit) for _ in range(rng.randrange(1, 8))]
        rows.append(
            {
                "kind": "credit" if credit else "invoice",
                "region": region,
                "serial": serial,
                "customer": _customer(rng, serial, customer, frequent),
                "date": str(first + timedelta(days=busy_day - 1 if busy_day and serial % 18 == 0 else rng.randrange(28))),
                "currency": rng.choice(("EUR", "EUR", "EUR", "SEK", "CHF", "GBP", "NOK", "ISK", "KWD")),
                "voucher": rng.choice(("", "", "", "SPRING", "PARTNER", "MOVE")),
                "lines": lines,
            }
        )
    return "".join(json.dumps(row) + "\n" for row in rows)


def _customer(rng: random.Random, serial: int, customer: str, frequent: str) -> str:
    if serial % 12 in (0, 5):
        return customer
    return frequent if serial % 36 == 6 else f"C-{rng.randrange(10_100, 10_190)}"


def _line(rng: random.Random, credit: bool) -> dict[str, str | int]:  # noqa: FBT001 - a property of the document
    net = rng.choice((rng.randrange(500, 9_000), rng.randrange(9_000, 90_000), rng.randrange(90_000, 700_000)))
    return {
        "product": rng.choice(PRODUCTS),
        "category": rng.choice(CATEGORIES),
        "quantity": rng.randrange(1, 40),
        "net": -net if credit else net,
    }

"""Data analysis with SQL: why did subscribers leave in autumn?"""

from __future__ import annotations

import random
from datetime import timedelta

from ullage.corpus.drawing import bars
from ullage.corpus.playbooks import _mossbox
from ullage.corpus.recording import Playbook
from ullage.corpus.screenplay import Stage
from ullage.corpus.workspace import Workspace

PEOPLE = ("Henrike Voss", "Dario Conti", "Amina Keita", "Jonas Feld", "Salma Idris", "Ruth Ekdahl", "Viktor Hauge", "Lena Brandt")
DATABASE = "mossbox.sqlite"
LATE = "julianday(b.delivered) - julianday(b.promised) > {days}"


class ChurnAutumn(Playbook):
    """The price is the obvious suspect; a carrier that took over three regions is the cause; definitions change on the way."""

    domain = "data analysis with SQL"
    summary = "cancellations rise in autumn; not the price; a carrier's takeover; a batch loaded twice; three definitions"
    project = "mossbox"
    split = "dev"
    offers = ("bash", "read", "write", "edit", "grep", "sql", "view_image")

    def prepare(self, workspace: Workspace, rng: random.Random) -> dict[str, str]:
        """The database, an old memo, and a picture of the curve that started it."""
        values = _values(rng)
        year = _mossbox.Year(
            bad=values["bad"], regions=tuple(map(int, values["bad_codes"].split())), takeover=int(values["takeover_week"]),
            price_week=int(values["price_week"]), batch=values["batch"],
        )  # fmt: skip
        _mossbox.build(workspace.path(DATABASE), year, rng)
        heights = [18 + rng.randrange(8) if week < year.takeover + 4 else 44 + rng.randrange(14) for week in range(0, 48, 2)]
        workspace.path("curve.png").write_bytes(bars(heights))
        workspace.put({"notes/last_year.md": LAST_YEAR})
        return values

    def play(self, stage: Stage) -> None:
        """Question, data, suspects, corrections, memo."""
        stage.play("task", "tables")
        self._profile(stage)
        stage.play("first_rate", "price")
        self._plans(stage)
        stage.play("price_end", "where")
        self._regions(stage)
        stage.play("carrier", "late_definition")
        self._carriers(stage)
        stage.play("batch")
        self._regions_again(stage)
        stage.play("again_end", "kinds", "redo")
        self._cohorts(stage)
        stage.play("cohorts_end", "tickets")
        self._tickets(stage)
        stage.play("tickets_end", "memo", "review", "letters")
        self._letters(stage)
        stage.play("letters_end", "close")

    def _query(self, stage: Stage, query: str) -> str:
        return stage.session.call("sql", database=DATABASE, query=query)

    def _profile(self, stage: Stage) -> None:
        """A look into each table before anything is joined."""
        for table in ("customers", "boxes", "assignments", "cancellations", "pauses", "prices", "tickets", "imports", "regions"):
            self._query(stage, f"SELECT * FROM {table} LIMIT 40")
        for column, table in (
            ("kind", "customers"),
            ("plan", "customers"),
            ("channel", "customers"),
            ("reason", "cancellations"),
            ("topic", "tickets"),
            ("carrier", "boxes"),
        ):
            self._query(stage, f"SELECT {column}, count(*) AS n FROM {table} GROUP BY 1 ORDER BY 2 DESC")

    def _plans(self, stage: Stage) -> None:
        """Cancellations a week around the price step, one plan at a time and then by channel."""
        notes = stage.notes("plan_notes")
        base = "SELECT strftime('%W', x.on_day) AS week, count(*) AS cancelled FROM cancellations x JOIN customers c ON c.id = x.customer WHERE {where} GROUP BY 1 ORDER BY 1"
        for plan in ("sprout", "bush", "jungle"):
            stage.session.say(notes.pop(0))
            self._query(stage, base.format(where=f"c.plan = '{plan}'"))
        for channel in _mossbox.CHANNELS:
            self._query(stage, base.format(where=f"c.channel = '{channel}'"))

    def _regions(self, stage: Stage) -> None:
        """One weekly table for each region, with the first definition of late."""
        notes = stage.notes("region_notes")
        for code in range(1, len(_mossbox.REGIONS) + 1):
            if code in (1, 9, 16):
                stage.session.say(notes.pop(0))
            query = (
                f"SELECT b.week, min(b.promised) AS first_day, b.carrier, count(*) AS boxes, sum({LATE.format(days=0)}) AS late, "
                f"(SELECT count(*) FROM cancellations x JOIN customers c ON c.id = x.customer WHERE c.region = {code} "
                "AND (julianday(x.on_day) - julianday('2025-01-06')) / 7 - b.week BETWEEN 0 AND 1) AS cancelled "
                f"FROM boxes b JOIN customers c ON c.id = b.customer WHERE c.region = {code} GROUP BY b.week, b.carrier ORDER BY b.week"
            )
            self._query(stage, query)

    def _regions_again(self, stage: Stage) -> None:
        """The regions once more, boxes counted once and late in the stricter sense; then what leavers wrote."""
        notes = stage.notes("again_notes")
        for code in range(1, len(_mossbox.REGIONS) + 1):
            if code in (1, 11):
                stage.session.say(notes.pop(0))
            query = (
                f"SELECT b.week, count(DISTINCT b.customer) AS boxes, count(DISTINCT CASE WHEN {LATE.format(days=1)} THEN b.customer END) AS late, "
                f"round(100.0 * count(DISTINCT CASE WHEN {LATE.format(days=1)} THEN b.customer END) / count(DISTINCT b.customer), 1) AS percent "
                f"FROM boxes b JOIN customers c ON c.id = b.customer WHERE c.region = {code} GROUP BY 1 ORDER BY 1"
            )
            self._query(stage, query)
            if code % 3 == 0:
                self._query(
                    stage,
                    f"SELECT x.on_day, c.kind, c.plan, x.reason, x.note FROM cancellations x JOIN customers c ON c.id = x.customer WHERE c.region = {code} AND x.on_day >= '2025-07-01' ORDER BY 1",
                )

    def _carriers(self, stage: Stage) -> None:
        """Delays of each carrier by week, with the corrected definition."""
        for carrier in _mossbox.CARRIERS:
            query = (
                f"SELECT b.week, count(*) AS boxes, sum({LATE.format(days=1)}) AS late, max(julianday(b.delivered) - julianday(b.promised)) AS worst "
                f"FROM boxes b WHERE b.carrier = '{carrier}' GROUP BY 1 ORDER BY 1"
            )
            self._query(stage, query)

    def _cohorts(self, stage: Stage) -> None:
        """Who stays, by month of joining, in the three regions and elsewhere."""
        codes = stage.session.values["bad_codes"].replace(" ", ", ")
        for month in ("01", "02", "03", "04", "05", "06", "07", "08"):
            query = (
                f"SELECT c.region IN ({codes}) AS affected, strftime('%m', x.on_day) AS left_in, count(DISTINCT c.id) AS customers FROM customers c "
                f"LEFT JOIN cancellations x ON x.customer = c.id WHERE strftime('%m', c.joined) = '{month}' AND c.kind = 'regular' GROUP BY 1, 2 ORDER BY 1, 2"
            )
            self._query(stage, query)

    def _tickets(self, stage: Stage) -> None:
        """Read what people wrote, region by region."""
        for code in [*stage.session.values["bad_codes"].split(), stage.session.values["calm_code"]]:
            for topic in ("delivery", "plants"):
                query = f"SELECT t.on_day, t.customer, t.text FROM tickets t JOIN customers c ON c.id = t.customer WHERE c.region = {code} AND t.topic = '{topic}' ORDER BY t.on_day DESC LIMIT 40"
                self._query(stage, query)

    def _letters(self, stage: Stage) -> None:
        """The list of customers to write to, in pages."""
        codes = stage.session.values["bad_codes"].replace(" ", ", ")
        for page in range(6):
            query = (
                f"SELECT c.id, r.name, c.plan, count(*) AS late_boxes, max(b.promised) AS last_box FROM boxes b JOIN customers c ON c.id = b.customer JOIN regions r ON r.code = c.region "
                f"WHERE {LATE.format(days=1)} AND c.region IN ({codes}) AND c.kind = 'regular' AND b.carrier = '{stage.session.values['bad']}' "
                f"AND c.id NOT IN (SELECT customer FROM cancellations) GROUP BY c.id ORDER BY late_boxes DESC, c.id LIMIT 40 OFFSET {40 * page}"
            )
            self._query(stage, query)


LAST_YEAR = """# Memo of last year

Churn of a month is: cancellations in the month over customers active at its beginning. We reported 2.9 % for the autumn
quarter. A number without a definition is worth nothing; write the definition beside it.

Mean delay is useless here, a handful of boxes lost for weeks dominate it. Use shares or the median.
"""


def _values(rng: random.Random) -> dict[str, str]:
    codes = sorted(rng.sample(range(1, len(_mossbox.REGIONS) + 1), 3))
    calm = rng.choice([n for n in range(1, len(_mossbox.REGIONS) + 1) if n not in codes])
    takeover, price = rng.randrange(31, 35), rng.randrange(24, 29)
    people = rng.sample(PEOPLE, 5)
    week = rng.choice((36, 38, 40))
    return {
        "bad": rng.choice(_mossbox.CARRIERS),
        "bad_codes": " ".join(map(str, codes)),
        "bad_list": ", ".join(map(str, codes)),
        "bad_names": " and ".join((", ".join(_mossbox.REGIONS[n - 1] for n in codes[:2]), _mossbox.REGIONS[codes[2] - 1])),
        "bad_set": " | ".join(_mossbox.REGIONS[n - 1] for n in codes),
        "bad_first": _mossbox.REGIONS[codes[0] - 1],
        "calm_code": str(calm),
        "calm_name": _mossbox.REGIONS[calm - 1],
        "takeover_week": str(takeover),
        "takeover_day": str(_mossbox.START + timedelta(weeks=takeover)),
        "price_week": str(price),
        "price_day": str(_mossbox.START + timedelta(weeks=price)),
        "batch": f"B-{week:02d}{'ab'[week // 2 % 2]}",
        "boss": people[0],
        "reader_old": people[1],
        "reader_new": people[2],
        "ops": people[3],
        "clerk": people[4],
        "due_old": rng.choice(("Tuesday", "Wednesday")),
        "due_new": rng.choice(("Thursday", "Friday")),
        "memo": f"memo_{rng.choice(('autumn', 'churn', 'leavers'))}_{rng.randrange(10, 99)}.md",
        "voucher": rng.choice(("a free fern", "one box at half price", "a month without fee")),
        "voucher_no": rng.choice(("a refund of the last box", "a second box")),
        "contract_until": rng.choice(("end of March", "mid April", "end of May")),
    }

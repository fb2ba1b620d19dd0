"""Data analysis with SQL: why did subscribers leave in autumn?"""

from __future__ import annotations

import random
import re
import sqlite3
from datetime import timedelta

from ullage.corpus.drawing import bars
from ullage.corpus.playbooks import _mossbox, _mossbox_depots
from ullage.corpus.recording import Playbook
from ullage.corpus.screenplay import Stage, data_file, filled, sections
from ullage.corpus.workspace import Workspace

PEOPLE = ("Henrike Voss", "Dario Conti", "Amina Keita", "Jonas Feld", "Salma Idris", "Ruth Ekdahl", "Viktor Hauge", "Lena Brandt")
DATABASE = "mossbox.sqlite"
PAGE = 40
"""Lines of one page of the list that the clerk copies from the screen."""


class ChurnAutumn(Playbook):
    """The price is the obvious suspect; a carrier that took over three regions is the cause; definitions change on the way."""

    domain = "data analysis with SQL"
    summary = "cancellations rise in autumn; not the price; a carrier's takeover; a batch loaded twice; three definitions"
    project = "mossbox"
    split = "dev"
    offers = ("bash", "read", "write", "edit", "grep", "sql", "view_image")

    def prepare(self, workspace: Workspace, rng: random.Random) -> dict[str, str]:
        """The database, an old memo, mails, the scans of the depots, and a picture of the curve that started it."""
        values = _values(rng)
        year = _mossbox.Year(
            bad=values["bad"], regions=tuple(map(int, values["bad_codes"].split())), takeover=int(values["takeover_week"]),
            price_week=int(values["price_week"]), batch=values["batch"], depots=tuple(values["depots"].split(",")),
        )  # fmt: skip
        missed = _mossbox.missed_days(year, rng)
        _mossbox.build(workspace.path(DATABASE), year, missed, rng)
        heights = [18 + rng.randrange(8) if week < year.takeover + 4 else 44 + rng.randrange(14) for week in range(0, 48, 2)]
        workspace.path("curve.png").write_bytes(bars(heights))
        files = sections(data_file("churn_autumn.files"))
        workspace.put({name: filled(text, values) for name, text in files.items()})
        with sqlite3.connect(workspace.path(DATABASE)) as database:
            usual = dict(database.execute("SELECT region, carrier FROM assignments ORDER BY valid_from DESC").fetchall())
        workspace.put(_mossbox_depots.logs(year, usual, missed, values["clock_depot"], rng))
        return values

    def play(self, stage: Stage) -> None:
        """Question, data, suspects, corrections, depots, checks, money, memo, watch, letters."""
        stage.play("task", "tables")
        self._profile(stage)
        stage.play("first_rate", "price")
        self._plans(stage)
        stage.play("price_end", "where")
        self._weeks(stage)
        stage.play("carrier", "late_definition", "delays", "batch", "again", "kinds", "redo", "cohorts", "tickets")
        self._tickets(stage)
        stage.play("tickets_end", "stories")
        self._stories(stage)
        stage.play("stories_end", "depots", "mails", "depots_end", "belt", "recount", "placebo", "loss", "loss_again")
        stage.play("memo", "draft", "review", "watch", "watch_end", "letters")
        self._letters(stage)
        stage.play("letters_end", "exceptions", "handover", "close")

    def _query(self, stage: Stage, query: str) -> str:
        return stage.session.call("sql", database=DATABASE, query=query)

    def _profile(self, stage: Stage) -> None:
        """A look into each table before anything is joined."""
        for query in stage.notes("first_looks"):
            self._query(stage, query)

    def _plans(self, stage: Stage) -> None:
        """Cancellations a week, one plan at a time."""
        for plan, note in zip(("sprout", "bush", "jungle"), stage.notes("plan_notes"), strict=True):
            stage.session.say(note)
            self._query(
                stage,
                f"SELECT strftime('%W', x.on_day) AS week, count(*) AS cancelled FROM cancellations x JOIN customers c ON c.id = x.customer WHERE c.plan = '{plan}' GROUP BY 1 ORDER BY 1",
            )

    def _weeks(self, stage: Stage) -> None:
        """Week by week through the regions that stand out and two that do not, with the first definition of late."""
        values = stage.session.values
        first, *others = values["bad_codes"].split()
        notes = stage.notes("week_notes")
        query = (
            "SELECT b.week, min(b.promised) AS first_day, b.carrier, count(*) AS boxes, sum(b.delivered > b.promised) AS late, "
            "(SELECT count(*) FROM cancellations x JOIN customers c ON c.id = x.customer WHERE c.region = {code} "
            f"AND (julianday(x.on_day) - julianday('{_mossbox.START}')) / 7 - b.week BETWEEN 0 AND 1) AS cancelled "
            "FROM boxes b JOIN customers c ON c.id = b.customer WHERE c.region = {code} GROUP BY b.week, b.carrier ORDER BY b.week"
        )
        stage.session.say(notes.pop(0))
        self._query(stage, query.format(code=first))
        script = f'#!/bin/bash\n# one region week by week: boxes, late ones, cancellations\nsqlite3 -readonly -header -column mossbox.sqlite "{query.format(code="$1")}"\n'
        stage.session.call("write", path="queries/weeks.sh", content=script)
        for code in others:
            stage.session.call("bash", command=f"bash queries/weeks.sh {code}")
        stage.session.say(notes.pop(0))
        stage.session.call(
            "bash", command=f"for region in {values['calm_code']} {values['clock_code']}; do bash queries/weeks.sh $region; done"
        )

    def _tickets(self, stage: Stage) -> None:
        """Read what people wrote, region by region."""
        notes = stage.notes("ticket_notes")
        codes = [*stage.session.values["bad_codes"].split(), stage.session.values["calm_code"]]
        for code in codes:
            if notes:
                stage.session.say(notes.pop(0))
            self._query(
                stage,
                f"SELECT t.on_day, t.customer, t.text FROM tickets t JOIN customers c ON c.id = t.customer WHERE c.region = {code} AND t.topic = 'delivery' ORDER BY t.on_day DESC LIMIT 40",
            )
        for topic in ("plants", "billing"):
            self._query(
                stage,
                f"SELECT r.name, t.on_day, t.customer, t.text FROM tickets t JOIN customers c ON c.id = t.customer JOIN regions r ON r.code = c.region WHERE c.region IN ({', '.join(codes)}) AND t.topic = '{topic}' ORDER BY 1, 2 DESC",
            )

    def _stories(self, stage: Stage) -> None:
        """The whole history of some of the customers that the list before has named."""
        notes = stage.notes("story_notes")
        cases = re.findall(r"^(\d+) ", stage.session.output, re.MULTILINE)
        stage.session.values["cases"] = ", ".join(cases)
        batches = [*([case] for case in cases[:4]), cases[4:6], cases[6:8], cases[8:11], cases[11:]]
        for number, batch in enumerate(batches):
            if number in (0, 4, 6):
                stage.session.say(notes.pop(0))
            one = f"bash queries/story.sh {batch[0]}"
            many = f"for id in {' '.join(batch)}; do bash queries/story.sh $id; echo; done"
            stage.session.call("bash", command=many if batch[1:] else one)

    def _letters(self, stage: Stage) -> None:
        """The list of customers to write to, in pages, until a page is not full."""
        codes = stage.session.values["bad_list"]
        page = 0
        while page == 0 or f"({PAGE} rows)" in stage.session.output:
            self._query(
                stage,
                "SELECT c.id, r.name, c.plan, count(*) AS late_boxes, max(b.promised) AS last_box FROM boxes b JOIN customers c ON c.id = b.customer JOIN regions r ON r.code = c.region "
                f"WHERE julianday(b.delivered) - julianday(b.promised) > 1 AND c.region IN ({codes}) AND c.kind = 'regular' AND b.carrier = '{stage.session.values['bad']}' "
                f"AND c.id NOT IN (SELECT customer FROM cancellations) GROUP BY c.id HAVING late_boxes >= 2 ORDER BY late_boxes DESC, c.id LIMIT {PAGE} OFFSET {PAGE * page}",
            )
            page += 1


def _values(rng: random.Random) -> dict[str, str]:
    codes = sorted(rng.sample(range(1, len(_mossbox.REGIONS) + 1), 3))
    depots = rng.sample(_mossbox_depots.DEPOTS * 5, 20)
    spared = [d for d in _mossbox_depots.DEPOTS if d not in {depots[n - 1] for n in codes}]
    clock_depot = rng.choice(spared)
    clock_code = depots.index(clock_depot) + 1
    calm = rng.choice([n for n in range(1, len(_mossbox.REGIONS) + 1) if n not in (*codes, clock_code)])
    takeover, price = rng.randrange(31, 35), rng.randrange(24, 29)
    week = rng.choice((36, 38, 40))
    bad, bidder = rng.sample(_mossbox.CARRIERS, 2)
    fee = rng.randrange(14, 20)
    return {
        "bad": bad,
        "bidder": bidder,
        "bad_codes": " ".join(map(str, codes)),
        "bad_list": ", ".join(map(str, codes)),
        "bad_names": " and ".join((", ".join(_mossbox.REGIONS[n - 1] for n in codes[:2]), _mossbox.REGIONS[codes[2] - 1])),
        "bad_set": " | ".join(_mossbox.REGIONS[n - 1] for n in codes),
        "bad_first": _mossbox.REGIONS[codes[0] - 1],
        "bad_last": _mossbox.REGIONS[codes[2] - 1],
        "bad_depot": depots[codes[0] - 1],
        "bad_log": _mossbox_depots.file_name(depots[codes[0] - 1]),
        "depots": ",".join(depots),
        "clock_depot": clock_depot,
        "clock_log": _mossbox_depots.file_name(clock_depot),
        "clock_code": str(clock_code),
        "clock_name": _mossbox.REGIONS[clock_code - 1],
        "calm_code": str(calm),
        "calm_name": _mossbox.REGIONS[calm - 1],
        "takeover_week": str(takeover),
        "takeover_day": str(_mossbox.START + timedelta(weeks=takeover)),
        "earlier_day": str(_mossbox.START + timedelta(weeks=takeover - 12)),
        "price_week": str(price),
        "price_day": str(_mossbox.START + timedelta(weeks=price)),
        "batch": f"B-{week:02d}{'ab'[week // 2 % 2]}",
        "fee_old": str(fee + rng.randrange(3, 8)),
        "fee_new": str(fee),
        **_people(rng),
        **_details(rng),
    }


def _people(rng: random.Random) -> dict[str, str]:
    roles = ("boss", "reader_old", "reader_new", "ops", "clerk", "buyer", "lead")
    return dict(zip(roles, rng.sample(PEOPLE, len(roles)), strict=True))


def _details(rng: random.Random) -> dict[str, str]:
    due_old, due_new = rng.choice((("Tuesday", "Thursday"), ("Wednesday", "Friday")))
    return {
        "cheaper": rng.choice(("seven", "nine", "eleven", "thirteen")),
        "hub": rng.choice(("Altenrode", "Veldkamp", "Sankt Gall", "Brockhagen")),
        "belt_user": rng.choice(("a bakery", "a newspaper", "a laundry")),
        "evening_from": rng.choice(("4 May", "11 May", "18 May")),
        "life_old": rng.choice(("6", "8")),
        "life_new": rng.choice(("3", "4")),
        "alarm_old": rng.choice(("30", "35")),
        "alarm_new": rng.choice(("18", "20", "22")),
        "due_old": due_old,
        "due_new": due_new,
        "memo": f"memo_{rng.choice(('autumn', 'churn', 'leavers'))}_{rng.randrange(10, 99)}.md",
        "voucher": rng.choice(("a free fern", "one box at half price", "a month without fee")),
        "voucher_no": rng.choice(("a refund of the last box", "a free box")),
        "contract_until": rng.choice(("end of June", "mid July", "end of August")),
    }

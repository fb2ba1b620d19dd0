"""Customer support under policies that change in the course of the day."""

from __future__ import annotations

import random

from ullage.corpus.playbooks import _help_cases
from ullage.corpus.playbooks._help_cases import Case, Rules
from ullage.corpus.recording import Playbook
from ullage.corpus.screenplay import Stage, data_file, filled, sections
from ullage.corpus.workspace import Workspace

PEOPLE = ("Silke Andresen", "Marek Dudek", "Olivia Brandt", "Jens Paulsen", "Rosa Ceballos", "Tarek Aydin")
COUNT = 72
ROUNDS = (14, 32, 52, 72)
"""After how many cases the user has a word."""


class HelpDesk(Playbook):
    """Return window, approval limit and approver change; three early decisions must be taken back."""

    domain = "customer support under policies"
    summary = "seventy-two cases decided by policies that change twice"
    project = "help-desk"
    split = "test"
    offers = ("bash", "read", "write", "grep", "sql", "search_documents", "open_document")

    def prepare(self, workspace: Workspace, rng: random.Random) -> dict[str, str]:
        """Policies, cases, the shop's database."""
        values = _values(rng)
        parts = sections(data_file("help_desk.files"))
        bank = {name: body.strip().split("\n") for name, body in parts.items() if not name.startswith("library/")}
        found = _cases(values)
        files = {name: filled(body, values) for name, body in parts.items() if name.startswith("library/")}
        files |= {f"cases/HD-{case.number:03d}.txt": _help_cases.thread(case, bank, rng) for case in found}
        workspace.put(files)
        _help_cases.database(workspace.path("shop.sqlite"), found, rng)
        return values | {"cases": str(COUNT)}

    def play(self, stage: Stage) -> None:
        """Policies, then cases in rounds, with a word of the user after each."""
        found = _cases(stage.session.values)
        stage.play("task", "policies")
        notes = stage.notes("case_notes")
        start = 0
        for number, end in enumerate(ROUNDS, 1):
            for case in found[start:end]:
                if case.number % 4 == 2 and notes:
                    stage.session.say(notes.pop(0))
                self._case(stage, case)
            start = end
            self._tally(stage, found[:end])
            stage.play(f"after_{number}")
            values = stage.session.values
            if number == 1:
                values["return_days"] = values["return_new"]
                self._take_back(stage, found[:end])
            if number == 2:
                values |= {"limit": values["limit_new"], "approver": values["approver_new"]}
        stage.play("close")

    def _case(self, stage: Stage, case: Case) -> None:
        """Read, look up, decide, record."""
        session = stage.session
        session.call("read", path=f"cases/HD-{case.number:03d}.txt")
        order = f"SELECT o.*, (SELECT count(*) FROM payments p WHERE p.order_id = o.id) AS payments FROM orders o WHERE o.id = {case.order}"
        scans = f"SELECT day, place, note FROM scans WHERE order_id = {case.order} ORDER BY day"
        past = f"SELECT o.id, o.article, o.price, o.delivered, g.day AS goodwill_day, g.amount FROM orders o LEFT JOIN goodwill g ON g.customer = o.customer WHERE o.customer = {case.customer} ORDER BY o.delivered DESC"
        if session.rng.random() < 0.4:
            session.together([("sql", {"database": "shop.sqlite", "query": query}) for query in (order, scans, past)])
        else:
            for query in (order, scans, past)[: session.rng.choice((2, 3))]:
                session.call("sql", database="shop.sqlite", query=query)
        if session.rng.random() < 0.35:
            session.call("search_documents", query=f"{case.kind} {case.article} days refund", limit=3)
        self._record(stage, case)

    def _record(self, stage: Stage, case: Case) -> None:
        values = stage.session.values
        decision, reason, money = _help_cases.decide(case, _rules(values))
        approval = (
            f"needs approval by {values['approver']}"
            if money > int(values["limit"]) and case.kind != "charged"
            else "no approval needed"
        )
        text = f"# HD-{case.number:03d}\n\ncustomer {case.customer}, order {case.order}, {case.article}\n\ndecision: {decision}\nreason: {reason}\nmoney: {money} euros, {approval}\n"
        stage.session.call("write", path=f"decisions/HD-{case.number:03d}.md", content=text)

    def _tally(self, stage: Stage, done: list[Case]) -> None:
        """Count what has been decided, from the records."""
        session = stage.session
        session.call(
            "bash",
            command="grep -h '^decision:' decisions/*.md | sort | uniq -c | sort -rn; grep -l 'needs approval' decisions/*.md | wc -l; ls decisions | wc -l",
        )
        waiting = session.call(
            "bash", command="grep -l 'needs approval' decisions/*.md | sed 's/.*\\///; s/.md//' | tr '\\n' ' '"
        ).split()
        session.values |= {"waiting": str(len([w for w in waiting if w.startswith("HD-")])), "done": str(len(done))}

    def _take_back(self, stage: Stage, done: list[Case]) -> None:
        """Returns that were refused under the old window are decided again."""
        again = [c for c in done if c.kind == "mind"]
        before = Rules(int(stage.session.values["return_old"]), 0, 99, 0, 0)
        changed = [c for c in again if _help_cases.decide(c, before)[0] != _help_cases.decide(c, _rules(stage.session.values))[0]]
        stage.session.call(
            "bash",
            command="grep -l 'send it back\\|changed my mind\\|should go back' cases/*.txt | head -20; grep -h '^reason: asked' decisions/*.md",
        )
        for case in again:
            self._record(stage, case)
        listed = ", ".join(f"HD-{c.number:03d}" for c in changed) or "none"
        stage.session.values |= {"taken_back": listed, "taken_count": str(len(changed)), "looked_again": str(len(again))}
        stage.play("taken_back")


def _cases(values: dict[str, str]) -> list[Case]:
    """The cases of the day, the same for the one who writes them and for the one who reads them."""
    return _help_cases.cases(random.Random(values["case_seed"]), COUNT)


def _rules(values: dict[str, str]) -> Rules:
    return Rules(
        int(values["return_days"]),
        int(values["damage_days"]),
        int(values["late_from"]),
        int(values["late_voucher"]),
        int(values["limit"]),
    )


def _values(rng: random.Random) -> dict[str, str]:
    people = rng.sample(PEOPLE, 4)
    limit = rng.choice((200, 250, 300))
    returns = rng.choice((14, 20))
    return {
        "case_seed": str(rng.getrandbits(32)),
        "boss": people[0],
        "approver": people[1],
        "approver_old": people[1],
        "approver_new": people[2],
        "lawyer": people[3],
        "return_old": str(returns),
        "return_days": str(returns),
        "return_new": str(rng.choice((30, 45))),
        "damage_days": str(rng.choice((8, 10, 12))),
        "late_from": str(rng.choice((4, 5, 7))),
        "late_voucher": str(rng.choice((10, 12, 15))),
        "limit": str(limit),
        "limit_old": str(limit),
        "limit_new": str(limit + rng.choice((150, 200, 250))),
        "goodwill": str(rng.choice((15, 20, 25))),
        "law": rng.choice(
            ("a ruling of the regional court", "the new distance-selling act", "a settlement with the consumer office")
        ),
        "storm": rng.choice(("5 to 7 March", "6 to 8 March", "9 to 10 March")),
        "close": rng.choice(("17:30", "18:15", "19:00")),
        "code": f"SPRING{rng.randrange(10, 99)}",
    }

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
ROUNDS = {14: "after_1", 23: "letter", 32: "after_2", 41: "goodwill", 52: "after_3", 62: "depots", 72: "after_4"}
"""After how many cases which scene comes."""
KINDS = ("late", "damaged", "wrong", "mind", "lost", "charged", "warranty")
ORDERS = (
    "SELECT o.*, (SELECT count(*) FROM payments p WHERE p.order_id = o.id) AS payments FROM orders o WHERE o.id = {order}",
    "SELECT * FROM orders WHERE id = {order}",
    "SELECT customer, article, price, promised, delivered, state FROM orders WHERE id = {order}",
)
"""Ways to look an order up."""
QUERIES = {
    "late": "SELECT day, place, note FROM scans WHERE order_id = {order} ORDER BY day",
    "lost": "SELECT max(day) AS last_scan, count(*) AS scans FROM scans WHERE order_id = {order}",
    "charged": "SELECT * FROM payments WHERE order_id = {order}",
    "damaged": "SELECT id, article, price, delivered FROM orders WHERE customer = {customer} ORDER BY delivered DESC",
    "mind": "SELECT place, note, day FROM scans WHERE order_id = {order} ORDER BY day DESC LIMIT 3",
    "warranty": "SELECT id, article, price, delivered, state FROM orders WHERE customer = {customer} ORDER BY delivered",
    "wrong": "SELECT day, place, note FROM scans WHERE order_id = {order} AND note != ''",
}
"""What is looked up for each kind of trouble."""
WORDS = {
    "late": "voucher promised day cancel", "lost": "parcel without a scan send again", "charged": "double charge refund same day", "damaged": "damage reported photo replace",
    "mind": "send back unused postage reason", "warranty": "warranty years wear defect", "wrong": "wrong article exchange postage",
}  # fmt: skip
"""What the policies are searched for."""
TALK = 2
"""Every so many cases one is commented."""


class HelpDesk(Playbook):
    """Return window, approval limit and approver change; three early decisions must be taken back."""

    domain = "customer support under policies"
    summary = "seventy-two cases decided by policies that change twice"
    project = "help-desk"
    split = "test"
    week = 2
    offers = ("bash", "read", "write", "grep", "sql", "search_documents", "open_document")

    def prepare(self, workspace: Workspace, rng: random.Random) -> dict[str, str]:
        """Policies, cases, the shop's database."""
        values = _values(rng)
        parts = sections(data_file("help_desk.files"))
        bank = {name: body.strip().split("\n") for name, body in parts.items() if not name.startswith("library/")}
        found = _cases(values)
        files = {name: filled(body, values) for name, body in parts.items() if name.startswith("library/")}
        extras = {values["bold"]: bank["bold"][0], values["asks"]: bank["asks"][0]}
        for case in found:
            name = f"HD-{case.number:03d}"
            files[f"cases/{name}.txt"] = _help_cases.thread(case, bank, rng, filled(extras.get(name, ""), values))
        files["carrier/march.log"] = _help_cases.carrier_log(rng, values["storm"])
        workspace.put(files)
        _help_cases.database(workspace.path("shop.sqlite"), found, rng)
        return values | {"cases": str(COUNT)}

    def play(self, stage: Stage) -> None:
        """Policies, then cases in rounds, with a word of the user after each."""
        found = _cases(stage.session.values)
        stage.play("task", "policies")
        notes = {kind: _raw(stage, f"{kind}_notes") for kind in KINDS}
        for case in found:
            self._case(stage, case, notes[case.kind] if case.number % TALK == 0 else [])
            if case.number in ROUNDS:
                self._word(stage, found[: case.number], ROUNDS[case.number])
        stage.play("close")

    def _word(self, stage: Stage, done: list[Case], scene: str) -> None:
        """A tally, a word with the user, and what changes by it."""
        values = stage.session.values
        self._tally(stage, done)
        stage.play(scene)
        if scene == "after_1":
            values["return_days"] = values["return_new"]
            self._take_back(stage, done)
        if scene == "after_2":
            values |= {"limit": values["limit_new"], "approver": values["approver_new"]}

    def _case(self, stage: Stage, case: Case, notes: list[str]) -> None:
        """Read, look up what the kind of trouble needs, decide, record."""
        session = stage.session
        session.call("read", path=f"cases/HD-{case.number:03d}.txt")
        session.values |= {
            "case": f"HD-{case.number:03d}",
            "article": case.article,
            "days": str(case.days),
            "price": str(case.price),
            "silent": str(case.silent),
        }
        order = session.rng.choice(ORDERS).format(order=case.order)
        detail = QUERIES[case.kind].format(order=case.order, customer=case.customer)
        draw = session.rng.random()
        if draw < 0.4 and "{customer}" not in QUERIES[case.kind]:
            session.together([("sql", {"database": "shop.sqlite", "query": query}) for query in (order, detail)])
        else:
            session.call("sql", database="shop.sqlite", query=order)
            session.call("sql", database="shop.sqlite", query=detail)
        if case.number % 3 == 0:
            seen = case.kind in ("damaged", "warranty")
            past = (
                f"SELECT day, amount, reason FROM goodwill WHERE customer = {case.customer}"
                if seen
                else f"SELECT o.id, o.article, o.price, o.delivered, g.day AS goodwill_day, g.amount FROM orders o LEFT JOIN goodwill g ON g.customer = o.customer WHERE o.customer = {case.customer} ORDER BY o.delivered DESC"
            )
            session.call("sql", database="shop.sqlite", query=past)
        elif case.kind == "late":
            session.call("grep", path="carrier/march.log", pattern=f"^{case.last_scan} .* (north|river) ")
        elif draw > 0.8:
            session.call("search_documents", query=WORDS[case.kind], limit=3)
        elif draw > 0.55:
            session.call(
                "grep",
                pattern=f"customer {case.customer}|order {case.order}|{case.article}",
                path="decisions" if case.number > 1 else "cases",
            )
        if notes:
            session.say(stage.fill(notes.pop(0)))
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
        listed = [w for w in waiting if w.startswith("HD-")]
        asked = [f"HD-{c.number:03d}" for c in done if _help_cases.decide(c, _rules(session.values))[0] == "ask for a photo"]
        session.values |= {
            "waiting": str(len(listed)),
            "waiting_said": str(len(listed) or "none"),
            "waiting_list": ", ".join(listed) or "none",
            "photo_list": ", ".join(asked) or "none",
            "done": str(len(done)),
        }

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


def _raw(stage: Stage, name: str) -> list[str]:
    """Remarks that are filled when they are said."""
    stage.played.add(name)
    return [part.strip() for part in stage.scenes[name].split("\n\n") if part.strip()]


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
    people = rng.sample(PEOPLE, 5)
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
        "bold": f"HD-{rng.randrange(15, 23):03d}",
        "asks": f"HD-{rng.randrange(33, 41):03d}",
        "guard": people[4],
        "bold_sum": str(rng.randrange(31, 60) * 20),
        "given": rng.choice(("ten", "twelve", "fourteen")),
        "code": f"SPRING{rng.randrange(10, 99)}",
    }

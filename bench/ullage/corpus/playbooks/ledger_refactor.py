"""A multi-file refactor: a ledger that is global for the process becomes a value that is handed on."""

from __future__ import annotations

import random
import re

from ullage.corpus.drawing import bars
from ullage.corpus.playbooks import _quay, _quay_files
from ullage.corpus.playbooks._quay import IMPORTERS, REPORTS, SERVICES, SPECIAL, moved
from ullage.corpus.recording import EPOCH_MS, Playbook
from ullage.corpus.screenplay import Stage, data_file, filled, sections
from ullage.corpus.workspace import Workspace

WOMEN = ("Katrin Lauritsen", "Aino Kallio", "Marisol Vega", "Oluchi Eze")
MEN = ("Bram Oosterhuis", "Declan Shaw", "Henrik Dahl", "Stefan Brodersen")
HARBOURS = (("Sandvig", "SVG"), ("Marhaven", "MHV"), ("Tarnwick", "TWK"), ("Ulvsund", "ULV"))
AGENTS = ("Fjord Agency", "Leeward Shipping", "Brandt and Sons", "Quayside Partners", "Nordlys Lines")
DAY_MS = 86_400_000
FIRST, SECOND, THIRD, FOURTH = 3, 9, 17, 25
"""Rules moved by hand, then with the script, then after the new name, then after the week-end."""


class LedgerRefactor(Playbook):
    """Thirty rules, nine reports, six importers; a class that is renamed half way; two old bugs that come to light."""

    domain = "multi-file refactor in a code base"
    summary = (
        "a process-wide ledger becomes an argument through 45 modules; a rename, a swapped argument, a cycle, a global memory"
    )
    project = "quayledger"
    weekday = 4
    split = "test"
    offers = ("bash", "read", "write", "edit", "grep", "run_tests")

    def prepare(self, workspace: Workspace, rng: random.Random) -> dict[str, str]:
        """The project with its tables, two months of visits, and golden files computed by the old code."""
        values = _values(rng)
        workspace.put(_files(rng, values))
        for month in (values["month"], values["month_b"]):
            workspace.run(f"mkdir -p golden && python -m quayledger.cli month {month} > golden/{month}.csv", EPOCH_MS)
        heights = [4 + rng.randrange(5) for _ in range(24)]
        heights[int(values["peak_hour"])] = 27
        workspace.path("night.png").write_bytes(bars(heights))
        steps = (
            ("Dues and services of the port", "quayledger tests README.md", 700),
            ("Scripts of the port office", "scripts tools", 420),
            ("Golden months", "data golden", 60),
            ("Chart of the night run", "night.png", 2),
        )
        workspace.run("git init -q", EPOCH_MS)
        for message, paths, days in steps:
            workspace.run(f"git add {paths} && git commit -q -m '{message}'", EPOCH_MS - days * DAY_MS)
        return values

    def play(self, stage: Stage) -> None:
        """Design, foundation, thirty rules in four groups, reports, importers, and what comes to light on the way."""
        order = stage.session.values["order"].split()
        stage.play("task", "design", "prototype", "swapped", "foundation", "sed_attempt")
        self._rules(stage, order[:FIRST], "first_notes")
        stage.play("script")
        stage.session.values["by_hand"] = ""
        self._rules(stage, order[FIRST:SECOND], "second_notes")
        stage.play("rename")
        stage.session.values |= {"cls": "Journal", "var": "journal"}
        stage.play("towage_waste")
        stage.session.values["moved"] += " towage waste storage"
        self._rules(stage, order[SECOND:THIRD], "third_notes")
        stage.play("demurrage", "cruise")
        stage.session.values["moved"] += " demurrage cruise"
        self._rules(stage, order[THIRD:FOURTH], "fourth_notes")
        stage.play("rules_done", "reports_ask")
        self._others(stage, "report", REPORTS, "report_notes")
        stage.play("importers_ask")
        self._others(stage, "importer", IMPORTERS, "importer_notes")
        stage.play("importers_end", "dispatch", "slow", "release", "facts_end", "close")

    def _rules(self, stage: Stage, names: list[str], notes_name: str) -> None:
        """Move a group of rules: read, edit, move the test, run it; then the list of moved ones, the golden month, a commit."""
        notes = stage.notes(notes_name)
        for number, name in enumerate(names):
            if number % 2 == 0 and notes:
                stage.session.say(notes.pop(0))
            self._look(stage, f"quayledger/rules/{name}.py", f"quayledger/tariff/{name}.py")
            self._edit(stage, f"quayledger/rules/{name}.py")
            self._test(stage, f"tests/test_rules_{name}.py")
        stage.session.values["moved"] = f"{stage.session.values['moved']} {' '.join(names)}".strip()
        stage.session.values["group"] = ", ".join(names)
        stage.play("group_end")

    def _look(self, stage: Stage, path: str, beside: str) -> None:
        if stage.session.rng.random() < 0.3:
            stage.session.together([("read", {"path": path}), ("read", {"path": beside})])
        else:
            stage.session.call("read", path=path)

    def _edit(self, stage: Stage, path: str) -> None:
        """Edit import and functions of a module, one by one or together."""
        values = stage.session.values
        text = stage.session.workspace.path(path).read_text(encoding="utf-8")
        chunks = [c.strip("\n") for c in text.split("\n\n\n") if re.search(r"\bledger\.", c)]
        names = f"{values['cls']}, Entry" if values["cls"] < "Entry" else f"Entry, {values['cls']}"
        names = names if "ledger.post" in text else values["cls"]
        changes = [("from quayledger import ledger\n", f"from quayledger.{values['var']} import {names}\n")]
        changes += [(c, moved(c, values["cls"], values["var"])) for c in chunks if c.startswith("def ")]
        requests = [("edit", {"path": path, "old": old, "new": new}) for old, new in changes]
        if stage.session.rng.random() < 0.4:
            stage.session.together(requests)
            return
        for tool, arguments in requests:
            stage.session.together([(tool, arguments)])

    def _test(self, stage: Stage, path: str) -> None:
        """Move a test file, by hand in the first group, and run it."""
        if stage.session.values["by_hand"]:
            stage.session.call("read", path=path)
            stage.session.values["test_path"] = path
            stage.play("hand_test")
            return
        stage.session.call("bash", command=f"python tools/shift_tests.py {path} && git diff -- {path}")
        output = stage.session.call("run_tests", arguments=f"-q {path}" if stage.session.rng.random() < 0.5 else f"-v {path}")
        if " passed" not in output or " failed" in output:
            raise ValueError(f"{path}: {output[-1500:]}")

    def _others(self, stage: Stage, kind: str, names: list[str], notes_name: str) -> None:
        """Move reports or importers in the same way, two or three at a time."""
        notes = stage.notes(notes_name)
        for number, name in enumerate(names):
            if number % 3 == 0 and notes:
                stage.session.say(notes.pop(0))
            self._look(stage, f"quayledger/{kind}s/{name}.py", f"tests/test_{kind}_{name}.py")
            self._edit(stage, f"quayledger/{kind}s/{name}.py")
            self._test(stage, f"tests/test_{kind}_{name}.py")


def _files(rng: random.Random, values: dict[str, str]) -> dict[str, str]:
    """All files of the project but the golden ones."""
    quay = _quay.Quay(rng, AGENTS)
    services = (*SERVICES, *SPECIAL)
    some, calls = _quay.visits(rng, values["month_b"], AGENTS, 90_001, 16, services)
    quay.calls = calls
    values |= {"cruise_one": f'"{calls[2]}"', "cruise_two": f'"{calls[5]}"'}
    picked = {f"{name}_calls": ", ".join(f'"{c}"' for c in rng.sample(calls, 6)) for name in SPECIAL}
    files = {
        name: filled(text, values | picked | {"demurrage_one": f'"{calls[0]}"'})
        for name, text in sections(data_file("ledger_refactor.files")).items()
    }
    files |= {
        "tests/visits.csv": some,
        "quayledger/accounts.py": _quay_files.accounts(),
        "quayledger/rules/__init__.py": _quay_files.registry(),
    }
    files |= {f"quayledger/{name}/__init__.py": "" for name in ("tariff", "reports", "importers")}
    files |= _quay_files.special_tariffs(rng) | _quay_files.reports(quay) | _quay_files.importers(quay)
    for number, name in enumerate(SERVICES):
        rule, tariff = quay.rule(name, number)
        files |= {
            f"quayledger/rules/{name}.py": rule.text,
            f"tests/test_rules_{name}.py": rule.test,
            f"quayledger/tariff/{name}.py": tariff,
        }
    for place, month in enumerate(("month", "month_b")):
        files[f"data/visits-{values[month]}.csv"] = _quay.visits(
            rng, values[month], AGENTS, int(values["first_call"]) + 400 * place, 150, services
        )[0]
    return files


def _values(rng: random.Random) -> dict[str, str]:
    women, men, (harbour, code) = rng.sample(WOMEN, 3), rng.sample(MEN, 2), rng.choice(HARBOURS)
    other = rng.choice([h for h in HARBOURS if h[0] != harbour])
    year, latest = rng.choice((2024, 2025)), rng.randrange(3, 12)
    ticket, major = f"QL-{rng.randrange(300, 980)}", rng.randrange(2, 5)
    order = rng.sample(SERVICES, len(SERVICES))
    return {
        "harbour": harbour, "code": code, "other": other[0], "other_code": other[1],
        "month": f"{year}-{latest:02d}", "month_b": f"{year}-{latest - 1:02d}",
        "ticket": ticket, "branch_old": f"{ticket.lower()}-explicit-book", "branch_new": f"epic/{rng.choice(('tidegate', 'breakwater', 'leadline', 'foghorn'))}-{rng.randrange(3, 40)}",
        "reviewer_old": men[0], "reviewer_new": women[0], "auditor": women[1], "ops": men[1], "owner": women[2],
        "version": f"{major}.{rng.randrange(4, 19)}.{rng.randrange(0, 6)}", "removal_old": f"{major + 1}.0", "removal_new": f"{major + 2}.0", "next_version": f"{major}.{rng.randrange(20, 40)}.0",
        "freeze_old": rng.choice(("Monday", "Tuesday")), "freeze_new": rng.choice(("Wednesday noon", "Thursday noon")),
        "arrears_limit": str(rng.randrange(40, 90) * 1_000_000), "first_call": str(rng.randrange(12_000, 60_000)), "peak_hour": str(rng.randrange(2, 5)),
        "cron_time": f"0{rng.randrange(2, 5)}:{rng.choice((10, 25, 40, 50))}", "threads": str(rng.choice((4, 6, 8))), "protocol": str(rng.randrange(1100, 1900)),
        "order": " ".join(order), "first_rule": order[0], "cls": "Book", "var": "book", "moved": "", "by_hand": "yes",
    }  # fmt: skip

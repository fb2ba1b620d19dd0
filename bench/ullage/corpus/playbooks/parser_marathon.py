"""A very long session: a parser whose first implementation is lost is brought back case by case."""

from __future__ import annotations

import random
import re

from ullage.corpus.drawing import bars
from ullage.corpus.playbooks import _sprig
from ullage.corpus.recording import EPOCH_MS, Playbook
from ullage.corpus.screenplay import Stage
from ullage.corpus.workspace import Workspace

WOMEN = ("Solveig Aune", "Chiara Bassi", "Noor Elsayed", "Jana Vlckova", "Beatriz Lobo")
MEN = ("Ewan Mackay", "Tarek Mansour", "Olaf Lindgren", "Kenji Ueda", "Florin Albu")
LEXER = "underscores escapes comments dashes exponents dates durations glued heredoc raw-lines crlf braces inner-places".split()
PARSER = "powers ternaries bounds pipes map-lines lambdas optional else-lines signs recovery".split()
VALUES = "chains guards truth remainders defaults sums brackets quotes".split()
PYTEST_SHARE = 0.6
AROUND = 34
"""Lines that are read on either side of a suspect."""


class ParserMarathon(Playbook):
    """Thirty-one defects found by their cases, rules of the language that are settled on the way, and one that no case knows."""

    domain = "bug hunt in a code base"
    summary = "a parser with 31 defects, 700 noisy cases, rulings by the language's owner, wrong first fixes, a fuzzer at the end"
    project = "sprig"
    weekday = 3
    window = 120_000
    split = "test"
    offers = ("bash", "read", "write", "edit", "grep", "run_tests")

    def prepare(self, workspace: Workspace, rng: random.Random) -> dict[str, str]:
        """The project with its cases and its history."""
        values = _values(rng)
        _sprig.build(workspace, rng, values, EPOCH_MS)
        heights = [2 + rng.randrange(6) for _ in range(26)]
        heights[int(values["bad_week"])] = 24
        workspace.path("field.png").write_bytes(bars(heights))
        workspace.run(
            "git init -q && git add -A && git commit -q -m 'What was left on the old build machine'", EPOCH_MS - 20 * 86_400_000
        )
        return values

    def play(self, stage: Stage) -> None:
        """Tokens first, then trees, then values and text; people interrupt, change their minds, and go to bed."""
        stage.play("task", "survey")
        lexer, trees, values = (stage.session.rng.sample(names, len(names)) for names in (LEXER, PARSER, VALUES))
        breaks = {2: "first_ruling", 6: "branch_change", 10: "night"}
        for number, name in enumerate(lexer):
            self._bug(stage, name, whole=number % 3 == 2)
            if number in breaks:
                stage.play(breaks[number])
        stage.play("lexer_done")
        breaks = {2: "second_ruling", 5: "field", 8: "weekend"}
        for number, name in enumerate(trees):
            self._bug(stage, name, whole=number % 2 == 1)
            if number in breaks:
                stage.play(breaks[number])
        stage.play("trees_done")
        breaks = {2: "third_ruling", 5: "target"}
        for number, name in enumerate(values):
            self._bug(stage, name, whole=number % 2 == 0)
            if number in breaks:
                stage.play(breaks[number])
        stage.play("all_green", "fuzz")
        self._fix(stage, "nested")
        stage.play("fuzz_end", "helper", "release", "facts_end", "close")

    def _bug(self, stage: Stage, name: str, *, whole: bool) -> None:
        """One group: every step of its cases, one case alone, the code, what the scene adds, the edit, the group again."""
        values, key = stage.session.values, name.replace("-", "_")
        output = stage.session.call("bash", command=f"python tools/cases.py -v {name}")
        found = re.search(rf"^{name} +\d+ of (\d+) +failed: (.*)$", output, re.MULTILINE)
        if found is None:
            raise ValueError(f"{name} does not fail: {output[-300:]}")
        failed = found[2].split()
        values |= {f"f_{key}": str(len(failed)), f"n_{key}": found[1], f"id_{key}": failed[0]}
        stage.session.call("bash", command=f"python tools/cases.py {name} --only {failed[len(failed) // 2]}")
        self._read(stage, name)
        stage.session.call(
            "bash", command=f"python tools/cases.py {name} --only {failed[-1]}; cat cases/{name}/{failed[-1]}.case"
        )
        stage.play(name)
        self._fix(stage, name)
        self._again(stage, name, whole=whole)
        output = stage.session.call(
            "bash", command=f"git commit -qam 'Cases of {name}' && git log --oneline -1 && git show --stat --format= HEAD"
        )
        values[f"sha_{key}"] = output[:10]
        stage.play(f"{name}_end")

    def _read(self, stage: Stage, name: str) -> None:
        path, _, wrong = _sprig.bugs()[name]
        text = stage.session.workspace.path(path).read_text(encoding="utf-8")
        line = text[: text.index(wrong)].count("\n") + 1
        first = max(1, line - AROUND + stage.session.rng.randrange(12))
        stage.session.call("read", path=path, offset=first, limit=2 * AROUND - 8)

    def _fix(self, stage: Stage, name: str) -> None:
        path, right, wrong = _sprig.bugs()[name]
        stage.session.call("edit", path=path, old=wrong, new=right)

    def _again(self, stage: Stage, name: str, *, whole: bool) -> None:
        """The group again, in full or short; sometimes the whole suite beside it."""
        group = ("bash", {"command": f"python tools/cases.py -v {name}"})
        suite = ("bash", {"command": "python tools/cases.py"})
        outputs = stage.session.together([group, suite]) if whole else stage.session.together([group])
        if not re.search(rf"^{name} +\d+ of \d+ +ok", outputs[0].text, re.MULTILINE):
            raise ValueError(f"{name} still fails: {outputs[0].text[-300:]}")
        if not whole:
            stage.session.call("bash", command="python tools/cases.py | tail -34")
        values = stage.session.values
        values["left"] = re.findall(r"(\d+) failed$", stage.session.output, re.MULTILINE)[-1]


def _values(rng: random.Random) -> dict[str, str]:
    women, men = rng.sample(WOMEN, 3), rng.sample(MEN, 3)
    ticket, minor = f"SPR-{rng.randrange(40, 400)}", rng.randrange(2, 9)
    return {
        "company": rng.choice(("Hollowell Pumps", "Varmedal Heating", "Cassini Locks", "Brightwater Controls")), "ticket": ticket, "version": f"0.{minor}.{rng.randrange(1, 9)}",
        "target_old": f"0.{minor + 1}.0", "target_new": f"1.0.{rng.choice(('0', '0rc1'))}", "owner": women[0], "firmware": men[0], "reviewer_old": men[1], "reviewer_new": women[1], "support": women[2], "author": men[2],
        "branch_old": f"{ticket.lower()}-revive", "branch_new": f"revive/{rng.choice(('second-wind', 'old-growth', 'cuttings', 'understory'))}", "bad_week": str(rng.randrange(6, 20)),
        "demo_old": rng.choice(("Tuesday at ten", "Wednesday at nine")), "demo_new": rng.choice(("Thursday at three", "Friday at eleven")), "machines": str(rng.randrange(140, 900)), "old_year": str(rng.randrange(2009, 2015)),
        "customer": rng.choice(("the waterworks of Lindau", "the lock keepers of Ostmoor", "the ferry of Rathlin", "the dairy at Falkum")), "fuzz_seed": str(rng.randrange(1000, 9999)), "budget": str(rng.choice((1500, 2000, 2500))), "left": "0",
    }  # fmt: skip

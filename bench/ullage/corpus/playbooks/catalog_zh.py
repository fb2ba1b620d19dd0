"""Chinese, English and code: move two hundred messages out of forty handlers into catalogues of two languages."""

from __future__ import annotations

import random
import shlex

from ullage.corpus.playbooks import _order_hub
from ullage.corpus.playbooks._order_hub import Check
from ullage.corpus.recording import EPOCH_MS, Playbook
from ullage.corpus.screenplay import Stage, data_file, sections
from ullage.corpus.workspace import Workspace

PEOPLE = ("高嘉树", "沈知微", "罗一鸣", "唐晚晴", "曹景行", "姚若谷", "Nora Lind", "Peter Osei")
BATCH = 8
"""Handlers between two words of the user."""


class CatalogZh(Playbook):
    """The style of keys and the wording of terms change on the way; a legacy folder is out of bounds."""

    domain = "multi-file change in Chinese and English"
    summary = "把写死的提示语搬进两种语言的目录；键名、术语和格式中途变更"
    language = "zh"
    project = "order-hub"
    split = "test"
    offers = ("bash", "read", "write", "edit", "grep", "run_tests")

    def prepare(self, workspace: Workspace, rng: random.Random) -> dict[str, str]:
        """The project with two commits."""
        parts = sections(data_file("catalog_zh.files"))
        files = {name.removeprefix("file "): body for name, body in parts.items() if name.startswith("file ")}
        files |= _order_hub.handlers(_order_hub.read_checks(parts), rng)
        workspace.run("git init -q", EPOCH_MS)
        code = {name: text for name, text in files.items() if not name.startswith("tests")}
        for message, some, days in (("导入订单中心", code, 200), ("补上每条提示语的测试", files, 40)):
            workspace.put(some)
            workspace.run(f"git add -A && git commit -q -m '{message}'", EPOCH_MS - days * 86_400_000)
        return _values(rng)

    def play(self, stage: Stage) -> None:
        """Survey, the first batch, and a word of the user after each further one."""
        checks = {c.name: c for c in _order_hub.read_checks(sections(data_file("catalog_zh.files")))}
        stage.play("task", "survey", "design")
        words = ["after_1", "after_2", "after_3", "after_4", "after_5"]
        notes = stage.notes("batch_notes")
        for start in range(0, len(_order_hub.MODULES), BATCH):
            for name in _order_hub.MODULES[start : start + BATCH]:
                if name in _order_hub.MODULES[1::3] and notes:
                    stage.session.say(notes.pop(0))
                self._module(stage, name, checks)
            stage.play(words.pop(0))
            if start == 0:
                stage.session.values["prefix"] = stage.session.values["prefix_new"]
            if start == BATCH:
                stage.session.values["account"] = stage.session.values["account_new"]
        stage.play("finish", "close")

    def _module(self, stage: Stage, name: str, checks: dict[str, Check]) -> None:
        """Read a handler, replace its messages one by one, add them to the catalogues, run its tests."""
        session = stage.session
        path = f"orders/handlers/{name}.py"
        text = session.call("read", path=path)
        found = [c for c in checks.values() if f"def check_{c.name}(" in text]
        head = {
            "path": path,
            "old": "from orders.errors import Rejected\n",
            "new": "from orders.errors import Rejected\nfrom orders.i18n import t\n",
        }
        edits = [head, *(_edit(path, name, check, session.values["prefix"]) for check in found)]
        if session.rng.random() < 0.55:
            session.together([("edit", edit) for edit in edits])
        else:
            for edit in edits:
                session.call("edit", **edit)
        lines = [
            f"{session.values['prefix']}{name}.{c.name}\t{_generic(c)}\t{_english(c, session.values['account'])}" for c in found
        ]
        session.call(
            "bash", command=f"printf '%s\\n' {' '.join(shlex.quote(line) for line in lines)} | python tools/catalog.py add"
        )
        session.call("run_tests", arguments=f"-q tests/test_{name}.py")
        if " failed" in session.output:
            raise ValueError(f"{name}: tests fail: {session.output[-900:]}")


def _edit(path: str, module: str, check: Check, prefix: str) -> dict[str, str]:
    """The edit that replaces one message by its key; placeholders get names."""
    quote = "f" if "{" in check.chinese else ""
    named = "".join(f", {name}={expression}" for name, expression in _order_hub.placeholders(check))
    return {
        "path": path,
        "old": f'raise Rejected({quote}"{check.chinese}")',
        "new": f'raise Rejected(t("{prefix}{module}.{check.name}"{named}))',
    }


def _generic(check: Check) -> str:
    text = check.chinese
    for name, expression in _order_hub.placeholders(check):
        text = text.replace("{" + expression + "}", "{" + name + "}")
    return text


def _english(check: Check, account: str) -> str:
    return check.english.replace("Your balance", f"Your {account}")


def _values(rng: random.Random) -> dict[str, str]:
    people = rng.sample(PEOPLE, 4)
    days = rng.sample(("周三中午", "周四下班前", "周五上午", "下周一"), 2)
    ticket = f"OH-{rng.randrange(2100, 8800)}"
    terms = rng.sample(
        (
            ("红包", "red packet", "lucky money"),
            ("团长", "group host", "group leader"),
            ("尾款", "balance payment", "final payment"),
        ),
        2,
    )
    return {
        "ticket": ticket,
        "branch_old": f"feature/{ticket.lower()}",
        "branch_new": f"release/i18n-{rng.randrange(20, 60)}",
        "owner": people[0],
        "translator_old": people[1],
        "translator_new": people[2],
        "reviewer": people[3],
        "due_old": days[0],
        "due_new": days[1],
        "prefix": "",
        "prefix_new": rng.choice(("err.", "msg.", "oh.")),
        "account": "balance",
        "account_new": rng.choice(("wallet", "store credit", "stored value")),
        "term_a": terms[0][0],
        "term_a_yes": terms[0][1],
        "term_a_no": terms[0][2],
        "term_b": terms[1][0],
        "term_b_yes": terms[1][1],
        "term_b_no": terms[1][2],
        "fallback": rng.choice(("zh-CN", "zh-Hans")),
        "version": f"{rng.randrange(3, 9)}.{rng.randrange(10, 40)}.0",
        "cap": str(rng.choice((60, 72, 80, 90))),
        "vendor": rng.choice(("星帆外包", "云程外包", "海岳外包")),
    }

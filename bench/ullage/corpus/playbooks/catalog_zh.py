"""Chinese, English and code: move two hundred messages out of forty handlers into catalogues of two languages."""

from __future__ import annotations

import random
import shlex
from collections.abc import Container, Iterator, Sequence

from ullage.corpus.playbooks import _order_hub
from ullage.corpus.playbooks._order_hub import Check
from ullage.corpus.recording import EPOCH_MS, Playbook
from ullage.corpus.screenplay import Stage, data_file, sections
from ullage.corpus.workspace import Workspace

PEOPLE = ("高嘉树", "沈知微", "罗一鸣", "唐晚晴", "曹景行", "姚若谷", "林疏桐", "方以宁")
BATCH = 8
"""Handlers between two words of the user."""
PAIRS, GLANCE, TESTS_TOO = 0.22, 0.15, 0.45
"""Shares of steps that take two handlers, of single ones that look at the messages alone, and of others that read the tests too."""
SLIP = "invoice_apply"
"""The handler in which a placeholder is named wrongly at first."""
MISSED, MISSED_RULE = "review_append", "order_closed"
"""The handler in which a message is registered but not replaced, and whose message it is; only the scan shows it."""
DRAFT = "This coupon can only be used for orders whose total after all other discounts is {minimum} yuan or more"
"""A translation that is too long for every limit."""
MARKS = {"<RED>": "红包", "<HOST>": "团长", "<FINAL>": "尾款"}
TERMS = (
    ("红包", "red packet", "lucky money"),
    ("团长", "group host", "group leader"),
    ("尾款", "final payment", "balance payment"),
)
"""Words of the trade with the translation that is decided and the one that is used before."""


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
        files |= _order_hub.handlers(parts, rng)
        workspace.run("git init -q", EPOCH_MS)
        code = {name: text for name, text in files.items() if not name.startswith("tests")}
        for message, some, days in (("导入订单中心", code, 200), ("补上每条提示语的测试", files, 40)):
            workspace.put(some)
            workspace.run(f"git add -A && git commit -q -m '{message}'", EPOCH_MS - days * 86_400_000)
        return _values(rng)

    def play(self, stage: Stage) -> None:
        """Survey, the first batch, and a word of the user after each further one."""
        parts = sections(data_file("catalog_zh.files"))
        checks = {c.name: c for c in _order_hub.read_checks(parts)}
        modules = [action.module for action in _order_hub.read_actions(parts)]
        stage.play("task", "survey", "design")
        words = ["after_1", "after_2", "after_3", "after_4", "after_5"]
        remarks = dict(note.split("：", 1) for note in stage.notes("batch_notes"))
        for start in range(0, len(modules), BATCH):
            for group in _groups(modules[start : start + BATCH], remarks, stage.session.rng):
                _Move(stage, checks, remarks, drafting=start == 2 * BATCH).group(group)
            stage.play(words.pop(0))
            values = stage.session.values
            if start == 0:
                values["prefix"] = values["prefix_new"]
            if start == BATCH:
                values |= {
                    "account": values["account_new"],
                    **{f"word_{values[t]}": values[f"{t}_yes"] for t in ("term_a", "term_b")},
                }
        stage.play("finish", "close")


class _Move:
    """Moves the messages of one or two handlers: read, replace one by one, register, test."""

    def __init__(self, stage: Stage, checks: dict[str, Check], remarks: dict[str, str], *, drafting: bool) -> None:
        self.stage, self.session, self.checks, self.remarks = stage, stage.session, checks, remarks
        self.drafting = drafting

    def group(self, names: list[str]) -> None:
        """The handlers of one step, with a remark where there is one."""
        for name in names:
            if name in self.remarks:
                self.session.say(self.remarks.pop(name))
                break
        self._look(names)
        found = {name: self._found(name) for name in names}
        for name in names:
            self._replace(name, found[name])
        self._register(found)
        self.session.call("run_tests", arguments=" ".join(["-q", *(f"tests/test_{name}.py" for name in names)]))
        if SLIP in names:
            self.stage.play("slip")
        if " failed" in self.session.output:
            raise ValueError(f"{names}: tests fail: {self.session.output[-900:]}")

    def _found(self, name: str) -> list[Check]:
        text = self.session.workspace.path(f"orders/handlers/{name}.py").read_text(encoding="utf-8")
        return [c for c in self.checks.values() if f"def check_{c.name}(" in text]

    def _look(self, names: list[str]) -> None:
        if len(names) == 1 and self.session.rng.random() < GLANCE:
            arguments = {"pattern": "^def |raise Rejected|import", "path": f"orders/handlers/{names[0]}.py", "context": 1}
            self.session.call("grep", **arguments)
        else:
            paths = [f"orders/handlers/{name}.py" for name in names]
            paths += [f"tests/test_{names[0]}.py"] * (self.session.rng.random() < TESTS_TOO)
            self.session.together([("read", {"path": path}) for path in paths])

    def _replace(self, name: str, found: list[Check]) -> None:
        path = f"orders/handlers/{name}.py"
        line = "from orders.errors import Rejected\n"
        edits = [{"path": path, "old": line, "new": f"{line}from orders.i18n import t\n"}]
        edits += [_edit(path, name, check, self.session.values["prefix"]) for check in found]
        if name == SLIP:
            edits = [edit | {"new": edit["new"].replace(", number=", ", no=")} for edit in edits]
        if name == MISSED:
            missed = next(edit for edit in edits if f".{MISSED_RULE}" in edit["new"])
            edits.remove(missed)
            self.session.values |= {"missed_old": missed["old"], "missed_new": missed["new"]}
        if self.session.rng.random() < 0.6:
            self.session.together([("edit", edit) for edit in edits])
        else:
            for edit in edits:
                self.session.call("edit", **edit)

    def _register(self, found: dict[str, list[Check]]) -> None:
        values = self.session.values
        lines = [
            f"{values['prefix']}{name}.{c.name}\t{_generic(c)}\t{_english(c, values, drafting=self.drafting)}"
            for name, some in found.items()
            for c in some
        ]
        if len(found) > 1:
            self.session.call("write", path="catalog/pending.tsv", content="\n".join(lines) + "\n")
            self.session.call("bash", command="python tools/catalog.py add < catalog/pending.tsv && rm catalog/pending.tsv")
        else:
            quoted = " ".join(shlex.quote(line) for line in lines)
            self.session.call("bash", command=f"printf '%s\\n' {quoted} | python tools/catalog.py add")


def _groups(names: Sequence[str], remarks: Container[str], rng: random.Random) -> Iterator[list[str]]:
    """The handlers of a batch, alone or in pairs; those that are remarked on are no pair, and the one with the slip stands alone."""
    rest = list(names)
    while rest:
        alone = SLIP in rest[:2] or all(name in remarks for name in rest[:2])
        pair = len(rest) > 1 and not alone and rng.random() < PAIRS
        yield [rest.pop(0) for _ in range(2 if pair else 1)]


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


def _english(check: Check, values: dict[str, str], *, drafting: bool) -> str:
    if drafting and check.name == "coupon_minimum":
        return DRAFT
    text = check.english.replace("Your balance", f"Your {values['account']}")
    for mark, term in MARKS.items():
        text = text.replace(mark, values[f"word_{term}"])
    return text


def _values(rng: random.Random) -> dict[str, str]:
    people = rng.sample(PEOPLE, 4)
    days = ("下周三中午前", "下周四下班前", "下周五上午", "下下周一")
    early, late = sorted(rng.sample(range(len(days)), 2))
    ticket = f"OH-{rng.randrange(2100, 8800)}"
    terms = [TERMS[0], rng.choice(TERMS[1:])]
    rng.shuffle(terms)
    words = {f"word_{term}": no if (term, yes, no) in terms else yes for term, yes, no in TERMS}
    return words | {
        "ticket": ticket,
        "branch_old": f"feature/{ticket.lower()}",
        "branch_new": f"release/i18n-{rng.randrange(20, 60)}",
        "owner": people[0],
        "translator_old": people[1],
        "translator_new": people[2],
        "reviewer": people[3],
        "due_old": days[early],
        "due_new": days[late],
        "prefix": "",
        "prefix_new": rng.choice(("err.", "msg.", "oh.")),
        "account": "balance",
        "account_new": rng.choice(("account credit", "store credit", "stored value")),
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

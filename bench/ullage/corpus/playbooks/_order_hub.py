"""Generates the code of ``catalog_zh``: handlers with Chinese messages, and a test for each message."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass

GOOD_REQUEST = (
    'amount=10, user="u-77", reason="不想要了", phone="13800001111", address="人民路一百二十号三单元", quantity=1, today="2026-01-05", points=100, days=1, '
    'title="某某公司", tax_number="1" * 18, stars=5, text="非常好用的东西", pictures=["p"], slot="1400", now="0900", pay=10, captcha="8841", to="u-78", region="华东", '
    'minutes=5, hours=30, mail="kefu@example.com", card="6" * 16, serial="SN2601050007", code="7730"'
)
GOOD_ORDER = (
    'id="o-1", paid=120, status="paid", user="u-77", items=["a", "b"], stock=20, coupon_until="2026-02-01", total=300, coupon_from=100, coupon_used=False, '
    'points=500, shipped=False, tracking="SF1", invoiced=False, invoice_no="FP-9", reviewed=False, slot_left=3, balance=900, tries=0, captcha="8841", '
    'members=1, group_size=3, group_over=False, red_until="2026-03-01", red_part=0, host="u-77", final_left=0, blocked=["南极"], weight=900, '
    'parts=1, ship_to="人民路一百二十号三单元", reminded=0, refunded=False, sent_back=False, old_address="中山路八号二单元", old_phone="13900002222", resent=0, '
    'coupon_bound=False, coupon_left=40, coupon_mine=0, gift_taken=False, gift_until="2026-02-10", groups=1, joined=["u-77"], review_id="r-5", hidden=False, '
    'pickup_no="P-31", pickup_in=300, delays=0, card_bound=False, sale_from="0800", sale_over=False, sale_mine=0, final_until="2026-03-10", signed=False, '
    'sign_code="7730"'
)
ORDER_KEYS = set(re.findall(r"(\w+)=", GOOD_ORDER)) - {"points", "user", "captcha"}
RENAMED = {"points_wanted": "points"}
LOGS = ("request checked", "rules passed", "handing over to store", "audit written", "result built")


@dataclass(frozen=True, slots=True)
class Check:
    """One rule: its name, condition, Chinese and English message, and what triggers it."""

    name: str
    condition: str
    chinese: str
    english: str
    trigger: str


@dataclass(frozen=True, slots=True)
class Action:
    """One handler: its module, its title, the rules that it must have, and those of its own and common ones that it may have."""

    module: str
    title: str
    must: tuple[str, ...]
    own: tuple[str, ...]
    common: tuple[str, ...]


def read_actions(parts: dict[str, str]) -> list[Action]:
    """The handlers of the data file, in the order in which they are moved."""
    found = []
    for line in parts["actions"].strip("\n").split("\n"):
        head, _, rules = line.partition(": ")
        own, common = (half.split() for half in rules.split(" | "))
        must = tuple(rule[1:] for rule in own + common if rule.startswith("!"))
        module, title = head.split()
        found.append(Action(module, title, must, *(tuple(r for r in half if not r.startswith("!")) for half in (own, common))))
    return found


def read_checks(parts: dict[str, str]) -> list[Check]:
    """The rules among the parts of the data file."""
    found = []
    for head, body in parts.items():
        if head.startswith("check "):
            found.append(Check(head.removeprefix("check "), *body.strip("\n").split("\n")))
    return found


def handlers(parts: dict[str, str], rng: random.Random) -> dict[str, str]:
    """All handler modules and their tests."""
    files = {}
    known = {check.name: check for check in read_checks(parts)}
    for action in read_actions(parts):
        some = [known[rule] for rule in _rules(action, rng)]
        files[f"orders/handlers/{action.module}.py"] = _module(action.module, action.title, some, rng)
        files[f"tests/test_{action.module}.py"] = _tests(action.module, some)
    files["tests/good.py"] = f'"""一份合规的请求和订单。"""\n\nREQUEST = dict({GOOD_REQUEST})\nORDER = dict({GOOD_ORDER})\n'
    return files


def _rules(action: Action, rng: random.Random) -> list[str]:
    """The rules that an action must have, then some of its own, then some common ones: the order in which a user meets them."""
    own = list(action.own)
    some = rng.sample(own, min(len(own), rng.randrange(1, 4)))
    shared = rng.sample(action.common, min(len(action.common), rng.randrange(2, 4)))
    return [*action.must, *(rule for rule in own if rule in some), *(rule for rule in action.common if rule in shared)]


def _module(name: str, title: str, checks: list[Check], rng: random.Random) -> str:
    lines = [
        f'"""{title}。"""',
        "",
        "import logging",
        "",
        "from orders.errors import Rejected",
        "",
        "log = logging.getLogger(__name__)",
    ]
    lines += [f'ACTION = "{name}"', f"TIMEOUT_MS = {rng.choice((800, 1200, 2000, 3000))}", f"RETRIES = {rng.randrange(0, 4)}", ""]
    for check in checks:
        quote = "f" if "{" in check.chinese else ""
        lines += ["", f"def check_{check.name}(request, order):", f'    """{title}：{_gist(check)}。"""']
        lines += [
            f"    if {check.condition}:",
            f'        log.info("%s rejected rule={check.name} order=%s", ACTION, order["id"])',
            f'        raise Rejected({quote}"{check.chinese}")',
            "",
        ]
    lines += ["", "CHECKS = ("] + [f"    check_{check.name}," for check in checks] + [")", "", ""]
    lines += ["def audit(request, order):", f'    """{title}的审计记录，字段顺序由财务规定。"""', "    return {"]
    fields = rng.sample(("user", "order", "action", "timeout", "retries", "total", "items", "status"), 5)
    lines += [f'        "{field}": {_audit(field)},' for field in fields] + ["    }", "", ""]
    lines += [
        "def handle(request, order):",
        f'    """{title}：先过规则，再写审计。"""',
        "    for check in CHECKS:",
        "        check(request, order)",
    ]
    for step in rng.sample(LOGS, 2):
        lines.append(f'    log.debug("{step} order=%s", order["id"])')
    lines += ['    return {"ok": True, "action": ACTION, "audit": audit(request, order)}']
    return "\n".join(lines) + "\n"


def _gist(check: Check) -> str:
    return check.name.replace("_", " ") + " 规则"


def _audit(field: str) -> str:
    values = {
        "user": 'request["user"]', "order": 'order["id"]', "action": "ACTION", "timeout": "TIMEOUT_MS", "retries": "RETRIES",
        "total": 'order["total"]', "items": 'len(order["items"])', "status": 'order["status"]',
    }  # fmt: skip
    return values[field]


def _tests(name: str, checks: list[Check]) -> str:
    lines = [
        "import pytest",
        "from good import ORDER, REQUEST",
        "",
        f"from orders.handlers import {name}",
        "from orders.errors import Rejected",
        "",
        "",
    ]
    lines += ["def test_good_request_passes():", f'    assert {name}.handle(dict(REQUEST), dict(ORDER))["ok"]', ""]
    for check in checks:
        key, value = check.trigger.split("=", 1)
        key = RENAMED.get(key, key)
        where = "order" if key in ORDER_KEYS else "request"
        lines += [
            "",
            f"def test_{check.name}():",
            "    request, order = dict(REQUEST), dict(ORDER)",
            f'    {where}["{key}"] = {value}',
        ]
        lines += [
            "    with pytest.raises(Rejected) as caught:",
            f"        {name}.check_{check.name}(request, order)",
            f"    assert caught.value.message == {_expected(check)}",
            "",
        ]
    return "\n".join(lines).rstrip("\n") + "\n"


def _expected(check: Check) -> str:
    return ("f" if "{" in check.chinese else "") + f'"{check.chinese}"'


def placeholders(check: Check) -> list[tuple[str, str]]:
    """Pairs of the English placeholder's name and the expression in the Chinese message, in order."""
    return list(zip(re.findall(r"\{(\w+)\}", check.english), re.findall(r"\{([^}]+)\}", check.chinese), strict=True))

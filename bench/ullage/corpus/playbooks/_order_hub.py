"""Generates the code of ``catalog_zh``: handlers with Chinese messages, and a test for each message."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass

MODULES = (
    "order_create order_cancel order_split order_merge order_confirm order_remind refund_apply refund_cancel refund_partial return_goods "
    "exchange_goods address_change phone_change invoice_apply invoice_resend invoice_red coupon_use coupon_give coupon_claim points_use "
    "points_convert gift_send gift_accept group_open group_join group_leave review_write review_append review_hide pickup_book "
    "pickup_cancel delivery_delay delivery_track card_pay card_bind wallet_top_up seckill_enter presale_pay warranty_claim receipt_sign"
).split()
TITLES = (
    "创建订单 取消订单 拆分订单 合并订单 确认订单 催单 申请退款 撤销退款 部分退款 退货 换货 改地址 改手机号 申请发票 重发发票 红冲发票 用券 转赠优惠券 领券 用积分 积分兑换 送礼物 "
    "收礼物 开团 参团 退团 写评价 追评 隐藏评价 预约取件 取消取件 推迟配送 查物流 刷卡支付 绑卡 钱包充值 参加秒杀 支付尾款 申请保修 签收"
).split()
GOOD_REQUEST = (
    'amount=10, user="u-77", reason="不想要了", phone="13800001111", address="人民路一百二十号三单元", quantity=1, today="2026-01-05", points=10, days=1, '
    'title="某某公司", tax_number="1" * 18, stars=5, text="非常好用的东西", pictures=["p"], slot="1400", now="0900", pay=10, captcha="8841", to="u-78", region="华东"'
)
GOOD_ORDER = (
    'id="o-1", paid=120, status="paid", user="u-77", items=["a", "b"], stock=20, coupon_until="2026-02-01", total=300, coupon_from=100, coupon_used=False, '
    'points=500, shipped=False, tracking="SF1", invoiced=False, invoice_no="FP-9", reviewed=False, slot_left=3, balance=900, tries=0, captcha="8841", '
    'members=1, group_size=3, group_over=False, red_until="2026-03-01", red_part=0, host="u-77", final_left=0, blocked=["南极"], weight=900'
)
ORDER_KEYS = set(re.findall(r"(\w+)=", GOOD_ORDER)) - {"points", "user", "captcha"}
RENAMED = {"points_wanted": "points"}
COMMON = ("order_closed", "not_owner", "reason_missing", "reason_too_long", "phone_format", "captcha", "items_empty")
"""Rules that any action may have."""
OWN = {
    "order": (
        "stock_short",
        "quantity_zero",
        "items_too_many",
        "address_short",
        "region_blocked",
        "weight_limit",
        "red_packet_expired",
    ),
    "refund": ("amount_above_paid", "amount_not_positive", "shipped", "window_passed", "invoice_done", "red_packet_cash"),
    "return": ("window_passed", "picture_count", "amount_above_paid", "not_shipped"),
    "exchange": ("window_passed", "picture_count", "stock_short", "not_shipped"),
    "address": ("address_short", "region_blocked", "shipped"),
    "phone": ("shipped", "password_tries"),
    "invoice": ("invoice_title", "tax_number", "invoice_done", "amount_not_positive"),
    "coupon": ("coupon_expired", "coupon_minimum", "coupon_used", "gift_self", "red_packet_expired"),
    "points": ("points_short", "amount_not_positive", "stock_short"),
    "gift": ("gift_self", "address_short", "region_blocked", "stock_short"),
    "group": ("group_full", "group_over", "host_only", "stock_short"),
    "review": ("rating_range", "review_words", "review_twice", "picture_count"),
    "pickup": ("slot_past", "slot_full", "weight_limit", "address_short"),
    "delivery": ("slot_past", "slot_full", "not_shipped", "region_blocked"),
    "card": ("card_balance", "password_tries", "amount_not_positive"),
    "wallet": ("card_balance", "password_tries", "amount_not_positive"),
    "seckill": ("stock_short", "quantity_zero", "region_blocked", "password_tries"),
    "presale": ("final_left", "card_balance", "password_tries", "amount_not_positive"),
    "warranty": ("window_passed", "picture_count", "not_shipped"),
    "receipt": ("not_shipped", "picture_count", "review_twice"),
}
"""Rules of a kind of action, by the first word of its name."""
ALWAYS = {
    "order_confirm": "card_balance", "refund_partial": "red_packet_cash", "invoice_apply": "invoice_done", "coupon_use": "coupon_minimum",
    "group_open": "host_only", "group_join": "group_full", "review_write": "picture_count", "presale_pay": "final_left",
}  # fmt: skip
"""Rules that the story needs in an action."""
LOGS = ("request checked", "rules passed", "handing over to store", "audit written", "result built")


@dataclass(frozen=True, slots=True)
class Check:
    """One rule: its name, condition, Chinese and English message, and what triggers it."""

    name: str
    condition: str
    chinese: str
    english: str
    trigger: str


def read_checks(parts: dict[str, str]) -> list[Check]:
    """The rules among the parts of the data file."""
    found = []
    for head, body in parts.items():
        if head.startswith("check "):
            found.append(Check(head.removeprefix("check "), *body.strip("\n").split("\n")))
    return found


def handlers(checks: list[Check], rng: random.Random) -> dict[str, str]:
    """All handler modules and their tests."""
    files = {}
    known = {check.name: check for check in checks}
    for name, title in zip(MODULES, TITLES, strict=True):
        some = [known[rule] for rule in _rules(name, rng)]
        files[f"orders/handlers/{name}.py"] = _module(name, title, some, rng)
        files[f"tests/test_{name}.py"] = _tests(name, some)
    files["tests/good.py"] = f'"""一份合规的请求和订单。"""\n\nREQUEST = dict({GOOD_REQUEST})\nORDER = dict({GOOD_ORDER})\n'
    return files


def _rules(name: str, rng: random.Random) -> list[str]:
    own = OWN[name.split("_", maxsplit=1)[0]]
    some = rng.sample(own, min(len(own), rng.randrange(2, 5))) + rng.sample(COMMON, rng.randrange(2, 4))
    if name in ALWAYS and ALWAYS[name] not in some:
        some[0] = ALWAYS[name]
    return some


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

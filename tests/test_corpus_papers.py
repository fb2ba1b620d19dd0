"""What generated papers of playbooks must agree with, so that no session contradicts its own tools."""

from __future__ import annotations

import json
import random
import re
from datetime import date

import pytest

from ullage.corpus.playbooks import _frost_night, _outage, _outage_papers
from ullage.corpus.playbooks._tallybook import month


@pytest.fixture(scope="module")
def evening() -> _outage.Evening:
    """One evening without checkout, as the playbook draws it."""
    return _outage.Evening(
        rng=random.Random(1), day=_outage.utc("2026-02-20"), begins=34, ends=99, pool=60, wrong_pool=6, provider="paynord"
    )


@pytest.fixture(scope="module")
def logs(evening: _outage.Evening) -> dict[str, str]:
    """All logs of that evening, from few requests."""
    return _outage.build(evening, 400)


def test_cart_tries_again_only_after_a_timeout(logs: dict[str, str]) -> None:
    """A repeat is logged later than the failure that it answers."""
    timeouts: dict[str, list[str]] = {}
    for line in logs["logs/checkout/checkout.log"].splitlines():
        row = json.loads(line)
        if row["level"] == "ERROR":
            timeouts.setdefault(row["req"], []).append(row["ts"])
    again = re.findall(r"time=(\S+) .* req=(\w+) msg=\"checkout failed, trying again\"", logs["logs/cart/cart.log"])
    assert again
    assert all(min(timeouts[request]) < at for at, request in again)


@pytest.mark.parametrize("name", ["db/postgres", "notifier/notifier", "inventory/inventory"])
def test_the_lines_of_a_log_are_in_the_order_of_their_times(logs: dict[str, str], name: str) -> None:
    """No line carries an earlier time than the one above it."""
    stamps = re.findall(r"^(\d{4}-\d\d-\d\d[T ][\d:.]+)", logs[f"logs/{name}.log"], re.MULTILINE)
    assert stamps == sorted(stamps)


def test_the_first_complaint_comes_nine_minutes_after_the_start_in_local_time() -> None:
    """The care desk writes local time, an hour ahead of UTC."""
    values = {"day": "2026-02-20", "minute_begin": "34", "minute_end": "99"}
    rows = [line.split(";") for line in _outage_papers.tickets(random.Random(3), values).splitlines()[2:]]
    assert next(row[1] for row in rows if row[4] == "checkout") == "2026-02-20 20:13:00"


def test_one_house_alone_comes_near_its_floor_and_none_below() -> None:
    """The door that stood open is the only dip, and it stays above the frost floor."""
    rows = [line.split(",") for line in _frost_night.readings(random.Random(5), {"K03": 160, "K04": 95}, "K03").splitlines()[1:]]
    low = [int(row[2]) for row in rows if int(row[2]) < 80]
    assert {row[0] for row in rows if int(row[2]) < 80} == {"K03"}
    assert min(low) >= 60


def test_a_busy_day_has_more_credit_notes_than_any_other() -> None:
    """The bar that looks odd in the chart stands on real documents."""
    rows = [json.loads(line) for line in month(random.Random(2), date(2026, 2, 1), "C-1", "C-2", busy_day=18).splitlines()]
    days = [row["date"] for row in rows if row["kind"] == "credit"]
    assert max(set(days), key=days.count) == "2026-02-18"


def test_one_customer_leads_the_list_of_credit_notes() -> None:
    """There is one right answer to who has the most of them."""
    rows = [json.loads(line) for line in month(random.Random(2), date(2026, 2, 1), "C-1", "C-2").splitlines()]
    held = [row["customer"] for row in rows if row["kind"] == "credit" and row["customer"] != "C-1"]
    counts = sorted((held.count(customer) for customer in set(held)), reverse=True)
    assert held.count("C-2") == counts[0] > counts[1]

"""The page of metrics agrees with the list, and the list names every figure that a run prints."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ullage.metrics import FAMILIES, METRICS, family_table, page_with_tables
from ullage.tables import run_summary
from ullage.testing import make_record

pytestmark = pytest.mark.checkout
PAGE = Path(__file__).parent.parent / "docs" / "metrics.md"
NO_FIGURES = {"spec", "kind", "traces", "calls", "reasons"}
"""Keys of a run's strategies that say what the figures are about."""


def test_the_page_holds_the_tables_of_today() -> None:
    """`python -m ullage.metrics docs/metrics.md` would change nothing."""
    text = PAGE.read_text(encoding="utf-8")
    assert page_with_tables(text) == text


def test_every_family_has_its_table_on_the_page() -> None:
    """None is forgotten, none stands there twice."""
    marks = re.findall(r"<!-- table: ([a-z ]+) -->", PAGE.read_text(encoding="utf-8"))
    assert sorted(marks) == sorted(FAMILIES)


def test_a_stale_table_is_replaced() -> None:
    """What stood between the marks goes, what stands around them stays."""
    text = "before\n<!-- table: rules -->\nold\n<!-- end -->\nafter\n"
    assert page_with_tables(text) == f"before\n<!-- table: rules -->\n{family_table('rules')}\n<!-- end -->\nafter\n"


def test_every_figure_has_a_formula_and_a_source() -> None:
    """And a name of its own."""
    assert len({metric.name for metric in METRICS}) == len(METRICS)
    assert all(metric.unit and metric.summary and metric.formula and metric.source for metric in METRICS)


def test_every_key_of_a_run_is_a_figure_of_the_list() -> None:
    """A key that `run --json` prints is defined on the page, itself or part by part."""
    (entry,) = run_summary([make_record()])["strategies"]
    names = {metric.name for metric in METRICS}
    parts = {name.partition(".")[0] for name in names}
    assert [key for key in entry if key not in NO_FIGURES | names | parts] == []

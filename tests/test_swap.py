"""The value swap: same shapes, everywhere, in trace and bank alike."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.swap import fresh_values, identifiers, is_identifier, swap
from ullage.testing import assistant, tool_call, tool_result, user
from ullage.types import Call, Probe, ProbeBank, Span, Trace

TRACE = Trace(
    id="t",
    system="Deploy build 48213.",
    messages=(
        user("Why does invoice_total fail on build 48213?", "u0"),
        tool_call("a1", "x", command="pytest tests/test_invoice_total.py -k build48213"),
        tool_result("r2", x="commit 9f3c2ab1\nE  invoice_total: 48213 != 48214"),
        assistant("invoice_total rounds twice; commit 9f3c2ab1 did that.", "a3"),
    ),
    calls=(Call(id="c0", upto=1, reply=1), Call(id="c1", upto=3, reply=3)),
)
BANK = ProbeBank(
    trace="t",
    trace_digest=TRACE.digest,
    probes=(
        Probe(
            id="p0",
            question="Which commit made invoice_total round twice?",
            accept=("9f3c2ab1",),
            reject=("48214",),
            type="recall",
            evidence=(Span(message="r2", block=0, start=7, end=15),),
        ),
        Probe(
            id="p1",
            question="May the interface change?",
            accept=("no",),
            choices=("yes", "no"),
            grader="choice",
            type="constraint",
        ),
    ),
)


def test_identifiers_change_everywhere_and_nothing_else_does() -> None:
    """Old values are gone from the trace, other text is as it was, offsets still point at the value."""
    found = swap(TRACE, BANK, 7)
    assert set(found.mapping) == {"9f3c2ab1", "48214"}
    new = found.mapping["9f3c2ab1"]
    text = str(found.trace)
    assert "9f3c2ab1" not in text
    assert text.count(new) == 2
    span = found.bank.probes[0].evidence[0]
    result = found.trace.messages[2].blocks[0].content[0].text  # type: ignore[union-attr]  # a result with one text
    assert result[span.start : span.end] == new == found.bank.probes[0].accept[0]
    assert "48213" in text
    assert found.bank.trace_digest == found.trace.digest != TRACE.digest
    assert found.unswapped == ("p1",)


def test_the_same_seed_gives_the_same_values_and_another_seed_others() -> None:
    """Swapping is a function of trace, bank and seed."""
    assert swap(TRACE, BANK, 7) == swap(TRACE, BANK, 7)
    assert swap(TRACE, BANK, 7).mapping != swap(TRACE, BANK, 8).mapping


@given(st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{4,12}|[0-9]{4,9}|[0-9a-f]{8,12}", fullmatch=True), st.integers(0, 99))
def test_a_fresh_value_has_the_shape_of_the_old_one(value: str, seed: int) -> None:
    """Length, digits, case and punctuation stay where they were."""
    made = fresh_values([value], value, seed).get(value, value)

    def shape(text: str) -> str:
        return re.sub(r"[A-Z]", "A", re.sub(r"[a-z]", "a", re.sub(r"[0-9]", "0", text)))

    assert shape(made) == shape(value)


@pytest.mark.parametrize(
    ("token", "swappable"),
    [
        ("invoice_total", True),
        ("9f3c2ab1", True),
        ("48213", True),
        ("1.14.2", True),
        ("LedgerError", True),
        ("test", False),
        ("404", False),
        ("config", False),
        ("30", False),
        ("build48213", True),
    ],
)
def test_words_and_small_numbers_are_no_identifiers(token: str, swappable: bool) -> None:  # noqa: FBT001 - a column of the table
    """Only what stands for one thing is swapped."""
    assert is_identifier(token) is swappable


def test_a_path_gives_its_stem() -> None:
    """Extension and common folders stay."""
    probe = Probe(id="p", question="Which file?", accept=("src/net/retry_policy.py",), grader="path", type="artifact")
    assert identifiers(probe) == {"retry_policy"}

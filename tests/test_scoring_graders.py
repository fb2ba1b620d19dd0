"""Graders: whole words, one value, no denial; the scorer against itself."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.scoring import canonical_path, grade, normalise, options_named, same_path, set_items
from ullage.scoring_self_test import self_test
from ullage.types import Probe


def probe(accept: tuple[str, ...], grader: str = "normalised", **fields: Any) -> Probe:
    """A probe with these accepted answers."""
    return Probe(id="p", question=fields.pop("question", "What is it?"), type="recall", accept=accept, grader=grader, **fields)  # type: ignore[arg-type]  # the table's words


def test_the_scorer_passes_its_own_test() -> None:
    """Null, echo, paste, lists, stale and negated answers score 0; gold and paraphrases score 1."""
    results = self_test()
    assert len(results) > 100
    assert [name for name, expected, got in results if expected != got] == []


SHORT = probe(("main",), question="Which branch is deployed?")
PORT = probe(("5432",), "numeric", question="Which port does staging use?", reject=("6432",))
TIME = probe(("1.5 h",), "numeric", question="How long did the import take?")
FILE = probe(("src/net/retry.py",), "path", question="Which file holds the policy?")
FILES = probe(("a/x.py", "a/y.py", "a/z.py", "a/w.py"), "set")
TEAM = probe(("Billing Platform",), question="Who owns the ledger?", reject=("Payments",))
PLAN = probe(("roll back first",), "choice", choices=("roll back first", "fix forward", "wait"))


@pytest.mark.parametrize(
    ("question", "answer", "outcome"),
    [
        (SHORT, "main", "correct"),
        (SHORT, "It is `main`.", "correct"),
        (SHORT, "maintenance", "wrong"),
        (SHORT, "feature/main", "wrong"),
        (SHORT, "main-2", "wrong"),
        (SHORT, "main.go", "wrong"),
        (SHORT, "main or develop", "wrong"),
        (SHORT, "develop, main", "wrong"),
        (SHORT, "not main", "wrong"),
        (SHORT, "main is wrong", "wrong"),
        (PORT, "5432", "correct"),
        (PORT, "port 5432", "correct"),
        (PORT, "５４３２", "correct"),
        (PORT, "543", "wrong"),
        (PORT, "54321", "wrong"),
        (PORT, "5432 or 3306", "wrong"),
        (PORT, "6432", "wrong"),
        (probe(("25",), "numeric", question="What is the budget, in minutes?"), "25 minutes", "correct"),
        (probe(("25 minutes",), "numeric"), "25", "correct"),
        (probe(("8 May",), "numeric", reject=("24 April",)), "8 May", "correct"),
        (probe(("8 May",), "numeric", reject=("24 April",)), "24 April", "wrong"),
        (TIME, "90 minutes", "correct"),
        (TIME, "1.5 hours", "correct"),
        (TIME, "1.5 MB", "wrong"),
        (TIME, "90 s", "wrong"),
        (FILE, "retry.py", "correct"),
        (FILE, "/home/dev/app/src/net/retry.py:41", "correct"),
        (FILE, "src\\net\\retry.py", "correct"),
        (FILE, "test_retry.py", "wrong"),
        (FILE, "src/db/retry.py", "wrong"),
        (FILE, "retry", "wrong"),
        (FILES, "a/x.py, a/y.py, a/z.py, a/w.py", "correct"),
        (FILES, "- x.py\n- y.py\n- z.py\n- w.py", "correct"),
        (FILES, "x.py, y.py and z.py", "correct"),
        (FILES, "x.py, y.py", "wrong"),
        (FILES, "x.py, y.py, z.py, w.py, q.py, r.py, s.py, t.py", "wrong"),
        (TEAM, "the billing  platform team", "correct"),
        (TEAM, "Billing", "wrong"),
        (TEAM, "Payments, and later Billing Platform", "wrong"),
        (PLAN, "a", "correct"),
        (PLAN, "B", "wrong"),
        (PLAN, "A plan to wait", "wrong"),
        (PLAN, "Roll back first.", "correct"),
        (PLAN, "roll back first or wait", "wrong"),
        (PLAN, "something else", "wrong"),
        (TEAM, "I don't know", "abstained"),
        (TEAM, "没有提到", "abstained"),
        (TEAM, "Sorry, I cannot help with that.", "wrong"),
        (TEAM, '{"name": "read", "arguments": {"team": "Billing Platform"}}', "wrong"),
    ],
)
def test_outcomes(question: Probe, answer: str, outcome: str) -> None:
    """One table over all graders."""
    assert grade(question, answer)[0] == outcome


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("Payments", "superseded"),
        ("", "empty reply"),
        ("   ", "empty reply"),
        ("<tool_call>x</tool_call>", "tool syntax"),
        ("I'm sorry, as an AI I cannot.", "refusal"),
        ("word " * 200 + "Billing Platform", "too long"),
    ],
)
def test_a_wrong_answer_says_why(answer: str, reason: str) -> None:
    """Invalid replies and stale values are told apart from plain mistakes."""
    outcome, why = grade(TEAM, answer)
    assert outcome == "wrong"
    assert reason in why


def test_an_error_text_that_resembles_declining_is_an_answer() -> None:
    """Messages such as "unknown option" are values, not abstentions."""
    question = probe(("unknown option `dry-run'",), question="Which error did git end with?")
    assert grade(question, "unknown option `dry-run'")[0] == "correct"
    assert grade(question, "unknown")[0] == "abstained"


def test_declining_is_right_for_a_decoy_alone() -> None:
    """Silence about what never was is correct; about a fact it is an abstention, never a wrong answer."""
    decoy = probe((), "abstain")
    assert grade(decoy, None) == ("correct", "")
    assert grade(decoy, "It is 7.")[0] == "wrong"
    assert grade(TEAM, None) == ("abstained", "")


WORDS = st.text("abcdefghijklmnopqrstuvwxyz", min_size=4, max_size=10)


@given(gold=WORDS, before=WORDS, after=WORDS)
def test_a_gold_inside_a_longer_word_never_counts(gold: str, before: str, after: str) -> None:
    """Matching is by whole words, whatever the words."""
    for answer in (before + gold, gold + after, before + gold + after):
        assert answer == gold or grade(probe((gold,)), answer)[0] == "wrong"


@given(gold=WORDS)
def test_quotes_case_width_and_spaces_do_not_matter(gold: str) -> None:
    """The normalised grader sees through typography."""
    wide = "".join(chr(ord(c) + 0xFEE0) for c in gold)
    for answer in (gold.upper(), f"`{gold}`", f" “{gold}”. ", wide):
        assert grade(probe((gold,)), answer)[0] == "correct"


@given(text=st.text(max_size=300), grader=st.sampled_from(["exact", "normalised", "path", "numeric", "set", "choice", "abstain"]))
def test_any_answer_gets_an_outcome(text: str, grader: str) -> None:
    """Grading never raises, and a decoy's answer is right or wrong."""
    outcome, _ = grade(probe(("gold value",), grader, choices=("gold value", "other")), text)
    assert outcome in {"correct", "wrong", "abstained"}
    assert grader != "abstain" or outcome != "abstained"


def test_helpers() -> None:
    """Paths, lists and options are read the way people write them."""
    assert canonical_path("`./a//b.py:12`") == "a/b.py"
    assert same_path("b.py", "/x/a/b.py")
    assert not same_path("b.py", "/x/ab.py")
    assert set_items("1. a.py\n2. b.py\n- c.py; d.py") == ["a.py", "b.py", "c.py", "d.py"]
    assert options_named("(c)", ("x", "y", "z")) == [2]
    assert options_named("yes, surely", ("yes", "no")) == [0]
    assert normalise(" “Ａ  b”. ") == "a b"

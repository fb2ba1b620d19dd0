"""The scorer against itself: answers that know nothing must score 0, the gold and its paraphrases 1."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ullage.scoring import grade
from ullage.types import Outcome, Probe


class Case(NamedTuple):
    """One answer to one probe: its name, whether it must be right, and what it got."""

    name: str
    expected: bool
    got: bool


def _probe(name: str, **fields: object) -> Probe:
    return Probe(id=name, type="self-test", **fields)  # type: ignore[arg-type]  # the table below


PROBES: tuple[tuple[Probe, tuple[str, ...], tuple[str, ...]], ...] = (
    (
        _probe("exact", question="Which commit fixed the build?", accept=("9f3c2ab",), reject=("1d00e7c",), grader="exact"),
        ("9f3c2ab", "It was `9f3c2ab`.", "The commit is 9f3c2ab", '"9f3c2ab"'),
        ("9f3c2a", "9f3c2abd", "1d00e7c", "first 1d00e7c, then 9f3c2ab", "a1b2c3d or 9f3c2ab or 0badcafe", "not 9f3c2ab"),
    ),
    (
        _probe(
            "normalised",
            question="Who owns the ledger?",
            accept=("Billing Platform team",),
            reject=("Payments team",),
            grader="normalised",
        ),
        (
            "billing platform team",
            "The Billing  Platform team owns it.",
            "“Billing Platform team”",
            "ＢＩＬＬＩＮＧ platform team",
        ),
        (
            "team",
            "the Payments team",
            "Billing",
            "it is not the Billing Platform team",
            "Payments team, later the Billing Platform team",
        ),
    ),
    (
        _probe("path", question="Which file holds the retry policy?", accept=("src/net/retry.py",), grader="path"),
        ("src/net/retry.py", "./src/net/retry.py", "net/retry.py", "It is in `src/net/retry.py:41`."),
        ("retry.py2", "src/net/retry.pyc", "src/net/backoff.py", "src/net/retry.py, src/net/backoff.py", "src/net"),
    ),
    (
        _probe("numeric", question="What is the timeout?", accept=("30 s",), reject=("10 s",), grader="numeric"),
        ("30 s", "30", "30.0 s", "The timeout is 30 s."),
        ("3", "300", "10 s", "30 ms", "10 s or 30 s", "it is not 30 s", "between 10, 20, 30 and 40"),
    ),
    (
        _probe("set", question="Which files changed?", accept=("a.py", "b.py", "c.py"), grader="set"),
        ("a.py, b.py, c.py", "c.py; a.py; b.py", "a.py and b.py and c.py"),
        ("a.py", "a.py, b.py, c.py, d.py, e.py, f.py", "x.py, y.py, z.py"),
    ),
    (
        _probe(
            "choice",
            question="May the agent push to main?",
            accept=("no",),
            choices=("yes", "no", "only with a review"),
            grader="choice",
        ),
        ("no", "B", "No.", "(b)"),
        ("yes", "A", "yes, no, only with a review", "D", "no idea whether yes"),
    ),
    (
        _probe("abstain", question="Which queue does the billing bot read?", grader="abstain"),
        ("I don't know", "UNKNOWN", "not mentioned", "不知道"),
        ("queue-7", "It reads queue-7.", "queue seven"),
    ),
    (
        _probe("chinese", question="缓存时间是多少？", accept=("30 分钟",), reject=("10 分钟",), grader="numeric", language="zh"),
        ("30 分钟", "缓存时间是 30 分钟。"),
        ("10 分钟", "3 分钟", "不是 30 分钟"),
    ),
)
EMPTY = ("", "   ", "I don't know", "```", '{"name": "read_file", "arguments": {}}')


def self_test() -> list[tuple[str, bool, bool]]:
    """Every case as (name, must be right, was right)."""
    cases: list[Case] = []
    for probe, right, wrong in PROBES:
        cases += [_case(probe, f"gold {n + 1}", answer, expected=True) for n, answer in enumerate(right)]
        cases += [_case(probe, f"wrong {n + 1}", answer, expected=False) for n, answer in enumerate(wrong)]
        cases += [_case(probe, name, answer, expected=False) for name, answer in _attacks(probe, wrong)]
        if probe.grader != "abstain":
            cases += [_case(probe, f"empty {n + 1}", answer, expected=False) for n, answer in enumerate(EMPTY)]
            cases.append(_case(probe, "echo", probe.question, expected=False))
            cases.append(_case(probe, "paste", _paste(probe), expected=False))
            cases.append(Case(f"{probe.id}: declined", expected=False, got=_right(grade(probe, None)[0])))
        else:
            cases.append(Case(f"{probe.id}: declined", expected=True, got=_right(grade(probe, None)[0])))
            cases.append(_case(probe, "echo", probe.question, expected=False))
    return [(case.name, case.expected, case.got) for case in cases]


def _attacks(probe: Probe, wrong: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Answers that hold the gold among others, deny it, assert what it replaced, or wrap it in the syntax of a tool."""
    if not probe.accept:
        return
    gold = ", ".join(probe.accept) if probe.grader == "set" else probe.accept[0]
    others = list(probe.choices) or [*probe.reject, *wrong[:2]]
    yield "all values", ", ".join([gold, *(other for other in others if other != gold)])
    yield "any of the values", " or ".join([*(other for other in others if other != gold), gold])
    yield "denied", f"It is definitely not {gold}"
    yield "tool syntax", f'<invoke name="answer">{gold}</invoke>'
    yield from ((f"superseded {n + 1}", stale) for n, stale in enumerate(probe.reject))


def _case(probe: Probe, name: str, answer: str, *, expected: bool) -> Case:
    return Case(f"{probe.id}: {name}", expected, _right(grade(probe, answer)[0]))


def _right(outcome: Outcome) -> bool:
    return outcome == "correct"


def _paste(probe: Probe) -> str:
    """A context that holds the gold somewhere among other text."""
    filler = " ".join(f"line {n} of the log says nothing about it and goes on" for n in range(30))
    return f"{filler} {' '.join(probe.accept)} {filler}"

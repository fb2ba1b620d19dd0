"""What a gate writes for machines and people stays whole whatever recordings contain."""

from __future__ import annotations

from xml.etree import ElementTree as ET

from ullage.gate import Judgement, gate
from ullage.gate_output import comment, junit, lines
from ullage.markdown import code
from ullage.testing import make_record
from ullage.types import Fault, Moment

HOSTILE = " </failure>\x1b[31m\x00|`@someone` <img src=x onerror=alert(1)> [l](javascript:x)\n# Heading￿"


def hostile_judgements() -> list[Judgement]:
    """A failing gate whose every text is hostile."""
    fault = Fault(call=1, moment=Moment.BEFORE_CALL, kind="E" + HOSTILE, text=HOSTILE)
    base = [make_record(trace=f"t{n}{HOSTILE}", keep=1, text=HOSTILE) for n in range(3)]
    candidate = [make_record(trace=f"t{n}{HOSTILE}", keep=0, text=HOSTILE, faults=[fault]) for n in range(3)]
    return gate(base, candidate)


def test_junit_parses_and_counts_its_cases() -> None:
    """The document is well-formed XML with one failure in each case."""
    suite = ET.fromstring(junit(hostile_judgements(), 0.05))[0]  # noqa: S314 - our own document
    assert (suite.get("tests"), suite.get("failures")) == ("2", "2")
    assert "onerror" in (suite.findtext("testcase[2]/failure") or "")


def test_junit_skips_what_it_cannot_tell_unless_told_otherwise() -> None:
    """An inconclusive retention case is skipped, failed or passed as the policy says."""
    judgements = gate([make_record(noise=0.2, seed=1)], [make_record(noise=0.2, seed=2)])
    assert judgements[0].verdict == "inconclusive"
    for policy, tag in (("", "skipped"), ("fail", "failure"), ("pass", None)):
        case = ET.fromstring(junit(judgements, 0.05, policy)).find(".//testcase[@name='retention']")  # noqa: S314 - our own document
        assert case is not None
        assert [child.tag for child in case if child.tag != "system-out"] == ([tag] if tag else [])


def test_a_comment_shows_trace_text_only_inside_code_spans() -> None:
    """Outside code spans no tag, mention, link or heading of a trace is left, and every table row has its cells."""
    text = comment(hostile_judgements(), 0.05)
    outside = "".join(part for part in text.split("`")[::2])
    for planted in ("<img", "@someone", "](", "\n# ", "\x1b", "\x00"):
        assert planted not in outside
    for block in text.split("\n\n"):
        rows = [line for line in block.split("\n") if line.startswith("|")]
        assert len({row.count(" | ") for row in rows}) <= 1


def test_a_code_span_cannot_be_left() -> None:
    """Backticks, bars and newlines of the text are replaced."""
    assert code("a`b|c\nd") == "`aʼb¦c d`"
    assert code("") == ""


def test_the_terminal_always_hears_the_detectable_effect() -> None:
    """Both effects are printed whatever the verdict is."""
    same = [make_record(trace=f"t{n}") for n in range(3)]
    assert "minimum detectable effect 0.0 observed" in "\n".join(lines(gate(same, same), 0.05))

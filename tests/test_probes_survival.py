"""Survival: whether the words of the evidence are still in a context, without asking anybody."""

from __future__ import annotations

import msgspec
import pytest
from probes_support import session, story

from ullage.excerpts import Excerpt
from ullage.probes import block_text, evidence_text, mine, survives
from ullage.testing import assistant, tool_call, tool_result, user
from ullage.types import Message, Probe, Span, Text, Trace


def probe_of(*spans: Span) -> Probe:
    """A probe with this evidence."""
    return Probe(id="p", question="?", type="recall", evidence=spans)


MESSAGES = (
    user("Start.", "u"),
    tool_call("a", "t", name="Read", file_path="conf/app.yaml"),
    tool_result("r", t="first: line\nqueue_name: invoices-eu\nlast: line"),
)
LINE = Span(message="r", block=0, start=12, end=35)


def test_evidence_survives_in_its_own_message() -> None:
    """Unchanged messages keep what they held."""
    assert survives([probe_of(LINE)], MESSAGES, MESSAGES)["p"] is True


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The setting queue_name is invoices-eu.", True),
        ("queue_name:   invoices-eu", True),
        ("queue_name was read.\nThe other name is invoices-eu.", False),
        ("queue_name: invoices-us", False),
        ("Some settings were read.", False),
        ("", False),
    ],
)
def test_evidence_survives_in_other_words_only_on_one_line(text: str, expected: bool) -> None:  # noqa: FBT001 - a column of the table
    """All words must stand together; resembling text does not count."""
    context = (MESSAGES[0], assistant(text, "s", synthetic=True))
    assert survives([probe_of(LINE)], MESSAGES, context)["p"] is expected


def test_every_span_must_survive() -> None:
    """A fact of two places is gone with one of them."""
    other = Span(message="u", block=0, start=0, end=6)
    assert survives([probe_of(LINE, other)], MESSAGES, MESSAGES[1:])["p"] is False


def test_a_probe_without_evidence_has_no_survival() -> None:
    """A decoy neither survives nor is lost."""
    assert survives([probe_of()], MESSAGES, ())["p"] is None


def test_a_shortened_result_keeps_what_it_still_shows() -> None:
    """A preview that holds the line keeps the fact; one that does not loses it."""
    for shown, expected in (("queue_name: invoices-eu\n[more]", True), ("first: line\n[more]", False)):
        block = msgspec.structs.replace(MESSAGES[2].blocks[0], content=(Text(text=shown),))
        cut = msgspec.structs.replace(MESSAGES[2], blocks=(block,))
        assert survives([probe_of(LINE)], MESSAGES, (*MESSAGES[:2], cut))["p"] is expected


def test_the_name_of_a_file_is_not_the_act_of_editing_it() -> None:
    """That a file is mentioned does not mean that the edit is still known."""
    trace = story()
    probe = next(p for p in mine(trace).probes if p.question.startswith("Were tests run again after ring.go"))
    mention = (assistant("Look at store/ring.go and run go test ./store/... again.", "s"),)
    assert survives([probe], trace.messages, mention)[probe.id] is False
    assert survives([probe], trace.messages, trace.messages)[probe.id] is True


def test_everything_of_a_mined_bank_survives_in_the_whole_and_nothing_in_nothing() -> None:
    """The two ends of the scale."""
    trace = _trace()
    probes = [p for p in mine(trace).probes if p.evidence]
    assert all(survives(probes, trace.messages, trace.messages).values())
    assert not any(survives(probes, trace.messages, ()).values())


def _trace() -> Trace:
    messages: tuple[Message, ...] = story().messages
    return session(messages)


def test_evidence_in_a_call_is_read_without_its_escapes() -> None:
    """A span over several arguments, cut in the middle of an escape, gives the words that were written."""
    call = tool_call("a", "t", name="Edit", file_path="src/app.py", new_string='x = "one"\ny = 2\nz')
    text = block_text(call.blocks[0])
    for cut in (text.index("\\ny") + 1, text.index("y = 2") + 5):
        shown = evidence_text(call, Span(message="a", block=0, start=text.index("src"), end=cut))
        assert shown.split("\n")[:2] == ["src/app.py", 'x = "one"']


def test_an_excerpt_of_a_long_edit_keeps_the_words_of_the_act() -> None:
    """Cutting a long edit down to its evidence leaves the evidence."""
    body = "\n".join(f"line {n} of the new text says something else" for n in range(60))
    messages = (
        user("Go.", "u"),
        tool_call("a", "t", name="Edit", file_path="src/app.py", new_string=body),
        tool_result("r", t="updated"),
    )
    span = Span(message="a", block=0, start=14, end=14 + 140)
    excerpt = Excerpt(messages)
    excerpt.add([span])
    assert survives([probe_of(span)], messages, list(excerpt.messages.values()))["p"] is True
    assert len(block_text(excerpt.messages[1].blocks[0])) < len(body) // 4

"""What a recorded summary forgot: facts that it says, facts that came back, facts that are gone, and what was looked at again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from autopsy_support import WORDS, Book
from tests_support import real_traces

from ullage.forgetting import Forgetting, forgetting_of
from ullage.probes import mine
from ullage.testing import user
from ullage.traces import import_file
from ullage.types import Probe, ProbeBank, Span, Trace

FACT = "the staging port is 48213 for all of us"


def asked(trace: Trace, message: str, text: str, **fields: Any) -> ProbeBank:
    """A bank with one probe whose evidence is this text of a message of the session."""
    place = next(n for n, m in enumerate(trace.messages) if m.id == message)
    start = trace.messages[place].text.index(text)
    span = Span(message=message, block=0, start=start, end=start + len(text))
    given = {"accept": ("48213",), "grader": "numeric", "type": "recall"} | fields
    probe = Probe(id="p", question="Which port?", evidence=(span,), settled_at=place, **given)
    return ProbeBank(trace=trace.id, trace_digest=trace.digest, probes=(probe,))


def forgotten(book: Book, **fields: Any) -> Forgetting:
    """What the first compaction of a session forgot of the fact, which stands in message u3."""
    trace = book.trace()
    return forgetting_of(trace, asked(trace, "u3", FACT, **fields), WORDS)[0]


def told() -> Book:
    """A session in which the person has said the fact, in message u3."""
    return Book().bill(0, 9_000).say(f"Listen: {FACT}.").bill(9_000, 100)


@pytest.mark.parametrize(
    "summary",
    [
        f"State: {FACT}.",
        "For all of us the staging port is 48213",
        "port 48213",
    ],
)
def test_a_fact_that_the_summary_says_is_kept(summary: str) -> None:
    """Word for word, in another order on one line, or by its answer alone."""
    found = forgotten(told().compact(9_100, summary).bill(1_000, 500))
    assert (found.facts, found.kept, found.lost) == (1, 1, ())


def test_a_fact_that_nothing_says_is_gone() -> None:
    """The summary has another number: the fact is lost and never comes back."""
    found = forgotten(told().compact(9_100, "port 48214 is in use").bill(1_000, 500))
    assert (found.facts, found.kept, found.gone, found.missed) == (1, 0, 1, 0)
    (lost,) = found.lost
    assert lost.evidence.text[lost.evidence.at : lost.evidence.at + lost.evidence.length] == FACT
    assert lost.returned_at is None


def test_what_was_put_back_counts_as_kept() -> None:
    """An attachment beside the summary holds the fact; so does a tail that the client kept."""
    attached = (user(f"Reminder: {FACT}", "a1"),)
    assert forgotten(told().compact(9_100, "nothing", attached=attached).bill(1_000, 500)).kept == 1
    assert forgotten(told().compact(9_100, "nothing", kept_from=3).bill(1_000, 500)).kept == 1
    assert forgotten(told().compact(9_100, "nothing", kept_from=4).bill(1_000, 500)).kept == 0


def test_a_fact_that_comes_back_names_what_brought_it() -> None:
    """A later result states it again: it was lost, and it came back with a command's result."""
    book = told().compact(9_100, "nothing of note").bill(1_000, 500).bill(1_500, 100, result=f"config says {FACT}")
    (lost,) = forgotten(book).lost
    assert book.messages[lost.returned_at or 0].id == "o3"
    assert lost.returned_by == "a result of Bash"
    assert forgotten(told().compact(9_100, "nothing").say(f"Again: {FACT}").bill(1_000, 500)).lost[0].returned_by == "the person"


def test_later_uses_are_counted_from_the_compaction_on() -> None:
    """Of three calls whose reply used the fact, two came after it was lost."""
    book = told().compact(9_100, "nothing of note").bill(1_000, 500).bill(1_500, 100).bill(1_600, 100)
    found = forgotten(book, uses=(1, 2, 4))
    assert found.lost[0].uses == 2
    assert found.missed == 1


def test_short_answers_do_not_count_by_chance() -> None:
    """An answer of one digit stands in any text: only its evidence tells."""
    found = forgotten(told().compact(9_100, "7 files were changed").bill(1_000, 500), accept=("7",))
    assert found.kept == 0


def test_a_choice_is_not_kept_by_its_letter() -> None:
    """The options of a choice are words of the question, not of the summary."""
    found = forgotten(told().compact(9_100, "answer: staging").bill(1_000, 500), accept=("staging",), grader="choice")
    assert found.kept == 0


def test_a_summary_that_cannot_be_read_is_said_to_be() -> None:
    """Encrypted: what only it holds counts as lost, and the flag says so."""
    found = forgotten(told().compact(9_100, "").bill(1_000, 500))
    assert not found.readable
    assert found.gone == 1


def test_a_fact_lost_before_is_not_lost_again() -> None:
    """The second compaction is not blamed for what the first one took."""
    book = told().compact(9_100, "nothing").bill(1_000, 500).bill(1_500, 100).compact(1_600, "nothing").bill(1_000, 700)
    trace = book.trace()
    first, second = forgetting_of(trace, asked(trace, "u3", FACT), WORDS)
    assert (first.facts, second.facts) == (1, 0)
    carried = told().compact(9_100, f"State: {FACT}.").bill(1_000, 500).compact(1_600, "nothing").bill(1_000, 700).trace()
    first, second = forgetting_of(carried, asked(carried, "u3", FACT), WORDS)
    assert (first.kept, second.facts, second.kept) == (1, 1, 0)


def test_what_is_looked_at_again_is_counted_once_with_its_size() -> None:
    """A file read before and twice after the compaction is one repeat, priced by the first result after it."""
    book = Book().bill(0, 9_000, command="/src/a.py", result="word " * 50).bill(9_000, 100, command="make test")
    book.compact(9_100, "nothing").bill(1_000, 500, command="/src/a.py", result="word " * 80)
    book.bill(1_500, 100, command="/src/a.py").bill(1_600, 100, command="/src/b.py").bill(1_700, 50, command="make test")
    trace = book.trace()
    (found,) = forgetting_of(trace, asked(trace, "m0", "the task"), WORDS)
    assert [(one.target, one.tokens > 80) for one in found.looks] == [("/src/a.py", True)]
    assert [one.target for one in found.commands] == ["make test"]
    assert found.look_rate.after == 1
    assert found.look_rate.before == 0


@pytest.mark.parametrize("name", ["claude-code/cli-b8-659b3a4dd4-0.jsonl.gz", "pi/before-compaction.jsonl.gz"])
def test_real_summaries_forget_and_files_are_read_again(name: str) -> None:
    """Both clients' summaries keep some facts and lose some, and agents read again what they had read."""
    (trace,) = import_file(Path(real_traces(*name.split("/")))).traces
    found = forgetting_of(trace, mine(trace, limit=150), WORDS)
    assert len(found) == 2
    for one in found:
        assert 0 < one.kept < one.facts
        assert one.facts == one.kept + len(one.lost)
        assert one.looks

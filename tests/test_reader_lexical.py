"""The default reader: right from the whole context, silent when the fact is gone, never led by the gold."""

from __future__ import annotations

import time
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from probes_support import ask, chinese_story, session, story

from ullage.errors import SpecError
from ullage.probes import mine, survives
from ullage.readers import Question
from ullage.readers.lexical import Lexical
from ullage.registry import load
from ullage.testing import assistant, make_trace, tool_call, tool_result, user
from ullage.traces import bank_for, load_bundled
from ullage.types import Message, Trace


def answer(messages: Sequence[Message], question: str, grader: str = "normalised", *choices: str) -> str | None:
    """What the reader says to one question."""
    return Lexical().read(messages, [Question(text=question, grader=grader, choices=choices)])[0].text


SUMMARY = (
    assistant(
        "Requests:\n- Move the nightly export to the new host.\n"
        "Facts:\n- The export runs on port 7443 and takes 38 seconds.\n- Release v2.4.1 was tagged as 9f3c2ab by Priya Nair.\n"
        "- The queue is read from conf/queue.yaml because the old service restarts without warning.\n"
        "- The branch is feature/night-export; see https://example.org/runs/17 for the log.\n"
        "Errors:\n- src/export.py:88: undefined name 'cursor'\n",
        "s",
        synthetic=True,
    ),
)


@pytest.mark.parametrize(
    ("question", "grader", "expected"),
    [
        ("Which port does the export run on?", "numeric", "7443"),
        ("How long does the export take?", "numeric", "38 seconds"),
        ("Which version was tagged?", "normalised", "v2.4.1"),
        ("What is the hash of the tagged release?", "exact", "9f3c2ab"),
        ("Who tagged the release?", "normalised", "Priya Nair"),
        ("From which file is the queue read?", "path", "conf/queue.yaml"),
        ("Why is the queue read from conf/queue.yaml?", "normalised", "the old service restarts without warning"),
        ("On which branch is the night export?", "normalised", "feature/night-export"),
        ("Which URL has the log of the night export?", "normalised", "https://example.org/runs/17"),
        ("Which error was reported in src/export.py at line 88?", "normalised", "undefined name 'cursor'"),
    ],
)
def test_answers_of_every_kind_are_found_in_plain_sentences(question: str, grader: str, expected: str) -> None:
    """A summary in prose is read like a recording."""
    assert answer(SUMMARY, question, grader) == expected


@pytest.mark.parametrize(
    "question",
    [
        "Which port does the import run on?",
        "How long does the backup take?",
        "Which error was reported in src/import.py at line 88?",
        "What is the value of `queue_depth` in conf/queue.yaml?",
        "Who approved the migration?",
        "In which file is the function `read_cursor` defined?",
    ],
)
def test_what_the_context_does_not_say_is_declined(question: str) -> None:
    """Resembling text is no answer."""
    assert answer(SUMMARY, question) is None


def test_everything_mined_is_answered_from_the_whole_session() -> None:
    """On a clean session the ceiling is one, in both languages."""
    for trace in (story(), chinese_story()):
        probes = mine(trace).probes
        assert [
            p.question for p, (outcome, _) in zip(probes, ask(trace.messages, probes), strict=True) if outcome != "correct"
        ] == []


def test_nothing_is_answered_from_nothing() -> None:
    """Closed book: every question is declined, so the floor of a lexical reader is zero and every decoy is right."""
    probes = mine(story()).probes
    for probe, (outcome, text) in zip(probes, ask((), probes), strict=True):
        assert text is None
        assert outcome == ("correct" if probe.grader == "abstain" else "abstained")


def test_a_fact_whose_evidence_is_dropped_is_declined_or_missed() -> None:
    """Without the messages that hold it, a fact is not answered right."""
    trace = story()
    for probe in mine(trace).probes:
        if not probe.evidence:
            continue
        gone = {span.message for span in probe.evidence}
        rest = [m for m in trace.messages if m.id not in gone]
        if probe.choices or survives([probe], trace.messages, rest)[probe.id]:
            continue
        assert ask(rest, [probe])[0][0] != "correct", probe.question


def test_a_cleared_result_is_not_read_as_an_answer() -> None:
    """The call alone, with a stub for its result, tells nothing about what it found."""
    call = tool_call("a", "t", name="Grep", pattern="flushBarrier")
    for stub in ("[Old tool result content cleared]", "", "[content offloaded: see ref-17]"):
        context = (user("Go.", "u"), call, tool_result("r", t=stub))
        assert answer(context, "Did the search for `flushBarrier` find anything?", "choice", "yes", "no") is None


def test_the_latest_value_wins() -> None:
    """Of two statements that cover the question alike, the later one is believed."""
    context = (assistant("The limit `maxRetries` is 3.", "a"), assistant("The limit `maxRetries` is 8.", "b"))
    assert answer(context, "What is the value of `maxRetries`?", "numeric") == "8"
    assert answer(context[::-1], "What is the value of `maxRetries`?", "numeric") == "3"


@pytest.mark.parametrize(
    ("text", "question", "expected"),
    [
        ("Never push to the release branch.", "May the agent push to the release branch?", "no"),
        ("You may push to the release branch.", "May the agent push to the release branch?", "yes"),
        ("Always run the formatter before a commit.", "Must the agent run the formatter before a commit?", "yes"),
        ("The cache does not survive a restart.", "Does the cache survive a restart?", "no"),
        ("The cache survives a restart.", "Does the cache survive a restart?", "yes"),
        ("The weather is fine today.", "Does the cache survive a restart?", None),
    ],
)
def test_yes_and_no_follow_the_sentence(text: str, question: str, expected: str | None) -> None:
    """Permission, duty and plain statements, with and without a negation."""
    assert answer((user(text, "u", human=True),), question, "choice", "yes", "no") == expected


def test_a_reason_is_chosen_by_what_stands_beside_the_question() -> None:
    """An option that occurs elsewhere is not the reason for this."""
    context = (
        assistant("Decimal is used at the edges because floats drift when invoices are summed.", "a"),
        assistant("The job runs at night because the replica is idle then.", "b"),
    )
    options = ("floats drift when invoices are summed", "the replica is idle then", "the vendor asked for it")
    assert answer(context, "Why is it that Decimal is used at the edges?", "choice", *options) == options[0]
    assert answer(context[1:], "Why is it that Decimal is used at the edges?", "choice", *options) is None


OFFER = (
    assistant("The report goes to Ada Lin by Wednesday.", "a"),
    assistant("We offer one box at half price, a refund of the last box was rejected as it would look like an admission.", "b"),
    assistant("Ben Roth is incident lead. The pool is the cause, the retries are not the cause.", "c"),
    assistant("A change: the report now goes to Eva Maas by Tuesday evening.", "d"),
    assistant("Should the report go to Tom Berg?", "e"),
)


@pytest.mark.parametrize(
    ("question", "options", "expected"),
    [
        ("What do we offer?", ("a refund of the last box", "one box at half price", "nothing at all"), "one box at half price"),
        ("To whom does the report go?", ("Ada Lin", "Eva Maas", "Tom Berg"), "Eva Maas"),
        ("By which day does the report go?", ("Ada Lin", "Tuesday evening", "Wednesday"), "Tuesday evening"),
        ("Who is incident lead?", ("Ada Lin", "Ben Roth", "the pool"), "Ben Roth"),
        ("Are the retries the cause?", ("the cause", "the weather", "the moon"), None),
        ("Who audits the ledger?", ("Ada Lin", "Eva Maas"), None),
    ],
)
def test_options_are_judged_by_where_they_stand(question: str, options: tuple[str, ...], expected: str | None) -> None:
    """The later statement, the nearer option, no denied one, none of a question, only those of the kind that is asked for."""
    assert answer(OFFER, question, "choice", *options) == expected


def test_a_value_that_is_part_of_a_name_in_the_question_may_be_the_answer() -> None:
    """Twenty is not excluded because the question names the year 2025."""
    context = (assistant("20 customers have a note in 2025-06.", "a"),)
    assert answer(context, "How many customers have a note in 2025-06?", "numeric") == "20"


def test_questions_about_another_session_are_declined() -> None:
    """The bundled sessions' questions, put to a session of another kind: at most one in fifty is answered."""
    loaded = [(trace, bank_for(trace)) for trace in load_bundled().traces]
    banks = [(trace, [p for p in bank.probes if p.grader != "abstain"]) for trace, bank in loaded if bank is not None]
    asked = told = 0
    for trace, _ in banks:
        for other, probes in banks:
            if other.id != trace.id:
                outcomes = ask(trace.messages, probes)
                asked += len(outcomes)
                told += sum(text is not None for _, text in outcomes)
    assert asked > 200
    assert told <= 0.02 * asked


def test_lists_are_followed_and_sets_are_gathered() -> None:
    """The next item of a list, and all files that were created under a directory."""
    todos = [{"content": "Write the parser", "status": "completed"}, {"content": "Wire it into the loader", "status": "pending"}]
    context = (user("Go.", "u"), tool_call("a", "t", name="TodoWrite", todos=todos), tool_result("r", t="ok"))
    assert answer(context, 'Which item comes after "Write the parser" on the to-do list?') == "Wire it into the loader"
    trace = story()
    assert answer(trace.messages, "Which files were created in the directory store/?", "set") == (
        "/home/dev/ledger/store/drain.go, /home/dev/ledger/store/drain_test.go"
    )


def test_the_file_edited_after_an_error_is_its_cure() -> None:
    """Two places are joined: the error in an output and the first change after it."""
    assert answer(story().messages, 'Which file was edited to fix the error "undefined: drainQueue"?', "path") == (
        "/home/dev/ledger/store/ring.go"
    )


TEXT = st.text(max_size=200)


@settings(max_examples=60, deadline=None)
@given(texts=st.lists(TEXT, max_size=5), question=TEXT, choices=st.lists(TEXT, max_size=3))
def test_any_text_is_read_without_harm(texts: list[str], question: str, choices: list[str]) -> None:
    """Hostile text makes no exception, and the same question gets the same answer again."""
    context = [assistant(text, f"m{n}") for n, text in enumerate(texts)]
    asked = [
        Question(text=question, grader=g, choices=tuple(choices)) for g in ("normalised", "choice", "set", "path", "numeric")
    ]
    assert Lexical().read(context, asked) == Lexical().read(context, asked)


def test_the_reader_is_found_by_name_and_its_threshold_is_printed() -> None:
    """The spec names the coverage below which it declines; nonsense is refused."""
    assert load("readers", "lexical") == Lexical()
    assert load("readers", "lexical(threshold=0.9)").threshold == 0.9
    with pytest.raises(SpecError):
        load("readers", "lexical(treshold=0.9)")


def test_a_higher_threshold_answers_no_more() -> None:
    """Caution only ever withdraws answers."""
    trace = story()
    questions = [Question(text=p.question, grader="normalised", choices=p.choices) for p in mine(trace).probes]
    counts = [sum(r.text is not None for r in Lexical(threshold=t).read(trace.messages, questions)) for t in (0.5, 0.7, 0.9, 1.0)]
    assert counts == sorted(counts, reverse=True)


@pytest.mark.speed
def test_a_second_examination_is_quick() -> None:
    """60 questions over 1,600 messages, most of them seen before: at most half a second."""
    trace: Trace = make_trace(calls=800, result_words=300)
    questions = [Question(text=p.question, grader=p.grader) for p in mine(session(story().messages)).probes] * 3
    Lexical().read(trace.messages, questions[:1])
    start = time.perf_counter()
    Lexical().read(trace.messages, questions[:60])
    assert time.perf_counter() - start < 0.5

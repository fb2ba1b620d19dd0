"""Open book: what a reader may open, what it then answers, what that costs, and where the book stays closed."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pytest
from test_cli_run import session_with_facts, ullage

from ullage.exams import Sitting
from ullage.formats.ullage_jsonl import write_traces
from ullage.lookups import Desk
from ullage.open_book import open_book_figures, opened_record
from ullage.readers import Opening, Question
from ullage.readers.lexical import Lexical
from ullage.records import RunRecord, decode_lines
from ullage.strategies.auto import Auto
from ullage.strategies.context_manager import ContextManager
from ullage.strategies.offloader import Offloader
from ullage.strategies.shared.retrieval import RETRIEVE_OFFLOADED
from ullage.strategy import Retrieved, StoreReader, Strategy, ToolRequest
from ullage.testing import count_words, tool_call, tool_result, user
from ullage.types import Exam, Message, ToolSpec, Usage

STORED = "\n".join([*(f"filler line {n}" for n in range(40)), "The audit port of the ledger service is 48213.", "end"])
CONTEXT: tuple[Message, ...] = (
    user("Find out how the services are set up.", "u0"),
    tool_call("a1", "t1", command="cat services/ledger.toml"),
    tool_result("r1", t1="[Offloaded]\n[Stored references:]\n  mem_1 (text, 600 chars)"),
    tool_call("a2", "t2", command="cat services/mail.toml"),
    tool_result("r2", t2="[Offloaded]\n[Stored references:]\n  mem_2 (text, 600 chars)."),
)
QUESTION = Question(text="What is the audit port of the ledger service?", grader="numeric")
READER = Lexical()


def desk(*strategies: Strategy, most: int = 3) -> Desk:
    """A desk that counts words."""
    return Desk(strategies=strategies or (Offloader(),), most=most, count=count_words)


def sitting(**stored: str) -> Sitting:
    """An examination of ``CONTEXT`` with this in the store; its request was 500 tokens."""
    return Sitting(exam=Exam(call=3, kind="checkpoint", share=1.0, tokens=500), messages=CONTEXT, stored=stored)


def openings(question: Question = QUESTION, **stored: str) -> tuple[Opening, ...]:
    """What the reader would open."""
    return READER.openings(CONTEXT, [question], stored.keys())[0]


def test_only_what_the_context_points_to_is_opened_and_the_best_covered_place_first() -> None:
    """``mem_3`` is stored, but nothing shows its reference; the ledger's file comes before the newer one of mail."""
    found = openings(mem_1="x", mem_2="x", mem_3="x")
    assert [opening.ref for opening in found] == ["mem_1", "mem_2"]
    assert [
        opening.ref for opening in openings(Question(text="Which host sends mail?", grader="exact"), mem_1="x", mem_2="x")
    ] == [
        "mem_2",
        "mem_1",
    ]
    assert openings() == ()


def test_a_search_is_short_and_holds_nothing_but_words() -> None:
    """The tools quote a search in their answer; so that it can be told from what they found, it has no special characters."""
    long = Question(
        text=f"What does `src/a/b.py::{'name_' * 30}` say about the audit port, ledger, queue and batch?", grader="exact"
    )
    for question in (QUESTION, long):
        (opening, *_) = openings(question, mem_1="x")
        assert len(opening.pattern) <= 50
        assert re.fullmatch(r"\(\?i\)[\w.]+(\|[\w.]+)*", opening.pattern)


def test_the_reader_answers_from_what_it_opened_and_each_call_is_billed() -> None:
    """One call: the examined prompt from the cache, the call and its result in full, the call as output."""
    came = desk().consult(READER, QUESTION, openings(mem_1=STORED), sitting(mem_1=STORED))
    assert came is not None
    assert (came.reply.text, came.opened, came.gone) == ("48213", 1, 0)
    assert came.usage.cache_read == 500
    assert came.usage.uncached > came.usage.output > 0


def test_a_second_call_reads_the_first_again() -> None:
    """Where the first entry does not say, the next is opened, with the first in the prompt; no more than allowed."""
    wanted, stored = openings(mem_1="x", mem_2="x"), {"mem_1": "nothing of interest", "mem_2": STORED}
    both = desk().consult(READER, QUESTION, wanted, sitting(**stored))
    one = desk(most=1).consult(READER, QUESTION, wanted, sitting(**stored))
    assert both is not None
    assert one is not None
    assert (both.reply.text, both.opened) == ("48213", 2)
    assert (one.reply.text, one.opened) == (None, 1)
    assert both.usage.cache_read == 500 + (500 + one.usage.uncached)


def test_an_evicted_entry_is_a_call_in_vain() -> None:
    """The call is billed, and nothing is learnt."""
    came = desk().consult(READER, QUESTION, openings(mem_1=""), sitting(mem_1=""))
    assert came is not None
    assert (came.reply.text, came.reply.failure, came.opened, came.gone) == (None, "", 1, 1)
    assert came.usage.cache_read == 500


def test_the_words_of_the_question_are_no_evidence() -> None:
    """A search that finds nothing says so in the question's own words; nothing may be read out of them."""
    stored = "\n".join(f"filler line {n}" for n in range(40))
    for question in (QUESTION, Question(text="How many lines does the audit port table of the ledger have?", grader="numeric")):
        came = desk().consult(READER, question, openings(question, mem_1=stored), sitting(mem_1=stored))
        assert came is not None
        assert came.reply.text is None


@dataclass(frozen=True, slots=True, kw_only=True)
class Broken(Strategy):
    """Offers a tool and cannot answer it."""

    sources: ClassVar[tuple[str, ...]] = ()

    def offered_tools(self) -> tuple[ToolSpec, ...]:
        """One tool that takes a reference."""
        return (RETRIEVE_OFFLOADED,)

    def retrieve(self, store: StoreReader, request: ToolRequest) -> Retrieved | None:
        """Fail."""
        raise RuntimeError(f"no database for {request.name}: {store.get('mem_1')}")


def test_a_tool_that_raises_makes_the_question_unscorable_with_its_words() -> None:
    """The run goes on, and the reason stands in the record."""
    came = desk(Broken()).consult(READER, QUESTION, openings(mem_1="x"), sitting(mem_1="x"))
    assert came is not None
    assert came.reply.failure == "retrieve() raised no database for retrieve_offloaded_content: x"


@pytest.mark.parametrize(
    ("strategy", "tool"),
    [
        (Auto(), "retrieve_offloaded_content"),
        (Auto(profile="1.62"), "retrieve_context"),
        (Offloader(), "retrieve_offloaded_content"),
        (ContextManager(), "retrieve_context"),
    ],
)
def test_each_strategy_answers_its_own_tool_and_no_other(strategy: Strategy, tool: str) -> None:
    """An unknown reference is an error; a tool of another name is none of its business."""
    answer = strategy.retrieve({}, ToolRequest(name=tool, arguments='{"reference":"mem_9"}'))
    assert answer == Retrieved("unknown reference 'mem_9'", is_error=True)
    assert strategy.retrieve({}, ToolRequest(name="shell", arguments="{}")) is None


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run over two sessions whose results are moved to the store nearly whole."""
    place = tmp_path_factory.mktemp("open")
    write_traces(place / "made.jsonl.gz", [session_with_facts(1)])
    write_traces(place / "other.jsonl.gz", [session_with_facts(2)])
    offloader = "offloader(max_result_tokens=125, preview_tokens=4, evict_after_cycles=None)"
    specs = [part for spec in (offloader, "null", "oracle") for part in ("--strategy", spec)]
    where = ("--traces", place / "made.jsonl.gz", "--traces", place / "other.jsonl.gz", "--out", place / "run")
    done = ullage("run", *specs, "--open-book", "2", "--window", "200000", *where)
    assert done.returncode == 0, done.stderr
    assert "with open book" in done.stdout
    return place / "run"


def records(folder: Path, spec: str) -> list[RunRecord]:
    """The records of one strategy."""
    with (folder / "records.jsonl").open("rb") as lines:
        return [record for record in decode_lines(lines) if record.spec.startswith(spec)]


def test_a_run_tells_what_the_context_holds_from_what_can_be_fetched_back(folder: Path) -> None:
    """Closed book the values are gone, open book they are found; no decoy is answered, and the calls are counted and priced."""
    made = records(folder, "offloader")
    figures: Any = open_book_figures(made)
    lookups = [lookup for record in made for lookup in record.lookups]
    closed = sum(a.outcome == "correct" and a.text is not None for record in made for a in record.answers)
    opened = sum(a.outcome == "correct" and a.text is not None for r in made for a in opened_record(r).answers)
    assert opened > closed
    assert figures["retention"] > 0.5
    assert figures["false_memory_rate"] == 0
    assert figures["looked_up"] == len(lookups) > 0
    assert figures["looked_up"] <= figures["opened"] == sum(lookup.opened for lookup in lookups) <= 2 * len(lookups)
    assert figures["tokens"]["input"] == sum((lookup.usage for lookup in lookups), Usage()).prompt
    assert figures["usd"] > 0


def test_only_declined_questions_are_looked_up(folder: Path) -> None:
    """An answer that was given, right or wrong, stands: an agent that thinks it knows does not look."""
    for record in records(folder, "offloader"):
        given = {(a.exam, a.probe, a.draw) for a in record.answers if a.text is not None}
        assert not given & {(one.answer.exam, one.answer.probe, one.answer.draw) for one in record.lookups}


def test_where_nothing_can_be_opened_the_reason_stands(folder: Path) -> None:
    """``null`` and a bound have no tool; the record says that the book stayed closed."""
    for spec in ("null", "oracle"):
        made = records(folder, spec)
        assert open_book_figures(made) == "no tool of the strategy reads what it stored"
        assert [record.open_book for record in made] == [0, 0]
    assert "with open book" in (folder / "report.md").read_text(encoding="utf-8")


def test_a_negative_number_is_refused_in_one_line() -> None:
    """Exit code 2, what was found and what was expected."""
    done = ullage("run", "--strategy", "null", "--open-book", "-1")
    assert done.returncode == 2
    assert "found --open-book -1; expected 0 or more" in done.stderr

"""Every invariant about requests: what breaks it, at which message it is found, and what it leaves alone."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from invariants_support import INVARIANTS, LEGAL, RESULTS, USE_X, USE_Y, Script, broken, check, rewrite

from ullage import registry
from ullage.apis import APIS
from ullage.checking import Checkers
from ullage.errors import SpecError
from ullage.invariants import Invariant
from ullage.replay import Forced
from ullage.step import Step
from ullage.testing import assistant, context_of, make_trace, make_varied_trace, tool_call, tool_result, user
from ullage.types import (
    Call,
    Drop,
    Erase,
    Inject,
    Insert,
    Message,
    Moment,
    Opaque,
    Row,
    Text,
    Thinking,
    ToolResult,
    ToolSpec,
    Trace,
    Usage,
)

SERVER = (Opaque(kind="server_tool_use", data='{"id":"s1"}'), Opaque(kind="web_search_tool_result", data='{"tool_use_id":"s1"}'))
LATER = Insert(after="r2", message=tool_result("r2b", y="out two"))

ROWS: list[tuple[str, Script, list[tuple[str, str]]]] = [
    ("the first message goes", {3: (Drop(ids=("u0",)),)}, [("a01_first_user", "a1"), ("task_survives", "u0")]),
    ("an answer between two user messages goes", {3: (Drop(ids=("a3",)),)}, [("a02_role_alternation", "u4")]),
    (
        "the results of two calls go",
        {3: (Drop(ids=("r2",)),)},
        [("a02_role_alternation", "a3"), ("a03_tool_use_answered", "a1"), ("a03_tool_use_answered", "a1")],
    ),
    (
        "the results of parallel calls are spread over two messages",
        {3: (rewrite("r2", RESULTS.blocks[0]), LATER)},
        [("a02_role_alternation", "r2b"), ("a04_parallel_same_message", "r2b"), ("strict_shrink", "")],
    ),
    (
        "the calls go and their results stay",
        {3: (Drop(ids=("a1",)),)},
        [("a02_role_alternation", "r2"), ("a05_orphan_result", "r2"), ("a05_orphan_result", "r2"), ("a07_results_first", "r2")],
    ),
    (
        "a call is answered twice",
        {3: (rewrite("r6", *tool_result("r6", z="out").blocks, *tool_result("r6", z="out").blocks), Drop(ids=("a3",)))},
        [("a02_role_alternation", "u4"), ("a05_orphan_result", "r6")],
    ),
    ("a provider-run call loses its result", {3: (rewrite("a3", SERVER[0], Text(text="k")),)}, [("a06_server_tool_pair", "a3")]),
    ("a provider-run result loses its call", {3: (rewrite("a3", SERVER[1], Text(text="k")),)}, [("a06_server_tool_pair", "a3")]),
    (
        "a text moves before the result",
        {3: (rewrite("r6", Text(text="see"), *tool_result("r6", z="o").blocks),)},
        [("a07_results_first", "r6")],
    ),
    ("a text becomes blank", {3: (rewrite("a3", Text(text=" \n")),)}, [("a08_nonempty_text", "a3")]),
    ("a message becomes empty", {3: (rewrite("a3"),)}, [("a08_nonempty_text", "a3")]),
    ("the last message goes", {3: (Drop(ids=("r6",)),)}, [("a03_tool_use_answered", "a5"), ("a12_prefill", "a5")]),
    ("thinking of the last reply goes", {1: (rewrite("a1", USE_X, USE_Y),)}, [("a14_thinking_first", "a1")]),
    ("thinking of an older reply goes", {3: (rewrite("a1", USE_X, USE_Y),)}, []),
    (
        "thinking of the last reply is cut",
        {1: (rewrite("a1", Thinking(text=""), USE_X, USE_Y),)},
        [("a15_thinking_unmodified", "a1")],
    ),
    ("an answer ends on thinking", {3: (rewrite("a3", Text(text="done"), Thinking(text="")),)}, [("a17_thinking_last", "a3")]),
    (
        "a call takes an id that was used before",
        {3: (rewrite("a5", USE_X), rewrite("r6", *tool_result("r6", x="o").blocks))},
        [("a18_unique_ids", "a5")],
    ),
    (
        "a result stands in an answer",
        {3: (rewrite("a3", *tool_result("a3", q="o").blocks),)},
        [("a05_orphan_result", "a3"), ("block_roles", "a3"), ("strict_shrink", "")],
    ),
    (
        "a call goes on with text",
        {3: (rewrite("a5", *tool_call("a5", "z").blocks, Text(text="k")), Drop(ids=("u4",)), Drop(ids=("a3",)))},
        [("latest_user_untouched", "u4"), ("tool_use_last", "a5")],
    ),
    ("the latest user message is shortened", {3: (rewrite("u4", Text(text="next")),)}, [("latest_user_untouched", "u4")]),
    ("the task is shortened", {3: (rewrite("u0", Text(text="do")),)}, [("task_survives", "u0")]),
    (
        "the only user message goes",
        {1: (Drop(ids=("u0",)),)},
        [("a01_first_user", "a1"), ("latest_user_untouched", "u0"), ("task_survives", "u0")],
    ),
    ("nothing is freed", {3: (rewrite("a3", Text(text="all done there")),)}, [("strict_shrink", "")]),
    ("a result is cleared", {3: (rewrite("r2", *tool_result("r2", x="-", y="-").blocks),)}, []),
    ("a whole round goes", {3: (Drop(ids=("a1", "r2")), rewrite("a3", Text(text="ok")))}, []),
    ("results are erased by the server", {3: (Erase(id="r2"),)}, []),
    ("blocks are injected", {1: (Inject(blocks=(Text(text="status"),)),), 3: (Inject(blocks=(Text(text="status"),)),)}, []),
    ("a blank text is injected", {1: (Inject(blocks=(Text(text=" "),)),)}, [("a08_nonempty_text", "injected")]),
]


@pytest.mark.parametrize(("script", "expected"), [row[1:] for row in ROWS], ids=[row[0] for row in ROWS])
def test_an_edit_breaks_exactly_these_rules(script: Script, expected: list[tuple[str, str]]) -> None:
    """Nothing less and nothing more, each at the message where the provider would complain."""
    assert broken(LEGAL, script) == expected


def test_every_rule_about_requests_is_broken_by_some_row() -> None:
    """So that no rule is untested: rows above and the tests below name every invariant but those of other APIs, which have a table of their own."""
    rows = {name for _, _, expected in ROWS for name, _ in expected}
    below = {"a21_tools_declared", "a22_window", "pinned_kept", "system_survives", "no_rewrite_twice"}
    audits = {"deterministic", "state_round_trip"}
    elsewhere = {one.id for one in INVARIANTS if one.rule and "anthropic" not in one.scope and one.scope != "all"}
    assert rows | below | audits | elsewhere == set(registry.names("invariants"))


@pytest.mark.parametrize(
    "trace", [LEGAL, make_trace(calls=40), make_varied_trace(calls=50, seed=7)], ids=lambda trace: str(trace.id)
)
def test_a_valid_session_without_edits_breaks_nothing(trace: Trace) -> None:
    """Neither the strategy nor the recording is blamed."""
    assert check(trace, {}) == ([], [])


def test_a_finding_is_counted_when_it_appears_not_at_every_call() -> None:
    """One broken pair over thirty calls is one violation, at the call where it came to be."""
    trace = make_trace(calls=40)
    found = check(trace, {5: (Drop(ids=(trace.messages[4].id,)),)}).found
    assert [(v.call, v.messages) for v in found if v.invariant == "a03_tool_use_answered"] == [(5, ("made-3",))]


def test_edits_elsewhere_do_not_report_a_standing_finding_again() -> None:
    """A later edit before it makes the scanner read it again; it is still the same fault."""
    trace = make_trace(calls=40)
    later: Script = {n: (rewrite(trace.messages[2].id, *tool_result("", t0=f"stub {n}").blocks),) for n in (8, 12, 20)}
    gone: Script = {5: (Drop(ids=(trace.messages[8].id,)),)}
    found = broken(trace, gone | later)
    assert found.count(("a03_tool_use_answered", "made-7")) == 1


def test_a_finding_that_went_and_came_back_counts_again() -> None:
    """Blank, mended, blank again: two faults."""
    blank, mended = rewrite("a3", Text(text=" ")), rewrite("a3", Text(text="ok"))
    calls = tuple(Call(id=f"c{n}", upto=5) for n in range(5))
    found = broken(msgspec.structs.replace(LEGAL, calls=calls), {1: (blank,), 2: (mended,), 3: (blank,)})
    assert found.count(("a08_nonempty_text", "a3")) == 2


FAULTY = Trace(
    id="faulty",
    messages=(
        assistant("I begin", "a0"),
        user("task", "u1"),
        user("and more", "u2"),
        tool_call("a3", "x", "y"),
        tool_result("r4", x="one"),
        tool_result("r5", y="two"),
        tool_call("a6", "x"),
        user("stop that", "u7"),
        Message(id="a8", role="assistant", blocks=()),
        tool_result("r9", q="orphan"),
        assistant("end", "a10"),
    ),
    calls=tuple(Call(id=f"c{n}", upto=n + 1) for n in range(11)),
)


def test_what_the_recording_breaks_is_kept_apart() -> None:
    """A strategy that does nothing has no violations; the recording's own stand in ``recorded``, marked."""
    found, recorded = check(FAULTY, {})
    assert found == []
    assert all(v.evidence.startswith("recorded: ") for v in recorded)
    assert sorted({(v.invariant, v.messages[0]) for v in recorded}) == [
        ("a01_first_user", "a0"),
        ("a02_role_alternation", "r5"),
        ("a02_role_alternation", "u2"),
        ("a03_tool_use_answered", "a3"),
        ("a03_tool_use_answered", "a6"),
        ("a04_parallel_same_message", "r5"),
        ("a05_orphan_result", "r9"),
        ("a08_nonempty_text", "a8"),
        ("a12_prefill", "a0"),
        ("a12_prefill", "a10"),
        ("a12_prefill", "a3"),
        ("a12_prefill", "a6"),
        ("a12_prefill", "a8"),
        ("a18_unique_ids", "a6"),
    ]


def test_a_strategy_is_blamed_for_its_own_part_only() -> None:
    """Beside the recording's faults a new one is found, at a message that has recorded ones as well."""
    assert broken(FAULTY, {10: (Drop(ids=("a3",)),)}) == [
        ("a02_role_alternation", "r4"),
        ("a05_orphan_result", "r4"),
        ("a05_orphan_result", "r5"),
        ("a07_results_first", "r4"),
        ("a07_results_first", "r5"),
    ]


def test_an_open_call_at_the_end_becomes_the_strategys_when_it_drops_the_answer() -> None:
    """At call 4 the recording itself leaves ``y`` open; once answered, dropping the answer is the strategy's doing."""
    assert broken(FAULTY, {5: (Drop(ids=("r5",)),)}) == [("a03_tool_use_answered", "a3")]


def test_history_that_the_file_does_not_hold_is_not_the_strategys() -> None:
    """The message that stands for it opens the request; once dropped, what follows must begin with the user."""
    options: dict[str, Any] = {"unrecorded": 50}
    assert broken(FAULTY, {}, **options) == []
    midway = msgspec.structs.replace(FAULTY, messages=FAULTY.messages[1:], calls=FAULTY.calls[:5])
    assert broken(midway, {}, **options) == []
    assert broken(FAULTY, {5: (Drop(ids=("unrecorded",)),)}, **options) == [("a01_first_user", "a0")]


def test_tools_must_be_offered_where_a_strategy_brings_the_first_calls() -> None:
    """A session without tools: calls that a strategy adds need a tool that it offers."""
    talk = Trace(
        id="talk",
        messages=(user("hello you there", "u0"), assistant("hi to you too", "a1"), user("go on", "u2")),
        calls=(Call(id="c0", upto=1, reply=1), Call(id="c1", upto=3)),
    )
    added = (
        Insert(after="u0", message=tool_call("n1", "k")),
        Insert(after="u0", message=tool_result("n2", k="o")),
        Drop(ids=("a1",)),
    )
    rest = [("a02_role_alternation", "u2"), ("strict_shrink", "")]
    assert broken(talk, {1: added}) == [rest[0], ("a21_tools_declared", "n1"), rest[1]]
    assert broken(talk, {1: added}, offered=(ToolSpec(name="shell"),)) == rest
    assert broken(msgspec.structs.replace(talk, tools=(ToolSpec(name="other"),)), {1: added}) == rest


def test_a_request_that_injected_blocks_make_too_long_is_never_sent() -> None:
    """The replay ends there, which is a fact and breaks no rule; in a window with room for them it goes on."""
    size = 10 + sum(len(m.text.split()) or 1 for m in LEGAL.messages) + 60
    inject = (Inject(blocks=(Text(text="word " * 200),)),)
    assert broken(LEGAL, {2: inject, 3: inject}, window=size) == []
    assert broken(LEGAL, {2: inject}, window=size + 300) == []


def test_a_request_must_fit_the_window() -> None:
    """Held against steps as a loop that let them through would hand them over; a long state counts once."""
    checker = registry.load("invariants", "a22_window").open(LEGAL)
    size = 10 + sum(len(m.text.split()) or 1 for m in LEGAL.messages) + 60
    for index, (tokens, injected, found) in enumerate(
        [(size, 0, 0), (size + 9, 9, 1), (size + 20, 20, 0), (size, 0, 0), (size + 1, 1, 1)]
    ):
        row = Row(call=index, prompt_tokens=tokens, usage=Usage(uncached=tokens), messages=1, injected=injected)
        step = Step(
            index=index,
            call=LEGAL.calls[0],
            context=context_of(LEGAL.messages),
            prompt_tokens=tokens,
            window=size,
            reserve=0,
            changed_from=0,
            row=row,
        )
        assert len(checker.check(step)) == found, index


def test_an_overfull_history_in_forced_mode_is_not_the_strategys() -> None:
    """The strategy is not asked there, so the mode is at fault: kept with the recording's own."""
    found, recorded = check(make_trace(calls=30), {}, window=200, forced=Forced(budget=100, calls=frozenset()))
    assert (found, [v.invariant for v in recorded]) == ([], ["a22_window"])


def test_results_cut_at_arrival_are_seen() -> None:
    """Edits at every moment reach the checks, also those on a message that was never sent before."""
    assert broken(LEGAL, {2: (rewrite("u4", Text(text="next")),)}, at=Moment.ARRIVAL) == [("latest_user_untouched", "u4")]


def test_a_promise_that_names_nothing_is_refused() -> None:
    """One line with the nearest name."""
    with pytest.raises(SpecError, match="promises: found 'task_survive', which is no invariant; nearest: task_survives"):
        Checkers(INVARIANTS, LEGAL, promises=("task_survive",))


@pytest.mark.parametrize("invariant", INVARIANTS, ids=lambda invariant: str(invariant.id))
def test_every_invariant_says_what_it_is(invariant: Invariant) -> None:
    """A summary, a scope that is one of ours or names APIs, a severity; the source of the rule; a provider's rule has its number."""
    assert invariant.summary
    assert invariant.source
    assert invariant.scope in ("all", "declared", "decision") or set(invariant.scope.split()) <= set(APIS)
    assert invariant.severity in ("error", "warning")
    assert bool(invariant.rule) == invariant.id.startswith(f"{invariant.rule.lower()}_" if invariant.rule else "a0")


def test_evidence_is_one_short_line() -> None:
    """Ids of recordings are data: line breaks and length do not reach a report."""
    hostile = "x\n" * 400
    trace = msgspec.structs.replace(LEGAL, messages=(LEGAL.messages[0], tool_call("a1", hostile), *LEGAL.messages[2:]))
    (violation,) = [v for v in check(trace, {}).recorded if v.invariant == "a03_tool_use_answered"]
    assert "\n" not in violation.evidence
    assert len(violation.evidence) <= 240
    assert isinstance(LEGAL.messages[2].blocks[0], ToolResult)

"""Mining: what is found in a session, in words that a person would use, with its evidence and its history."""

from __future__ import annotations

import re

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from probes_support import chinese_story, session, story

from ullage.probes import asked_as, block_text, evidence_text, mine
from ullage.terms import fold
from ullage.testing import assistant, make_trace, tool_call, tool_result, user
from ullage.types import Message, Probe, ProbeBank, Text, Trace

TYPES = {
    "recall", "artifact", "continuation", "decision", "constraint", "negative", "abstention", "update", "temporal", "multi-hop",
}  # fmt: skip


def by_question(bank: ProbeBank) -> dict[str, Probe]:
    """The probes of a bank by their question."""
    return {probe.question: probe for probe in bank.probes}


EXPECTED = [
    ("In which file is the function `OpenLedger` defined?", "store/ring.go", "path", "recall"),
    ("What is the value of `queue_name` in workers.yaml?", "invoices-eu", "normalised", "recall"),
    ("What is the value of `pool_size` in workers.yaml?", "12", "numeric", "recall"),
    ("What is the value of `maxPendingWrites` in ring.go now?", "256", "numeric", "update"),
    ("Which error was reported in ring.go at line 41?", "undefined: drainQueue", "normalised", "recall"),
    ("Did the search for `flushBarrier` find anything?", "no", "choice", "negative"),
    ("Did the test `TestRingKeepsOrder` pass or fail when it last ran?", "pass", "choice", "recall"),
    ("How long did the tests of `ledger/store` take when they last ran?", "0.411s", "numeric", "recall"),
    ('What is the hash of the commit "Let the ring block its writers"?', "4be91c7", "exact", "recall"),
    ('On which branch was the commit "Let the ring block its writers" made?', "fix/ring-writers", "normalised", "recall"),
    ('How many insertions did the commit "Let the ring block its writers" have?', "31", "numeric", "recall"),
    ("May the agent delete the fixtures folder?", "no", "choice", "constraint"),
    ("Must the agent keep the interface as it is?", "yes", "choice", "constraint"),
    ("Does the migration script touch the archive tables?", "no", "choice", "negative"),
    ("What is used instead of `FlushBarrier`?", "WriteBarrier", "normalised", "decision"),
    ("Were tests run again after drain.go was last edited?", "yes", "choice", "temporal"),
]


@pytest.mark.parametrize(("question", "gold", "grader", "type_"), EXPECTED, ids=[row[0][:40] for row in EXPECTED])
def test_a_fact_of_the_session_becomes_a_question(question: str, gold: str, grader: str, type_: str) -> None:
    """Each planted fact is asked for with its answer, grader and type."""
    probe = by_question(mine(story()))[question]
    assert (probe.accept[0], probe.grader, probe.type) == (gold, grader, type_)


@pytest.mark.parametrize(
    ("question", "gold"),
    [
        ("用户允许修改原始转写文件吗？", "否"),
        ("people.csv 里 P02 的“城市”是什么？", "长沙"),
        ("P01.md 中的“时长”是什么？", "40 分钟"),
        ("P01.md 中的“日期”是什么？", "2026 年 1 月 3 日"),
    ],
)
def test_a_chinese_session_is_asked_in_chinese(question: str, gold: str) -> None:
    """Questions are put in the language that people and model speak."""
    probe = by_question(mine(chinese_story()))[question]
    assert probe.accept[0] == gold
    assert probe.language == "zh"


def test_the_latest_value_is_the_answer_and_older_ones_are_rejected() -> None:
    """An edited constant is an update: settled at the edit, the old value on the reject list, the edit its evidence."""
    trace = story()
    probe = by_question(mine(trace))["What is the value of `maxPendingWrites` in ring.go now?"]
    assert probe.reject == ("64",)
    assert trace.messages[probe.settled_at].id == "a6"
    assert [span.message for span in probe.evidence] == ["a6"]


def test_what_an_edit_replaced_is_no_statement() -> None:
    """The quoted old text of an edit states nothing that still holds."""
    trace = session(
        [
            user("Go on.", "u", human=True),
            tool_call(
                "a", "t", name="Edit", file_path="conf/app.toml", old_string='queue_name = "old-lane"', new_string="# moved"
            ),
            tool_result("r", t="The file conf/app.toml has been updated."),
        ]
    )
    assert not [probe for probe in mine(trace).probes if "old-lane" in probe.accept]


def test_a_name_with_two_answers_is_rejected_with_the_reason() -> None:
    """Two hashes under one subject leave no single answer."""
    commits = [("1111aaa", "fix/one"), ("2222bbb", "fix/two")]
    messages = [user("Go on.", "u", human=True)]
    for n, (sha, branch) in enumerate(commits):
        messages.append(tool_call(f"a{n}", f"t{n}", name="Bash", command="git commit -am x"))
        messages.append(tool_result(f"r{n}", **{f"t{n}": f"[{branch} {sha}] Make the loader lazy again"}))
    questions = by_question(mine(session(messages)))
    assert 'What is the hash of the commit "Make the loader lazy again"?' not in questions
    assert 'On which branch was the commit "Make the loader lazy again" made?' not in questions


def test_later_uses_are_the_calls_whose_reply_names_the_value() -> None:
    """Demand: the call that later runs with the value, and no earlier one."""
    trace = session(
        [
            user("Start the workers.", "u", human=True),
            tool_call("a0", "t0", name="Read", file_path="conf/app.yaml"),
            tool_result("r0", t0="queue_name: invoices-eu\n"),
            tool_call("a1", "t1", name="Bash", command="worker --queue invoices-eu"),
            tool_result("r1", t1="started"),
        ]
    )
    probe = by_question(mine(trace))["What is the value of `queue_name` in app.yaml?"]
    assert probe.uses == (1,)


def test_a_restated_fact_says_where() -> None:
    """The second reading of a file restates what it holds; the evidence stays the first."""
    reads = []
    for n in range(2):
        reads += [
            tool_call(f"a{n}", f"t{n}", name="Read", file_path="conf/app.yaml"),
            tool_result(f"r{n}", **{f"t{n}": "queue_name: invoices-eu"}),
        ]
    probe = by_question(mine(session([user("Go.", "u", human=True), *reads])))["What is the value of `queue_name` in app.yaml?"]
    assert (probe.settled_at, probe.restated_at) == (2, 4)


@pytest.mark.parametrize("hidden", [{"synthetic": True}, {"stub": True}])
def test_summaries_and_stubs_give_no_probes(hidden: dict[str, bool]) -> None:
    """What the recording's client or a strategy put there is no fact of the session."""
    trace = story()
    marked = tuple(msgspec.structs.replace(message, **hidden) for message in trace.messages)
    assert not mine(msgspec.structs.replace(trace, messages=marked)).probes


def test_text_injected_by_the_client_is_not_the_user() -> None:
    """A reminder in a user message forbids nothing in the user's name."""
    trace = session([user("Never delete the fixtures folder.", "u0"), user("Go on.", "u1", human=True)])
    assert not [probe for probe in mine(trace).probes if probe.type == "constraint"]


def test_decoys_name_what_never_occurred() -> None:
    """A decoy's changed name stands nowhere in the trace, and the reader is not told that it is one."""
    trace = story()
    everything = " ".join(block_text(b) for m in trace.messages for b in m.blocks).lower()
    decoys = [probe for probe in mine(trace).probes if probe.grader == "abstain"]
    assert decoys
    for probe in decoys:
        words = re.findall(r"\w{3,}", probe.question.lower())
        assert any(word not in everything for word in words), probe.question
        assert asked_as(probe) != "abstain"
        assert not probe.accept
        assert not probe.evidence


def test_the_same_trace_gives_the_same_bank() -> None:
    """Mining has no state and no chance: equal arguments give equal digests, another seed another sample of a large trace."""
    trace = crowded(80)
    assert mine(trace).digest == mine(trace).digest
    assert mine(trace, seed=1).digest != mine(trace).digest


def test_a_bank_is_bounded_and_mixed() -> None:
    """No more probes than the limit, decoys among them, and no rule fills the bank alone."""
    bank = mine(crowded(200), limit=40)
    assert len(bank.probes) <= 40
    families = [probe.provenance for probe in bank.probes if probe.grader != "abstain"]
    assert max(families.count(family) for family in set(families)) <= 8
    assert any(row.reason == "not sampled" for row in bank.rejected)
    assert any(row.reason.endswith("more") for row in bank.rejected)


@pytest.mark.parametrize(
    "verb", ["isn't", "is not", "wasn't", "was not", "doesn't", "does not", "can't", "cannot", "won't", "will not", "hasn't"]
)
def test_every_way_of_denying_becomes_a_question(verb: str) -> None:
    """A denial in any of the forms that the rule reads is asked for, and answered with no."""
    text = f"The nightly export job {verb} compatible with the legacy gateway."
    bank = mine(session([user("Look at it.", "u", human=True), assistant(text, "m1"), user("Go on.", "u2", human=True)]))
    (probe,) = (probe for probe in bank.probes if probe.provenance == "mined: denial")
    assert probe.question.endswith("the nightly export job compatible with the legacy gateway?")
    assert probe.accept == ("no",)


def crowded(settings_count: int) -> Trace:
    """A trace with many settings in many files."""
    messages: list[Message] = [user("Look at all of it.", "u", human=True)]
    for n in range(settings_count):
        messages.append(tool_call(f"a{n}", f"t{n}", name="Read", file_path=f"conf/part_{n}.yaml"))
        messages.append(tool_result(f"r{n}", **{f"t{n}": f"lane_of_{n}: river-{n}x\nretry_of_{n}: {n + 11}s\n"}))
    return session(messages)


WORD = st.text("abcdefgh XY_.:=/`\"'{}0123456789\n\t-不要必须因为：，。", max_size=60)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(texts=st.lists(st.tuples(st.sampled_from(["say", "human", "read", "run", "edit", "search"]), WORD), max_size=12))
def test_laws_of_a_bank(texts: list[tuple[str, str]]) -> None:
    """For any text: no gold in a question, evidence inside its block, settled in the trace, no question twice."""
    trace = session(list(_messages(texts)))
    bank = mine(trace)
    places = {message.id: n for n, message in enumerate(trace.messages)}
    assert len({probe.question for probe in bank.probes}) == len(bank.probes)
    for probe in bank.probes:
        assert probe.type in TYPES
        assert 0 <= probe.settled_at < len(trace.messages)
        if probe.grader not in ("choice", "abstain"):
            assert not any(fold(gold).lower() in fold(probe.question).lower() for gold in probe.accept)
        for span in probe.evidence:
            text = block_text(trace.messages[places[span.message]].blocks[span.block])
            assert 0 <= span.start <= span.end <= len(text)
            assert places[span.message] <= probe.settled_at or probe.type == "temporal"


def _messages(texts: list[tuple[str, str]]) -> list[Message]:
    made: list[Message] = []
    for n, (kind, text) in enumerate(texts):
        if kind in ("say", "human"):
            made.append(assistant(text, f"m{n}") if kind == "say" else user(text, f"m{n}", human=True))
            continue
        arguments = {
            "read": {"file_path": f"src/{n}.py"},
            "run": {"command": text[:20] or "ls"},
            "edit": {"file_path": f"src/{n}.py", "old_string": "a", "new_string": text},
            "search": {"pattern": text[:20] or "x"},
        }[kind]
        names = {"read": "Read", "run": "Bash", "edit": "Edit", "search": "Grep"}
        made.append(tool_call(f"c{n}", f"t{n}", name=names[kind], **arguments))
        made.append(tool_result(f"r{n}", **{f"t{n}": text}))
    return made


def test_evidence_shows_the_answer() -> None:
    """The marked text of a typed fact holds its gold, or the call before it does."""
    trace = story()
    messages = {message.id: message for message in trace.messages}
    for probe in mine(trace).probes:
        if probe.grader in ("exact", "normalised", "numeric") and probe.evidence:
            shown = " ".join(evidence_text(messages[s.message], s) for s in probe.evidence)
            assert any(gold in shown for gold in probe.accept), probe.question


def test_block_text_joins_what_a_result_says() -> None:
    """A result's texts are joined by line breaks; a call's text is its arguments; anything else has none."""
    result = tool_result("r", t="one").blocks[0]
    two = msgspec.structs.replace(result, content=(Text(text="one"), Text(text="two")))
    assert block_text(two) == "one\ntwo"
    assert block_text(tool_call("a", "t", name="x", path="p").blocks[0]) == '{"path":"p"}'


def test_a_long_trace_is_mined_in_proportion() -> None:
    """Ten times the calls make at most ten times the candidates that are looked at: the bank stays bounded."""
    assert len(mine(make_trace(calls=400)).probes) <= 60

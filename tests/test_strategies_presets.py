"""The presets in whole replays: offloading, thresholds, pipelines, the model's own tools, injected text."""

from __future__ import annotations

import importlib.util
import json
from typing import Any

import pytest
from strategies_support import walked

from ullage.deciders.policy import WrittenPolicy
from ullage.errors import SpecError, UserError
from ullage.registry import load, load_strategies
from ullage.step import Step
from ullage.strategies.shared.agentic_tools import TOOLS, status_line
from ullage.strategies.shared.requests import normalized_for_request
from ullage.strategies.shared.retrieval import retrieve_context, retrieve_offloaded
from ullage.strategies.shared.search import Search
from ullage.strategies.shared.summary import conversation_request
from ullage.strategy import DeciderRequest, ToolRequest
from ullage.testing import (
    FakeDecider,
    FakeStore,
    FakeSummarizer,
    assistant,
    make_trace,
    reduce,
    tool_call,
    tool_result,
    usage,
    user,
    view_of,
)
from ullage.types import Compaction, Inject, Message, Moment, Stash, Text, ToolUse


def compactions(steps: list[Step]) -> list[Compaction]:
    """All compactions of a replay."""
    return [compaction for step in steps for compaction in step.compactions]


def test_auto_summarises_at_its_threshold_and_earlier_at_a_lower_one() -> None:
    """0.7 and 0.85 differ in when and how often."""
    trace = make_trace(calls=300)
    late, early = (compactions(walked(f"auto(threshold={t})", trace, 10_000)) for t in (0.85, 0.5))
    assert late
    assert len(early) > len(late)
    assert all(c.moment is Moment.BEFORE_CALL and c.tier == "summarize" for c in late + early)
    assert all(c.estimate is not None and c.estimate >= 0.85 * 10_000 for c in late)
    assert max(c.tokens_before for c in early) < min(c.tokens_before for c in late)


def test_auto_offloads_a_large_result_at_arrival_and_forgets_it_after_twenty_calls() -> None:
    """The preview and its references stay, the stored text is blanked when its time is over."""
    messages = [user("task", "u"), tool_call("c", "t"), tool_result("r", t="line of text\n" * 1000)]
    (auto,) = load_strategies("auto")
    decision = auto.decide(view_of(messages, moment=Moment.ARRIVAL))
    (stash,) = [edit for edit in decision.edits if isinstance(edit, Stash)]
    assert stash == Stash(ref="mem_1_t_0", content="line of text\n" * 1000)
    text = decision.edits[0].blocks[0].content[0].text  # type: ignore[union-attr]  # a rewritten result, by the line above
    assert text.startswith("[Offloaded: 1 blocks, ~3,250 tokens]\n")
    assert len(text) < 4000
    for call, blank in ((20, False), (21, True)):
        later = auto.decide(view_of(messages, call=call, state=decision.state))
        assert (Stash(ref="mem_1_t_0", content="") in later.edits) is blank


def test_profile_1_62_shortens_at_arrival_and_leaves_references_that_resolve() -> None:
    """Both ends of the text stay, and the stash holds the original under the reference."""
    words = " ".join(f"w{n}" for n in range(3000))
    messages = [user("task", "u"), tool_call("c", "t"), tool_result("r", t=words)]
    (auto,) = load_strategies("auto(profile='1.62')")
    decision = auto.decide(view_of(messages, moment=Moment.ARRIVAL))
    text = decision.edits[0].blocks[0].content[0].text  # type: ignore[union-attr]  # a rewritten result, by the line above
    assert text.startswith("[Truncated: 1 block, ~4,223 tokens]\n\nw0 w1 ")
    assert text.endswith("w2999\n\n[Stashed] [ref: t_0]")
    store = FakeStore({edit.ref: edit.content for edit in decision.edits if isinstance(edit, Stash)})
    assert retrieve_context(store, {"reference": "t_0"}).text == json.dumps({"text": words})
    assert retrieve_context(store, {"reference": "t_9"}).is_error


def test_profile_1_62_keeps_the_first_message_and_puts_its_summary_behind_a_tool_call() -> None:
    """The marker speaks in the assistant's voice, after the call of a later message."""
    trace = make_trace(calls=120, turn=1000)
    last: list[Message] = []

    def see(step: Step) -> None:
        last[:] = list(step.context)

    steps = walked("auto(profile='1.62')", trace, 5_000, see, summarize=FakeSummarizer(reply="the summary"))
    acted = [c for c in compactions(steps) if "summarize" in c.tier]
    assert acted
    assert last[0] == trace.messages[0]
    assert "[Summarized: " in last[1].text
    assert isinstance(last[1].blocks[0], ToolUse)


def test_profile_1_62_gives_up_after_three_retries_of_one_call() -> None:
    """Each pass acts, but a fourth overflow of the same call is not tried."""
    history = [
        message
        for n in range(40)
        for message in ({"role": "user", "content": [{"text": f"q{n}"}]}, {"role": "assistant", "content": [{"text": f"a{n}"}]})
    ]
    messages: Any = history
    memory: Any = {}
    kinds = []
    for _ in range(4):
        done = reduce("context_manager(strategies=())", messages, moment="overflow", state={"own": memory})
        messages, memory = done.messages, done.memory
        kinds.append(done.exception)
    assert kinds == [None, None, None, "ContextWindowOverflowException"]


def test_reactive_and_proactive_steps_follow_each_other_when_the_projection_is_stale() -> None:
    """The retried call runs its own threshold on the usage of before, and summarises again at once."""
    messages = [user(f"q{n}", f"m{n}") if n % 2 == 0 else assistant(f"a{n}", f"m{n}") for n in range(30)]
    for threshold, requests in ((None, 1), (0.5, 2)):
        summarizer = FakeSummarizer()
        (strategy,) = load_strategies(f"summarizing(keep_recent=2, threshold={threshold})")
        view = view_of(messages, moment=Moment.OVERFLOW, window=1000, usage=usage(990), usage_at=30, summarize=summarizer)
        strategy.decide(view)
        assert len(summarizer.requests) == requests


def test_the_record_tells_reactive_proactive_turn_end_and_per_turn_apart() -> None:
    """Each compaction names what triggered it."""
    trace = make_trace(calls=120)
    found = {
        spec: {c.reason.partition(":")[0] for c in compactions(walked(spec, trace, 6_000))}
        for spec in (
            "sliding_window(window_size=12)",
            "sliding_window(per_turn=5, window_size=12)",
            "summarizing",
            "auto(threshold=0.5)",
        )
    }
    assert list(found.values()) == [{"turn end"}, {"turn end", "per turn"}, {"reactive"}, {"proactive"}]


def test_forced_to_a_budget_a_strategy_acts_once_and_without_its_own_trigger() -> None:
    """In forced mode an overflow is only the order to shrink."""
    messages = [user(f"q{n}", f"m{n}") if n % 2 == 0 else assistant(f"a{n}", f"m{n}") for n in range(30)]
    summarizer = FakeSummarizer()
    (strategy,) = load_strategies("summarizing(keep_recent=2, threshold=0.5)")
    strategy.decide(view_of(messages, moment=Moment.OVERFLOW, forced=True, usage=usage(990), usage_at=30, summarize=summarizer))
    assert len(summarizer.requests) == 1


def test_the_model_is_told_its_window_and_its_calls_become_history() -> None:
    """The status line goes with every request and stays in none; calls and answers stay."""
    script: list[tuple[ToolRequest, ...]] = [(), (ToolRequest(name="pin_context", arguments='{"select": [0]}'),)]
    decider = FakeDecider(script)
    contexts: list[tuple[Message, ...]] = []
    steps = walked("agentic", make_trace(calls=6), 10_000, lambda step: contexts.append(tuple(step.context)), decide=decider)
    assert all("<context-status>" in block.text for step in steps for block in step.injected if isinstance(block, Text))
    assert not any("<context-status>" in message.text for message in contexts[-1])
    names = [b.name for m in contexts[-1] for b in m.blocks if isinstance(b, ToolUse)]
    assert names.count("pin_context") == 1
    assert [tool.name for tool in decider.requests[0].tools] == [tool.name for tool in TOOLS]
    assert decider.requests[0].status == status_line(decider.requests[0].used, 10_000)


def test_a_pin_of_the_model_protects_from_the_safety_net() -> None:
    """The pin is in the strategy's state, and the summary leaves the message where it is."""
    script: list[tuple[ToolRequest, ...]] = [(ToolRequest(name="pin_context", arguments='{"select": [0]}'),)]
    trace = make_trace(calls=200)
    last: list[Message] = []

    def see(step: Step) -> None:
        last[:] = list(step.context)

    steps = walked("agentic", trace, 5_000, see, decide=FakeDecider(script))
    assert any(c.moment is Moment.OVERFLOW and "summarize" in c.tier for c in compactions(steps))
    assert last[0] == trace.messages[0]


def test_the_status_line_is_a_format() -> None:
    """Four lines after a blank one, grouped digits, one decimal."""
    assert status_line(12_345, 200_000) == (
        "\n\n<context-status>\n<used>12,345 / 200,000 tokens (6.2%)</used>\n<remaining>~187,655 tokens</remaining>\n</context-status>"
    )
    assert "<remaining>~0 tokens</remaining>" in status_line(300_000, 200_000)


def _asked(messages: list[Message], used: int) -> tuple[str, ...]:
    request = DeciderRequest(messages=tuple(messages), status=status_line(used, 1000), used=used, limit=1000, tools=TOOLS)
    return tuple(call.name for call in WrittenPolicy()(request))


def test_the_written_policy_pins_once_truncates_then_summarises_and_waits() -> None:
    """It reads only what a model reads: the share, and its own last calls with their answers."""
    calm = [user("task", "u")]
    assert _asked(calm, 100) == ()
    assert _asked(calm, 300) == ("pin_context",)
    pinned = [*calm, tool_call("p", "1", name="pin_context"), tool_result("pr", **{"1": "Pinned 1 message(s)."})]
    assert _asked(pinned, 500) == ()
    assert _asked(pinned, 600) == ("truncate_context",)
    assert _asked(pinned, 800) == ("summarize_context",)
    failed = [
        *pinned,
        tool_call("t", "2", name="truncate_context"),
        tool_result("tr", **{"2": "No messages dropped: no boundary."}),
    ]
    assert _asked(failed, 600) == ("summarize_context",)
    worked = [
        *pinned,
        tool_call("t", "2", name="truncate_context"),
        tool_result("tr", **{"2": "Dropped 4 message(s). 9 remaining."}),
    ]
    assert _asked(worked, 600) == ()
    both = [
        *failed,
        tool_call("s", "3", name="summarize_context"),
        tool_result("sr", **{"3": "No summarization performed: too few."}),
    ]
    assert _asked(both, 600) == ()


@pytest.mark.parametrize(
    ("last", "trigger", "profile", "text"),
    [
        (user("hi", "u"), "userTurn", "1.62", "\n\nnote"),
        (tool_result("r", t="x"), "userTurn", "1.62", None),
        (tool_result("r", t="x"), "everyTurn", "1.62", "note"),
        (tool_result("r", t="x"), "everyTurn", "1.54", "\n\nnote"),
        (assistant("a", "a"), "userTurn", "1.62", None),
    ],
)
def test_an_injector_adds_its_text_to_the_request_only(last: Message, trigger: str, profile: str, text: str | None) -> None:
    """On a user's turn or on every one; a blank line in front where there is text, at 1.54 always."""
    (injector,) = load_strategies(f"injector(text='note', trigger={trigger!r}, profile={profile!r})")
    edits = injector.decide(view_of([last])).edits
    assert edits == (() if text is None else (Inject(blocks=(Text(text=text),)),))


def test_an_injector_never_enters_history_and_is_billed() -> None:
    """Requests carry the text, the context does not grow by it."""
    trace = make_trace(calls=20)
    plain, noted = walked("null", trace, 10_000), walked("injector(text='{call} ' , trigger='everyTurn')", trace, 10_000)
    assert [len(step.context) for step in plain] == [len(step.context) for step in noted]
    assert all(b.prompt_tokens > a.prompt_tokens for a, b in zip(plain, noted, strict=True))


@pytest.mark.parametrize(
    "spec",
    [
        "auto(max_result_tokens=0)",
        "auto(preview_tokens=1500)",
        "offloader(preview_tokens=-1)",
        "offloader(evict_after_cycles=0)",
        "context_manager(strategies=('overflow_protektion',))",
        "context_manager(strategies=('drop(target=())',))",
        "context_manager(strategies=('truncate(threshold=10, preview_tokens=10)',))",
        "context_manager(strategies=('drop(treshold=3)',))",
        "auto(profile='1.50')",
    ],
)
def test_impossible_presets_are_refused_in_one_line(spec: str) -> None:
    """Unknown steps and parameters name what is near."""
    with pytest.raises(SpecError) as error:
        load_strategies(spec)
    assert "\n" not in str(error.value)


def test_the_real_package_is_asked_for_by_name_when_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The adapter says in one line what to install, whether or not the package is here."""
    look = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *rest: None if name == "strands" else look(name, *rest))
    with pytest.raises(UserError, match=r"pip install 'ullage\[strands\]'$"):
        load_strategies("strands_real")


SEARCHES: list[tuple[dict[str, Any], str]] = [
    ({"pattern": "b", "context_lines": 0}, "[2 matches for /b/]\n\n> 2| b\n---\n> 4| b b"),
    ({"pattern": "c", "context_lines": 1}, "[1 match for /c/]\n\n  2| b\n> 3| c\n  4| b b"),
    ({"line_range": (2, 3)}, "[Lines 2-3 of 4]\n\n  2| b\n  3| c"),
    ({"pattern": "b", "line_range": (3, 9), "context_lines": 0}, "[1 match for /b/ in lines 3-4]\n\n> 4| b b"),
    ({"pattern": "", "context_lines": 0}, "[Lines 1-4 of 4]\n\n  1| a\n  2| b\n  3| c\n  4| b b"),
]


@pytest.mark.parametrize(("arguments", "answer"), SEARCHES)
def test_a_search_numbers_lines_and_marks_matches(arguments: dict[str, Any], answer: str) -> None:
    """The layout of the retrieval tools."""
    assert Search(**arguments).run("a\nb\nc\nb b") == answer


@pytest.mark.parametrize("lines", [(0, 2), (3, 1), (9, 12)])
def test_a_range_outside_the_content_is_an_error(lines: tuple[int, int]) -> None:
    """Lines count from 1, forwards, within the text."""
    with pytest.raises(ValueError, match="line_range"):
        Search(line_range=lines).run("a\nb")


def test_a_nested_repetition_is_taken_literally_since_1_62() -> None:
    """1.54 compiles it."""
    assert Search(pattern="(a+)+", profile="1.54").run("aaa").startswith("[1 match")
    assert Search(pattern="(a+)+").run("(a+)+").startswith("[1 match")
    assert not Search(pattern="(a+)+").run("aaa").startswith("[")


def test_the_offloaders_tool_returns_raw_text_and_an_evicted_reference_is_unknown() -> None:
    """Without a pattern or range everything comes back, uncapped."""
    store = FakeStore({"mem_1_t_0": "x" * 50_000, "mem_2_t_0": ""})
    answer = retrieve_offloaded(store, {"reference": "mem_1_t_0"}, max_result_tokens=100, profile="1.54")
    assert (len(answer.text), answer.is_error) == (50_000, False)
    assert retrieve_offloaded(store, {"reference": "mem_2_t_0"}, max_result_tokens=100, profile="1.54").is_error


def test_requests_replace_blank_texts_and_tool_names_that_providers_refuse() -> None:
    """Assistant messages only; the stored ones keep theirs."""
    messages = [
        Message(id="a", role="assistant", blocks=()),
        Message(id="b", role="assistant", blocks=(Text(text="  "), ToolUse(id="1", name="bad name"))),
        Message(id="c", role="user", blocks=(Text(text=" "),)),
    ]
    sent = normalized_for_request(messages)
    assert [m.blocks for m in sent] == [
        (Text(text="[blank text]"),),
        (ToolUse(id="1", name="INVALID_TOOL_NAME"),),
        (Text(text=" "),),
    ]


@pytest.mark.parametrize("text", ["Fix the bug in parser.py.", "缓存索引损坏" * 100, "x" * 2000])
def test_the_built_in_summariser_never_answers_a_manager_with_nothing(text: str) -> None:
    """A manager that gets no text fails, so even the shortest history has one line."""
    summary = load("summarizers", "extractive")(conversation_request((user(text, "u"),)))
    assert summary.text
    assert summary.text in text

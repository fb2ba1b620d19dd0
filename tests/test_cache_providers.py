"""Every provider's cache: the vectors that its documentation gives, and the laws that hold for all of them."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ullage import registry
from ullage.cache import CachePolicy, CacheRules, CacheSession, Prompt
from ullage.context import Context
from ullage.errors import SpecError
from ullage.testing import assistant, count_words, make_trace, tool_call, tool_result, user
from ullage.types import Message, Rewrite, Text, Usage

MINUTE = 60_000
ALL = registry.names("caches")


def open_(spec: str, minimum: int = 512) -> CacheSession:
    """An empty session of a policy."""
    policy: CachePolicy = registry.load("caches", spec)
    return policy.open(CacheRules(minimum=minimum))


def said(name: str, words: int) -> Message:
    """A user message of so many tokens."""
    return user(f"{name} " * words, name)


def ask(session: CacheSession, *messages: Message, at: int = 0, overhead: int = 0, injected: int = 0) -> Usage:
    """One request over these messages."""
    return session.step(Prompt(overhead, Context.of(messages, count_words), injected, at, "5m", "m"))


A, B, C, D = said("a", 6_400), said("b", 640), said("c", 640), said("d", 640)


def test_deepseek_reads_whole_units_and_finds_what_two_requests_share() -> None:
    """A with B, then A with C misses; A with D reads A, which the second request showed to be shared."""
    session = open_("deepseek")
    assert [ask(session, A, other).cache_read for other in (B, C, D, C)] == [0, 0, 6_400, 7_040 - 64]


def test_deepseek_reads_the_last_prompt_and_its_reply_in_steps_of_64() -> None:
    """The next turn repeats prompt and reply: floor64 of both, as billed sessions show."""
    session = open_("deepseek")
    reply = assistant("r " * 100, "r")
    ask(session, A)
    assert ask(session, A, reply, B).cache_read == 6_500 // 64 * 64
    assert ask(session, A, reply, B, assistant("s", "s"), C, at=23 * 60 * MINUTE).cache_read == 7_141 // 64 * 64


def test_deepseek_forgets_after_its_life() -> None:
    """A unit that nobody used for the whole life is gone."""
    session = open_("deepseek(minutes=60)")
    ask(session, A)
    assert ask(session, A, B, at=61 * MINUTE).cache_read == 0


def test_openai_reads_in_steps_of_128_from_1024_on() -> None:
    """The shared prefix is rounded down to a multiple of 128; below 1,024 nothing is read; nothing is written."""
    session = open_("openai")
    assert ask(session, said("x", 1_500)) == Usage(uncached=1_500)
    assert ask(session, said("x", 1_500), B) == Usage(uncached=2_140 - 1_408, cache_read=1_408)
    short = open_("openai")
    ask(short, said("x", 1_023))
    assert ask(short, said("x", 1_023), B).cache_read == 0


def test_openai_keeps_longer_intervals_and_lives_by_parameter() -> None:
    """GPT-5.5: entries every 2,048 tokens, a day long."""
    session = open_("openai(interval=2048, minutes=1440)")
    ask(session, said("x", 5_000))
    assert ask(session, said("x", 5_000), B, at=1_000 * MINUTE).cache_read == 4_096
    assert ask(open_("openai"), said("x", 5_000)).cache_read == 0


def test_openai_marks_write_at_the_ends_of_user_messages() -> None:
    """An assistant tail is not written; the next request reads the user message before it."""
    session = open_("openai_marks")
    reply = assistant("r " * 700, "r")
    assert ask(session, A, reply) == Usage(uncached=700, cache_write_5m=6_400)
    assert ask(session, A, reply, B, at=30 * MINUTE) == Usage(cache_read=6_400, cache_write_5m=1_340)
    assert ask(session, A, reply, B, at=61 * MINUTE).cache_read == 0


@pytest.mark.parametrize(("between", "read"), [(20, 6_400), (21, 0)])
def test_openai_marks_look_at_twenty_earlier_ends(between: int, read: int) -> None:
    """The entry is found behind at most twenty eligible ends, however many replies stand between."""
    session = open_("openai_marks(system_mark=False)")
    ask(session, A)
    later = [message for n in range(between) for message in (assistant("ok", f"r{n}"), user("go", f"u{n}"))]
    assert ask(session, A, *later).cache_read == read


def test_openai_marks_keep_the_developer_block_apart() -> None:
    """With an entry at the end of the developer block a new history still reads it."""
    for spec, read in (("openai_marks", 2_000), ("openai_marks(system_mark=False)", 0)):
        session = open_(spec)
        ask(session, A, overhead=2_000)
        assert ask(session, B, overhead=2_000).cache_read == read


def test_bedrock_counts_each_block_where_claude_counts_runs() -> None:
    """Nineteen parallel calls and results are two positions on the Claude API and thirty-eight elsewhere."""
    ids = [f"t{n}" for n in range(19)]
    history = [A, tool_call("u", *ids), tool_result("r", **dict.fromkeys(ids, "done"))]
    for name, read in (("auto", 6_400), ("bedrock", 0), ("vertex", 0), ("qwen_explicit", 0)):
        session = open_(name)
        ask(session, A)
        assert ask(session, *history).cache_read == read, name


def test_vllm_reads_full_blocks_and_the_reply_but_never_the_last_token() -> None:
    """Blocks of 16 over prompt and reply; the same prompt again computes at least one token."""
    session, reply = open_("vllm"), assistant("r " * 100, "r")
    ask(session, A)
    assert ask(session, A).cache_read == 6_384
    assert ask(session, A, reply, B).cache_read == 6_496
    assert ask(open_("sglang"), A).cache_read == 0
    exact = open_("sglang")
    ask(exact, A)
    assert ask(exact, A).cache_read == 6_399


def test_gemini_explicit_pays_for_objects_and_storage() -> None:
    """An object is written once, read until its hour is over, stored meanwhile, and made anew after an edit."""
    session = open_("gemini_explicit(storage_usd=1.0)")
    assert ask(session, A) == Usage(cache_write_1h=6_400)
    assert ask(session, A, B, at=30 * MINUTE) == Usage(uncached=640, cache_read=6_400)
    assert getattr(session, "storage_pico") == 6_400 * 500_000  # noqa: B009 - only this session has it
    assert ask(session, A, B, at=61 * MINUTE) == Usage(cache_write_1h=7_040)
    assert getattr(session, "storage_pico") == 6_400 * 1_000_000  # noqa: B009 - only this session has it
    assert ask(session, C, B, at=62 * MINUTE) == Usage(cache_write_1h=1_280)


def test_gemini_explicit_renews_an_object_that_is_too_far_behind() -> None:
    """When more than the given tokens stand behind the object, a new one takes them in."""
    session = open_("gemini_explicit(rebuild_tokens=700)")
    ask(session, A)
    assert ask(session, A, B).cache_read == 6_400
    assert ask(session, A, B, C) == Usage(cache_write_1h=7_680)


def test_minimax_charges_for_what_it_caches() -> None:
    """Automatic matching with a write fee from 512 tokens on."""
    session = open_("minimax")
    assert ask(session, said("x", 500)) == Usage(uncached=500)
    assert ask(session, A) == Usage(cache_write_5m=6_400)
    assert ask(session, A, B) == Usage(cache_read=6_400, cache_write_5m=640)


@pytest.mark.parametrize(
    "spec",
    [
        "openai(interval=0)",
        "xai(minutes=0)",
        "deepseek(granularity=0)",
        "every_15(spacing=0)",
        "openai_marks(minutes=0)",
        "gemini_explicit(minutes=0)",
        "glm(minimum=-1)",
    ],
)
def test_impossible_parameters_are_refused(spec: str) -> None:
    """Each is one line that names the policy and what was expected."""
    with pytest.raises(SpecError, match="expected") as caught:
        registry.load("caches", spec)
    assert "\n" not in str(caught.value)


def test_every_policy_declares_its_sources_and_open_points() -> None:
    """A listing shows where each rule comes from and what its source leaves open; each source is dated."""
    listed = {entry["name"]: entry for entry in registry.describe("caches")}
    assert {
        "anthropic",
        "bedrock",
        "vertex",
        "openai",
        "azure",
        "gemini",
        "deepseek",
        "xai",
        "mistral",
        "dashscope",
        "moonshot",
        "zai",
        "vllm",
        "sglang",
    } <= {entry["provider"] for entry in listed.values()}
    for name, entry in listed.items():
        assert entry["summary"], name
        if name != "ideal":
            assert entry["sources"], name
        assert entry["unsure"] or name == "none", name


@settings(deadline=None, max_examples=200)
@given(
    name=st.sampled_from(ALL),
    at=st.integers(0, 39),
    gap=st.sampled_from([0, MINUTE, 20 * MINUTE, 90 * MINUTE]),
    injected=st.integers(0, 50),
)
def test_parts_sum_and_an_edit_never_reads_past_itself(name: str, at: int, gap: int, injected: int) -> None:
    """For every policy: parts are disjoint and sum to the prompt, and no read goes past the first changed message."""
    trace = make_trace(calls=20, result_words=200)
    context = Context.of(trace.messages[:40], count_words)
    session = open_(name)
    first = session.step(Prompt(700, context, injected, 0, "5m", "m"))
    assert (first.prompt, first.cache_read) == (700 + context.tokens() + injected, 0)
    applied = context.apply((Rewrite(id=context[at].id, blocks=(Text(text="changed"),)),))
    prompt = Prompt(700, applied.context, injected, gap, "5m", "m")
    second = session.step(prompt)
    assert second.prompt == prompt.tokens
    assert min(second.uncached, second.cache_read, second.cache_write_5m, second.cache_write_1h) >= 0
    assert second.cache_read <= 700 + applied.context.tokens(0, at)


@pytest.mark.speed
@pytest.mark.parametrize("name", ALL)
def test_a_growing_history_stays_cheap_for_every_policy(name: str) -> None:
    """Ten times the history does not make a request ten times as slow: nothing walks over the whole history."""
    spent = []
    for calls in (150, 1_500):
        trace = make_trace(calls=calls)
        context, session, last = Context.of((), count_words), open_(name), []
        for call in trace.calls:
            while len(context) < call.upto:
                context = context.append(trace.messages[len(context)])
            prompt = Prompt(600, context, 0, call.at, "5m", "m")
            start = time.perf_counter()
            session.step(prompt)
            last.append(time.perf_counter() - start)
        spent.append(sorted(last[-100:])[50])
    assert spent[1] < 4 * spent[0] + 2e-5, spent

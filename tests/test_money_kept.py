"""What a request leaves in each provider's cache, and the breaks and warm summaries that follow from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import pytest

from ullage import registry
from ullage.cache import TTL_MS, CacheRules, Kept, Prompt
from ullage.context import Context
from ullage.replay import Ports, Setup, replay
from ullage.store import MemoryBackend, Session
from ullage.strategy import Strategy, SummaryRequest, View
from ullage.testing import FakeDecider, FakeSummarizer, count_words, make_trace, user
from ullage.tokens import Counter
from ullage.types import Decision, Drop, Moment, Row

WORDS = Counter(count_text=lambda text: len(text.split()))
AUTOMATIC = ("openai", "deepseek", "gemini_implicit", "vllm", "xai", "moonshot", "glm", "mistral", "qwen_implicit", "sglang")


def replayed(spec: str | Strategy, policy: str, *, gap_ms: int = 20_000, window: int = 60_000) -> tuple[list[Row], list[int]]:
    """Rows of a made session, and what each summary request read from the cache."""
    strategies = registry.load_strategies(spec) if isinstance(spec, str) else (spec,)
    trace = make_trace(calls=60, result_words=900, gap_ms=gap_ms)
    setup = Setup(
        trace=trace,
        strategies=strategies,
        counter=WORDS,
        window=window,
        reserve=100,
        overhead=5_000,
        cache=registry.load("caches", policy).open(CacheRules()),
        ports=Ports(
            summarize=FakeSummarizer(), decide=FakeDecider(), store=Session(backend=MemoryBackend(), tenant="t", session="s")
        ),
    )
    steps = list(replay(setup))
    reads = [event.summarizer.cache_read for step in steps for event in step.compactions if event.summarizer_calls]
    return [step.row for step in steps if step.row is not None], reads


@pytest.mark.parametrize("policy", AUTOMATIC)
def test_a_sliding_edit_breaks_automatic_caches_at_every_step(policy: str) -> None:
    """These caches take no fee for writes, so what they keep shows as uncached; the breaks are there all the same."""
    rows, _ = replayed("sliding_stub(keep=5)", policy)
    assert sum(row.break_cause == "edit" for row in rows) > 30, policy
    assert sum(row.break_cause == "edit" for row in rows) > 2 * sum(row.alarm for row in rows)


@pytest.mark.parametrize("policy", [*AUTOMATIC, "claude_code", "auto", "ideal", "openai_marks"])
def test_a_history_that_only_grows_breaks_no_cache(policy: str) -> None:
    """Whatever the granularity, a read never falls a break's length behind what was kept."""
    rows, _ = replayed("null", policy, window=10**6)
    assert not [row.call for row in rows if row.break_cause], policy


def test_a_cache_that_keeps_nothing_never_breaks() -> None:
    """Without a cache there is nothing to lose."""
    rows, _ = replayed("sliding_stub(keep=5)", "none")
    assert not any(row.break_tokens or row.alarm for row in rows)


@pytest.mark.parametrize("policy", sorted(registry.names("caches")))
def test_every_session_says_what_it_keeps(policy: str) -> None:
    """At most the prompt, at least what is read of it next; for a positive time where there is anything."""
    session = registry.load("caches", policy).open(CacheRules())
    context = Context.of([user("word " * 9_000, "u1")], count_words)
    session.step(Prompt(2_000, context, 50, 0, "5m", "m"))
    kept = session.kept
    assert isinstance(kept, Kept)
    assert 0 <= kept.tokens <= 11_000
    again = session.step(Prompt(2_000, context.append(user("more " * 100, "u2")), 0, 60_000, "5m", "m"))
    assert again.cache_read <= kept.tokens
    assert again.cache_read >= kept.tokens - 2_048
    assert kept.life_ms >= 0


def test_a_lifetime_chosen_by_the_policy_counts_for_breaks() -> None:
    """``ttl='1h'`` overrides the recording, and a life of minutes is the provider's."""
    for spec, life in (("claude_code(ttl='1h')", TTL_MS["1h"]), ("openai(minutes=10)", 600_000)):
        session = registry.load("caches", spec).open(CacheRules())
        session.step(Prompt(2_000, Context.of([user("word " * 9_000, "u1")], count_words), 0, 0, "5m", "m"))
        assert session.kept.life_ms == life


@dataclass(frozen=True, slots=True, kw_only=True)
class AsksOnce(Strategy):
    """Asks for one warm summary before the call ``at``, and drops the first result."""

    at: int = 30
    moments: ClassVar[frozenset[Moment]] = frozenset({Moment.BEFORE_CALL})

    def decide(self, view: View) -> Decision:
        """The request repeats the agent's whole prefix."""
        if view.call != self.at:
            return Decision()
        view.summarize(SummaryRequest(messages=tuple(view.context), warm=True))
        return Decision(edits=(Drop(ids=(view.context[1].id, view.context[2].id)),))


@pytest.mark.parametrize(
    ("policy", "gap_ms", "warm"), [("openai", 20_000, True), ("claude_code", 20_000, True), ("openai", 700_000, False)]
)
def test_a_warm_summary_reads_what_the_cache_keeps(policy: str, gap_ms: int, *, warm: bool) -> None:
    """An automatic cache serves a request that repeats the prompt just as one with marks does, within its life."""
    _, reads = replayed(AsksOnce(), policy, gap_ms=gap_ms, window=10**6)
    assert len(reads) == 1
    assert (reads[0] > 20_000) == warm

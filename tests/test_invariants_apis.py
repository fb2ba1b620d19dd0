"""The message rules of other providers than Claude's API: what breaks each, where, and which API a trace is judged by."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import msgspec
import pytest
from invariants_support import INVARIANTS, LEGAL, RESULTS, THOUGHT, USE_X, USE_Y, Script, broken, rewrite
from test_cli_run import session_with_facts, ullage

from ullage import registry
from ullage.apis import APIS, api_of
from ullage.formats.ullage_jsonl import write_traces
from ullage.options import RunOptions
from ullage.strategy import Strategy, View
from ullage.testing import assistant, make_trace, make_varied_trace, tool_result
from ullage.types import Decision, Drop, Inject, Insert, Moment, Text, Thinking, ToolUse, Trace
from ullage.worker import run_trace

OUT = tool_result("r6", z="o").blocks
SPREAD = (rewrite("r2", RESULTS.blocks[0]), Insert(after="r2", message=tool_result("r2b", y="out two")))
CLEARED_X = ToolUse(id="x", name="shell", arguments='{"cleared":true}')
BESIDE = Inject(blocks=(Text(text="<status>"),))
BEHIND = Insert(after="a5", message=assistant("wait", "n"))
LATER = (Drop(ids=("r2",)), Insert(after="u4", message=tool_result("m", x="1", y="2")))
EARLY = (Drop(ids=("r6",)), Insert(after="u0", message=tool_result("m", z="1")))
Rows = list[tuple[str, Script, list[tuple[str, str]]]]

BEDROCK: Rows = [
    ("results go", {3: (Drop(ids=("r2",)),)}, [("a03_tool_use_answered", "a1")] * 2 + [("b01_alternation", "a3")]),
    ("two user messages meet", {3: (Drop(ids=("a3",)),)}, [("b01_alternation", "u4"), ("b04_no_mix", "u4")]),
    ("parallel results are spread", {3: SPREAD}, [("b01_alternation", "r2b"), ("strict_shrink", "")]),
    ("a text joins the results", {3: (rewrite("r6", *OUT, Text(text="see")),)}, [("b04_no_mix", "r6")]),
    ("the first message goes", {3: (Drop(ids=("u0",)),)}, [("a01_first_user", "a1"), ("task_survives", "u0")]),
    ("the last message goes", {3: (Drop(ids=("r6",)),)}, [("a03_tool_use_answered", "a5"), ("a12_prefill", "a5")]),
    ("an answer becomes blank", {3: (rewrite("a3", Text(text=" \n")),)}, [("a08_nonempty_text", "a3")]),
    ("a status goes with one request", {3: (BESIDE,)}, [("b04_no_mix", "injected")]),
    ("a status goes with a request that a person ends", {2: (BESIDE,)}, []),
]
OPENAI: Rows = [
    ("results go", {3: (Drop(ids=("r2",)),)}, [("o01_calls_answered", "a1")] * 2 + [("o01_calls_answered", "a3")]),
    ("one of two results goes", {3: (rewrite("r2", RESULTS.blocks[0]),)}, [("o01_calls_answered", "a1")]),
    ("calls go and results stay", {3: (Drop(ids=("a1",)),)}, [("o02_orphan_tool", "r2")] * 2),
    ("two user messages meet", {3: (Drop(ids=("a3",)),)}, []),
    ("parallel results are spread", {3: SPREAD}, [("strict_shrink", "")]),
    ("the first message goes", {3: (Drop(ids=("u0",)),)}, [("task_survives", "u0")]),
    ("a text comes behind the result", {3: (rewrite("r6", *OUT, Text(text="see")),)}, []),
    ("a text comes before the result", {3: (rewrite("r6", Text(text="see"), *OUT),)}, [("o01_calls_answered", "r6")]),
    ("an answer comes behind a call", {3: (BEHIND,)}, [("o01_calls_answered", "n"), ("strict_shrink", "")]),
    ("results come later", {3: LATER}, [("o01_calls_answered", "a3"), ("o01_calls_answered", "m")]),
    ("the last message goes", {3: (Drop(ids=("r6",)),)}, [("o01_calls_answered", "a5")]),
    ("an answer becomes empty", {3: (rewrite("a3"),)}, [("o05_null_content", "a3")]),
    ("an answer keeps its thinking only", {3: (rewrite("a3", Thinking(text="h")),)}, [("o05_null_content", "a3")]),
]
RESPONSES: Rows = [
    ("results go", {3: (Drop(ids=("r2",)),)}, [("r01_call_output", "a1")] * 2),
    ("calls go and results stay", {3: (Drop(ids=("a1",)),)}, [("r02_orphan_output", "r2")] * 2),
    ("two user messages meet", {3: (Drop(ids=("a3",)),)}, []),
    ("the last message goes", {3: (Drop(ids=("r6",)),)}, [("r01_call_output", "a5")]),
    ("thinking before calls goes", {3: (rewrite("a1", USE_X, USE_Y),)}, [("r03_reasoning_pair", "a1")]),
    ("calls behind thinking go", {3: (rewrite("a1", THOUGHT), Drop(ids=("r2",)))}, [("r03_reasoning_pair", "a1")]),
    ("thinking and calls go", {3: (Drop(ids=("a1", "r2")),)}, []),
    ("thinking before a cleared call goes", {3: (rewrite("a1", CLEARED_X, USE_Y),)}, [("r03_reasoning_pair", "a1")]),
    ("a call behind thinking is cleared", {3: (rewrite("a1", THOUGHT, CLEARED_X, USE_Y),)}, [("strict_shrink", "")]),
    ("an output comes before its call", {3: EARLY}, [("r01_call_output", "a5"), ("r02_orphan_output", "m")]),
    ("an answer becomes thinking", {3: (rewrite("a3", Thinking(text="h")),)}, [("r03_reasoning_pair", "a3")]),
]
GEMINI: Rows = [
    ("results go", {3: (Drop(ids=("r2",)),)}, [("g01_counts", "a3")]),
    ("one of two results goes", {3: (rewrite("r2", RESULTS.blocks[0]),)}, [("g01_counts", "r2")]),
    ("calls go and results stay", {3: (Drop(ids=("a1",)),)}, [("g01_counts", "r2")]),
    ("two user messages meet", {3: (Drop(ids=("a3",)),)}, []),
    ("parallel results are spread", {3: SPREAD}, [("g01_counts", "r2"), ("g01_counts", "r2b"), ("strict_shrink", "")]),
    ("the first message goes", {3: (Drop(ids=("u0",)),)}, [("g02_order", "a1"), ("task_survives", "u0")]),
    ("a call follows an answer", {3: (Drop(ids=("u4",)),)}, [("g02_order", "a5"), ("latest_user_untouched", "u4")]),
    ("the last message goes", {3: (Drop(ids=("r6",)),)}, [("g01_counts", "a5"), ("g03_end_user", "a5")]),
    ("an answer becomes empty", {3: (rewrite("a3"),)}, [("g05_empty_parts", "a3")]),
    ("an answer becomes an empty text", {3: (rewrite("a3", Text(text="")),)}, [("g05_empty_parts", "a3")]),
    ("a status goes with one request", {3: (BESIDE,)}, []),
]
TABLES = {"bedrock": BEDROCK, "openai": OPENAI, "responses": RESPONSES, "gemini": GEMINI}
ROWS = [(api, *row) for api, rows in TABLES.items() for row in rows]


@pytest.mark.parametrize(
    ("api", "script", "expected"), [(row[0], *row[2:]) for row in ROWS], ids=[f"{row[0]}: {row[1]}" for row in ROWS]
)
def test_an_edit_breaks_exactly_these_rules_of_an_api(api: str, script: Script, expected: list[tuple[str, str]]) -> None:
    """Each at the message where that provider would complain; what Claude's API alone minds is no matter there."""
    assert broken(LEGAL, script, api=api) == expected


def test_every_rule_of_an_api_is_broken_by_some_row() -> None:
    """So that none is untested in the APIs that it names."""
    broken_in = {(api, name) for api, _, _, expected in ROWS for name, _ in expected}
    named = {(d, one.id) for one in INVARIANTS if one.rule and one.scope != "all" for d in one.scope.split() if d != "anthropic"}
    elsewhere = {("bedrock", "a05_orphan_result"), ("bedrock", "a21_tools_declared")}
    assert named - elsewhere <= broken_in


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize(
    "trace", [LEGAL, make_trace(calls=40), make_varied_trace(calls=50, seed=7)], ids=lambda trace: str(trace.id)
)
def test_a_session_that_a_client_could_send_breaks_nothing(trace: Trace, api: str) -> None:
    """Without edits no API finds a fault of the strategy."""
    assert broken(trace, {}, api=api) == []


@pytest.mark.parametrize(
    ("provider", "trace_format", "expected"),
    [
        ("anthropic", "claude_code", "anthropic"),
        ("", "ullage_jsonl", "anthropic"),
        ("vertex", "ullage_jsonl", "anthropic"),
        ("bedrock", "ullage_jsonl", "bedrock"),
        ("gemini", "gemini_cli", "gemini"),
        ("openai", "openai_messages", "openai"),
        ("deepseek", "opencode", "openai"),
        ("minimax", "anthropic_messages", "openai"),
        ("openai", "codex", "responses"),
        ("azure", "codex", "responses"),
        ("", "codex", "responses"),
        ("anthropic", "codex", "anthropic"),
        ("bedrock", "codex", "bedrock"),
    ],
)
def test_the_api_is_the_providers_and_codex_has_its_own_at_openai(provider: str, trace_format: str, expected: str) -> None:
    """A session that is billed at another provider is judged by that provider's rules."""
    assert api_of(provider, trace_format) == expected


def test_every_cache_policy_has_its_api() -> None:
    """Written out, so that a new policy is not taken for Chat Completions by accident; two stand for no provider."""
    claude = {"auto", "claude_code", "every_15", "sliding4", "system_only", "vertex"}
    chat = {"azure", "deepseek", "glm", "minimax", "mistral", "moonshot", "openai", "openai_marks"}
    chat |= {"qwen_explicit", "qwen_implicit", "sglang", "vllm", "xai"}
    nobody = {"ideal", "none"}
    expected = dict.fromkeys(claude | nobody, "anthropic") | dict.fromkeys(chat, "openai")
    expected |= dict.fromkeys(("bedrock", "bedrock_nova"), "bedrock")
    expected |= dict.fromkeys(("gemini_explicit", "gemini_implicit"), "gemini")
    policies = {name: registry.load("caches", name) for name in registry.names("caches")}
    assert {name: api_of(policy.provider, "") for name, policy in policies.items()} == expected
    assert {name for name, policy in policies.items() if not policy.provider} == nobody


@pytest.mark.parametrize(
    ("model", "cache", "expected"),
    [
        ("", "", "anthropic"),
        ("", "ideal", "anthropic"),
        ("no-such-model", "", "anthropic"),
        ("claude-sonnet-4-5", "none", "anthropic"),
        ("gpt-4.1", "", "openai"),
        ("gpt-4.1", "none", "openai"),
        ("gpt-4.1", "ideal", "openai"),
        ("gpt-4.1", "bedrock", "bedrock"),
        ("groq/openai/gpt-oss-120b", "", "openai"),
        ("azure_ai/claude-haiku-4-5", "", "anthropic"),
        ("gemini-2.5-pro", "ideal", "gemini"),
    ],
)
def test_a_cache_that_stands_for_no_provider_leaves_the_model_its_api(model: str, cache: str, expected: str) -> None:
    """A bound on caching does not change who gets the requests; a chosen provider does."""
    trace = make_trace(calls=2)
    options = RunOptions(strategies=("null",), model=model, cache=cache)
    assert [done.record.api for done in run_trace(trace, options, ["null"])] == [expected]


@dataclass(frozen=True, slots=True, kw_only=True)
class Orphaner(Strategy):
    """Takes the last tool calls away from results that stay."""

    summary: ClassVar[str] = "leaves results without their calls"
    moments: ClassVar[frozenset[Moment]] = frozenset({Moment.BEFORE_CALL})

    def decide(self, view: View) -> Decision:
        """Drop the message with the calls, once."""
        calls = [message.id for message in view.context if message.tool_use_ids]
        return Decision(edits=(Drop(ids=(calls[-1],)),) if view.call == 5 else ())


@pytest.mark.parametrize(
    ("model", "trace_format", "expected"),
    [
        ("gpt-4.1", "made", "o02_orphan_tool"),
        ("gpt-4.1", "codex", "r02_orphan_output"),
        ("gemini-2.5-pro", "made", "g01_counts"),
        ("claude-sonnet-4-5", "made", "a05_orphan_result"),
    ],
)
def test_an_orphan_result_is_reported_by_the_rule_of_the_models_api(model: str, trace_format: str, expected: str) -> None:
    """The whole way from a model's name to the record: no rule of another API has a word in it."""
    trace, spec = make_varied_trace(calls=12, seed=7), f"{__file__}:Orphaner"
    trace = msgspec.structs.replace(trace, meta=msgspec.structs.replace(trace.meta, format=trace_format))
    (done,) = run_trace(trace, RunOptions(strategies=(spec,), model=model), [spec])
    assert done.record.faults == ()
    found = {one.invariant for one in done.record.violations}
    assert expected in found
    scopes = [one.scope.split() for one in INVARIANTS if one.id in found and one.rule]
    assert all(done.record.api in scope or scope == ["all"] for scope in scopes)


def test_a_run_judges_by_the_cache_and_can_be_told_otherwise(tmp_path: Path) -> None:
    """The figures say which rules were used, the text says so where they are not Claude's, and a wrong name is a usage error."""
    write_traces(tmp_path / "made.jsonl.gz", [session_with_facts(1)])
    common = ("run", "--strategy", "null", "--traces", tmp_path / "made.jsonl.gz", "--window", "200000")
    found = {}
    for name, options in {"cache": ("--cache", "gemini_implicit"), "told": ("--api", "responses"), "plain": ()}.items():
        done = ullage(*common, *options, "--out", tmp_path / name, "--json")
        assert done.returncode == 0, done.stderr
        found[name] = json.loads(done.stdout)["strategies"][0]["apis"]
    assert found == {"cache": {"gemini": 1}, "told": {"responses": 1}, "plain": {"anthropic": 1}}
    assert "message rules of responses" in (tmp_path / "told" / "report.md").read_text(encoding="utf-8")
    wrong = ullage(*common, "--api", "gemni", "--out", tmp_path / "wrong")
    assert (wrong.returncode, "'gemni' is not one of" in wrong.stderr) == (2, True)

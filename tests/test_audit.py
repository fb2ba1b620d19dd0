"""The audit: laws of billed caches, asked before the bill, and held against real bills where recordings are at hand."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from ullage.audit import Pair, SessionAudit, audit, disagreements, summary
from ullage.cache import Ttl
from ullage.cli import main  # noqa: F401 - the console script must import
from ullage.commands.audit_cache_command import command
from ullage.pricing import PriceSheet, usd
from ullage.testing import assistant, tool_call, tool_result, user
from ullage.tokens import Counter
from ullage.types import Call, Message, Provenance, RecordedCompaction, RecordedEvent, Text, Trace, TraceMeta, Usage

MINUTE = 60_000
SHEET = PriceSheet.load()


def counted(text: str) -> int:
    """One token a word."""
    return len(text.split())


COUNTER = Counter(count_text=counted)


@dataclass
class Tape:
    """Builds a billed session call by call: what arrived, how large the prompt was, how much of it was read."""

    cache: str = "read_write"
    model: str = "claude-opus-4-5"
    messages: list[Message] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    compactions: list[RecordedCompaction] = field(default_factory=list)
    events: list[RecordedEvent] = field(default_factory=list)
    now: int = 0

    def call(
        self,
        prompt: int,
        read: int,
        *,
        wait: int = MINUTE // 6,
        says: str = "",
        reply: str = "",
        skill: str = "",
        model: str = "",
        ttl: Ttl = "5m",
        output: int = 1,
    ) -> Tape:
        """One call after ``wait`` milliseconds: the user says something, or the last tool call is answered."""
        self.now += wait
        number = len(self.messages)
        last = self.messages[-1] if self.messages else None
        if last is not None and last.tool_use_ids:
            self.messages.append(
                msgspec.structs.replace(tool_result(f"m{number}", **{last.tool_use_ids[0]: "done"}), at=self.now)
            )
        if says or last is None:
            self.messages.append(user(says or "task", f"m{len(self.messages)}", human=True, at=self.now))
        upto = len(self.messages)
        answer = (
            assistant(reply, f"m{upto}")
            if reply
            else tool_call(f"m{upto}", f"t{upto}", name="Skill" if skill else "Bash", **({"skill": skill} if skill else {}))
        )
        self.messages.append(answer)
        rest = prompt - read
        writes = (
            {"cache_write_1h" if ttl == "1h" else "cache_write_5m": rest} if self.cache == "read_write" else {"uncached": rest}
        )
        self.calls.append(
            Call(
                id=f"c{len(self.calls)}",
                upto=upto,
                reply=upto,
                at=self.now,
                model=model or self.model,
                ttl=ttl,
                usage=Usage(cache_read=read, output=output, **writes),
            )
        )
        return self

    def compact(self, kind: Any = "summary") -> Tape:
        """A recorded compaction before the next call."""
        self.compactions.append(
            RecordedCompaction(kind=kind, call=len(self.calls), position=len(self.messages), summary="s " * 900)
        )
        return self

    def trace(self) -> Trace:
        """The session."""
        return Trace(
            id="tape",
            messages=tuple(self.messages),
            calls=tuple(self.calls),
            compactions=tuple(self.compactions),
            events=tuple(self.events),
            meta=TraceMeta(format="made", model=self.model),
            provenance=Provenance(usage="per_call", cache=self.cache),  # type: ignore[arg-type]  # one of its three names
        )

    def last(self) -> Pair:
        """The pair of the last call."""
        return audit(self.trace(), COUNTER, SHEET).pairs[-1]


def start(**fields: Any) -> Tape:
    """A cold session of two calls: 40,000 tokens written, then read."""
    return Tape(**fields).call(40_000, 0).call(41_000, 40_000)


def test_what_one_call_left_the_next_one_reads() -> None:
    """Read plus written, exactly."""
    pair = start().call(43_000, 41_000).last()
    assert (pair.predicted, pair.read, pair.rule, pair.cause) == (41_000, 41_000, "growth", "")


@pytest.mark.parametrize(
    ("ttl", "wait", "predicted"),
    [("5m", 5 * MINUTE, 41_000), ("5m", 6 * MINUTE, 0), ("1h", 59 * MINUTE, 41_000), ("1h", 61 * MINUTE, 0)],
)
def test_a_lapsed_lifetime_loses_everything(ttl: Ttl, wait: int, predicted: int) -> None:
    """Each lifetime as the session's own writes recorded it."""
    tape = Tape().call(40_000, 0, ttl=ttl).call(41_000, 40_000, ttl=ttl).call(42_000, predicted, wait=wait, ttl=ttl)
    assert tape.last().predicted == predicted


def test_a_shared_prefix_that_survived_a_lapse_is_expected_to_survive_the_next() -> None:
    """The first lapse shows what others keep warm; before that nothing is expected to be left."""
    tape = Tape().call(40_000, 16_000, ttl="1h").call(41_000, 40_000, ttl="1h").call(42_000, 16_000, wait=70 * MINUTE, ttl="1h")
    assert (tape.last().predicted, tape.last().cause) == (0, "idle past TTL")
    assert tape.call(43_000, 16_000, wait=70 * MINUTE, ttl="1h").last().predicted == 16_000


@pytest.mark.parametrize(("kind", "cause"), [("summary", "compaction"), ("clearing", "recorded clearing")])
def test_a_compaction_leaves_the_prefix_that_the_last_one_left(kind: str, cause: str) -> None:
    """Unknown, a share of the first prompt is assumed and the disagreement named; known, it is exact."""
    tape = start().compact(kind).call(30_000, 25_000)
    first = tape.last()
    assert (first.rule, first.cause) == ("compaction", cause)
    assert 0 < first.predicted < 40_000
    again = tape.call(60_000, 30_000).compact(kind).call(31_000, 25_000).last()
    assert (again.predicted, again.cause) == (25_000, "")


def test_a_switched_model_reads_only_what_it_left_itself() -> None:
    """A new model reads nothing; going back in time finds the old cache."""
    tape = start().call(42_000, 0, model="claude-sonnet-4-5")
    assert (tape.last().predicted, tape.last().rule) == (0, "model change")
    assert tape.call(43_000, 41_000, model="claude-opus-4-5").last().predicted == 41_000


def test_a_shrunk_prompt_falls_to_the_stable_prefix() -> None:
    """More than 2 % less than before means that history was cut; less is noise."""
    assert start().call(40_000, 15_000).last().rule == "prompt shrank"
    assert start().call(40_500, 15_000).last().rule == "growth"


def test_a_resumed_session_says_nothing_about_the_stable_prefix() -> None:
    """A first call that reads nearly all of 112,000 tokens did not read system prompt and tools alone."""
    resumed = Tape().call(112_000, 111_900).call(113_000, 112_000).compact().call(50_000, 34_000).last()
    assert 30_000 < resumed.predicted < 45_000
    fresh = Tape().call(43_000, 16_000).call(44_000, 43_000).compact().call(50_000, 16_000).last()
    assert fresh.predicted == 16_000


def test_side_requests_are_learned_from_the_first_one() -> None:
    """A client that caches its own reply after a turn reads all but the new words of the next one."""
    tape = start().call(41_100, 41_000, reply="r " * 2_000).call(43_200, 43_100, says="next " * 50, reply="r " * 2_000)
    assert (tape.last().cause, tape.last().rule) == ("side request", "growth")
    pair = tape.call(45_300, 45_245, says="go " * 50).last()
    assert (pair.rule, pair.predicted, pair.cause) == ("side request", 45_300 - 54, "")


def test_a_skill_that_broke_the_cache_is_expected_to_do_so_again() -> None:
    """Launch, and the human turn that ends it, change the request; another skill is not suspected."""
    tape = start().call(41_500, 41_000, skill="review").call(43_000, 16_000)
    assert tape.last().cause == "changed request"
    for n in range(12):
        tape.call(43_100 + 100 * n, 43_000 + 100 * max(n - 1, 0) + (100 if n else 0))
    tape.call(44_400, 44_200, reply="done")
    back = tape.call(44_600, 16_000, says="thanks", skill="other").last()
    assert (back.rule, back.predicted) == ("changed request", 16_000)
    assert tape.call(45_000, 44_600, skill="review").last().predicted == 44_600
    assert tape.call(46_000, 16_000).last().predicted == 16_000


def test_the_return_from_a_short_skill_finds_the_old_cache() -> None:
    """Within twenty positions the request as it was before the skill is still found."""
    tape = start().call(41_500, 41_000, skill="review").call(43_000, 0, reply="stopped").call(43_300, 41_500, says="no")
    assert (tape.last().predicted, tape.last().cause) == (41_500, "")


def test_errors_and_silent_edits_are_named() -> None:
    """An API error before the call is a cause; without any sign the loss is unexplained, and priced."""
    tape = start().call(42_000, 10_000)
    assert tape.last().cause == "unexplained"
    assert tape.last().error == -31_000 * (6_250_000 - 500_000)
    tape.events.append(RecordedEvent(kind="api_error", call=2))
    assert tape.last().cause == "API error"


def test_deepseek_units() -> None:
    """Last prompt and last output, in steps of 64; a read that lags behind is best effort."""
    tape = Tape(cache="read", model="deepseek-chat").call(10_000, 0, output=500).call(11_000, 10_496, output=500)
    assert (tape.last().predicted, tape.last().cause) == (10_496, "")
    assert tape.call(12_000, 10_496).last().cause == "best effort"


def test_openai_intervals_and_the_turn_that_drops_reasoning() -> None:
    """In a turn the last prompt, in steps of 128; when a new turn's prompt shrank, what stood at the last turn's start."""
    tape = Tape(cache="read", model="gpt-5.5").call(20_000, 0).call(30_000, 19_968).call(40_000, 29_952, reply="r")
    assert [pair.cause for pair in audit(tape.trace(), COUNTER, SHEET).pairs] == ["", ""]
    assert tape.call(35_000, 19_968, says="next").last().predicted == 19_968


def test_the_grid_of_a_session_is_learned_from_its_reads() -> None:
    """Reads at 384 plus multiples of 512 are foreseen there once four of them have been seen."""
    tape = Tape(cache="read", model="gpt-5.5").call(5_000, 384)
    for read, prompt in ((4_480, 9_000), (8_576, 9_700), (9_600, 12_000)):
        tape.call(prompt, read)
    assert tape.call(15_000, 11_648).last().predicted == 12_000 - (12_000 - 384) % 512 == 11_648


def test_openai_forgets_after_an_hour() -> None:
    """Longer than the in-memory cache can live: only the start that the first call found is left."""
    tape = Tape(cache="read", model="gpt-5").call(20_000, 3_456).call(21_000, 19_968).call(22_000, 3_456, wait=61 * MINUTE)
    assert (tape.last().predicted, tape.last().rule) == (3_456, "idle past TTL")


def test_recordings_without_figures_have_a_reason() -> None:
    """No usage, no cache figures: no pairs, and why; without a price the counts stand and the dollars are none."""
    bare = Trace(id="bare", messages=(user("task", "a"),), calls=(Call(id="c", upto=1),))
    assert audit(bare, COUNTER, SHEET).reason == "no usage is recorded call by call"
    odd = audit(start(model="home-made").trace(), COUNTER, SHEET)
    assert (len(odd.pairs), odd.billed) == (1, None)
    assert "home-made" in odd.reason
    total = summary([odd])
    assert total["usd_billed"] is None
    assert total["reasons"] == [odd.reason]


@st.composite
def sessions(draw: st.DrawFn) -> list[tuple[int, float, int, bool]]:
    """Growth, share read, pause and whether a turn ends, for each call."""
    rows = st.tuples(
        st.integers(-20_000, 20_000), st.floats(0, 1), st.sampled_from([1_000, 4 * MINUTE, 20 * MINUTE]), st.booleans()
    )
    return draw(st.lists(rows, min_size=3, max_size=15))


def taped(rows: Sequence[tuple[int, float, int, bool]], read_last: float | None = None) -> Tape:
    """A tape of these calls; ``read_last`` replaces the share that the last one read."""
    tape, prompt = Tape(), 60_000
    for n, (growth, share, wait, ends) in enumerate(rows):
        prompt = max(prompt + growth, 1_000)
        part = share if read_last is None or n < len(rows) - 1 else read_last
        last = tape.messages[-1] if tape.messages else None
        tape.call(
            prompt,
            int(prompt * part),
            wait=wait,
            says="" if last and last.tool_use_ids else "go",
            reply="ok " * 30 if ends else "",
        )
    return tape


@settings(deadline=None)
@given(rows=sessions(), other=st.floats(0, 1))
def test_no_prediction_sees_the_split_that_it_predicts(rows: list[tuple[int, float, int, bool]], other: float) -> None:
    """Whatever the last call really read, what was predicted of it, and of all before, is the same."""
    one, two = (audit(taped(rows, share).trace(), COUNTER, SHEET).pairs for share in (None, other))
    assert [(pair.predicted, pair.rule) for pair in one] == [(pair.predicted, pair.rule) for pair in two]


@settings(deadline=None)
@given(rows=sessions())
def test_every_disagreement_has_a_cause_and_errors_add_up(rows: list[tuple[int, float, int, bool]]) -> None:
    """A pair is close or has a cause, never both; the pairs' errors are the session's."""
    done = audit(taped(rows).trace(), COUNTER, SHEET)
    assert all(pair.close == (not pair.cause) for pair in done.pairs)
    assert done.modelled is not None
    assert done.billed is not None
    assert sum(pair.error or 0 for pair in done.pairs) == done.modelled - done.billed
    assert all(0 <= pair.predicted <= pair.prompt for pair in done.pairs)
    assert len(disagreements(done)) == sum(done.causes.values())


def test_a_message_without_a_reply_does_not_stop_the_walk() -> None:
    """A request that left no message is a call like any other."""
    tape = start().call(42_000, 41_000)
    calls = (*tape.calls[:1], msgspec.structs.replace(tape.calls[1], reply=None), *tape.calls[2:])
    assert audit(msgspec.structs.replace(tape.trace(), calls=calls), COUNTER, SHEET).pairs[-1].predicted == 41_000


# ------------------------------------------------------------------------------------------------------- real bills


def real(folder: str) -> Path:
    """A folder of recordings, or a reason to skip."""
    root = os.environ.get("ULLAGE_REAL_TRACES")
    if not root or not (Path(root) / folder).is_dir():
        pytest.skip("set ULLAGE_REAL_TRACES to a folder of recordings")
    return Path(root) / folder


def test_claude_code_bills_are_met() -> None:
    """At least 97.5 % of pairs within 1 %, dollars within 1.5 % net and 7 % absolute, the median session within 2 %."""
    result = CliRunner().invoke(command, [str(real("claude-code")), "--json"], standalone_mode=False)
    assert result.exception is None
    found = json.loads(result.stdout)
    total = found["total"]
    assert total["pairs"] == 1_993
    assert total["within_1pct"] >= 0.975 * total["pairs"]
    assert abs(total["usd_error"]) <= 0.015
    assert total["usd_error_abs"] <= 0.07
    assert total["usd_error_median"] <= 0.02
    for entry in found["files"]:
        for session in entry["sessions"]:
            explained = sum(one["usd"] for one in session["disagreements"])
            off = session["usd_modelled"] - session["usd_billed"]
            assert abs(session["usd_error"]) <= 0.05 or abs(explained - off) < 0.02 * abs(off) + 0.01, session["trace"]


def test_the_command_has_the_promised_keys(tmp_path: Path) -> None:
    """Files and total with their keys; a sub-agent is a session of its own; a title-like text cannot break the table."""
    from ullage.formats.ullage_jsonl import write_traces

    child = msgspec.structs.replace(start().trace(), id="child")
    parent = msgspec.structs.replace(
        start().call(42_000, 10_000).trace(),
        children=(child,),
        messages=(user("[bold]", "m0"), *start().call(42_000, 10_000).messages[1:]),
    )
    path = tmp_path / "made.jsonl"
    write_traces(path, [parent])
    shown = CliRunner().invoke(command, [str(path)], standalone_mode=False)
    assert shown.exception is None
    assert "total" in shown.stdout
    found = json.loads(CliRunner().invoke(command, [str(path), "--json"], standalone_mode=False).stdout)
    keys = {
        "calls",
        "pairs",
        "exact",
        "within_1pct",
        "usd_billed",
        "usd_modelled",
        "usd_error",
        "usd_error_abs",
        "causes",
        "floor",
    }
    assert keys <= found["total"].keys()
    (entry,) = found["files"]
    assert keys <= entry.keys()
    (session,) = entry["sessions"]
    assert session["children"]["pairs"] == 1
    assert found["total"]["pairs"] == 2
    assert session["causes"] == {"unexplained": 1}


def test_the_summary_of_nothing_is_null_with_no_division() -> None:
    """No session, no share."""
    empty = summary([SessionAudit(trace="x", law="", calls=0, pairs=(), reason="nothing")])
    assert (empty["pairs"], empty["usd_error"], empty["floor"]) == (0, None, None)
    assert Text(text="").text == ""


def test_what_nothing_could_foretell_is_counted_apart_and_never_absorbed() -> None:
    """The net error is the unforeseen part and the rest; the rest alone says how good the rules are."""
    pairs = (
        Pair(call=1, rule="", predicted=90, read=0, left=90, prompt=100, gap_ms=None, cause="unexplained", error=-30),
        Pair(call=2, rule="", predicted=99, read=100, left=100, prompt=120, gap_ms=None, error=1),
        Pair(call=3, rule="", predicted=0, read=50, left=100, prompt=120, gap_ms=None, cause="compaction", error=9),
    )
    one = SessionAudit(trace="t", law="marks", calls=4, pairs=pairs, billed=1_000_000_000_000, modelled=1_000_000_000_000 - 20)
    found = summary([one])
    assert found["floor"] == round(1 / 3, 6)
    assert found["floor_usd"] == usd(-30)
    bigger = summary([replace(one, billed=1_000, modelled=980)])
    assert (bigger["usd_error"], bigger["usd_error_foreseeable"]) == (-0.02, 0.01)

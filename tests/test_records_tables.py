"""The summary of a run: promised keys, exact figures, and a reason for everything that is not known."""

from __future__ import annotations

import io
import json
from typing import Any

import msgspec
import pytest

from ullage.billing import bill_of_first
from ullage.breakdowns import by_age, by_checkpoint, by_speaker, by_type, by_zone
from ullage.intervals import t_interval
from ullage.pricing import usd
from ullage.records import RunRecord
from ullage.scored import headline, scored
from ullage.tables import HEADER, dollars, normalised, percent, run_summary, table_notes, table_rows, thousands, trace_scores
from ullage.terminal import csv_text, print_table, run_table
from ullage.testing import make_record
from ullage.types import Answer, Exam

KEYS = {
    "spec", "traces", "calls", "survived", "retention", "retention_normalised", "interval", "survival", "floor", "ceiling", "tokens",
    "usage", "usd", "usd_split", "cache_read_ratio", "cache_breaks", "cache_alarms", "compactions", "violations", "faults", "overhead_ms",
}  # fmt: skip


def entry_of(*records: RunRecord, **given: Any) -> dict[str, Any]:
    """The summary of one strategy."""
    found: dict[str, Any] = run_summary(records, **given)["strategies"][0]
    return found


def answered(*outcomes: str, grader: str = "exact") -> RunRecord:
    """A record with one checkpoint and one probe an outcome, reader floor 0 and ceiling 1."""
    base = make_record(calls=10, probes=len(outcomes))
    probes = tuple(msgspec.structs.replace(a, probe=msgspec.structs.replace(a.probe, grader=grader)) for a in base.probes)
    answers = tuple(
        Answer(probe=a.probe.id, exam=0, outcome=outcome, survives=outcome == "correct")  # type: ignore[arg-type]  # a literal by construction
        for a, outcome in zip(probes, outcomes, strict=True)
    )
    exam = Exam(call=9, kind="checkpoint", share=1.0, asked=len(outcomes))
    floors = tuple(Answer(probe=a.probe.id, exam=0, outcome="abstained") for a in probes)
    ceilings = tuple(Answer(probe=a.probe.id, exam=0, outcome="correct") for a in probes)
    return msgspec.structs.replace(base, probes=probes, exams=(exam,), answers=answers, floors=floors, ceilings=ceilings)


def test_the_promised_keys_are_there_and_null_has_a_reason() -> None:
    """The promised keys are there and null has a reason."""
    for records in (
        [make_record()],
        [make_record(priced=False)],
        [msgspec.structs.replace(make_record(), kind="bound", rows=())],
    ):
        found = entry_of(*records)
        assert found.keys() >= KEYS
        assert {key for key, value in found.items() if value is None} <= found["reasons"].keys()
        assert json.loads(json.dumps(found, allow_nan=False)) == found


def test_sums_are_those_of_the_rows() -> None:
    """Sums are those of the rows."""
    records = [make_record(trace=f"t{n}") for n in range(3)]
    found = entry_of(*records)
    rows = [row for record in records for row in record.rows]
    assert found["usage"]["cache_read"] == sum(row.usage.cache_read for row in rows)
    assert found["tokens"]["input"] == sum(row.prompt_tokens for row in rows)
    assert found["tokens"]["peak"] == max(row.prompt_tokens for row in rows)
    assert found["survived"] == found["calls"] == 180
    assert found["tokens"]["summariser"] == 5_500 * found["compactions"]
    assert sum(found["usd_split"].values()) == pytest.approx(found["usd"])


def test_outcomes_count_as_they_should() -> None:
    """Correct is 1, wrong and abstained are 0, unscorable leaves the denominator."""
    scores = trace_scores(answered("correct", "wrong", "abstained", "unscorable"))
    assert scores.retention == pytest.approx(1 / 3)
    assert (scores.questions, scores.unscorable) == (3, 1)


def test_decoys_are_no_retention() -> None:
    """Decoys are no retention."""
    scores = trace_scores(answered("correct", "correct", grader="abstain"))
    assert scores.retention is None
    assert scores.questions == 0


def test_retention_is_the_mean_over_traces_not_over_questions() -> None:
    """Retention is the mean over traces not over questions."""
    few = answered("wrong")
    many = msgspec.structs.replace(answered(*["correct"] * 9), inputs=msgspec.structs.replace(few.inputs, trace="other"))
    found = entry_of(few, many)
    assert found["retention"] == 0.5
    expected = t_interval([0.0, 1.0])
    assert expected is not None
    assert found["interval"] == [0.0, 1.0]
    assert expected.low < 0


def test_normalised_lies_between_floor_and_ceiling_and_is_not_clipped() -> None:
    """Normalised lies between floor and ceiling and is not clipped."""
    assert normalised(0.5, 0.2, 0.8) == pytest.approx(0.5)
    assert normalised(0.9, 0.2, 0.8) == pytest.approx(7 / 6)
    assert normalised(0.1, 0.2, 0.8) == pytest.approx(-1 / 6)
    assert normalised(0.5, 0.5, 0.6) is None


def test_one_trace_has_no_interval_and_says_so() -> None:
    """One trace has no interval and says so."""
    found = entry_of(make_record())
    assert found["interval"] is None
    assert "two independent traces" in found["reasons"]["interval"]


def test_a_missing_price_names_model_and_traces() -> None:
    """A missing price names model and traces."""
    found = entry_of(make_record(trace="t0"), make_record(trace="t1", priced=False))
    assert found["usd"] is None
    assert found["reasons"]["usd"] == "1 of 2 traces: model 'made-model' is not in the price sheet"
    assert found["usd_priced"]["traces"] == 1


def test_a_bound_has_no_bill() -> None:
    """A bound has no bill."""
    bound = msgspec.structs.replace(
        make_record(), spec="oracle", kind="bound", rows=(), bill=None, unpriced="a bound makes no calls"
    )
    found = run_summary([bound, make_record()])["strategies"]
    assert [entry["spec"] for entry in found] == ["auto", "oracle"]
    assert found[1]["usd"] is None
    assert found[1]["reasons"]["usd"] == "a bound makes no calls"
    assert found[1]["retention"] is not None
    assert found[1]["rank"] is None


def test_strategies_come_in_the_order_that_was_asked() -> None:
    """Strategies come in the order that was asked."""
    records = [make_record(spec=spec) for spec in ("a", "b", "c")]
    assert [e["spec"] for e in run_summary(records, order=("c", "x", "a"))["strategies"]] == ["c", "a", "b"]


def test_what_a_dead_trace_could_not_answer_is_lost() -> None:
    """What a dead trace could not answer is lost."""
    dead, alive = make_record(threshold=3, keep=1), make_record(keep=1)
    assert trace_scores(dead).questions == trace_scores(alive).questions
    assert (trace_scores(dead).retention or 0) < (trace_scores(alive).retention or 0)
    assert entry_of(dead)["died"] == 1


def test_the_bill_of_the_first_calls_adds_up() -> None:
    """The first call's bill by hand; all calls' is the whole bill; it never falls with more calls."""
    record = make_record()
    first = record.rows[0].usage
    by_hand = first.uncached * 3_000_000 + first.cache_write_5m * 3_750_000 + first.output * 15_000_000
    assert bill_of_first(record, 1) == by_hand
    assert record.bill is not None
    assert bill_of_first(record, len(record.rows)) == record.bill.total
    part = [bill_of_first(record, n) or 0 for n in range(len(record.rows) + 1)]
    assert part == sorted(part)
    assert usd(record.bill.total) == pytest.approx(entry_of(record)["usd"], abs=1e-6)


def test_breakdowns_hold_every_question_once() -> None:
    """Breakdowns hold every question once."""
    records = [make_record(trace=f"t{n}", keep=0.5) for n in range(3)]
    questions = sum(len(headline(scored(record))) for record in records)
    assert sum(cell.questions for cell in by_type(records).values()) == questions
    assert sum(cell.questions for cell in by_speaker(records).values()) == questions
    assert sum(cell.questions for cell in by_zone(records).values()) == questions
    assert sum(cell.questions for cell in by_checkpoint(records).values()) == questions
    assert list(by_checkpoint(records)) == ["40 %", "70 %", "100 %"]
    ages = by_age(records)
    assert list(ages) == ["0", "1", "2"]
    assert ages["0"].value == 1.0
    assert ages["1"].value < 1.0


def test_an_early_end_has_no_age() -> None:
    """An early end has no age."""
    assert all(cell.value == 1.0 for cell in by_age([make_record(threshold=3)]).values())


def test_draws_are_averaged() -> None:
    """Draws are averaged."""
    one = answered("correct")
    twice = msgspec.structs.replace(one, answers=(*one.answers, msgspec.structs.replace(one.answers[0], draw=1, outcome="wrong")))
    assert trace_scores(twice).retention == 0.5


def test_table_rows_fit_the_header_and_dashes_are_explained() -> None:
    """Table rows fit the header and dashes are explained."""
    summary = run_summary([make_record(priced=False)])
    rows = table_rows(summary)
    assert all(len(row) == len(HEADER) for row in rows)
    assert rows[0][HEADER.index("dollars")] == "–"
    assert any("not in the price sheet" in note for note in table_notes(summary))
    assert any("MODELLED" in note for note in table_notes(summary))


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (9_999, "9,999"), (10_000, "10.0k"), (98_765, "98.8k"), (123_456, "123k"), (999_499, "999k"), (999_500, "1.00M"), (12_345_678, "12.3M")],
)  # fmt: skip
def test_token_counts_read_well(value: int, text: str) -> None:
    """Token counts read well."""
    assert thousands(value) == text


def test_money_and_shares_read_well() -> None:
    """Money and shares read well."""
    assert (dollars(0), dollars(0.0123), dollars(1234.5), dollars(None)) == ("$0.00", "$0.0123", "$1,234.50", "–")
    assert (percent(0.12345), percent(None)) == ("12.3 %", "–")


def test_a_table_for_a_pipe_never_folds_or_colours() -> None:
    """Every row stands on one line without escape sequences, whatever the strategy is called."""
    out = io.StringIO()
    long = "auto(" + ", ".join(f"parameter_{n}={n}" for n in range(8)) + ")"
    run_table(run_summary([make_record(spec=long), make_record(spec="null\x1b[31m[red]")]), out)
    lines = out.getvalue().splitlines()
    assert any(long in line and "/60" in line for line in lines)
    assert "\x1b" not in out.getvalue()
    assert "[red]" in out.getvalue()


class NarrowTerminal(io.StringIO):
    """A terminal of rich's default 80 columns."""

    def isatty(self) -> bool:
        """Yes."""
        return True


def test_a_narrow_terminal_gets_several_tables_that_repeat_the_strategy(monkeypatch: pytest.MonkeyPatch) -> None:
    """A narrow terminal gets several tables that repeat the strategy."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "dumb")
    out = NarrowTerminal()
    print_table(HEADER, table_rows(run_summary([make_record()])), out)
    lines = out.getvalue().splitlines()
    assert max(map(len, lines)) <= 80
    assert sum(line.startswith("auto") for line in lines) >= 2


def test_csv_cells_are_never_formulas() -> None:
    """Csv cells are never formulas."""
    text = csv_text(["a", "b"], [["=1+1", " @x"], ["-2", -2], [None, "a,b\nc"]])
    assert text.splitlines() == ["a,b", "'=1+1,'@x", "'-2,-2", ',"a,b c"']

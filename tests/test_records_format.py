"""A record is one JSON line: it survives the round trip, is refused when it is another version, and holds no clock."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage.errors import UserError
from ullage.options import RunOptions
from ullage.records import EVIDENCE_CHARACTERS, RunRecord, check_unique, decode, decode_lines, encode, encode_all, quote
from ullage.runfolder import read_run, write_run, write_whole
from ullage.runner import RunPlan
from ullage.testing import make_record

PLAN = RunPlan(run="r1", options=RunOptions(strategies=("null", "auto")), traces=("d",), harness="h")
CONTROL = '\x00\x1b[31m\u2028\ud7ff é 你 \\ " \n'


@given(seed=st.integers(0, 5), text=st.text(max_size=20), priced=st.booleans())
def test_a_record_survives_the_round_trip(*, seed: int, text: str, priced: bool) -> None:
    """Decoding what was encoded gives an equal record, whatever text stands in it."""
    record = make_record(seed=seed, calls=20, probes=7, text=text, priced=priced)
    line = encode(record)
    assert line.count(b"\n") == 1
    assert decode(line) == record
    assert encode(decode(line)) == line


def test_equal_records_are_equal_bytes_in_any_order() -> None:
    """Equal records are equal bytes in any order."""
    records = [make_record(spec=spec, trace=trace) for spec in ("b", "a") for trace in ("t1", "t0")]
    assert encode_all(records) == encode_all(records[::-1])
    assert [decode(line).spec for line in encode_all(records).splitlines()] == ["a", "a", "b", "b"]


def test_a_record_holds_no_time_of_day_but_the_recorded_one() -> None:
    """Apart from the calls' own recorded times, no key speaks of a date, a duration or a host."""
    found = json.loads(encode(make_record()))
    keys = set[str]()

    def walk(value: object) -> None:
        if isinstance(value, dict):
            keys.update(value)
            for item in value.values():
                walk(item)
        elif isinstance(value, list):
            for item in value:
                walk(item)

    walk(found)
    assert not keys & {"date", "time", "duration", "seconds", "ms", "started", "host", "written_at", "elapsed"}


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (b'{"schema":99,"spec":"a"}', "found record schema 99; expected 1"),
        (b'{"spec":"a"}', "no record"),
        (b'{"schema":1,"spec":"a"}', "no record"),
        (b"not json", "no record"),
        (b'{"schema":1,', "no record"),
        (b"\xff\xfe", "no record"),
        (b"[]", "no record"),
    ],
)
def test_what_is_no_record_is_refused_with_its_line(line: bytes, says: str) -> None:
    """What is no record is refused with its line."""
    with pytest.raises(UserError, match=r"records\.jsonl:2: ") as caught:
        list(decode_lines([encode(make_record(calls=5, probes=0)), line]))
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_pair_of_spec_and_trace_may_come_once() -> None:
    """A pair of spec and trace may come once."""
    record = make_record(calls=5, probes=0)
    with pytest.raises(UserError, match=r"auto on trace .* 2 times"):
        check_unique([record, record])


@given(st.text(max_size=2000), st.integers(0, 2000), st.integers(0, 2000))
def test_a_quote_holds_the_span_and_stays_short(text: str, start: int, end: int) -> None:
    """The quote is part of the text, at most 300 characters, and the span begins where it says."""
    shown, at, length = quote(text, start, end)
    assert shown in text
    assert len(shown) <= EVIDENCE_CHARACTERS
    first = min(start, len(text))
    span = text[first : max(first, min(end, len(text)))][:EVIDENCE_CHARACTERS]
    assert shown[at : at + length] == span


def test_a_run_folder_is_read_as_it_was_written(tmp_path: Path) -> None:
    """Records, order of strategies and rendered files come back; tables are Parquet."""
    import pyarrow.parquet as pq

    records = [make_record(spec=spec, trace=f"t{n}{CONTROL}") for spec in PLAN.options.strategies for n in range(2)]
    write_run(
        tmp_path / "run",
        PLAN,
        records,
        [Timed(spec="auto", decide_ns=5_000_000)],
        {"report.html": b"<p>", "charts/a.png": b"png"},
    )
    found = read_run(tmp_path / "run")
    assert encode_all(found.records) == encode_all(records)
    assert read_run(tmp_path / "run" / "records.jsonl").records == found.records
    assert found.order == ("null", "auto")
    assert [record.spec for record in found.records] == ["null", "null", "auto", "auto"]
    assert found.overhead_ms() == {"auto": 5.0}
    assert (tmp_path / "run" / "charts" / "a.png").read_bytes() == b"png"
    rows = pq.read_table(tmp_path / "run" / "rows.parquet")
    assert rows.num_rows == sum(len(record.rows) for record in records)
    assert {"spec", "trace", "call", "prompt_tokens", "cache_read", "compactions"} <= set(rows.column_names)
    answers = pq.read_table(tmp_path / "run" / "answers.parquet")
    assert answers.num_rows == sum(len(record.answers) for record in records)


class Timed(msgspec.Struct, frozen=True, kw_only=True):
    """A wall time as a worker reports it."""

    spec: str
    decide_ns: int


def test_two_writes_differ_in_the_manifest_alone(tmp_path: Path) -> None:
    """Two writes differ in the manifest alone."""
    records = [make_record(trace=f"t{n}") for n in range(2)]
    for name in ("a", "b"):
        write_run(tmp_path / name, PLAN, records, [], {"report.md": b"# r"})
    names = sorted(path.name for path in (tmp_path / "a").iterdir())
    assert names == ["answers.parquet", "manifest.json", "records.jsonl", "report.md", "rows.parquet", "timings.parquet"]
    for name in names:
        if name != "manifest.json":
            assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_a_folder_without_records_is_no_run(tmp_path: Path) -> None:
    """A folder without records is no run."""
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "one.json").write_text("{}")
    with pytest.raises(UserError, match=r"unfinished run \(1 records so far\)"):
        read_run(tmp_path)
    with pytest.raises(UserError, match=r"no records\.jsonl"):
        read_run(tmp_path / "parts")
    with pytest.raises(UserError, match="no such folder"):
        read_run(tmp_path / "nowhere")


def test_an_empty_records_file_is_refused(tmp_path: Path) -> None:
    """An empty records file is refused."""
    (tmp_path / "records.jsonl").write_bytes(b"\n")
    with pytest.raises(UserError, match="found no record"):
        read_run(tmp_path)


def test_a_file_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    """A write that dies leaves the old content and no litter."""
    path = tmp_path / "f"
    write_whole(path, b"old")
    with pytest.raises(TypeError):
        write_whole(path, "text where bytes belong")  # type: ignore[arg-type]  # the mistake that this test makes
    assert path.read_bytes() == b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["f"]


def test_counts_of_a_record_come_from_its_rows() -> None:
    """Counts of a record come from its rows."""
    record: RunRecord = make_record(threshold=3)
    assert record.survived == len(record.rows) == record.died_at
    assert record.usage.prompt == sum(row.prompt_tokens for row in record.rows)

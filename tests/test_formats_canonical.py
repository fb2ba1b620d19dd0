"""The canonical form: what is written is what is read, byte for byte and value for value."""

from __future__ import annotations

import gzip
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ullage.errors import TraceError
from ullage.formats.ullage_jsonl import encode_traces, write_traces
from ullage.testing import make_trace, user
from ullage.traces import import_file
from ullage.types import (
    Block,
    Call,
    Image,
    Message,
    Opaque,
    Provenance,
    RecordedCompaction,
    RecordedEvent,
    Text,
    Thinking,
    ToolResult,
    ToolSpec,
    ToolUse,
    Trace,
    TraceMeta,
    Usage,
)

texts = st.text(max_size=20)
counts = st.integers(0, 1 << 40)
maybe = st.none() | counts
plain: st.SearchStrategy[Text | Image | Opaque] = st.one_of(
    st.builds(Text, text=texts),
    st.builds(Image, media_type=texts, data=texts, url=texts, width=counts, height=counts),
    st.builds(Opaque, kind=texts, data=texts, tokens=maybe),
)
blocks: st.SearchStrategy[Block] = st.one_of(
    plain,
    st.builds(Thinking, text=texts, signature=texts, redacted=texts),
    st.builds(ToolUse, id=texts, name=texts, arguments=texts),
    st.builds(ToolResult, tool_use_id=texts, content=st.lists(plain, max_size=2).map(tuple), is_error=st.booleans()),
)


def message(number: int) -> st.SearchStrategy[Message]:
    """Any message with this number in its id."""
    flags = {name: st.booleans() for name in ("pinned", "protected", "synthetic", "queued", "stub", "human")}
    roles = st.sampled_from(("user", "assistant", "system"))
    return st.builds(
        Message,
        id=st.just(f"m{number}"),
        role=roles,
        blocks=st.lists(blocks, max_size=3).map(tuple),
        at=maybe,
        extra=texts,
        **flags,
    )


usages = st.builds(Usage, uncached=counts, cache_read=counts, cache_write_5m=counts, cache_write_1h=counts, output=counts)


@st.composite
def traces(draw: st.DrawFn, depth: int = 1) -> Trace:
    """Any trace with at least one message, and perhaps a child."""
    held = draw(st.integers(1, 3))
    messages = tuple(draw(message(number)) for number in range(held))
    places = [(upto, reply) for reply in range(held) for upto in range(reply + 1)]
    chosen = draw(st.lists(st.sampled_from(places), max_size=2)) if places else []
    calls = tuple(
        draw(
            st.builds(
                Call,
                id=texts,
                upto=st.just(upto),
                reply=st.just(reply),
                at=maybe,
                usage=st.none() | usages,
                ttl=st.sampled_from(("", "5m", "1h")),
            )
        )
        for upto, reply in chosen
    )
    return Trace(
        id=draw(texts),
        system=draw(texts),
        tools=tuple(draw(st.lists(st.builds(ToolSpec, name=texts, description=texts, schema=texts), max_size=1))),
        messages=messages,
        calls=calls,
        compactions=tuple(
            draw(
                st.lists(
                    st.builds(RecordedCompaction, call=counts, position=counts, at=maybe, summary=texts, kept_from=maybe),
                    max_size=1,
                )
            )
        ),
        events=tuple(draw(st.lists(st.builds(RecordedEvent, kind=texts, call=counts, at=maybe, detail=texts), max_size=1))),
        children=(draw(traces(depth=depth - 1)),) if depth and draw(st.booleans()) else (),
        meta=draw(st.builds(TraceMeta, model=texts, window=maybe, reserve=maybe, licence=texts)),
        provenance=draw(
            st.builds(Provenance, usage=st.sampled_from(("none", "total", "per_call")), prompt_complete=st.booleans())
        ),
        starts_midway=draw(st.booleans()),
        overhead_tokens=draw(maybe),
        total_usage=draw(st.none() | usages),
    )


@settings(max_examples=60, deadline=None)
@given(st.lists(traces(), min_size=1, max_size=2), st.booleans())
def test_reading_back_what_was_written_is_the_identity(made: list[Trace], packed: bool) -> None:  # noqa: FBT001 - drawn
    """For any traces, plain or packed, and so are their digests."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / ("traces.jsonl.gz" if packed else "traces.jsonl")
        write_traces(path, made)
        read = import_file(path).traces
    assert read == tuple(made)
    assert [trace.digest for trace in read] == [trace.digest for trace in made]
    assert encode_traces(read) == encode_traces(made)


def test_writing_twice_gives_the_same_bytes(tmp_path: Path) -> None:
    """No time of day stands in the packed file, and no half-written file is left."""
    for name in ("one.jsonl.gz", "two.jsonl.gz"):
        write_traces(tmp_path / name, [make_trace(calls=5)])
    one, two = (tmp_path / name for name in ("one.jsonl.gz", "two.jsonl.gz"))
    assert one.read_bytes() == two.read_bytes()
    assert one.read_bytes()[4:8] == b"\0\0\0\0"
    assert gzip.decompress(one.read_bytes()) == encode_traces([make_trace(calls=5)])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one.jsonl.gz", "two.jsonl.gz"]


def test_half_a_last_trace_is_dropped_and_counted(tmp_path: Path) -> None:
    """Whole traces before it are kept."""
    path = tmp_path / "traces.jsonl"
    whole = encode_traces([make_trace(calls=3, trace_id="a"), make_trace(calls=3, trace_id="b")])
    path.write_bytes(whole[:-40])
    result = import_file(path)
    assert [trace.id for trace in result.traces] == ["a"]
    assert result.lines.repaired == 1
    assert "traces.jsonl:2" in result.problems[0]


@pytest.mark.parametrize(
    ("spoil", "found"),
    [
        (lambda data: data[:-40], "a line that is no trace"),
        (lambda data: data.replace(b'"role":"user"', b'"role":"wizard"', 1), "a line that is no trace"),
        (lambda data: data.replace(b'"upto":1,', b'"upto":99,', 1), "call 'c0' with upto 99"),
        (lambda data: data.replace(b'"id":"made-1"', b'"id":"made-0"', 1), "two messages with id 'made-0'"),
    ],
    ids=["cut", "unknown role", "call outside", "twice the same id"],
)
def test_a_trace_that_is_not_whole_is_refused(tmp_path: Path, spoil: object, found: str) -> None:
    """With the line and what is wrong."""
    path = tmp_path / "traces.jsonl"
    path.write_bytes(spoil(encode_traces([make_trace(calls=3)])))  # type: ignore[operator]  # a function of the table
    with pytest.raises(TraceError, match=rf"traces\.jsonl:1: found {found}"):
        import_file(path)


def test_a_trace_without_calls_is_a_trace(tmp_path: Path) -> None:
    """A history alone can be written and read."""
    path = tmp_path / "traces.jsonl"
    trace = Trace(id="quiet", messages=(user("hello", "m0"),))
    write_traces(path, [trace])
    assert import_file(path).traces == (trace,)

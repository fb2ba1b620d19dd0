"""JSON as it is found in files of other programs, times and sizes."""

from __future__ import annotations

import base64
import struct
from pathlib import Path

import pytest

from ullage.errors import TraceError
from ullage.formats import Source
from ullage.formats._anthropic import milliseconds, usage_of, whole
from ullage.formats._images import image_size
from ullage.formats._lines import LineReader, document, list_at, object_at
from ullage.types import Usage


def source(folder: Path, content: bytes) -> Source:
    """A file of these bytes."""
    path = folder / "file.json"
    path.write_bytes(content)
    return Source(path)


def test_numbers_that_json_does_not_allow_are_read_leniently(tmp_path: Path) -> None:
    """Python writes NaN; the line counts as repaired."""
    reader = LineReader(source(tmp_path, b'{"a": NaN}\n{"b": 1}\n'))
    assert [list(value) for _, value in reader.objects()] == [["a"], ["b"]]
    assert reader.counts().repaired == 1


def test_bytes_that_are_no_text_are_replaced_and_counted(tmp_path: Path) -> None:
    """A terminal's output may hold any byte."""
    reader = LineReader(source(tmp_path, b'{"a": "x\xff"}\n{"b": 1}\n'))
    assert next(reader.objects())[1] == {"a": "x\N{REPLACEMENT CHARACTER}"}
    assert reader.counts().repaired == 1


def test_a_line_that_is_no_object_is_refused(tmp_path: Path) -> None:
    """Each line is one object."""
    with pytest.raises(TraceError, match=r"file\.json:2: found a JSON list; expected a JSON object"):
        list(LineReader(source(tmp_path, b'{"a": 1}\n[1]\n')).objects())


def test_bottomless_nesting_is_refused_not_followed(tmp_path: Path) -> None:
    """Neither decoder may fall off the stack."""
    with pytest.raises(TraceError, match="a line that is not JSON"):
        list(LineReader(source(tmp_path, b"[" * 100_000 + b"\n{}\n")).objects())
    with pytest.raises(TraceError, match="JSON that cannot be read"):
        document(source(tmp_path, b"[" * 100_000), "a log")


def test_a_document_that_breaks_off_names_the_line(tmp_path: Path) -> None:
    """Where it ends, and what was expected."""
    with pytest.raises(TraceError, match=r"file\.json:3: found JSON that breaks off .*; expected a log"):
        document(source(tmp_path, b'{\n"a": 1,\n"b": ["x"'), "a log")


def test_paths_into_unknown_json_lead_somewhere_or_to_nothing() -> None:
    """Any other kind of value on the way is an empty one."""
    value = {"a": {"b": [1], "c": {"d": 2}}, "e": 5}
    assert list_at(value, "a", "b") == [1]
    assert object_at(value, "a", "c") == {"d": 2}
    assert list_at(value, "e", "b") == list_at([], "a") == []
    assert object_at(value, "e", "f") == object_at(None, "a") == {}


@pytest.mark.parametrize(
    ("stamp", "expected"),
    [
        ("2026-01-05T10:00:00.250Z", 1_767_607_200_250),
        ("2026-01-05T11:00:00+01:00", 1_767_607_200_000),
        ("2026-01-05T10:00:00", 1_767_607_200_000),
        (1_767_607_200, 1_767_607_200_000),
        (1_767_607_200_123, 1_767_607_200_123),
        (1_767_607_200.5, 1_767_607_200_500),
        (float("nan"), None),
        ("yesterday", None),
        (True, None),
        (None, None),
    ],
)
def test_times_of_all_spellings_become_milliseconds(stamp: object, expected: int | None) -> None:
    """A time without a zone is UTC, whatever the machine's zone is."""
    assert milliseconds(stamp) == expected


@pytest.mark.parametrize(
    ("value", "expected"), [(5, 5), (5.0, 5), (-1, 0), (True, 0), ("5", 0), (None, 0), (float("inf"), 0), (float("nan"), 0)]
)
def test_counts_are_whole_or_nothing(value: object, expected: int) -> None:
    """Anything that is no finite positive number is 0."""
    assert whole(value) == expected


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ({"input_tokens": 3, "output_tokens": 4}, Usage(uncached=3, output=4)),
        ({"input_tokens": 3, "cache_creation_input_tokens": 9}, Usage(uncached=3, cache_write_5m=9)),
        (
            {"input_tokens": 3, "cache_creation_input_tokens": 9, "cache_creation": {"ephemeral_1h_input_tokens": 4}},
            Usage(uncached=3, cache_write_5m=5, cache_write_1h=4),
        ),
        (
            {"input_tokens": 3, "cache_creation": {"ephemeral_5m_input_tokens": 2, "ephemeral_1h_input_tokens": 4}},
            Usage(uncached=3, cache_write_5m=2, cache_write_1h=4),
        ),
        ({"output_tokens": 4}, None),
        (None, None),
    ],
)
def test_anthropic_usage_is_split_into_disjoint_parts(raw: object, expected: Usage | None) -> None:
    """Input excludes what was read and written; the split tells the lifetimes."""
    assert usage_of(raw) == expected


@pytest.mark.parametrize(
    "head",
    [
        b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", 640, 480) + bytes(9),
        b"GIF89a" + struct.pack("<HH", 640, 480) + bytes(20),
        b"\xff\xd8\xff\xe0"
        + struct.pack(">H", 300)
        + bytes(298)
        + b"\xff\xc0"
        + struct.pack(">HBHH", 17, 8, 480, 640)
        + bytes(20),
        b"RIFF\0\0\0\0WEBPVP8X" + bytes(8) + (639).to_bytes(3, "little") + (479).to_bytes(3, "little") + bytes(9),
        b"RIFF\0\0\0\0WEBPVP8L" + bytes(5) + (639 | 479 << 14).to_bytes(4, "little") + bytes(9),
        b"RIFF\0\0\0\0WEBPVP8 " + bytes(10) + struct.pack("<HH", 640, 480) + bytes(9),
    ],
    ids=["png", "gif", "jpeg", "webp extended", "webp lossless", "webp lossy"],
)
def test_image_headers_tell_the_size(head: bytes) -> None:
    """Width, then height, in pixels."""
    assert image_size(base64.b64encode(head).decode()) == (640, 480)


@pytest.mark.parametrize("data", ["", "!!!!", "AAAA", "iVBORw0K", "/9j/4AAQSkZJRgAB"])
def test_an_image_that_does_not_tell_has_no_size(data: str) -> None:
    """Cut, broken or unknown."""
    assert image_size(data) == (0, 0)

"""Messages as a reader scans them: lines and sentences with their terms, and what each tool result answers.

An index is a pure function of a message's content; a bounded memo keeps those of the messages seen last, since
consecutive examinations share most of their messages.
"""

from __future__ import annotations

import json
import re
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from typing import Any, Literal, NamedTuple

from ullage.terms import terms
from ullage.types import Block, Message, Opaque, Text, Thinking, ToolResult, ToolUse

LONGEST_UNIT = 400
"""Characters after which a line is cut into pieces: beyond it a line is data, and co-occurrence in it means little."""
MEMO_MESSAGES = 16_384
"""Indices kept: several examinations of the longest traces met (4,000 messages) at about 10 KB each."""
REPLACED_KEYS = frozenset({"old_string", "old_str", "oldText", "old_text", "old", "search", "find", "original"})
"""Arguments of edit tools that quote what is being replaced: no longer true once the call was made."""
BODY_KEYS = frozenset(
    {"content", "new_string", "new_str", "newText", "new_text", "text", "body", "patch", "input", "new_source", "file_text"}
)
"""Arguments that hold a document rather than say what the call is about."""
HEADER_CHARACTERS = 400
"""How much of one argument says what the call is about."""

_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[\"'`(*]*[A-Z0-9\u4e00-\u9fff`])|(?<=[。！？；])\s*")
_NUMBERED = re.compile(r"^\s*(\d+)(?:→|\t)\s?|^>?\s*(\d+)\s*\|\s")
_HEADING = re.compile(r"^\s*(?:#{1,6}\s|\*\*[^*]+\*\*:?\s*$)|[:：]\s*$|^diff --git |^\+\+\+ |^@@ ")


class Piece(NamedTuple):
    """A stretch of text: its place in the text it was cut from, and the text without outer blanks."""

    start: int
    end: int
    text: str


class Unit(NamedTuple):
    """A line or sentence of a message.

    ``heading`` is the number of the unit that introduces it, or -1; ``line`` the line number that a file viewer gave it.
    """

    block: int
    text: str
    terms: frozenset[str]
    kind: Literal["text", "use", "result"]
    heading: int
    line: str = ""


class Header(NamedTuple):
    """What a tool call says about its result: the tool, short arguments by name, and their terms."""

    tool: str
    arguments: Mapping[str, str]
    terms: frozenset[str]

    @property
    def path(self) -> str:
        """The file that the call is about; empty when it names none."""
        return next((self.arguments[key] for key in PATH_KEYS if self.arguments.get(key)), "")

    @property
    def command(self) -> str:
        """The command that the call runs; empty when it runs none."""
        return next((self.arguments[key] for key in COMMAND_KEYS if self.arguments.get(key)), "")


PATH_KEYS = (
    "file_path",
    "path",
    "filename",
    "file",
    "absolute_path",
    "target_file",
    "filepath",
    "notebook_path",
    "AbsolutePath",
    "file_name",
)
COMMAND_KEYS = ("command", "cmd", "script", "code", "CommandLine")


class MessageIndex(NamedTuple):
    """Units of a message, where each term stands among them, and the headers of its tool calls by call id.

    ``answers`` gives for each block the id of the call that it answers (none for other blocks).
    """

    units: tuple[Unit, ...]
    postings: Mapping[str, tuple[int, ...]]
    headers: Mapping[str, Header]
    answers: tuple[str | None, ...]


def block_text(block: Block) -> str:
    """The text of a block that offsets of evidence refer to.

    A text itself; a call's arguments as recorded; a result's texts joined by line breaks; empty for anything else.
    """
    if isinstance(block, Text):
        return block.text
    if isinstance(block, ToolUse):
        return block.arguments
    if isinstance(block, ToolResult):
        return "\n".join(item.text for item in block.content if isinstance(item, Text))
    return ""


def pieces(text: str, *, sentences: bool = False) -> Iterator[Piece]:
    """Non-blank lines of a text; prose lines cut into sentences on request, over-long lines into shorter stretches."""
    start = 0
    for line in text.split("\n"):
        if line and not line.isspace():
            if len(line) > LONGEST_UNIT or (sentences and len(line) > 60):
                yield from _cut(line, start, sentences=sentences)
            else:
                yield _trimmed(line, start)
        start += len(line) + 1


def _trimmed(line: str, start: int) -> Piece:
    left = len(line) - len(line.lstrip())
    text = line.strip()
    return Piece(start + left, start + left + len(text), text)


def _cut(line: str, start: int, *, sentences: bool) -> Iterator[Piece]:
    at = 0
    for match in (*_SENTENCE.finditer(line), None):
        end = match.start() if match else len(line)
        if end > at and (sentences or match is None or end - at >= LONGEST_UNIT // 2):
            yield from _chunks(line[at:end], start + at)
            at = match.end() if match else end


def _chunks(text: str, start: int) -> Iterator[Piece]:
    """Stretches of at most ``LONGEST_UNIT`` characters, cut after a comma, brace or blank where there is one."""
    at = 0
    while len(text) - at > LONGEST_UNIT:
        window = text[at : at + LONGEST_UNIT]
        cut = max(window.rfind(","), window.rfind("}"), window.rfind(" ")) + 1 or LONGEST_UNIT
        if not window[:cut].isspace():
            yield _trimmed(text[at : at + cut], start + at)
        at += cut
    if text[at:].strip():
        yield _trimmed(text[at:], start + at)


def arguments_of(use: ToolUse) -> dict[str, Any]:
    """The arguments of a call as a mapping; text that is no JSON object comes under ``input``."""
    try:
        value = json.loads(use.arguments)
    except (ValueError, RecursionError):
        return {"input": use.arguments}
    return value if isinstance(value, dict) else {"input": value if isinstance(value, str) else use.arguments}


def header_of(use: ToolUse) -> Header:
    """The short arguments of a call: text, numbers, and lists of text as one line."""
    short: dict[str, str] = {}
    for key, value in arguments_of(use).items():
        if key in REPLACED_KEYS or key in BODY_KEYS:
            continue
        if isinstance(value, list) and all(isinstance(item, str) for item in value):
            short[key] = " ".join(value)[:HEADER_CHARACTERS]
        elif isinstance(value, (str, int, float)):
            short[key] = str(value)[:HEADER_CHARACTERS]
    return Header(use.name, short, terms(f"{use.name} {' '.join(short.values())}"))


def _strings(value: Any, key: str, depth: int = 0) -> Iterator[tuple[str, str]]:
    """Texts inside a JSON value with the key that they stand under; quoted old text is passed over."""
    if key in REPLACED_KEYS:
        return
    if isinstance(value, str):
        yield key, value
    elif isinstance(value, bool) or value is None:
        yield key, json.dumps(value)
    elif isinstance(value, (int, float)):
        yield key, str(value)
    elif depth < 8:
        items = value.items() if isinstance(value, dict) else ((key, item) for item in value)
        for inner, item in items:
            yield from _strings(item, inner, depth + 1)


def _rows(value: Any) -> Iterator[str]:
    """A list of small flat objects (a to-do list, options) as one line each; nothing for any other value."""
    if not isinstance(value, list) or not value or not all(isinstance(item, dict) for item in value):
        return
    for item in value:
        row = "; ".join(f"{key}: {inner}" for key, inner in item.items() if isinstance(inner, (str, int, float)))
        if len(row) <= LONGEST_UNIT and "\n" not in row:
            yield row


def use_lines(use: ToolUse) -> Iterator[str]:
    """A call as lines that a person would read: ``key: value`` for short arguments, the lines of long ones, rows of lists."""
    arguments = arguments_of(use)
    rows = {key: found for key, value in arguments.items() if (found := list(_rows(value)))}
    for found in rows.values():
        yield from found
    for key, text in _strings({key: value for key, value in arguments.items() if key not in rows}, "input"):
        if "\n" not in text and len(text) <= LONGEST_UNIT and key not in BODY_KEYS:
            yield f"{key}: {text}"
        else:
            yield from (piece.text for piece in pieces(text))


def unnumbered(line: str) -> tuple[str, str]:
    """A line of a listing parted from the line number that file viewers put before it (empty where there is none)."""
    match = _NUMBERED.match(line)
    return (line[match.end() :], match.group(1) or match.group(2)) if match else (line, "")


def row_marks(text: str) -> tuple[str, int]:
    """What separates the cells of a table row, and how often it does; zero for a line that is no row."""
    if text.startswith("|"):
        return "|", text.count("|")
    if "\t" in text and text.count("\t") >= 2:
        return "\t", text.count("\t")
    commas = text.count(",")
    return (",", commas) if commas >= 2 and ", " not in text and not _CODE_MARKS.search(text) else ("", 0)


def cells_of(text: str) -> list[str]:
    """The cells of a table row; nothing for a line that is no row."""
    mark, count = row_marks(text)
    return [cell.strip(" *`") for cell in text.strip("|").split(mark)] if count else []


_CODE_MARKS = re.compile(r"[(){};=\[\]]")


class _Builder:
    """Collects the units of one message."""

    def __init__(self) -> None:
        self.units: list[Unit] = []
        self.postings: dict[str, list[int]] = {}
        self.heading = -1
        self.table = -1

    def add(self, block: int, text: str, kind: Literal["text", "use", "result"], line: str = "") -> None:
        """One more unit."""
        number, found = len(self.units), terms(text)
        self.table = self._table(number, block, text)
        heading = self.table if 0 <= self.table < number else self.heading
        self.units.append(Unit(block, text, found, kind, heading, line))
        for term in found:
            self.postings.setdefault(term, []).append(number)
        if _HEADING.search(text):
            self.heading = number

    def _table(self, number: int, block: int, text: str) -> int:
        """The unit that heads the table which a line belongs to; itself for a line that may head one, -1 for no row."""
        marks = row_marks(text)
        if not marks[1]:
            return -1
        if self.table >= 0 and self.units[self.table].block == block and row_marks(self.units[self.table].text) == marks:
            return self.table
        return number

    def add_block(self, number: int, block: Block) -> None:
        """All units of one block."""
        self.heading = self.table = -1
        if isinstance(block, ToolUse):
            for line in use_lines(block):
                self.add(number, line, "use")
        elif isinstance(block, (Text, Thinking)):
            for piece in pieces(block.text, sentences=True):
                self.add(number, piece.text, "text")
        elif isinstance(block, ToolResult):
            for piece in pieces(block_text(block)):
                text, line = unnumbered(piece.text)
                self.add(number, text, "result", line)
        elif isinstance(block, Opaque) and block.kind != "unrecorded" and len(block.data) <= LONGEST_UNIT * 100:
            for piece in pieces(block.data):
                self.add(number, piece.text, "text")


def build_index(message: Message) -> MessageIndex:
    """Index one message, without the memo."""
    builder = _Builder()
    for number, block in enumerate(message.blocks):
        builder.add_block(number, block)
    return MessageIndex(
        tuple(builder.units),
        {term: tuple(numbers) for term, numbers in builder.postings.items()},
        {block.id: header_of(block) for block in message.blocks if isinstance(block, ToolUse)},
        tuple(block.tool_use_id if isinstance(block, ToolResult) else None for block in message.blocks),
    )


_memo: OrderedDict[int, MessageIndex] = OrderedDict()


def index_of(message: Message) -> MessageIndex:
    """The index of a message, from the memo where its content was seen before."""
    known = _memo.get(message.key)
    if known is not None:
        _memo.move_to_end(message.key)
        return known
    made = _memo[message.key] = build_index(message)
    while len(_memo) > MEMO_MESSAGES:
        _memo.popitem(last=False)
    return made

"""Excerpts: the blocks that hold evidence, cut to the lines around it, with the calls that results answer."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from ullage.lines import BODY_KEYS, HEADER_CHARACTERS, LONGEST_UNIT, arguments_of
from ullage.probes import block_text, evidence_text
from ullage.types import Block, Message, Span, Text, ToolResult, ToolUse, canonical_json

Places = dict[str, int]


class Excerpt:
    """A growing selection of spans of one history, shown as messages that keep their roles and tool pairs."""

    def __init__(self, transcript: Sequence[Message]) -> None:
        self._transcript = transcript
        self._places = {message.id: place for place, message in enumerate(transcript)}
        self._calls = {
            block.id: (place, number)
            for place, message in enumerate(transcript)
            for number, block in enumerate(message.blocks)
            if isinstance(block, ToolUse)
        }
        self._spans: dict[int, dict[int, set[Span]]] = defaultdict(lambda: defaultdict(set))
        self.messages: dict[int, Message] = {}

    def __contains__(self, span: Span) -> bool:
        """Whether the history holds the span's message."""
        return span.message in self._places

    def tried(self, spans: Iterable[Span]) -> dict[int, Message]:
        """The messages that would be new or different with these spans, by place."""
        wanted: dict[int, dict[int, set[Span]]] = defaultdict(lambda: defaultdict(set))
        for span in spans:
            place = self._places[span.message]
            wanted[place][span.block].add(span)
            block = self._transcript[place].blocks[span.block]
            if isinstance(block, ToolResult) and block.tool_use_id in self._calls:
                call_place, number = self._calls[block.tool_use_id]
                wanted[call_place][number] |= set()
        return {place: self._message(place, blocks) for place, blocks in wanted.items()}

    def add(self, spans: Iterable[Span]) -> None:
        """Keep these spans."""
        chosen = list(spans)
        for place, message in self.tried(chosen).items():
            self.messages[place] = message
        for span in chosen:
            place = self._places[span.message]
            self._spans[place][span.block].add(span)
            block = self._transcript[place].blocks[span.block]
            if isinstance(block, ToolResult) and block.tool_use_id in self._calls:
                call_place, number = self._calls[block.tool_use_id]
                self._spans[call_place][number] |= set()

    def _message(self, place: int, more: dict[int, set[Span]]) -> Message:
        source = self._transcript[place]
        blocks = {number: set(spans) for number, spans in self._spans[place].items()} if place in self._spans else {}
        for number, spans in more.items():
            blocks[number] = blocks.get(number, set()) | spans
        cut = tuple(_cut(source, number, sorted(spans, key=lambda s: s.start)) for number, spans in sorted(blocks.items()))
        return Message(id=f"{source.id}#excerpt", role=source.role, blocks=cut, human=source.human, synthetic=True)


def _cut(source: Message, number: int, spans: Sequence[Span]) -> Block:
    block = source.blocks[number]
    if isinstance(block, ToolUse):
        return ToolUse(id=block.id, name=block.name, arguments=_cut_arguments(source, block, spans))
    text = block_text(block)
    lines = "\n".join(dict.fromkeys(lines_around(text, span.start, span.end) for span in spans))
    if isinstance(block, ToolResult):
        return ToolResult(tool_use_id=block.tool_use_id, content=(Text(text=lines),), is_error=block.is_error)
    return Text(text=lines)


def _cut_arguments(source: Message, block: ToolUse, spans: Sequence[Span]) -> str:
    """The call's arguments with long texts cut to the lines that evidence stands in."""
    held = [line.strip() for span in spans for line in evidence_text(source, span).split("\n") if line.strip()]
    short = {}
    for key, value in arguments_of(block).items():
        if isinstance(value, str) and len(value) > LONGEST_UNIT:
            found = "\n".join(line for line in value.split("\n") if any(part in line for part in held))
            short[key] = found if key in BODY_KEYS else f"{value[:HEADER_CHARACTERS]}\n{found}".rstrip()
        else:
            short[key] = value
    return canonical_json(short)


def lines_around(text: str, start: int, end: int) -> str:
    """The whole lines in which a span stands."""
    first = text.rfind("\n", 0, start) + 1
    last = text.find("\n", end)
    return text[first : len(text) if last < 0 else last]

"""A trace laid out for mining: its lines with their places, the call that each belongs to, and short names of files."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from ullage.actions import Action, actions
from ullage.lines import BODY_KEYS, REPLACED_KEYS, arguments_of, block_text, pieces, unnumbered
from ullage.terms import cjk_share
from ullage.types import Message, Span, Text, ToolResult, ToolUse, Trace
from ullage.values import find

LineKind = Literal["text", "use", "result"]
CHINESE_SHARE = 0.3
"""Share of Chinese among the letters of what people and the model say, from which questions are put in Chinese."""
ACT_CHARACTERS = 120
"""How much of an edit's text belongs to the evidence that it was made."""
LONGEST_BLOCK = 200_000
"""Characters of one block that are read: beyond it a block is a dump, and work must stay linear with a small factor."""
_NAME = re.compile(r"(?<=[a-z,] )[A-Z][a-z]+\b")
_HASH = re.compile(r"\b[0-9a-f]{40}\b")
_INJECTED = re.compile(
    r"^\s*<[a-z][\w-]*>|^Caveat: |^\[Request interrupted|^This session is being continued|^Base directory for this skill"
)


@dataclass(frozen=True, slots=True)
class Line:
    """A line or sentence of a message, where it stands, and the action that it is about.

    ``message`` is the position in the trace, ``start`` and ``end`` offsets in the block's text; ``number`` the line
    number that a file viewer gave.
    """

    message: int
    block: int
    start: int
    end: int
    text: str
    kind: LineKind
    speaker: Literal["user", "assistant", "tool"]
    number: str = ""
    action: Action | None = None


@dataclass
class Source:
    """A trace being mined."""

    trace: Trace
    lines: list[Line] = field(init=False)
    actions: list[Action] = field(init=False)

    def __post_init__(self) -> None:
        self.actions = [action for action in actions(self.trace.messages) if self._usable(action)]
        self._by_use = {(a.use.message, a.use.block): a for a in reversed(self.actions)}
        self._by_result = {(a.result.message, a.result.block): a for a in reversed(self.actions) if a.result}
        self._human_marked = any(message.human for message in self.trace.messages)
        self.lines = [
            line for n, message in enumerate(self.trace.messages) if usable(message) for line in self._lines(n, message)
        ]

    def _usable(self, action: Action) -> bool:
        messages = self.trace.messages
        return usable(messages[action.use.message]) and (action.result is None or usable(messages[action.result.message]))

    def span(self, line: Line, start: int | None = None, end: int | None = None) -> Span:
        """The evidence span of a line, or of a part of it given by offsets in its text."""
        first = line.start if start is None else line.start + start
        last = line.end if end is None else line.start + end
        return Span(message=self.trace.messages[line.message].id, block=line.block, start=first, end=last)

    def use_span(self, action: Action) -> Span:
        """The place in a call's arguments that names its target; of an edit with the beginning of what it wrote.

        The mere name of a file would be found anywhere: the act has survived when its words have.
        """
        message = self.trace.messages[action.use.message]
        text = block_text(message.blocks[action.use.block])
        quoted = json.dumps(action.target, ensure_ascii=False)[1:-1][:200]
        start = max(text.find(quoted), 0)
        reach = ACT_CHARACTERS if action.changes else 0
        end = min(start + len(quoted) + reach, len(text))
        while reach and end < len(text) and text[end].isalnum() and text[end - 1].isalnum():
            end -= 1  # no half word: it could be mistaken for a whole one
        return Span(message=message.id, block=action.use.block, start=start, end=end)

    @cached_property
    def language(self) -> str:
        """Language of the questions: Chinese when people and model mostly speak it, else English."""
        said = " ".join(line.text for line in self.lines if line.kind == "text")[:40_000]
        return "zh" if cjk_share(said) >= CHINESE_SHARE else "en"

    @cached_property
    def names(self) -> frozenset[str]:
        """Words that people and the model write with a capital in the middle of a sentence."""
        return frozenset(found for line in self.lines if line.kind == "text" for found in _NAME.findall(line.text))

    @cached_property
    def full_hashes(self) -> frozenset[str]:
        """All full commit hashes that tools printed."""
        return frozenset(found for line in self.lines if line.kind == "result" for found in _HASH.findall(line.text))

    def relative(self, path: str) -> str:
        """A path without the session's working directory."""
        root = self.trace.meta.cwd.rstrip("/")
        if root and path.startswith(root + "/"):
            return path[len(root) + 1 :]
        return path.removeprefix("./")

    def short(self, path: str) -> str:
        """The shortest tail of a path that names no other file of the trace."""
        parts = self.relative(path).split("/")
        for count in range(1, len(parts)):
            tail = "/".join(parts[-count:])
            if len(self._tails.get(tail, ())) <= 1:
                return tail
        return "/".join(parts)

    @cached_property
    def _tails(self) -> dict[str, set[str]]:
        """Each tail of each file of the trace with the files that end in it."""
        files = {
            self.relative(a.target).lstrip("./")
            for a in self.actions
            if a.kind in {"read", "create", "edit", "delete"} and a.target
        }
        for line in self.lines:
            if line.kind == "result" and "/" in line.text:
                files.update(self.relative(f.value).lstrip("./") for f in find("path", line.text[:200]))
        tails: dict[str, set[str]] = defaultdict(set)
        for path in files:
            parts = path.strip("/").split("/")
            for count in range(1, len(parts) + 1):
                tails["/".join(parts[-count:])].add(path)
        return {tail: _without_tails(found) for tail, found in tails.items()}

    def _lines(self, position: int, message: Message) -> Iterator[Line]:
        for number, block in enumerate(message.blocks):
            if isinstance(block, Text):
                yield from self._text_lines(position, number, message, block.text[:LONGEST_BLOCK])
            elif isinstance(block, ToolUse):
                yield from self._use_lines(position, number, block)
            elif isinstance(block, ToolResult):
                action = self._by_result.get((position, number))
                for piece in pieces(block_text(block)[:LONGEST_BLOCK]):
                    text, listed = unnumbered(piece.text)
                    start = piece.end - len(text)
                    yield Line(position, number, start, piece.end, text, "result", "tool", listed, action)

    def _text_lines(self, position: int, number: int, message: Message, text: str) -> Iterator[Line]:
        if message.role == "user" and (not self._typed(position, message) or _INJECTED.search(text)):
            return
        speaker: Literal["user", "assistant"] = "user" if message.role == "user" else "assistant"
        for piece in pieces(text, sentences=True):
            yield Line(position, number, piece.start, piece.end, piece.text, "text", speaker)

    def _typed(self, position: int, message: Message) -> bool:
        """Whether a person wrote a user message: marked so, or the first one of a recording without marks."""
        if self._human_marked:
            return message.human
        return position == next((n for n, m in enumerate(self.trace.messages) if m.role == "user"), -1)

    def _use_lines(self, position: int, number: int, use: ToolUse) -> Iterator[Line]:
        """Lines of the documents that a call writes, found again in its recorded arguments."""
        action = self._by_use.get((position, number))
        raw, at = use.arguments, 0
        for key, value in arguments_of(use).items():
            if key in REPLACED_KEYS or key not in BODY_KEYS or not isinstance(value, str):
                continue
            at = max(raw.find(f'"{key}"'), 0)
            for piece in pieces(value[:LONGEST_BLOCK]):
                quoted = json.dumps(piece.text, ensure_ascii=False)[1:-1]
                start = raw.find(quoted, at)
                if start < 0:
                    quoted = json.dumps(piece.text)[1:-1]
                    start = raw.find(quoted, at)
                if start >= 0:
                    at = start + len(quoted)
                    yield Line(position, number, start, at, piece.text, "use", "assistant", "", action)


def usable(message: Message) -> bool:
    """Whether a message may give probes: recorded, not a summary, a marker or a stub."""
    return not message.synthetic and not message.stub


def _without_tails(paths: set[str]) -> set[str]:
    """Paths that are not merely the tail of another one in the set: two spellings of one file count once."""
    return (
        {path for path in paths if not any(other != path and other.endswith("/" + path.lstrip("/")) for other in paths)}
        if len(paths) < 50
        else paths
    )

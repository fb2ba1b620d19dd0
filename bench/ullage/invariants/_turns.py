"""Turns of a request as a provider sees them: neighbouring messages of one role are merged into one turn."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ullage.types import Message, Opaque, Text, Thinking, ToolResult, ToolUse

USE, RESULT, THINKING, OTHER = 1, 2, 4, 8
"""Kinds of blocks that a turn holds: tool calls, tool results, reasoning, anything else."""
BLANK = 16
"""A text of nothing but white space, or a message without blocks."""
LATE = 32
"""A tool result behind another kind of block of the same turn."""
BURIED = 64
"""A block behind a tool call of the same message that is no tool call."""
SERVER = 128
"""Half of a pair that the provider's own tools made: kept as opaque blocks."""
SEVERAL = 256
"""More than one message."""
USER, ASSISTANT = 512, 1024
"""The role; a system turn has neither."""
_CONTENT = USE | RESULT | THINKING | OTHER
_KINDS: dict[type, int] = {ToolUse: USE, ToolResult: RESULT, Thinking: THINKING}
_ROLES = {"user": USER, "assistant": ASSISTANT, "system": 0}
SERVER_CALL, SERVER_RESULT = "_tool_use", "_tool_result"
"""How the kinds of opaque blocks of provider-run tools end: ``server_tool_use``, ``web_search_tool_result`` …"""


class Turn:
    """Messages of one role in a row. ``start`` is the position of the first; ``bits`` say what it holds.

    ``fresh`` and ``findings`` are the scanner's: whether the rules must be asked again, and what they said.
    """

    __slots__ = ("bits", "findings", "fresh", "messages", "results", "role", "start", "uses")

    def __init__(self, start: int, first: Message) -> None:
        self.start = start
        self.role = first.role
        self.messages: list[Message] = []
        self.bits = _ROLES[first.role]
        self.uses: list[str] = []
        self.results: list[str] = []
        self.findings: tuple[tuple[str, str, str, bool], ...] = ()
        self.add(first)

    @property
    def stop(self) -> int:
        """The position behind the last message."""
        return self.start + len(self.messages)

    def add(self, message: Message) -> None:
        """Merge one more message into the turn."""
        self.fresh = True
        bits = self.bits | (SEVERAL if self.messages else 0)
        self.messages.append(message)
        seen = 0
        for block in message.blocks:
            kind = _KINDS.get(type(block), OTHER)
            if kind == RESULT:
                self.results.append(block.tool_use_id)  # type: ignore[union-attr]  # the kind says so
                if bits & (_CONTENT & ~RESULT):
                    bits |= LATE
            elif kind == USE:
                self.uses.append(block.id)  # type: ignore[union-attr]  # the kind says so
            elif kind == OTHER:
                bits |= _trait(block)
            if seen & USE and kind != USE:
                bits |= BURIED
            seen |= kind
            bits |= kind
        self.bits = bits if message.blocks else bits | BLANK

    @property
    def ends_thinking(self) -> bool:
        """Whether the last block of the turn is reasoning."""
        last = next((m.blocks[-1] for m in reversed(self.messages) if m.blocks), None)
        return isinstance(last, Thinking)

    @property
    def starts_thinking(self) -> bool:
        """Whether the first block of the turn is reasoning."""
        first = next((m.blocks[0] for m in self.messages if m.blocks), None)
        return isinstance(first, Thinking)


def _trait(block: object) -> int:
    """What else matters about a block that is neither call, result nor reasoning."""
    if isinstance(block, Text):
        return BLANK if not block.text or block.text.isspace() else 0
    if isinstance(block, Opaque) and block.kind.endswith((SERVER_CALL, SERVER_RESULT)):
        return SERVER
    return 0


def turns_of(messages: Iterable[Message], start: int = 0) -> list[Turn]:
    """All turns of these messages, the first of which stands at ``start``."""
    turns: list[Turn] = []
    for at, message in enumerate(messages, start):
        if turns and turns[-1].role == message.role:
            turns[-1].add(message)
        else:
            turns.append(Turn(at, message))
    return turns


def latest_assistant(turns: Sequence[Turn], at: int) -> Turn | None:
    """The last turn of the model up to the one at a position."""
    while at >= 0 and not turns[at].bits & ASSISTANT:
        at -= 1
    return turns[at] if at >= 0 else None

"""The pieces that a Claude Code session is put together from while it is read."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import msgspec

from ullage.formats._claude_lines import results_in
from ullage.types import Block, Message, Role, ToolResult, Usage, canonical_json


@dataclass(slots=True, kw_only=True)
class Draft:
    """A message in the making. ``answers`` is the response whose tool calls its results answer."""

    id: str
    role: Role
    blocks: list[Block]
    at: int | None = None
    human: bool = False
    queued: bool = False
    answers: str | None = None
    extra: dict[str, Any] = field(default_factory=dict)

    def message(self) -> Message:
        """The finished message."""
        extra = canonical_json(self.extra) if self.extra else ""
        return Message(
            id=self.id, role=self.role, blocks=tuple(self.blocks), at=self.at, human=self.human, queued=self.queued, extra=extra
        )

    def merge(self, other: Draft) -> None:
        """Add a line of results of the same response; results stay in front, the line's id and keys are kept."""
        front = max((n for n, block in enumerate(self.blocks) if isinstance(block, ToolResult)), default=-1) + 1
        rest = [block for block in other.blocks if not isinstance(block, ToolResult)]
        self.blocks = [*self.blocks[:front], *results_in(other.blocks), *self.blocks[front:], *rest]
        self.human = self.human or other.human
        self.extra.setdefault("merged", {})[other.id] = other.extra

    @property
    def lines(self) -> tuple[str, ...]:
        """Ids of the lines that the message came from."""
        return (self.id, *self.extra.get("merged", {}))


@dataclass(slots=True, kw_only=True)
class Response:
    """One API response, gathered from all of its lines; not ``counted`` where another session of the file paid for it."""

    position: int
    at: int | None
    model: str
    counted: bool
    extra: str = ""
    usage: Usage | None = None
    stopped: bool = False

    def learn(self, usage: Usage | None, *, stopped: bool, extra: str) -> None:
        """Take a line's figures: usage is repeated on each line, output grows while it streams, the last line stops."""
        if self.usage is not None and usage is not None:
            usage = msgspec.structs.replace(usage, output=max(self.usage.output, usage.output))
        self.usage, self.stopped, self.extra = usage or self.usage, stopped, extra or self.extra


@dataclass(slots=True, kw_only=True)
class QueuedPrompt:
    """A prompt in the client's queue; ``since`` is how many messages stood when it was queued."""

    id: str
    content: Any
    at: int | None
    since: int

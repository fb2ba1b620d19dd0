"""The nouns of a conversation: blocks and messages, with their canonical encoding. Import them from ``ullage.types``."""

from __future__ import annotations

import hashlib
from functools import cached_property
from typing import Annotated, Any, Literal, NamedTuple

import msgspec
from msgspec import Struct

JsonText = str
Size = Annotated[int, msgspec.Meta(ge=0, le=1 << 40)]
"""Tokens or pixels of one block: a decoder refuses what is negative or beyond any window."""
Role = Literal["user", "assistant", "system"]

_ENCODER = msgspec.json.Encoder(order="deterministic")


def canonical_json(value: Any) -> JsonText:
    """Encode a JSON value or noun as canonical text: sorted keys for mappings, no spaces, UTF-8."""
    return _ENCODER.encode(value).decode()


def digest_of(value: Any) -> str:
    """Content digest of a value: 32 hexadecimal characters of BLAKE2b over its canonical JSON."""
    return hashlib.blake2b(_ENCODER.encode(value), digest_size=16).hexdigest()


class Text(Struct, frozen=True, kw_only=True, omit_defaults=True, tag="text"):
    """Plain text of a message or of a tool result."""

    text: str


class Thinking(Struct, frozen=True, kw_only=True, omit_defaults=True, tag="thinking"):
    """Model reasoning; ``redacted`` carries the provider's encrypted form instead of text."""

    text: str = ""
    signature: str = ""
    redacted: str = ""


class ToolUse(Struct, frozen=True, kw_only=True, omit_defaults=True, tag="tool_use"):
    """A tool call: ``arguments`` is JSON text exactly as the model gave it where the recording holds it."""

    id: str
    name: str
    arguments: JsonText = "{}"


class Image(Struct, frozen=True, kw_only=True, omit_defaults=True, tag="image"):
    """An image: base64 ``data`` or a ``url``; width and height in pixels when known, else 0."""

    media_type: str = ""
    data: str = ""
    url: str = ""
    width: Size = 0
    height: Size = 0


class Opaque(Struct, frozen=True, kw_only=True, omit_defaults=True, tag="opaque"):
    """Anything else, verbatim: ``data`` is its JSON text; ``tokens`` its true size when the text does not tell."""

    kind: str
    data: JsonText = ""
    tokens: Size | None = None


ResultItem = Text | Image | Opaque


class ToolResult(Struct, frozen=True, kw_only=True, omit_defaults=True, tag="tool_result"):
    """The answer to one tool call; lives in a user message."""

    tool_use_id: str
    content: tuple[ResultItem, ...] = ()
    is_error: bool = False


Block = Text | Thinking | ToolUse | ToolResult | Image | Opaque


class Shape(NamedTuple):
    """How many cache positions a message takes, and the kinds of its first and last block.

    A run of tool calls, and a run of tool results, counts as one position (Claude's caching rules).
    """

    positions: int
    first: str
    last: str


def _kind(block: Block) -> str:
    if isinstance(block, ToolUse):
        return "use"
    return "result" if isinstance(block, ToolResult) else ""


class Message(Struct, frozen=True, kw_only=True, omit_defaults=True, dict=True):
    """One turn of the history. ``id`` is unique in its trace and is the unit of provenance.

    ``extra`` holds unknown keys of the recording as JSON text. ``stub`` is set by the core when an edit replaced a
    tool result, ``synthetic`` when the message did not occur in the recording (summaries, markers).
    """

    id: str
    role: Role
    blocks: tuple[Block, ...] = ()
    at: int | None = None
    pinned: bool = False
    protected: bool = False
    synthetic: bool = False
    queued: bool = False
    stub: bool = False
    human: bool = False
    extra: JsonText = ""

    @cached_property
    def key(self) -> int:
        """64-bit content key over role and blocks; equal content gives an equal key in every process."""
        raw = _ENCODER.encode((self.role, self.blocks))
        return int.from_bytes(hashlib.blake2b(raw, digest_size=8).digest(), "big") >> 1

    @cached_property
    def digest(self) -> str:
        """Content digest over role and blocks, recomputed on load and never stored."""
        return digest_of((self.role, self.blocks))

    @cached_property
    def tool_use_ids(self) -> tuple[str, ...]:
        """Ids of the tool calls in this message, in order."""
        return tuple(b.id for b in self.blocks if isinstance(b, ToolUse))

    @cached_property
    def tool_result_ids(self) -> tuple[str, ...]:
        """Ids of the tool calls that this message answers, in order."""
        return tuple(b.tool_use_id for b in self.blocks if isinstance(b, ToolResult))

    @cached_property
    def shape(self) -> Shape:
        """Cache positions of the blocks."""
        kinds = [_kind(block) for block in self.blocks]
        if not kinds:
            return Shape(0, "", "")
        runs = sum(1 for i, kind in enumerate(kinds) if not (kind and i and kinds[i - 1] == kind))
        return Shape(runs, kinds[0], kinds[-1])

    @cached_property
    def text(self) -> str:
        """Text blocks joined by a newline; thinking, tool calls and results are left out."""
        return "\n".join(b.text for b in self.blocks if isinstance(b, Text))

"""Token counts: an offline tokenizer, memoised by content, calibrated to what recorded calls were billed."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from ullage.errors import UserError
from ullage.types import Block, Image, Message, Opaque, Text, Thinking, ToolResult, ToolUse

TextCounter = Callable[[str], int]

DEFAULT_ENCODING = "o200k_base"
PIXELS_PER_TOKEN = 750
"""Claude's vision guide: an image costs about width × height / 750 tokens."""
IMAGE_TOKENS = 1600
"""Claude's vision guide: the cap for one image after down-scaling; used when the size is not recorded."""
MESSAGE_TOKENS = 4
"""Role and separators of one chat message in the chat formats that tiktoken documents."""
BLOCK_TOKENS = 6
"""Structure around a tool call or result: the kind, the id and delimiters."""


@cache
def encoding(name: str = DEFAULT_ENCODING) -> Any:
    """A tiktoken encoding whose rank file ships inside litellm, so that nothing is fetched."""
    folder = _tokenizer_folder()
    os.environ.setdefault("TIKTOKEN_CACHE_DIR", str(folder))
    import tiktoken  # noqa: PLC0415 - 80 ms, only when something is counted

    try:
        return tiktoken.get_encoding(name)
    except ValueError as error:
        raise UserError(f"tokenizer {name!r}: unknown encoding; known: cl100k_base, o200k_base, p50k_base") from error


def _tokenizer_folder() -> Path:
    spec = importlib.util.find_spec("litellm")
    if spec is None or not spec.submodule_search_locations:
        raise UserError("the package litellm is not installed: its tokenizer files are needed to count tokens")
    return Path(spec.submodule_search_locations[0]) / "litellm_core_utils" / "tokenizers"


def tiktoken_counter(name: str = DEFAULT_ENCODING) -> TextCounter:
    """Count the tokens of a text with an encoding; special-token text counts as plain text."""
    encode = encoding(name).encode_ordinary

    def count(text: str) -> int:
        return len(encode(text)) if text else 0

    return count


@dataclass(frozen=True, slots=True, kw_only=True)
class Counter:
    """True tokens of messages: raw counts times one calibration factor, memoised by content.

    Call it with a message. ``factor`` scales the tokenizer's count to the provider's; declared sizes of opaque
    blocks are true already and are not scaled.
    """

    count_text: TextCounter
    factor: float = 1.0
    _raw: dict[int, tuple[int, int]] = field(default_factory=dict)
    _true: dict[int, int] = field(default_factory=dict)

    def __call__(self, message: Message) -> int:
        """True tokens of one message."""
        key = message.key
        known = self._true.get(key)
        if known is None:
            scaled, exact = self.parts(message)
            known = self._true[key] = round(scaled * self.factor) + exact
        return known

    def parts(self, message: Message) -> tuple[int, int]:
        """Tokens of a message: those that the factor scales, and those whose true size is declared."""
        known = self._raw.get(message.key)
        if known is None:
            counts = [self._block(block) for block in message.blocks]
            known = self._raw[message.key] = (MESSAGE_TOKENS + sum(c[0] for c in counts), sum(c[1] for c in counts))
            if all(isinstance(b, Opaque) and b.tokens is not None for b in message.blocks) and message.blocks:
                known = self._raw[message.key] = (0, known[1])
        return known

    def text(self, text: str) -> int:
        """True tokens of a bare text."""
        return round(self.count_text(text) * self.factor)

    def scaled_by(self, factor: float) -> Counter:
        """The same tokenizer and memo of raw counts with another factor."""
        return Counter(count_text=self.count_text, factor=factor, _raw=self._raw)

    def _block(self, block: Block) -> tuple[int, int]:
        if isinstance(block, Text):
            return self.count_text(block.text), 0
        if isinstance(block, Thinking):
            return self.count_text(block.text), 0
        if isinstance(block, ToolUse):
            return BLOCK_TOKENS + self.count_text(block.name) + self.count_text(block.arguments), 0
        if isinstance(block, ToolResult):
            items = [self._block(item) for item in block.content]
            return BLOCK_TOKENS + sum(i[0] for i in items), sum(i[1] for i in items)
        if isinstance(block, Image):
            return 0, image_tokens(block)
        return (self.count_text(block.data), 0) if block.tokens is None else (0, block.tokens)


def image_tokens(image: Image) -> int:
    """True tokens of an image, from its size in pixels where known."""
    if image.width and image.height:
        return min(IMAGE_TOKENS, max(1, image.width * image.height // PIXELS_PER_TOKEN))
    return IMAGE_TOKENS

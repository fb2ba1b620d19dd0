"""What a recorded trace is like: sizes, rhythm and words, in figures that can stand beside those of real sessions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from msgspec import Struct

from ullage.tokens import TextCounter
from ullage.types import Image, Message, Probe, Text, Thinking, ToolResult, ToolUse, Trace

SHORT_MS, LONG_MS = 300_000, 3_600_000
"""Pauses after which a prompt of the 5-minute and of the 1-hour class has left a provider's cache."""
QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 1.0)


class TraceStatistics(Struct, frozen=True, kw_only=True):
    """Figures of one trace. ``results`` are quantiles of tool-result sizes in tokens, ``text_words`` of text lengths."""

    id: str
    calls: int
    messages: int
    tokens: int
    silent: float
    median_words: float
    text_words: tuple[int, ...]
    results: tuple[int, ...]
    result_tokens: int
    human: int
    thinking: int
    parallel: int
    errors: int
    images: int
    pauses: int
    long_pauses: int
    children: int


def statistics_of(trace: Trace, count: TextCounter) -> TraceStatistics:
    """The figures of one trace; sizes by the tokenizer given."""
    replies = [trace.messages[call.reply] for call in trace.calls if call.reply is not None]
    spoken = sorted(words_in(m.text) for m in replies if m.text)
    blocks = [block for message in trace.messages for block in message.blocks]
    results = [b for b in blocks if isinstance(b, ToolResult)]
    sizes = sorted(result_sizes(trace, count))
    gaps = [after.at - before.at for before, after in pairwise(trace.calls) if after.at is not None and before.at is not None]
    return TraceStatistics(
        id=trace.id,
        calls=len(trace.calls),
        messages=len(trace.messages),
        tokens=sum(_size(m, count) for m in trace.messages),
        silent=round(1 - len(spoken) / max(1, len(replies)), 3),
        median_words=quantile(spoken, 0.5),
        text_words=tuple(quantile(spoken, q) for q in QUANTILES),
        results=tuple(quantile(sizes, q) for q in QUANTILES),
        result_tokens=sum(sizes),
        human=sum(m.human for m in trace.messages),
        thinking=sum(isinstance(b, Thinking) for b in blocks),
        parallel=sum(len(m.tool_use_ids) > 1 for m in replies),
        errors=sum(b.is_error for b in results),
        images=sum(isinstance(b, Image) for b in blocks) + sum(isinstance(i, Image) for b in results for i in b.content),
        pauses=sum(gap > SHORT_MS for gap in gaps),
        long_pauses=sum(gap > LONG_MS for gap in gaps),
        children=len(trace.children),
    )


def result_sizes(trace: Trace, count: TextCounter) -> list[int]:
    """Tokens of the text of every tool result, in order."""
    results = [block for message in trace.messages for block in message.blocks if isinstance(block, ToolResult)]
    return [sum(count(item.text) for item in result.content if isinstance(item, Text)) for result in results]


def probe_counts(probes: Sequence[Probe]) -> dict[str, int]:
    """How many probes there are by tier, by form of the lexical tier, and by type."""
    lexical = [p for p in probes if p.tier == "lexical"]
    found = {"lexical": len(lexical), "paraphrase": len(probes) - len(lexical), "prose": sum(p.form == "prose" for p in lexical)}
    for probe in sorted(probes, key=lambda p: p.type):
        found[probe.type] = found.get(probe.type, 0) + 1
    return found


def words_in(text: str) -> int:
    """Words of a text; a Chinese word has one and a half characters on average."""
    return len(re.findall(r"[A-Za-z0-9_'./:-]*[A-Za-z0-9]", text)) + round(len(re.findall(r"[\u4e00-\u9fff]", text)) / 1.5)


def quantile(ordered: Sequence[int], share: float) -> int:
    """The value at a share of sorted values; 0 for none."""
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0


def _size(message: Message, count: TextCounter) -> int:
    total = 0
    for block in message.blocks:
        if isinstance(block, Text | Thinking):
            total += count(block.text)
        elif isinstance(block, ToolUse):
            total += count(block.arguments)
        elif isinstance(block, ToolResult):
            total += sum(count(item.text) for item in block.content if isinstance(item, Text))
    return total

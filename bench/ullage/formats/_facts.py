"""Facts of a finished trace that every importer derives in the same way."""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Literal

import msgspec

from ullage.types import Call, Message, Provenance, RecordedEvent

LARGEST_PREFIX = 60_000
"""Tokens of system prompt, tools and memory files that a first prompt may hold unseen: the largest seen is 43,514."""


def provenance_of(
    calls: Sequence[Call], cache: Literal["none", "read", "read_write"], *, prompt_complete: bool = False
) -> Provenance:
    """How much of the truth these calls hold; ``cache`` is what the format records of the cache where it records usage."""
    recorded = sum(call.usage is not None for call in calls)
    return Provenance(
        usage="none" if not recorded else ("per_call" if recorded == len(calls) else "total"),
        cache=cache if recorded else "none",
        prompt_complete=prompt_complete,
        output_reliable=bool(recorded) and all(call.output_reliable for call in calls if call.usage is not None),
    )


def unanswered(messages: Sequence[Message]) -> Iterator[str]:
    """What a reader should know of calls and results that do not belong together, one line each."""
    uses = {name for message in messages for name in message.tool_use_ids}
    answers = {name for message in messages for name in message.tool_result_ids}
    if uses - answers:
        yield f"{len(uses - answers)} tool calls have no result"
    if answers - uses:
        yield f"{len(answers - uses)} results answer no recorded call"


def main_model(calls: Sequence[Call]) -> str:
    """The model of most calls; of equals the first by name."""
    tally = Tally(call.model for call in calls if call.model)
    return max(sorted(tally), key=lambda name: tally[name]) if tally else ""


def model_changes(calls: Sequence[Call]) -> list[RecordedEvent]:
    """One event for each call whose model differs from the one before: caches are kept by model."""
    return [
        RecordedEvent(kind="model_change", call=n, at=after.at, detail=f"{before.model} → {after.model}")
        for n, (before, after) in enumerate(pairwise(calls), 1)
        if before.model and after.model and before.model != after.model
    ]


def in_order(events: Sequence[RecordedEvent]) -> tuple[RecordedEvent, ...]:
    """Events by call, then time."""
    return tuple(sorted(events, key=lambda event: (event.call, event.at or 0, event.kind)))


def larger_than_recorded(calls: Sequence[Call], messages: Sequence[Message]) -> bool:
    """Whether the first prompt outgrows its recorded text, at a token a byte, and any client's prefix together."""
    first = next((call for call in calls if call.usage is not None and call.usage.prompt), None)
    if first is None or first.usage is None:
        return False
    recorded = sum(len(msgspec.json.encode(message.blocks)) for message in messages[: first.upto])
    return first.usage.prompt > LARGEST_PREFIX + recorded

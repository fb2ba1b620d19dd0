"""The conversation of one session while an importer reads it: what every format does with replies, results and events."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

import msgspec

from ullage.formats._facts import in_order, model_changes, provenance_of
from ullage.types import (
    Block,
    Call,
    Message,
    RecordedCompaction,
    RecordedEvent,
    ToolResult,
    ToolSpec,
    Trace,
    TraceMeta,
    Usage,
    canonical_json,
)

LONGEST_DETAIL = 200
"""Characters of an event's detail: enough to name it."""


@dataclass(slots=True)
class Talk:
    """What was said so far, each call with the bill that the file holds. Importers derive from it or hold one."""

    messages: list[Message] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    compactions: list[RecordedCompaction] = field(default_factory=list)
    events: list[RecordedEvent] = field(default_factory=list)

    def hear(self, message: Message) -> None:
        """Append a message. Results go on in the message of results before them, as the model was sent them in one."""
        last = self.messages[-1] if self.messages else None
        if last is not None and only_results(message) and only_results(last):
            extra = _both(last.extra, message.extra)
            self.messages[-1] = msgspec.structs.replace(last, blocks=last.blocks + message.blocks, extra=extra)
        else:
            self.messages.append(message)

    def reply(
        self,
        message: Message,
        *,
        model: str = "",
        usage: Usage | None = None,
        reliable: bool = True,
        ttl: Literal["", "5m", "1h"] = "",
        extra: str = "",
    ) -> None:
        """Append a reply with its call; one without blocks is a call alone. ``reliable``: the billed output is the whole of it.

        ``extra`` goes to the call.
        """
        place, said = len(self.messages), bool(message.blocks)
        self.calls.append(
            Call(
                id=message.id,
                upto=place,
                reply=place if said else None,
                at=message.at,
                model=model,
                usage=usage,
                output_reliable=reliable and usage is not None,
                ttl=ttl,
                extra=extra,
            )
        )
        if said:
            self.messages.append(message)

    def note(self, kind: str, at: int | None, detail: str) -> None:
        """Note an event before the next call."""
        self.events.append(RecordedEvent(kind=kind, call=len(self.calls), at=at, detail=detail[:LONGEST_DETAIL]))

    def compacted(self, at: int | None, **known: Any) -> None:
        """Note a compaction before the next call, with what is known of it."""
        event = RecordedCompaction(call=len(self.calls), position=len(self.messages), at=at, **known)
        self.compactions.append(event)

    def finished(
        self,
        name: str,
        meta: TraceMeta,
        cache: Literal["none", "read", "read_write"],
        *,
        system: str = "",
        tools: tuple[ToolSpec, ...] = (),
        as_sent: bool = True,
    ) -> Trace:
        """The finished trace; ``cache`` is what the format records of the cache.

        Its prompts are complete when it has system and tools, and these stand in the file ``as_sent``.
        """
        return Trace(
            id=name,
            system=system,
            tools=tools,
            messages=tuple(self.messages),
            calls=tuple(self.calls),
            compactions=tuple(self.compactions),
            events=in_order([*self.events, *model_changes(self.calls)]),
            meta=meta,
            provenance=provenance_of(self.calls, cache, prompt_complete=as_sent and bool(system) and bool(tools)),
        )


def only_results(message: Message) -> bool:
    """Whether a message holds tool results and nothing else."""
    return bool(message.blocks) and all(isinstance(block, ToolResult) for block in message.blocks)


def _both(first: str, second: str) -> str:
    """The unknown keys of two messages that become one; of a key that both have, the first one's value."""
    if not first or not second:
        return first or second
    return canonical_json(msgspec.json.decode(second) | msgspec.json.decode(first))


def from_user(name: str, blocks: tuple[Block, ...], *, at: int | None = None, extra: str = "") -> Message:
    """A user message of Anthropic blocks: a person's where it has text and is not results alone."""
    message = Message(id=name, role="user", blocks=blocks, at=at, extra=extra)
    return msgspec.structs.replace(message, human=bool(message.text) and not only_results(message))


def counted(found: Iterable[tuple[int, str]]) -> Iterator[str]:
    """One line for each thing that occurred, its number in the braces."""
    return (text.format(count) for count, text in found if count)

"""Billed sessions built call by call, for the tests of everything that reads a recording's bill."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ullage.pricing import ModelPrices, PriceSheet
from ullage.testing import tool_call, tool_result, user
from ullage.tokens import Counter
from ullage.types import Call, Message, Provenance, RecordedCompaction, RecordedEvent, Trace, TraceMeta, Usage

START = 1_760_000_000_000
MINUTE = 60_000
MODEL = "claude-opus-4-5"
WORDS = Counter(count_text=lambda text: len(text.split()))
"""One token a word, so that sizes can be read off the text."""


def opus(sheet: PriceSheet) -> ModelPrices:
    """The prices of the books' model."""
    prices = sheet.prices(MODEL)
    assert isinstance(prices, ModelPrices)
    return prices


@dataclass
class Book:
    """Builds a session: ``bill`` adds a call that reads and writes so much after a pause; what is said stands before it."""

    model: str = MODEL
    ttl: Any = "5m"
    messages: list[Message] = field(default_factory=lambda: [user("the task", "m0", human=True)])
    calls: list[Call] = field(default_factory=list)
    compactions: list[RecordedCompaction] = field(default_factory=list)
    events: list[RecordedEvent] = field(default_factory=list)
    now: int = START

    def bill(self, read: int, write: int, *, pause_s: float = 10, output: int = 5, result: str = "ok", **call: Any) -> Book:
        """One call with its reply, a tool call, and the result of that."""
        self.now += round(pause_s * 1000)
        number, ttl = len(self.calls), call.pop("ttl", self.ttl)
        writes = {"cache_write_1h" if ttl == "1h" else "cache_write_5m": write}
        usage = call.pop("usage", Usage(cache_read=read, output=output, **writes))
        command = call.pop("command", f"step {number}")
        tool, arguments = ("Bash", {"command": command}) if not command.startswith("/") else ("Read", {"file_path": command})
        made: dict[str, Any] = {"id": f"c{number}", "upto": len(self.messages), "reply": len(self.messages), "at": self.now}
        self.calls.append(Call(**(made | {"model": self.model, "ttl": ttl, "usage": usage} | call)))
        self.messages.append(tool_call(f"r{number}", f"t{number}", name=tool, **arguments))
        self.messages.append(tool_result(f"o{number}", **{f"t{number}": result}))
        return self

    def say(self, text: str, **flags: Any) -> Book:
        """A message of the person."""
        self.messages.append(user(text, f"u{len(self.messages)}", at=self.now, human=True, **flags))
        return self

    def compact(self, before: int | None, summary: str = "what happened so far", **fields: Any) -> Book:
        """The client's compaction, before the next call."""
        place = {"call": len(self.calls), "position": len(self.messages), "at": self.now + 1_000}
        self.compactions.append(RecordedCompaction(**(place | {"tokens_before": before, "summary": summary} | fields)))
        return self

    def event(self, kind: str, detail: str = "") -> Book:
        """Something that was recorded before the next call."""
        self.events.append(RecordedEvent(kind=kind, call=len(self.calls), detail=detail))
        return self

    def trace(self, *, cache: Any = "read_write", children: Sequence[Trace] = (), **fields: Any) -> Trace:
        """The finished session; 1,000 tokens stand before the conversation."""
        return Trace(
            id=fields.pop("id", "book"),
            messages=tuple(self.messages),
            calls=tuple(self.calls),
            compactions=tuple(self.compactions),
            events=tuple(self.events),
            children=tuple(children),
            meta=TraceMeta(format="book", model=self.model, **fields.pop("meta", {})),
            provenance=Provenance(usage="per_call", cache=cache),
            overhead_tokens=fields.pop("overhead", 1_000),
            **fields,
        )

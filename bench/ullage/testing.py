"""For authors of strategies and for our own tests: builders, fakes and checks. No mocks.

``make_trace`` builds a valid agent session of any length; ``view_of`` builds the ``View`` of any moment in one line;
the fakes stand in for the ports; ``check_strategy`` runs the conformance checks on one strategy.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ullage.context import Context
from ullage.strategy import DeciderRequest, Summary, SummaryRequest, ToolRequest, View
from ullage.types import (
    Call,
    Message,
    Moment,
    Provenance,
    Text,
    ToolResult,
    ToolUse,
    Trace,
    TraceMeta,
    Usage,
    canonical_json,
)

START = 1_760_000_000_000
"""Milliseconds since the epoch at which built traces begin."""


def count_words(message: Message) -> int:
    """A counter for tests: one token a word in every text, argument and result, at least one a message."""
    words = 0
    for block in message.blocks:
        if isinstance(block, ToolUse):
            words += len(block.arguments.split())
        elif isinstance(block, ToolResult):
            words += sum(
                len(item.text.split()) if isinstance(item, Text) else (getattr(item, "tokens", None) or 0)
                for item in block.content
            )
        else:
            words += len(getattr(block, "text", "").split()) or (getattr(block, "tokens", None) or 0)
    return max(words, 1)


def user(text: str, message_id: str, **flags: Any) -> Message:
    """A user message with one text."""
    return Message(id=message_id, role="user", blocks=(Text(text=text),), **flags)


def assistant(text: str, message_id: str, **flags: Any) -> Message:
    """An assistant message with one text."""
    return Message(id=message_id, role="assistant", blocks=(Text(text=text),), **flags)


def tool_call(message_id: str, *ids: str, name: str = "shell", text: str = "", **arguments: Any) -> Message:
    """An assistant message that calls one tool once for each id."""
    blocks = tuple(ToolUse(id=i, name=name, arguments=canonical_json(arguments)) for i in ids)
    return Message(id=message_id, role="assistant", blocks=((Text(text=text),) if text else ()) + blocks)


def tool_result(message_id: str, /, **results: str) -> Message:
    """A user message that answers tool calls: ``id=text`` for each."""
    blocks = tuple(ToolResult(tool_use_id=i, content=(Text(text=t),)) for i, t in results.items())
    return Message(id=message_id, role="user", blocks=blocks)


def make_trace(
    *, calls: int = 20, result_words: int = 40, turn: int = 10, seed: int = 0, gap_ms: int = 20_000, trace_id: str = "made"
) -> Trace:
    """A valid session of ``calls`` model calls: every ``turn``-th call ends a turn with text, the others call a tool.

    Words are drawn from a seeded generator, so equal arguments give equal traces.
    """
    rng = random.Random(seed)
    messages = [user(f"Task {seed}: make the suite pass and keep the public interface.", f"{trace_id}-0")]
    made: list[Call] = []
    at = START
    for n in range(calls):
        at += gap_ms
        upto, reply_id = len(messages), f"{trace_id}-{len(messages)}"
        ends = (n + 1) % turn == 0
        if ends:
            messages.append(assistant(f"Step {n} done: {_words(rng, 12)}.", reply_id))
        else:
            messages.append(tool_call(reply_id, f"t{n}", name="shell", command=f"run step {n} {_words(rng, 3)}"))
        made.append(Call(id=f"c{n}", upto=upto, reply=upto, at=at, model="claude-opus-4-5", ttl="5m"))
        follow = f"{trace_id}-{len(messages)}"
        if ends:
            messages.append(user(f"Go on with part {n}: {_words(rng, 8)}.", follow))
        else:
            messages.append(tool_result(follow, **{f"t{n}": f"output {n}\n{_words(rng, result_words)}"}))
    return Trace(
        id=trace_id,
        system="You are a careful engineer.",
        messages=tuple(messages),
        calls=tuple(made),
        meta=TraceMeta(format="made", model="claude-opus-4-5", licence="Apache-2.0"),
        provenance=Provenance(prompt_complete=True),
        overhead_tokens=100,
        overhead_method="declared",
    )


def _words(rng: random.Random, count: int) -> str:
    return " ".join(rng.choice(_LEXICON) + (str(rng.randrange(1000)) if rng.random() < 0.1 else "") for _ in range(count))


_LEXICON = (
    "alpha",
    "build",
    "cache",
    "delta",
    "error",
    "field",
    "graph",
    "handler",
    "index",
    "join",
    "key",
    "list",
    "module",
    "node",
    "option",
    "parse",
    "query",
)


@dataclass
class FakeSummarizer:
    """Answers every request with one text and keeps the requests; ``fail`` makes it raise instead."""

    reply: str = "summary"
    fail: str = ""
    requests: list[SummaryRequest] = field(default_factory=list)

    def __call__(self, request: SummaryRequest) -> Summary:
        """Answer with the one text, or fail."""
        self.requests.append(request)
        if self.fail:
            raise RuntimeError(self.fail)
        return Summary(text=self.reply)


@dataclass
class FakeDecider:
    """Plays a list of tool requests, one tuple a call, then none."""

    script: list[tuple[ToolRequest, ...]] = field(default_factory=list)
    requests: list[DeciderRequest] = field(default_factory=list)

    def __call__(self, request: DeciderRequest) -> tuple[ToolRequest, ...]:
        """Play the next line of the script."""
        self.requests.append(request)
        return self.script.pop(0) if self.script else ()


@dataclass
class FakeStore:
    """A store that reads from a dictionary."""

    content: dict[str, str] = field(default_factory=dict)

    def get(self, ref: str) -> str | None:
        """The content under a reference, or none."""
        return self.content.get(ref)


def context_of(messages: Sequence[Message]) -> Context:
    """A context over these messages, counted in words."""
    return Context.of(messages, count_words)


def view_of(messages: Sequence[Message], *, moment: Moment = Moment.BEFORE_CALL, window: int = 1000, **fields: Any) -> View:
    """The view of one moment over these messages; any field of ``View`` can be given."""
    context = context_of(messages)
    given: dict[str, Any] = {
        "transcript": tuple(messages),
        "summarize": FakeSummarizer(),
        "decide": FakeDecider(),
        "store": FakeStore(),
        "count": lambda items: sum(count_words(m) for m in items),
    }
    return View(moment=moment, context=context, window=window, **(given | fields))


def usage(prompt: int, output: int = 0) -> Usage:
    """A usage with everything uncached."""
    return Usage(uncached=prompt, output=output)


from ullage.conformance import check_strategy as check_strategy  # noqa: E402 - beside the other builders, and long enough for its own file
from ullage.doors import agentic_tool as agentic_tool  # noqa: E402 - the doors for vectors from elsewhere
from ullage.doors import reduce as reduce  # noqa: E402 - likewise
from ullage.histories import make_history as make_history  # noqa: E402 - generated histories in the doors' shape
from ullage.histories import make_malformed as make_malformed  # noqa: E402 - likewise
from ullage.testing_records import make_record as make_record  # noqa: E402 - beside the other builders, and long enough for its own file
from ullage.testing_traces import make_varied_trace as make_varied_trace  # noqa: E402 - likewise

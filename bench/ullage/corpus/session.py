"""A session being recorded: what is said, which tools run, how time passes, and what of it will be asked about."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ullage.corpus import plot
from ullage.corpus.tools import DELEGATE, TOOLS, Output, png_block, use
from ullage.corpus.workspace import Workspace
from ullage.types import (
    Block,
    Call,
    Message,
    Provenance,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
    Trace,
    TraceMeta,
    canonical_json,
)

MODEL = "claude-sonnet-4-5"
"""No model was called: the name only tells a price sheet which prices to assume."""
SECOND, MINUTE = 1000, 60_000
QUICK, SLOW = (1_800, 5_200), (25_000, 170_000)
"""Range in ms of a reply's fixed latency, and of a person's wait when the playbook names none."""
MS_A_CHARACTER = 9
"""Milliseconds that one character of a reply takes: about 30 tokens a second."""

Request = tuple[str, dict[str, Any]]


@dataclass(slots=True)
class Clock:
    """Simulated time in ms since the epoch, moved on by seeded draws."""

    now: int
    rng: random.Random

    def wait(self, low: int, high: int) -> int:
        """Let a seeded while pass; the new time."""
        self.now += self.rng.randrange(low, high)
        return self.now


@dataclass(slots=True)
class Session:
    """Records messages and calls while a playbook speaks and acts. ``rng`` is for the playbook's own draws."""

    name: str
    workspace: Workspace
    clock: Clock
    rng: random.Random
    values: dict[str, str] = field(default_factory=dict)
    messages: list[Message] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    children: list[Trace] = field(default_factory=list)
    facts: list[plot.Fact] = field(default_factory=list)
    pending: list[Block] = field(default_factory=list)
    deferred: list[tuple[Sequence[str], dict[str, Any]]] = field(default_factory=list)
    output: str = ""
    tools: int = 0

    def user(self, text: str, *, wait_ms: int | None = None, images: Sequence[bytes] = ()) -> None:
        """The person says something, after a wait."""
        if self.pending:
            raise plot.PlotError(f"text waits for a tool call or a reply: {self.pending[-1]!r}")
        self.clock.now += wait_ms if wait_ms is not None else (self.clock.rng.randrange(*SLOW) if self.messages else 0)
        self._add("user", (Text(text=text), *map(png_block, images)), human=True)

    def think(self, text: str) -> None:
        """Reasoning before the next reply."""
        self.pending.append(Thinking(text=text))

    def say(self, text: str) -> None:
        """Text that goes out with the next tool call."""
        self.pending.append(Text(text=text))

    def reply(self, text: str) -> None:
        """Text that ends the turn."""
        self.pending.append(Text(text=text))
        self._call(())

    def call(self, tool: str, /, **arguments: Any) -> str:
        """One call of one tool; returns what it printed."""
        return self.together([(tool, arguments)])[0].text

    def together(self, requests: Sequence[Request]) -> list[Output]:
        """Several tool calls in one reply; they run in order."""
        uses = [self._use(name, arguments) for name, arguments in requests]
        self._call(uses)
        outputs = [use(self.workspace, name, arguments, self.clock.now) for name, arguments in requests]
        self.clock.wait(120, 2_400)
        self._results(uses, outputs)
        return outputs

    def delegate(self, title: str, prompt: str, child: Session) -> ToolUse:
        """Start a sub-agent: the call is made, the child is told; ``join`` brings its answer back."""
        tool = self._use("delegate", {"title": title, "task": prompt})
        self._call([tool])
        child.user(prompt, wait_ms=0)
        return tool

    def join(self, tool: ToolUse, child: Session, system: str) -> str:
        """Take over a finished sub-agent: its last text is the result."""
        answer = child.messages[-1].text
        self.children.append(child.trace(system=system, parent=tool.id))
        self._results([tool], [Output(items=(Text(text=answer),))])
        return answer

    def pause(self, minutes: float) -> None:
        """Nobody does anything for a while."""
        self.clock.now += round(minutes * MINUTE)

    def fact(self, quotes: Sequence[str], **fields: Any) -> None:
        """Plant a fact whose evidence has just been said, or is about to go out with the next call."""
        if self.pending:
            self.deferred.append((quotes, fields))
            return
        places = [plot.locate(self.messages, quote) for quote in quotes]
        self.facts.append(
            plot.Fact(
                quotes=tuple(quotes),
                evidence=tuple(span for _, span in places),
                settled=max((index for index, _ in places), default=len(self.messages) - 1),
                speaker=plot.speaker_of(self.messages[places[0][0]], places[0][1].block) if places else "",
                **fields,
            )
        )

    def trace(self, *, system: str, parent: str = "", meta: TraceMeta | None = None, offered: Sequence[str] = ()) -> Trace:
        """What has been recorded, as a trace."""
        unknown = [name for name in offered if name not in TOOLS]
        if unknown:
            raise plot.PlotError(f"no tools {', '.join(unknown)}")
        used = {block.name for message in self.messages for block in message.blocks if isinstance(block, ToolUse)}
        names = used | set(offered)
        return Trace(
            id=self.name,
            system=system,
            tools=(
                *(tool.spec for name, tool in TOOLS.items() if name in names),
                *([DELEGATE] if DELEGATE.name in names else []),
            ),
            messages=tuple(self.messages),
            calls=tuple(self.calls),
            children=tuple(self.children),
            parent=parent,
            meta=meta or TraceMeta(),
            provenance=Provenance(usage="none", cache="none", prompt_complete=True),
        )

    def _use(self, name: str, arguments: dict[str, Any]) -> ToolUse:
        self.tools += 1
        return ToolUse(id=f"{self.name}-t{self.tools:04d}", name=name, arguments=canonical_json(arguments))

    def _call(self, uses: Sequence[ToolUse]) -> None:
        asked = self.clock.wait(40, 400)
        blocks = (*self.pending, *uses)
        written = sum(len(plot.text_of(b) or getattr(b, "text", "")) for b in blocks)
        self.clock.now += written * MS_A_CHARACTER
        self.clock.wait(*QUICK)
        place = len(self.messages)
        self.calls.append(
            Call(id=f"{self.name}-c{len(self.calls):04d}", upto=place, reply=place, at=asked, model=MODEL, ttl="5m")
        )
        self._add("assistant", blocks)
        self.pending.clear()
        for quotes, fields in self.deferred:
            self.fact(quotes, **fields)
        self.deferred.clear()

    def _results(self, uses: Sequence[ToolUse], outputs: Sequence[Output]) -> None:
        results = (
            ToolResult(tool_use_id=use.id, content=output.items, is_error=output.is_error)
            for use, output in zip(uses, outputs, strict=True)
        )
        self._add("user", tuple(results))
        self.output = "\n".join(output.text for output in outputs)

    def _add(self, role: Any, blocks: Sequence[Block], *, human: bool = False) -> None:
        identity = f"{self.name}-m{len(self.messages):04d}"
        self.messages.append(Message(id=identity, role=role, blocks=tuple(blocks), at=self.clock.now, human=human))

"""A built session with everything that strategies trip over, valid by every invariant: for conformance and for tests."""

from __future__ import annotations

import random

from ullage.types import (
    Block,
    Call,
    Image,
    Message,
    Provenance,
    ResultItem,
    Text,
    Thinking,
    ToolResult,
    ToolSpec,
    ToolUse,
    Trace,
    TraceMeta,
    canonical_json,
)

START = 1_760_000_000_000
GAP_MS = 45_000
LENGTHS = (12, 180, 420, 1_900, 7_500)
"""Characters of results: shorter than a stub, around the cuts at 400 characters, and above the offloaders' limits."""
_WORDS = (
    "alpha",
    "build",
    "cache",
    "缓存",
    "delta",
    "error",
    "field",
    "graph",
    "handler",
    "索引",
    "join",
    "key",
    "list",
    "module",
    "node",
    "option",
    "parse",
    "query",
    "résumé",
)


def make_varied_trace(*, calls: int = 60, seed: int = 0, trace_id: str = "varied") -> Trace:
    """A valid session of ``calls`` calls. Equal arguments give equal traces.

    It holds parallel calls, thinking with signatures, short and huge results, errors, images, several scripts, a pinned
    and a protected message, a system message in the middle, text beside results, and new requests of the user.
    """
    builder = _Builder(random.Random(seed), trace_id)
    builder.say("user", f"Task {seed}: port the parser, keep port 8443 open, and never touch vendor/.", human=True)
    for n in range(calls):
        builder.call(n)
    return Trace(
        id=trace_id,
        system="You are a careful engineer.",
        tools=(ToolSpec(name="shell", description="Run a command."), ToolSpec(name="read_file", description="Read a file.")),
        messages=tuple(builder.messages),
        calls=tuple(builder.calls),
        meta=TraceMeta(format="made", model="claude-opus-4-5", licence="Apache-2.0"),
        provenance=Provenance(prompt_complete=True),
        overhead_tokens=100,
        overhead_method="declared",
    )


class _Builder:
    """Appends calls to one session."""

    def __init__(self, rng: random.Random, prefix: str) -> None:
        self.rng, self.prefix = rng, prefix
        self.messages: list[Message] = []
        self.calls: list[Call] = []

    def call(self, n: int) -> None:
        """One model call: mostly tools with their results, else the end of a turn and the user's next request."""
        upto = len(self.messages)
        self.calls.append(Call(id=f"c{n}", upto=upto, reply=upto, at=START + n * GAP_MS, model="claude-opus-4-5", ttl="5m"))
        if n % 9 == 8:
            self.say("assistant", f"Step {n} is done: {self.words(14)}.")
            self.say("user", f"Go on with part {n}: {self.words(9)}.", human=True, pinned=n == 8, protected=n == 17)
            if n == 26:
                self.say("system", f"From now on answer in short sentences. {self.words(4)}")
        else:
            self.step(n)

    def step(self, n: int) -> None:
        """Calls of one to three tools in one message, and all their results in the next."""
        ids = [f"{self.prefix}-t{n}-{k}" for k in range(self.rng.choice((1, 1, 1, 2, 3)))]
        lead: list[Block] = []
        if self.rng.random() < 0.4:
            lead.append(Thinking(text=f"I should {self.words(6)}.", signature=f"sig{n}"))
        if self.rng.random() < 0.3:
            lead.append(Text(text=f"Next: {self.words(4)}."))
        self.add("assistant", (*lead, *(self.use(i, n) for i in ids)))
        tail = (Text(text=f"<system-reminder>{self.words(5)}</system-reminder>"),) if self.rng.random() < 0.1 else ()
        self.add("user", (*(self.result(i) for i in ids), *tail))

    def use(self, call_id: str, n: int) -> ToolUse:
        """A call of either tool."""
        if self.rng.random() < 0.5:
            return ToolUse(id=call_id, name="shell", arguments=canonical_json({"command": f"make step-{n} {self.words(2)}"}))
        return ToolUse(id=call_id, name="read_file", arguments=canonical_json({"path": f"src/{self.words(1)}.py", "line": n}))

    def result(self, call_id: str) -> ToolResult:
        """A result of some length, sometimes an error, sometimes with an image."""
        items: list[ResultItem] = [Text(text=self.text(self.rng.choice(LENGTHS)))]
        if self.rng.random() < 0.06:
            items.append(Image(media_type="image/png", data="iVBORw0KGgo=", width=300, height=200))
        return ToolResult(tool_use_id=call_id, content=tuple(items), is_error=self.rng.random() < 0.12)

    def say(self, role: str, text: str, **flags: bool) -> None:
        """A message of one text."""
        self.add(role, (Text(text=text),), **flags)

    def add(self, role: str, blocks: tuple[Block, ...], **flags: bool) -> None:
        """Append a message."""
        at = START + max(0, len(self.calls) - 1) * GAP_MS
        name = f"{self.prefix}-{len(self.messages)}"
        self.messages.append(Message(id=name, role=role, blocks=blocks, at=at, **flags))  # type: ignore[arg-type]  # a role, by the callers

    def words(self, count: int) -> str:
        """Some words, now and then with a number that occurs nowhere else."""
        return " ".join(
            self.rng.choice(_WORDS) + (f"={self.rng.randrange(10_000)}" if self.rng.random() < 0.15 else "") for _ in range(count)
        )

    def text(self, length: int) -> str:
        """Lines of words, about ``length`` characters."""
        lines: list[str] = []
        while sum(map(len, lines)) < length:
            lines.append(self.words(8))
        return "\n".join(lines)[:length].strip() or "ok"

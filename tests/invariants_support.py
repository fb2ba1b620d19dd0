"""What the tests of invariants share: a strategy that plays edits, and a small legal session."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

from ullage import registry
from ullage.cache import CacheRules
from ullage.caches.none import NoCache
from ullage.checking import Checkers
from ullage.invariants import Invariant
from ullage.replay import Ports, Setup, replay
from ullage.store import MemoryBackend, Session
from ullage.strategy import Strategy, View
from ullage.testing import FakeDecider, FakeSummarizer, assistant, tool_call, tool_result, user
from ullage.tokens import Counter
from ullage.types import Call, Decision, Edit, Message, Moment, Rewrite, Thinking, ToolUse, Trace, Violation

INVARIANTS: list[Invariant] = [registry.load("invariants", name) for name in registry.names("invariants")]
Script = dict[int, tuple[Edit, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Played(Strategy):
    """Plays edits before calls, or at another moment."""

    script: Script = field(default_factory=dict)
    at: Moment = Moment.BEFORE_CALL
    moments: ClassVar[frozenset[Moment]] = frozenset(Moment)

    def decide(self, view: View) -> Decision:
        """Play the script."""
        return Decision(edits=self.script.get(view.call, ()) if view.moment is self.at else ())


class Outcome(NamedTuple):
    """What is the strategy's doing, and what the recording itself breaks."""

    found: list[Violation]
    recorded: list[Violation]


def check(trace: Trace, script: Script, *, at: Moment = Moment.BEFORE_CALL, **options: Any) -> Outcome:
    """All checks over a replay with these edits."""
    promises, offered, api = options.pop("promises", ()), options.pop("offered", ()), options.pop("api", "anthropic")
    setup = Setup(
        trace=trace,
        strategies=(Played(script=script, at=at),),
        counter=Counter(count_text=lambda text: len(text.split())),
        window=options.pop("window", 100_000),
        reserve=0,
        overhead=10,
        cache=NoCache().open(CacheRules()),
        ports=Ports(
            summarize=FakeSummarizer(),
            decide=FakeDecider(),
            store=Session(backend=MemoryBackend(), tenant="t", session="s"),
        ),
        **options,
    )
    checkers = Checkers(INVARIANTS, trace, promises=promises, api=api, offered=offered)
    found: list[Violation] = []
    for step in replay(setup):
        assert not step.faults, step.faults
        found += checkers.check(step)
    return Outcome(found, checkers.recorded)


def broken(trace: Trace, script: Script, **options: Any) -> list[tuple[str, str]]:
    """Invariant and message of all that the edits broke, sorted."""
    return sorted((v.invariant, v.messages[0] if v.messages else "") for v in check(trace, script, **options).found)


THOUGHT = Thinking(text="hm", signature="sig")
USE_X, USE_Y = ToolUse(id="x", name="shell"), ToolUse(id="y", name="shell")
RESULTS = tool_result("r2", x="out one", y="out two")
LEGAL = Trace(
    id="legal",
    messages=(
        user("do the task", "u0"),
        Message(id="a1", role="assistant", blocks=(THOUGHT, USE_X, USE_Y)),
        RESULTS,
        assistant("all done here", "a3"),
        user("next please now", "u4"),
        tool_call("a5", "z"),
        tool_result("r6", z="last out put"),
    ),
    calls=(
        Call(id="c0", upto=1, reply=1),
        Call(id="c1", upto=3, reply=3),
        Call(id="c2", upto=5, reply=5),
        Call(id="c3", upto=7),
    ),
)


def rewrite(message_id: str, *blocks: Any) -> Rewrite:
    """A rewrite edit."""
    return Rewrite(id=message_id, blocks=tuple(blocks))

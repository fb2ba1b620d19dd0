"""What every strategy must keep, checked on built sessions: the laws behind ``ullage.testing.check_strategy``.

One replay asks three times at every moment and compares what it was shown before and after; others give the same past
with another future, pass every state through JSON, and repeat everything in another process with other hash seeds.
"""

from __future__ import annotations

import inspect
import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import msgspec

from ullage import registry
from ullage.auditing import Auditor, spelled
from ullage.cache import CacheRules
from ullage.caches.auto import Automatic
from ullage.checking import Checkers, check_names
from ullage.deciders.policy import WrittenPolicy
from ullage.errors import UserError
from ullage.invariants import Invariant
from ullage.replay import Ask, Ports, Setup, plain_ask, replay
from ullage.specs import build, parse, spec_of
from ullage.step import Step
from ullage.store import MemoryBackend, Session
from ullage.strategy import Strategy, Summary, SummaryRequest, View
from ullage.testing_traces import make_varied_trace
from ullage.tokens import Counter
from ullage.types import Block, Decision, Fault, Message, Text, Trace, Violation, digest_of

WINDOW, RESERVE = 16_000, 1_000
"""Tokens. The built sessions reach about twice the window, so that every trigger and an overflow are met."""
CHARACTERS_PER_TOKEN = 4
FORK = 35
"""The call at which the two futures part."""


def check_strategy(
    target: str | Strategy, *, traces: Sequence[Trace] = (), window: int = WINDOW, process: bool = True
) -> list[str]:
    """Problems of a strategy, one line each; an empty list means that it conforms.

    ``target`` is a spec (also a composition, or ``file.py:Class``) or a strategy. ``traces`` replace the built sessions,
    ``window`` is in tokens of four characters. With ``process`` all decisions are repeated in another process; a
    strategy whose class cannot be named from there (one defined inside a function) is not.
    """
    strategies = registry.load_strategies(target) if isinstance(target, str) else (target,)
    invariants = [registry.load("invariants", name) for name in registry.names("invariants")]
    problems = [line for strategy in strategies for line in _declared(strategy, invariants) or _spelled_back(strategy)]
    if problems:
        return problems
    for trace in traces or (make_varied_trace(seed=1), make_varied_trace(seed=2, calls=45)):
        bench = Bench(strategies=strategies, trace=trace, window=window)
        problems += _laws(bench, invariants)
    if process and not problems:
        problems += _elsewhere(Bench(strategies=strategies, trace=(*traces, make_varied_trace(seed=1))[0], window=window), target)
    return list(dict.fromkeys(problems))


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """A replay with deterministic ports."""

    strategies: tuple[Strategy, ...]
    trace: Trace
    window: int

    def walk(self, ask: Ask = plain_ask, trace: Trace | None = None, see: Callable[[Step], None] | None = None) -> None:
        """Replay the session, or another one, with this way of asking; ``see`` is shown every step."""
        seen = trace or self.trace
        setup = Setup(
            trace=seen,
            strategies=self.strategies,
            counter=Counter(count_text=_quarter),
            window=self.window,
            reserve=RESERVE,
            overhead=100,
            cache=Automatic().open(CacheRules()),
            ports=Ports(
                summarize=_summary,
                decide=WrittenPolicy(),
                store=Session(backend=MemoryBackend(), tenant="conformance", session=seen.id),
                ask=ask,
            ),
        )
        for step in replay(setup):
            if see is not None:
                see(step)


@dataclass(slots=True)
class Log:
    """Asks a strategy and keeps call, moment and spelling of every answer; ``states`` change what it is shown."""

    states: Callable[[int, Any], Any] = lambda _, state: state
    answers: list[tuple[int, str, str]] = field(default_factory=list)

    def ask(self, strategy: Strategy, view: View) -> Decision:
        """Ask once; an exception counts as an answer."""
        state = self.states(len(self.answers), view.state)
        shown = _with_state(view, state)
        try:
            decision = strategy.decide(shown)
        except Exception as error:
            self.answers.append((view.call, str(view.moment), f"{type(error).__name__}: {error}"))
            raise
        self.answers.append((view.call, str(view.moment), spelled(decision)))
        return decision


def _laws(bench: Bench, invariants: Sequence[Invariant]) -> list[str]:
    """All laws of one session."""
    problems, plain = _audited(bench, invariants)
    other, jsoned = Log(), Log(states=lambda _, state: json_copy(state))
    bench.walk(other.ask, with_other_future(bench.trace, FORK))
    bench.walk(jsoned.ask)
    fork = [answer for answer in plain if answer[0] < FORK]
    problems += _same("past only: with another future", fork, [answer for answer in other.answers if answer[0] < FORK])
    return problems + _same("restore: with every state saved as JSON and read back", plain, jsoned.answers)


def _audited(bench: Bench, invariants: Sequence[Invariant]) -> tuple[list[str], list[tuple[int, str, str]]]:
    """One replay with every question asked three times and all checks; problems, and the answers."""
    log = Log()
    auditor = Auditor(calls=len(bench.trace.calls), samples=None, decide=log.ask)
    touched: list[str] = []

    def ask(strategy: Strategy, view: View) -> Decision:
        before = _snapshot(view)
        try:
            return auditor.ask(strategy, view)
        finally:
            if _snapshot(view) != before:
                touched.append(f"input untouched: what the view holds was changed at call {view.call}, {view.moment}")

    promises = tuple(promise for strategy in bench.strategies for promise in strategy.promises)
    offered = [tool for strategy in bench.strategies for tool in strategy.offered_tools()]
    checkers = Checkers(invariants, bench.trace, promises=promises, offered=offered)
    found: list[Violation] = []
    faults: list[Fault] = []

    def see(step: Step) -> None:
        found.extend(checkers.check(step))
        faults.extend(step.faults)

    bench.walk(ask, see=see)
    known = {name for strategy in bench.strategies for name in strategy.known_violations}
    problems = touched[:1] + [f"fault: {f.kind} at call {f.call}, {f.moment}: {f.text}" for f in faults[:1]]
    problems += [
        f"{v.invariant}: not declared, at call {v.call}: {v.evidence}" for v in _first(found + auditor.violations, known)
    ]
    return problems, log.answers


def _first(found: Sequence[Violation], known: set[str]) -> list[Violation]:
    """The first violation of each invariant that is not known to be broken."""
    firsts: dict[str, Violation] = {}
    for violation in found:
        if violation.invariant not in known:
            firsts.setdefault(violation.invariant, violation)
    return list(firsts.values())


def _same(law: str, first: Sequence[Any], second: Sequence[Any]) -> list[str]:
    """A line at the first answer that differs."""
    for a, b in zip(first, second, strict=False):
        if list(a) != list(b):
            return [f"{law} it decided otherwise at call {a[0]}, {a[1]}: {a[2][:100]!r}, then {b[2][:100]!r}"]
    return [] if len(first) == len(second) else [f"{law} it was asked {len(second)} times instead of {len(first)}"]


def _declared(strategy: Strategy, invariants: Sequence[Invariant]) -> list[str]:
    """What a class declares about itself."""
    cls: Any = type(strategy)
    problems = []
    options = getattr(cls, "__dataclass_params__", None)
    if options is None or not options.frozen or not all(f.kw_only for f in fields(cls)):
        problems.append(f"declared: {cls.__name__} is not a frozen, keyword-only dataclass")
    for what, names in (("promises", strategy.promises), ("known_violations", tuple(strategy.known_violations))):
        try:
            check_names(names, invariants, f"declared: {cls.__name__}.{what}")
        except UserError as error:
            problems.append(str(error))
    both = sorted(set(strategy.promises) & set(strategy.known_violations))
    return problems + [f"declared: {name} is promised and known to be broken" for name in both]


def _spelled_back(strategy: Strategy) -> list[str]:
    """A strategy's spec builds an equal one, with an equal spec and hash."""
    cls = type(strategy)
    try:
        (spec,) = parse(str(spec_of(strategy, "it")))
        again = build(cls, spec)
    except (UserError, TypeError) as error:
        return [f"spec: {cls.__name__} cannot be spelled and read back: {error}"]
    if again != strategy or hash(again) != hash(strategy) or spec_of(again, "it") != spec:
        return [f"spec: {cls.__name__} read back from {spec} is another strategy"]
    return []


def _elsewhere(bench: Bench, target: str | Strategy) -> list[str]:
    """The same replay in another process, every state handed over as JSON text."""
    text = target if isinstance(target, str) else _spec_text(target)
    if not text:
        return []
    saved: list[str] = []

    def save(_: int, state: Any) -> Any:
        saved.append(json.dumps(state))
        return state

    log = Log(states=save)
    bench.walk(log.ask)
    task = {"spec": text, "trace": msgspec.to_builtins(bench.trace), "window": bench.window, "states": saved}
    seed = "1" if os.environ.get("PYTHONHASHSEED") != "1" else "2"
    done = subprocess.run(
        [sys.executable, "-c", "from ullage.conformance import answer; answer()"],
        input=json.dumps(task),
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONHASHSEED": seed},
    )
    if done.returncode:
        return [f"other process: it failed there: {' '.join(done.stderr.split())[-200:]}"]
    return _same("other process: with its state handed over", log.answers, json.loads(done.stdout))


def answer() -> None:
    """The other process: read a task from standard input, print every answer of its replay."""
    task = json.load(sys.stdin)
    states = task["states"]
    log = Log(states=lambda n, state: json.loads(states[n]) if n < len(states) else state)
    trace = msgspec.convert(task["trace"], Trace)
    Bench(strategies=registry.load_strategies(task["spec"]), trace=trace, window=task["window"]).walk(log.ask)
    json.dump(log.answers, sys.stdout)


def _spec_text(strategy: Strategy) -> str:
    """How another process can name this strategy; empty when it cannot."""
    cls = type(strategy)
    module, _, name = cls.__module__.rpartition(".")
    if module == "ullage.strategies":
        return str(spec_of(strategy, name))
    source = inspect.getsourcefile(cls)
    if source is None or "<locals>" in cls.__qualname__ or not Path(source).is_file():
        return ""
    return str(spec_of(strategy, f"{source}:{cls.__name__}"))


def with_other_future(trace: Trace, call: int) -> Trace:
    """The same session up to what a call was sent, and that call another: later messages have other ids and texts."""
    if call >= len(trace.calls):
        return trace
    upto = trace.calls[call].upto
    later = tuple(_otherwise(message) for message in trace.messages[upto:])
    return msgspec.structs.replace(trace, messages=(*trace.messages[:upto], *later))


def _otherwise(message: Message) -> Message:
    def turned(block: Block) -> Block:
        return Text(text=f"Quite another thing: {block.text[::-1]}") if isinstance(block, Text) else block

    return msgspec.structs.replace(message, id=f"{message.id}-other", blocks=tuple(map(turned, message.blocks)))


def json_copy(state: Any) -> Any:
    """A state after it was saved and read back."""
    return json.loads(json.dumps(state))


def _with_state(view: View, state: Any) -> View:
    if state is view.state:
        return view
    shown = {f.name: getattr(view, f.name) for f in fields(view)}
    return View(**{**shown, "state": state})


def _snapshot(view: View) -> str:
    """A digest over all that a strategy could change in place."""
    return digest_of((list(view.context), list(view.transcript), repr(view.state), len(view.compactions), view.tools))


def _quarter(text: str) -> int:
    return -(-len(text) // CHARACTERS_PER_TOKEN)


def _summary(request: SummaryRequest) -> Summary:
    """A short text that is another one for every request."""
    asked = digest_of(request)[:12]
    return Summary(text=f"Summary {asked} of {len(request.messages)} messages.")

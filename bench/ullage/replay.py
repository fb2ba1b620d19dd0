"""Replay: walk the recorded calls, ask the strategy, apply what it proposes, price what would be sent.

``replay`` knows nothing of probes, prices or reports. It yields one ``Step`` a call and ends early when a request does
not fit the window and the strategy can do no more. Everything with an effect is injected through ``Ports``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import msgspec

from ullage.breaks import BreakWatch, Touch, first_touch
from ullage.cache import CacheSession, Prompt, Ttl
from ullage.context import Context
from ullage.errors import CannotShrink, UserError, said_by
from ullage.metering import Meter
from ullage.proposals import checked
from ullage.seen import Seen
from ullage.step import Step
from ullage.strategy import (
    Decider,
    DeciderRequest,
    StoreReader,
    Strategy,
    Summarizer,
    Summary,
    SummaryRequest,
    ToolRequest,
    View,
)
from ullage.tokens import Counter
from ullage.types import (
    Block,
    Call,
    Compaction,
    Decision,
    Fault,
    Message,
    Moment,
    Opaque,
    Row,
    SideRequest,
    Text,
    Trace,
    Usage,
    canonical_json,
)

OVERFLOW_CAP = 24
"""Attempts to cure one overflow. The modelled systems retry 3 times or without end; a loop that long is a death."""
DEFAULT_RESERVE = 8_192
"""Output room, in tokens, for recordings that do not say: the default output limit of the chat APIs modelled here."""


class Store(StoreReader, Protocol):
    """Where stashed content goes; keyed by tenant and session by whoever opened it."""

    def put(self, ref: str, content: str) -> None:
        """Keep content under a reference."""
        ...


Ask = Callable[[Strategy, View], Decision]


def plain_ask(strategy: Strategy, view: View) -> Decision:
    """Ask the strategy once; audits replace this."""
    return strategy.decide(view)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ports:
    """Everything with an effect that a replay may use."""

    summarize: Summarizer
    decide: Decider
    store: Store
    ask: Ask = plain_ask


@dataclass(frozen=True, slots=True, kw_only=True)
class Forced:
    """Forced mode: own triggers are off, and before these calls every strategy must shrink the prompt to ``budget``."""

    budget: int
    calls: frozenset[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """One replay: a trace, the strategies of a composition in order, and the world they run in.

    ``overhead`` is what each request carries beside the history, ``unrecorded`` the size of the history that the file
    does not hold; both in true tokens, like ``window`` and ``reserve``. ``transcript`` is the uncompacted history, the
    unrecorded message first; given once, it serves every replay of the trace. Behind a pause longer than
    ``restart_after_ms`` the agent's process is another one: states come back from JSON, and strategies are asked at RESTORE.
    """

    trace: Trace
    strategies: tuple[Strategy, ...]
    counter: Counter
    window: int
    reserve: int
    overhead: int
    unrecorded: int = 0
    cache: CacheSession
    ports: Ports
    transcript: Context | None = None
    forced: Forced | None = None
    restart_after_ms: int | None = None


def replay(setup: Setup) -> Iterator[Step]:
    """Yield one ``Step`` for each recorded call, in order, until the trace ends or a request cannot be made."""
    loop = _Loop(setup)
    for index, call in enumerate(setup.trace.calls):
        loop.begin(index, call)
        loop.resume()
        loop.arrive()
        loop.decide(Moment.BEFORE_CALL)
        died = loop.fit()
        yield loop.send(died)
        if died:
            return
        loop.reply()


def transcript_of(trace: Trace, counter: Counter, unrecorded: int = 0) -> Context:
    """The uncompacted history of a trace, in true tokens."""
    start = (unrecorded_message(unrecorded),) if unrecorded else ()
    return Context.of((*start, *trace.messages), counter)


def unrecorded_message(tokens: int) -> Message:
    """The leading opaque message that stands for history which the first prompt held and the file does not."""
    return Message(id="unrecorded", role="user", blocks=(Opaque(kind="unrecorded", tokens=tokens),))


@dataclass(slots=True)
class _Loop:
    """The moving parts of one replay."""

    setup: Setup
    context: Context = field(init=False)
    transcript: Context = field(init=False)
    offset: int = field(init=False)
    states: list[Any] = field(init=False)
    index: int = 0
    call: Call = field(init=False)
    taken: int = 0
    sent: int = 0
    changed: int = 0
    usage: Usage | None = None
    replied: str = ""
    ttl: Ttl = "5m"
    injected: tuple[Block, ...] = ()
    injected_tokens: int = 0
    overflows: int = 0
    estimate: int | None = None
    compactions: list[Compaction] = field(default_factory=list)
    reported: int = 0
    faults: list[Fault] = field(default_factory=list)
    requests: list[SideRequest] = field(default_factory=list)
    meter: Meter = field(init=False)
    moments: dict[Moment, tuple[tuple[int, Strategy], ...]] = field(init=False)

    def __post_init__(self) -> None:
        start = (unrecorded_message(self.setup.unrecorded),) if self.setup.unrecorded else ()
        self.context = Context.of(start, self.setup.counter)
        whole = self.setup.transcript
        self.transcript = (
            whole if whole is not None else transcript_of(self.setup.trace, self.setup.counter, self.setup.unrecorded)
        )
        self.offset = len(start)
        self.states = [None] * len(self.setup.strategies)
        setup = self.setup
        watch = BreakWatch(window=setup.window)
        self.meter = Meter(cache=setup.cache, counter=setup.counter, overhead=setup.overhead, watch=watch)
        stages = tuple(enumerate(self.setup.strategies))
        self.moments = {m: tuple((i, s) for i, s in stages if m in s.moments) for m in Moment}

    def begin(self, index: int, call: Call) -> None:
        """Start on the next recorded call."""
        self.index, self.call = index, call
        self.overflows, self.estimate = 0, None
        self.injected, self.injected_tokens = (), 0
        self.ttl = call.ttl or self.ttl
        self.meter.begin(call)

    def resume(self) -> None:
        """Behind a long pause: a new process loads the states that were saved and asks what the session now holds."""
        limit, gap = self.setup.restart_after_ms, self.meter.gap
        if limit is not None and gap is not None and gap > limit:
            self.states = [msgspec.json.decode(canonical_json(state)) for state in self.states]
            self.decide(Moment.RESTORE)

    def arrive(self) -> None:
        """Append what arrived since the last call, asking about each message as it comes."""
        messages, asks = self.setup.trace.messages, self.moments[Moment.ARRIVAL]
        for position in range(self.taken, self.call.upto):
            message = messages[position]
            self.context = self.context.append(message)
            self.taken = position + 1
            if asks and self.setup.forced is None:
                self.decide(Moment.ARRIVAL)

    def decide(self, moment: Moment) -> bool:
        """Ask every strategy that declares this moment, in order; tell whether the context changed."""
        asked = self.moments[moment]
        if not asked or (self.setup.forced is not None and moment is not Moment.OVERFLOW):
            return False
        acted = False
        for stage, strategy in asked:
            acted = self._decide(stage, strategy, moment) or acted
            if moment is Moment.OVERFLOW and self.excess <= 0:
                break
        return acted

    def fit(self) -> str:
        """Have the strategy cure an overflow; returns why the call cannot be made, or nothing."""
        if self.setup.forced is not None and self.index not in self.setup.forced.calls:
            return ""
        while self.excess > 0:
            self.overflows += 1
            cured = self.overflows <= OVERFLOW_CAP and self.decide(Moment.OVERFLOW)
            if not cured:
                return "" if self.setup.forced else self._overflow_text()
        return ""

    def send(self, died: str) -> Step:
        """Price the request, note its row, and hand over the step."""
        prompt = self._prompt()
        row = None if died else self._row(prompt)
        new, self.reported = tuple(self.compactions[self.reported :]), len(self.compactions)
        faults, self.faults = tuple(self.faults), []
        requests, self.requests = tuple(self.requests), []
        step = Step(
            index=self.index,
            call=self.call,
            context=self.context,
            injected=self.injected,
            prompt_tokens=prompt.tokens,
            window=self.setup.window,
            reserve=self.setup.reserve,
            changed_from=min(self.changed, self.sent, len(self.context)),
            compactions=new,
            faults=faults,
            requests=requests,
            row=row,
            died=died,
        )
        self.sent = self.changed = len(self.context)
        return step

    def reply(self) -> None:
        """Append the recorded reply and let the strategy act on the finished call and turn."""
        position = self.call.reply
        if position is None:
            return
        message = self.setup.trace.messages[position]
        self.context = self.context.append(message)
        self.taken, self.replied = position + 1, message.id
        self.decide(Moment.AFTER_CALL)
        if not message.tool_use_ids:
            self.decide(Moment.TURN_END)

    @property
    def excess(self) -> int:
        """Tokens by which the next request exceeds what fits: the window less the output room, or the budget."""
        limit = self.setup.forced.budget if self.setup.forced else self.setup.window - self.setup.reserve
        return self.setup.overhead + self.context.tokens() + self.injected_tokens - limit

    def _prompt(self) -> Prompt:
        return Prompt(self.setup.overhead, self.context, self.injected_tokens, self.call.at, self.ttl, self.call.model)

    def _row(self, prompt: Prompt) -> Row:
        reply = None if self.call.reply is None else self.setup.trace.messages[self.call.reply]
        self.usage = self.meter.bill(prompt, self.meter.output(reply), self.compactions)
        stubs, found = self.context.stub_positions, self.meter.found
        return Row(
            call=self.index,
            at=self.call.at,
            model=self.call.model,
            prompt_tokens=prompt.tokens,
            usage=self.usage,
            messages=len(self.context),
            stubs=len(stubs),
            last_stub=stubs[-1] if stubs else None,
            first_changed=self.changed if self.changed < self.sent else None,
            compactions=tuple(range(self.reported, len(self.compactions))),
            overflows=self.overflows,
            estimate=self.estimate,
            injected=prompt.injected,
            gap=self.meter.gap,
            break_tokens=found.tokens,
            break_cause=found.cause,
            alarm=found.alarm,
            storage=self.meter.storage(),
        )

    def _decide(self, stage: int, strategy: Strategy, moment: Moment) -> bool:
        """Ask one strategy and apply its decision; anything that it raises is a fault row and changes nothing."""
        self.meter.begin_decision()
        known = len(self.compactions)
        try:
            decision = self._asked(stage, strategy, moment)
            return self._apply(stage, moment, checked(decision))
        except CannotShrink:
            return False
        except (KeyboardInterrupt, UserError):
            raise
        except BaseException as error:  # noqa: BLE001 - whatever a strategy raises, sys.exit() too, is its fault: the run goes on
            text = said_by(error)
            self.faults.append(Fault(call=self.index, moment=moment, stage=stage, kind=type(error).__name__, text=text))
            return False
        finally:
            if len(self.compactions) == known:
                self._charge(stage, moment, "summary", self.meter.spent)

    def _asked(self, stage: int, strategy: Strategy, moment: Moment) -> Decision:
        """The strategy's decision; the turns that the agent's model spent on it are sent before it is applied."""
        try:
            return self.setup.ports.ask(strategy, self._view(stage, strategy, moment))
        finally:
            if self.meter.turns:
                turns = self.meter.bill_turns(self._prompt(), self.compactions)
                self._charge(stage, moment, "decision", turns)

    def _charge(self, stage: int, moment: Moment, kind: Literal["decision", "summary"], usages: Sequence[Usage]) -> None:
        self.requests += [SideRequest(call=self.index, moment=moment, stage=stage, kind=kind, usage=usage) for usage in usages]

    def _apply(self, stage: int, moment: Moment, decision: Decision) -> bool:
        before, length = self.setup.overhead + self.context.tokens(), len(self.context)
        touch = first_touch(self.context, decision.edits)
        applied = self.context.apply(decision.edits) if decision.edits else None
        if decision.state is not msgspec.UNSET:
            self.states[stage] = decision.state
        if decision.estimate is not None:
            self.estimate = decision.estimate
        if applied is None:
            return False
        self.context = applied.context
        self.injected += applied.injected
        self.injected_tokens += self._count([Message(id="", role="user", blocks=(block,)) for block in applied.injected])
        for stash in applied.stashed:
            self.setup.ports.store.put(stash.ref, stash.content)
        after = self.setup.overhead + self.context.tokens()
        if applied.first_changed is None and after == before:
            return False
        self.changed = min(self.changed, length if applied.first_changed is None else applied.first_changed)
        self._note(stage, moment, decision, (before, after), applied.first_changed, touch)
        return True

    def _note(
        self, stage: int, moment: Moment, decision: Decision, sizes: tuple[int, int], first: int | None, touch: Touch | None
    ) -> None:
        self.compactions.append(
            Compaction(
                call=self.index,
                moment=moment,
                stage=stage,
                edits=decision.edits,
                tier=decision.tier,
                reason=decision.reason,
                estimate=decision.estimate,
                tokens_before=sizes[0],
                tokens_after=sizes[1],
                first_changed=first,
                first_message="" if touch is None else touch.message,
                first_edit="" if touch is None else touch.edit,
                first_block=None if touch is None else touch.block,
                summarizer=sum(self.meter.spent, Usage()),
                summarizer_calls=len(self.meter.spent),
                forced=self.setup.forced is not None,
            )
        )

    def _view(self, stage: int, strategy: Strategy, moment: Moment) -> View:
        forced = self.setup.forced is not None and moment is Moment.OVERFLOW
        replied = self.context.position(self.replied) if self.replied else None
        return View(
            moment=moment,
            context=self.context,
            transcript=self.transcript.upto(self.taken + self.offset),
            window=self.setup.forced.budget if self.setup.forced is not None and forced else self.setup.window,
            reserve=0 if forced else self.setup.reserve,
            system=self.setup.trace.system,
            tools=self.setup.trace.tools,
            call=self.index,
            now=self.call.at,
            usage=self.usage,
            usage_at=None if replied is None else replied + 1,
            overflow=self._overflow_text() if moment is Moment.OVERFLOW else None,
            forced=forced,
            state=self.states[stage],
            compactions=Seen(self.compactions),
            summarize=self._summarize,
            decide=self._choose,
            store=self.setup.ports.store,
            count=self._count if strategy.trigger_unit == "exact" else _not_declared,
        )

    def _overflow_text(self) -> str:
        tokens = self.setup.overhead + self.context.tokens()
        if self.setup.forced is not None:
            return f"prompt is over the budget: {tokens} tokens > {self.setup.forced.budget}"
        return f"prompt is too long: {tokens} tokens + {self.setup.reserve} reserved > {self.setup.window} maximum"

    def _count(self, messages: Sequence[Message]) -> int:
        return sum(map(self.setup.counter, messages))

    def _summarize(self, request: SummaryRequest) -> Summary:
        """The summariser port, metered: what the request costs is charged to the strategy."""
        summary = self.setup.ports.summarize(request)
        self.meter.charge(request, summary)
        return summary

    def _choose(self, request: DeciderRequest) -> tuple[ToolRequest, ...]:
        """The decider port, metered: only an answer that calls tools is a request of its own.

        A model cannot answer a request that does not fit its window; then nothing is chosen.
        """
        line = Message(id="", role="user", blocks=(Text(text=request.status),))
        if self.excess + self._count([line]) > 0:
            return ()
        calls = self.setup.ports.decide(request)
        if calls:
            self.meter.turns.append((request.status, calls))
        return calls


def _not_declared(_: Sequence[Message]) -> int:
    raise PermissionError("view.count is only for strategies that declare trigger_unit = 'exact'")

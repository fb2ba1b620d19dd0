"""The work of one process: one trace through every strategy of a run, into records."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from ullage import registry
from ullage.apis import api_of
from ullage.auditing import Auditor
from ullage.billing import Replayed, bill_calls, bill_replay
from ullage.bounds import BOUNDS, NO_BILL, load_bound
from ullage.cache import MINUTE_MS, CachePolicy
from ullage.calibration import calibrate
from ullage.checking import Checkers
from ullage.errors import UserError, said_by
from ullage.examining import Examiner, Paper
from ullage.exams import Proctor, Sitting
from ullage.lookups import Desk
from ullage.options import RunOptions
from ullage.prepare import Prepared, checkpoint_calls, choose_model, choose_reserve, choose_window
from ullage.pricing import ModelPrices, PriceSheet, Unpriced, policy_for
from ullage.probes import mine
from ullage.records import Bill, Inputs, RunRecord, TraceNote
from ullage.replay import Forced, Ports, Setup, replay, transcript_of
from ullage.specs import parse
from ullage.store import MemoryBackend, Session
from ullage.strategy import Strategy, View
from ullage.swap import swap
from ullage.tokens import Counter, tiktoken_counter
from ullage.traces import bank_for
from ullage.types import (
    SCHEMA,
    Compaction,
    Decision,
    Exam,
    Fault,
    ProbeBank,
    Row,
    SideRequest,
    ToolSpec,
    Trace,
    Usage,
    Violation,
    digest_of,
)

_Asked = TypeVar("_Asked")
_Answered = TypeVar("_Answered")


class Timing(Struct, frozen=True, kw_only=True):
    """Wall time of one strategy on one trace, in nanoseconds: all of its replay, and its own decisions alone."""

    spec: str
    trace: str
    replay_ns: int
    decide_ns: int
    decisions: int
    examine_ns: int


class Finished(Struct, frozen=True, kw_only=True):
    """A record with its timing."""

    record: RunRecord
    timing: Timing


@dataclass(slots=True)
class Stopwatch:
    """Times a strategy's decisions as they are made, less the time in which it waited for a model."""

    total_ns: int = 0
    decisions: int = 0

    def decide(self, strategy: Strategy, view: View) -> Decision:
        """Ask the strategy, timed."""
        start = time.perf_counter_ns()
        try:
            return strategy.decide(view)
        finally:
            self.total_ns += time.perf_counter_ns() - start
            self.decisions += 1

    def waits_for(self, port: Callable[[_Asked], _Answered]) -> Callable[[_Asked], _Answered]:
        """The same port; the time that it takes is not the strategy's."""

        def ask(request: _Asked) -> _Answered:
            start = time.perf_counter_ns()
            try:
                return port(request)
            finally:
                self.total_ns -= time.perf_counter_ns() - start

        return ask


@dataclass(slots=True)
class Watched:
    """What one replay left behind."""

    rows: list[Row] = field(default_factory=list)
    compactions: list[Compaction] = field(default_factory=list)
    requests: list[SideRequest] = field(default_factory=list)
    violations: list[Violation] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    died_at: int | None = None
    died: str = ""


def prepare(trace: Trace, options: RunOptions, sheet: PriceSheet, bank: ProbeBank | None = None) -> Prepared:
    """Count, calibrate and size a trace, and find its window, model, cache policy, checkpoints and probe bank."""
    raw = Counter(count_text=tiktoken_counter(options.encoding))
    calibration = calibrate(trace, raw)
    counter = raw.scaled_by(calibration.factor)
    transcript = transcript_of(trace, counter, calibration.unrecorded)
    model, model_source = choose_model(trace, options)
    prices = sheet.prices(model)
    limit = prices.input_limit if isinstance(prices, ModelPrices) else None
    window, window_source = choose_window(trace, options, limit)
    policy_spec = registry.canonical("caches", options.cache or policy_for(prices, trace.meta.format))
    models = tuple(dict.fromkeys([model, *(call.model for call in trace.calls if call.model)]))
    return Prepared(
        trace=trace,
        counter=counter,
        calibration=calibration,
        transcript=transcript,
        bank=bank or bank_for(trace) or mine(trace),
        window=window,
        window_source=window_source,
        reserve=choose_reserve(trace, window),
        model=model,
        model_source=model_source,
        policy=registry.load("caches", policy_spec),
        policy_spec=policy_spec,
        rules=sheet.rules(models),
        checkpoints=checkpoint_calls(trace, transcript, 1 if calibration.unrecorded else 0, options.checkpoints),
    )


def run_trace(trace: Trace, options: RunOptions, specs: Sequence[str], bank: ProbeBank | None = None) -> Iterator[Finished]:
    """Replay and examine one trace under each spec, in order."""
    sheet = PriceSheet.load(Path(options.prices) if options.prices else None)
    bank = bank or bank_for(trace) or mine(trace)
    if options.swap is not None:
        trace, bank, *_ = swap(trace, bank, options.swap)
    prepared = prepare(trace, options, sheet, bank)
    examiner = Examiner(prepared=prepared, reader=registry.load("readers", options.reader), options=options)
    for text in specs:
        yield _run_spec(prepared, examiner, text, options, sheet)


def _run_spec(prepared: Prepared, examiner: Examiner, text: str, options: RunOptions, sheet: PriceSheet) -> Finished:
    if parse(text)[0].name in BOUNDS:
        return _run_bound(prepared, examiner, text, options, sheet)
    watch = Stopwatch()
    start = time.perf_counter_ns()
    strategies = registry.load_strategies(text)
    desk = Desk(strategies=strategies, most=options.open_book, count=prepared.counter)
    store = Session(backend=MemoryBackend(), tenant="run", session=prepared.trace.id)
    proctor = Proctor(
        checkpoints=prepared.checkpoints, window=prepared.window, stored=lambda: store.held() if desk.is_open else {}
    )
    api = _api(prepared, options, sheet)
    seen = _replay(prepared, strategies, options, proctor, watch, store, api)
    replayed = time.perf_counter_ns()
    sittings, unexamined = proctor.sittings()
    paper = examiner.examine(sittings, seen.compactions, desk)
    examined = time.perf_counter_ns()
    sent = Replayed(seen.rows, seen.compactions, seen.requests)
    bill, summaries = bill_replay(sent, sheet, options.model), tuple(sent.summaries(options.model))
    record = RunRecord(
        **_common(prepared, text, options, sheet, paper),
        open_book=desk.most if desk.is_open else 0,
        api=api,
        rows=tuple(seen.rows),
        compactions=tuple(seen.compactions),
        requests=tuple(seen.requests),
        summarizer=sum((usage for usage, _, _ in summaries), Usage()),
        summarizer_calls=sum(count for _, count, _ in summaries),
        bill=bill if isinstance(bill, Bill) else None,
        unpriced=bill.reason if isinstance(bill, Unpriced) else "",
        unexamined=unexamined,
        violations=tuple(seen.violations),
        faults=tuple(seen.faults),
        died_at=seen.died_at,
        died=seen.died,
    )
    timing = Timing(
        spec=text,
        trace=prepared.trace.id,
        replay_ns=replayed - start,
        decide_ns=watch.total_ns,
        decisions=watch.decisions,
        examine_ns=examined - replayed,
    )
    return Finished(record=record, timing=timing)


def _replay(
    prepared: Prepared,
    strategies: tuple[Strategy, ...],
    options: RunOptions,
    proctor: Proctor,
    watch: Stopwatch,
    store: Session,
    api: str,
) -> Watched:
    """Walk the trace once, feeding every step to the checks and the proctor."""
    seen = Watched()
    auditor = Auditor(calls=len(prepared.trace.calls), seed=options.seed, samples=options.audits, decide=watch.decide)
    checkers = _checkers(prepared, strategies, api)
    setup = setup_of(prepared, strategies, options, auditor.ask, store)
    ports = setup.ports
    ports = replace(ports, summarize=watch.waits_for(ports.summarize), decide=watch.waits_for(ports.decide))
    for step in replay(replace(setup, ports=ports)):
        proctor.watch(step)
        seen.violations.extend(checkers.check(step))
        seen.compactions.extend(step.compactions)
        seen.faults.extend(step.faults)
        seen.requests.extend(step.requests)
        if step.row is not None:
            seen.rows.append(step.row)
        if step.died:
            seen.died_at, seen.died = step.index, step.died
    seen.violations.extend(auditor.violations)
    return seen


def _checkers(prepared: Prepared, strategies: Sequence[Strategy], api: str) -> Checkers:
    invariants = [registry.load("invariants", name) for name in registry.names("invariants")]
    promises = tuple(dict.fromkeys(promise for strategy in strategies for promise in strategy.promises))
    offered = offered_by(strategies)
    return Checkers(invariants, prepared.trace, promises=promises, api=api, offered=offered)


def _api(prepared: Prepared, options: RunOptions, sheet: PriceSheet) -> str:
    """By whose message rules the requests are judged: the option, else those of who serves this client."""
    return options.api or api_of(_provider(prepared, options, sheet), prepared.trace.meta.format)


def _provider(prepared: Prepared, options: RunOptions, sheet: PriceSheet) -> str:
    """Who serves the requests: the provider of the chosen cache, else that of the model; empty if nothing names one."""
    if options.cache and prepared.policy.provider:
        return prepared.policy.provider
    prices = sheet.prices(prepared.model)
    if isinstance(prices, Unpriced):
        return ""
    policy = policy_for(prices, prepared.trace.meta.format)
    if policy == "auto" and "claude" not in prices.name:
        return prices.provider  # one without a policy of its own: the marks are Claude's, the messages are not
    usual: CachePolicy = registry.load("caches", policy)
    return usual.provider


def offered_by(strategies: Sequence[Strategy]) -> list[ToolSpec]:
    """The tools that strategies add to every request; one that cannot say them is a ``UserError``: nothing could be sent."""
    found: list[ToolSpec] = []
    for strategy in strategies:
        name = type(strategy).__name__
        try:
            tools = list(strategy.offered_tools())
        except Exception as error:
            raise UserError(f"strategy {name}: offered_tools() raised {said_by(error)}; expected tools") from error
        wrong = [tool for tool in tools if not isinstance(tool, ToolSpec)]
        if wrong:
            raise UserError(f"strategy {name}: found {type(wrong[0]).__name__} among its offered tools; expected ToolSpec")
        found += tools
    return found


def setup_of(
    prepared: Prepared, strategies: tuple[Strategy, ...], options: RunOptions, ask: Any, store: Session | None = None
) -> Setup:
    """The replay of a prepared trace: ports, an open cache, and the tools that its strategies add to every request.

    ``store`` is where stashed content goes; without one it ends with the replay.
    """
    trace, counter = prepared.trace, prepared.counter
    offered = offered_by(strategies)
    extra = sum(counter.text(f"{tool.name}\n{tool.description}\n{tool.schema}") for tool in offered)
    ports = Ports(
        summarize=registry.load("summarizers", options.summarizer),
        decide=registry.load("deciders", options.decider),
        store=store or Session(backend=MemoryBackend(), tenant="run", session=trace.id),
        ask=ask,
    )
    forced = None
    if options.mode == "forced" and options.budget is not None:
        forced = Forced(budget=options.budget, calls=frozenset(call for _, call in prepared.checkpoints))
    return Setup(
        trace=trace,
        strategies=strategies,
        counter=counter,
        window=prepared.window,
        reserve=prepared.reserve,
        overhead=prepared.calibration.overhead + extra,
        unrecorded=prepared.calibration.unrecorded,
        cache=prepared.policy.open(prepared.rules),
        ports=ports,
        transcript=prepared.transcript,
        forced=forced,
        restart_after_ms=None if options.restart_after is None else options.restart_after * MINUTE_MS,
    )


def _run_bound(prepared: Prepared, examiner: Examiner, text: str, options: RunOptions, sheet: PriceSheet) -> Finished:
    """Examine a bound at the checkpoints: it has no calls and no bill."""
    bound, canonical = load_bound(parse(text)[0])
    budget = bound.budget_for(prepared.window if options.budget is None else options.budget)
    start = time.perf_counter_ns()
    sittings = []
    for share, call in prepared.checkpoints:
        past = prepared.transcript.upto(prepared.history(call))
        kept = bound.keep(past, examiner.eligible(call), prepared.counter, budget)
        exam = Exam(call=call, kind="checkpoint", share=share, tokens=sum(map(prepared.counter, kept)))
        sittings.append(Sitting(exam=exam, messages=kept))
    paper = examiner.examine(sittings, ())
    record = RunRecord(**_common(prepared, canonical, options, sheet, paper), kind="bound", unpriced=NO_BILL)
    spent = time.perf_counter_ns() - start
    timing = Timing(spec=canonical, trace=prepared.trace.id, replay_ns=0, decide_ns=0, decisions=0, examine_ns=spent)
    return Finished(record=record, timing=timing)


def _common(prepared: Prepared, text: str, options: RunOptions, sheet: PriceSheet, paper: Paper) -> dict[str, Any]:
    """The fields that strategies and bounds share."""
    trace = prepared.trace
    observed = bill_calls(((c.usage, c.model) for c in trace.calls if c.usage is not None), sheet, label="OBSERVED")
    recorded = [call.usage for call in trace.calls if call.usage is not None]
    return {
        "schema": SCHEMA,
        "spec": text,
        "trace": TraceNote(
            id=trace.id,
            format=trace.meta.format,
            model=prepared.model,
            calls=len(trace.calls),
            messages=len(trace.messages),
            tokens=prepared.transcript.tokens(),
            licence=trace.meta.licence,
            split=trace.meta.split,
            group=trace.meta.group,
            starts_midway=trace.starts_midway,
        ),
        "inputs": Inputs(
            trace=trace.digest,
            bank=prepared.bank.digest,
            code=code_digest(text),
            policy=prepared.policy_spec,
            counter=options.encoding,
            prices=sheet.dated,
            reader=options.reader,
            summarizer=options.summarizer,
            decider=options.decider,
            options=msgspec.structs.replace(options, strategies=()).digest,
            seeds=(options.seed,),
        ),
        "mode": options.mode,
        "budget": options.budget,
        "window": prepared.window,
        "window_source": prepared.window_source,
        "reserve": prepared.reserve,
        "model": prepared.model,
        "model_source": prepared.model_source,
        "checkpoints": options.checkpoints,
        "calibration": prepared.calibration,
        "recorded_usage": sum(recorded, Usage()) if recorded else None,
        "recorded_bill": observed if recorded and isinstance(observed, Bill) else None,
        "notes": prepared.notes,
    } | paper.fields()


def code_digest(text: str) -> str:
    """Digest over the source files behind a spec: the strategies' own and everything that strategies share."""
    files: list[Path] = []
    for spec in parse(text):
        if spec.name in BOUNDS:
            continue
        path = registry.source_of("strategies", spec.name)
        files += [path, *sorted((path.parent / "shared").rglob("*.py"))]
    return digest_of([(path.name, path.read_text(encoding="utf-8")) for path in dict.fromkeys(files)])

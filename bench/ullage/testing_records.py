"""A record as a run would leave it, made from a seed: for tests of everything that reads records."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field

from ullage.billing import Replayed, bill_replay
from ullage.calibration import Calibration
from ullage.pricing import PriceSheet, Unpriced
from ullage.records import AskedProbe, Bill, Evidence, Inputs, Loss, RunRecord, TraceNote
from ullage.types import (
    SCHEMA,
    Answer,
    Compaction,
    Drop,
    Exam,
    Fault,
    Insert,
    Message,
    Moment,
    Probe,
    Row,
    Span,
    Text,
    Usage,
    Violation,
    digest_of,
)

TYPES = ("recall", "artifact", "constraint", "decision", "update", "negative", "abstention")
SHARES = (0.4, 0.7, 1.0)
STEP, OVERHEAD = 2_000, 12_000
"""Tokens that a made session grows by at each call, and those that every request carries."""


@dataclass(slots=True)
class _Made:
    """The parts of a record in the making."""

    rows: list[Row] = field(default_factory=list)
    compactions: list[Compaction] = field(default_factory=list)
    exams: list[Exam] = field(default_factory=list)
    answers: list[Answer] = field(default_factory=list)
    losses: list[Loss] = field(default_factory=list)
    died_at: int | None = None


def make_record(  # noqa: PLR0913 - each names one thing that a test may want to vary
    *,
    spec: str = "auto",
    trace: str = "t0",
    seed: int = 0,
    calls: int = 60,
    probes: int = 21,
    window: int = 100_000,
    threshold: float = 0.8,
    keep: float = 0.7,
    noise: float = 0.0,
    priced: bool = True,
    violations: Sequence[Violation] = (),
    faults: Sequence[Fault] = (),
    text: str = "",
) -> RunRecord:
    """One strategy on one made trace; equal arguments give equal records.

    The trace and its probes follow from ``trace`` alone. The prompt grows until ``threshold`` of the window and is then
    halved (a threshold above 1 never compacts and dies). A probe whose evidence a compaction touched keeps it with
    probability ``keep``, decided by ``seed``; ``noise`` is how often the reader then errs either way. ``text`` is put
    into every place that holds text of the trace.
    """
    asked = _probes(trace, probes, calls, text)
    made = _replayed(trace, calls, window, threshold)
    rng = random.Random(f"{trace} {spec} {seed}")
    kept = {item.probe.id: rng.random() < keep for item in asked}
    _examine(made, asked, _Reading(calls=calls, kept=kept, noise=noise, rng=rng))
    floors = tuple(Answer(probe=a.probe.id, exam=0, outcome="correct" if _decoy(a) else "abstained") for a in asked)
    ceilings = tuple(Answer(probe=a.probe.id, exam=0, text="found", outcome="correct") for a in asked)
    return RunRecord(
        schema=SCHEMA,
        spec=spec,
        trace=TraceNote(id=trace, format="made", model="made-model", calls=calls, messages=2 * calls, tokens=calls * STEP),
        inputs=Inputs(
            trace=digest_of(trace), bank=digest_of((trace, probes)), code=digest_of(spec), reader="lexical", seeds=(seed,)
        ),
        window=window,
        reserve=8_000,
        model="made-model",
        checkpoints=SHARES,
        calibration=Calibration(factor=1.2, method="median growth", low=1.1, high=1.3, error=0.02, pairs=40, overhead=OVERHEAD),
        rows=tuple(made.rows),
        compactions=tuple(made.compactions),
        summarizer=Usage(uncached=5_000 * len(made.compactions), output=500 * len(made.compactions)),
        summarizer_calls=len(made.compactions),
        bill=_bill(made.rows, made.compactions) if priced else None,
        unpriced="" if priced else "model 'made-model' is not in the price sheet",
        probes=asked,
        exams=tuple(made.exams),
        answers=tuple(made.answers),
        floors=floors,
        ceilings=ceilings,
        losses=tuple(made.losses),
        violations=tuple(violations),
        faults=tuple(faults),
        died_at=made.died_at,
        died="" if made.died_at is None else "prompt is too long",
    )


def _decoy(asked: AskedProbe) -> bool:
    return asked.probe.grader == "abstain"


def _probes(trace: str, count: int, calls: int, text: str) -> tuple[AskedProbe, ...]:
    rng = random.Random(trace)
    found = []
    for n in range(count):
        kind = TYPES[n % len(TYPES)]
        value = f"{kind}-{rng.randrange(10_000)}"
        position = min(2 * calls - 1, n * 2 * calls // count)
        quote = f"the {kind} value {n} was set to {value} in step {position // 2}{text}"
        message = f"{trace}-{position}"
        at = quote.index(value)
        probe = Probe(
            id=f"{trace}-p{n}",
            question=f"What was the {kind} value {n}?{text}",
            accept=(value,),
            grader="abstain" if kind == "abstention" else "exact",
            type=kind,
            evidence=(Span(message=message, block=0, start=at, end=at + len(value)),),
            settled_at=position,
        )
        evidence = Evidence(
            message=message,
            block=0,
            role="user",
            kind="tool_result",
            tool="shell",
            position=position,
            text=quote,
            at=at,
            length=len(value),
        )
        found.append(
            AskedProbe(probe=probe, evidence=() if probe.grader == "abstain" else (evidence,), zone="head", demand=n % 3)
        )
    return tuple(found)


def _replayed(trace: str, calls: int, window: int, threshold: float) -> _Made:
    made, tokens, cached = _Made(), OVERHEAD, 0
    for call in range(calls):
        tokens += STEP
        new: tuple[int, ...] = ()
        if tokens > threshold * window:
            new, cached = (len(made.compactions),), OVERHEAD
            made.compactions.append(_compaction(trace, made.compactions[-1].call if made.compactions else 0, call, tokens))
            tokens //= 2
        if tokens > window - 8_000:
            made.died_at = call
            return made
        usage = Usage(uncached=200, cache_read=cached, cache_write_5m=tokens - cached - 200, output=300)
        at = 1_760_000_000_000 + 20_000 * call
        broke = cached if new else 0
        made.rows.append(
            Row(
                call=call, at=at, model="made-model", prompt_tokens=tokens, usage=usage, messages=2 * call + 1,
                compactions=new, first_changed=0 if new else None, break_cause="compaction" if broke else "",
            )
        )  # fmt: skip
        cached = tokens - 200
    return made


def _compaction(trace: str, since: int, call: int, before: int) -> Compaction:
    summary = Message(id=f"summary-{call}", role="user", blocks=(Text(text="what happened so far"),), synthetic=True)
    dropped = tuple(f"{trace}-{n}" for n in range(2 * since, 2 * call))
    return Compaction(
        call=call,
        moment=Moment.BEFORE_CALL,
        edits=(Drop(ids=dropped), Insert(after=None, message=summary, sources=dropped)),
        tier="summarise",
        reason="over the threshold",
        tokens_before=before,
        tokens_after=before // 2,
        first_changed=0,
        summarizer=Usage(uncached=5_000, output=500),
        summarizer_calls=1,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reading:
    """What decides the answers of a made record."""

    calls: int
    kept: dict[str, bool]
    noise: float
    rng: random.Random


def _examine(made: _Made, asked: Sequence[AskedProbe], reading: _Reading) -> None:
    alive = reading.calls if made.died_at is None else made.died_at
    points: list[tuple[int, float | None]] = [(round(share * reading.calls) - 1, share) for share in SHARES]
    points += [(event.call, None) for event in made.compactions[:8]]
    for call, share in sorted(points, key=lambda point: (point[0], point[1] or 0.0)):
        due = [item for item in asked if item.probe.settled_at <= 2 * call]
        before = [n for n, event in enumerate(made.compactions) if event.call <= call]
        exam = Exam(
            call=call,
            kind="compaction" if share is None else "checkpoint",
            share=share,
            compactions_before=len(before),
            asked=len(due),
            dead=call >= alive,
        )
        made.answers += [_answer(made, item, exam, before, reading) for item in due]
        made.exams.append(exam)


def _answer(made: _Made, item: AskedProbe, exam: Exam, before: list[int], reading: _Reading) -> Answer:
    probe, index = item.probe, len(made.exams)
    touched = [n for n in before if made.compactions[n].call * 2 >= probe.settled_at]
    if exam.dead:
        return Answer(probe=probe.id, exam=index, outcome="abstained", reason="died", survives=False, age=len(touched))
    if _decoy(item):
        return Answer(probe=probe.id, exam=index, outcome="correct")
    survives = not touched or reading.kept[probe.id]
    if not survives and all(loss.probe != probe.id for loss in made.losses):
        made.losses.append(Loss(probe=probe.id, compaction=touched[0], edit=0, message=item.evidence[0].message))
    right = survives != (reading.rng.random() < reading.noise)
    return Answer(
        probe=probe.id,
        exam=index,
        text=probe.accept[0] if right else None,
        outcome="correct" if right else "abstained",
        survives=survives,
        age=len(touched),
        lost_to=None if survives else touched[0],
    )


def _bill(rows: Sequence[Row], compactions: Sequence[Compaction]) -> Bill:
    """At 3, 0.30, 3.75 and 15 dollars a million tokens."""
    entry = {
        "input_cost_per_token": 3e-6,
        "cache_read_input_token_cost": 3e-7,
        "cache_creation_input_token_cost": 3.75e-6,
        "output_cost_per_token": 1.5e-5,
    }
    bill = bill_replay(Replayed(rows, compactions), PriceSheet(entries={"made-model": entry}, dated="made"), "")
    if isinstance(bill, Unpriced):
        raise TypeError(bill.reason)
    return bill

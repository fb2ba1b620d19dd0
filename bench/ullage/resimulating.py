"""The replays of a run once more under other caches: no probes, no checks, only what each call costs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import msgspec

from ullage import registry
from ullage.billing import Replayed
from ullage.bounds import BOUNDS
from ullage.options import RunOptions
from ullage.prepare import Prepared
from ullage.pricing import PriceSheet
from ullage.replay import plain_ask, replay
from ullage.sensitivity import Course, Scenario, priced
from ullage.specs import parse
from ullage.strategy import Summarizer, Summary, SummaryRequest
from ullage.types import Compaction, ProbeBank, Row, SideRequest, Trace, digest_of
from ullage.worker import prepare, setup_of


@dataclass(slots=True)
class _Remembered:
    """A summariser that is asked once for equal requests: the cache below it changes nothing of what it reads."""

    inner: Summarizer
    known: dict[str, Summary] = field(default_factory=dict)

    def __call__(self, request: SummaryRequest) -> Summary:
        """The same answer to the same request."""
        key = digest_of(([message.key for message in request.messages], msgspec.structs.replace(request, messages=())))
        if key not in self.known:
            self.known[key] = self.inner(request)
        return self.known[key]


def resimulate(trace: Trace, options: RunOptions, scenarios: Sequence[Scenario]) -> Iterator[tuple[str, Course]]:
    """Each scenario's name with the course of each strategy on this trace; bounds make no calls and are passed over."""
    sheet = PriceSheet.load(Path(options.prices) if options.prices else None)
    nothing = ProbeBank(trace=trace.id, trace_digest=trace.digest)
    prepared = prepare(trace, options, sheet, nothing)
    summarize = _Remembered(registry.load("summarizers", options.summarizer))
    for scenario in scenarios:
        there = replace(
            prepared,
            policy=registry.load("caches", scenario.policy),
            policy_spec=scenario.policy,
            rules=sheet.rules((scenario.model,)),
        )
        for spec in options.strategies:
            if parse(spec)[0].name not in BOUNDS:
                yield scenario.name, _course(there, options, spec, scenario, sheet, summarize)


def _course(
    prepared: Prepared, options: RunOptions, spec: str, scenario: Scenario, sheet: PriceSheet, summarize: Summarizer
) -> Course:
    setup = setup_of(prepared, registry.load_strategies(spec), options, plain_ask)
    setup = replace(setup, ports=replace(setup.ports, summarize=summarize))
    rows, events, requests, died = list[Row](), list[Compaction](), list[SideRequest](), False
    for step in replay(setup):
        events.extend(step.compactions)
        requests.extend(step.requests)
        rows += [step.row] if step.row is not None else []
        died = bool(step.died)
    return priced(spec, prepared.trace.digest, Replayed(rows, events, requests), sheet, scenario.model, died=died)

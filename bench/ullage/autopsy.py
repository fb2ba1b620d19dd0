"""The autopsy of one recorded session: what it cost and why, what its compactions cost and forgot, what habits would change.

OBSERVED is what the recording was billed, priced by the dated sheet. MODELLED is what no recording holds: the requests
that wrote summaries, what a compaction saved, and every habit. The two are never added without saying so.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ullage.audit import SessionAudit, audit, models_of
from ullage.billing import bill_calls
from ullage.calibration import Calibration, calibrate
from ullage.economics import Account, accounts
from ullage.forgetting import Forgetting, forgetting_of
from ullage.habits import Habit, habits_of
from ullage.options import RunOptions
from ullage.prepare import choose_window
from ullage.pricing import ModelPrices, PriceSheet
from ullage.probes import mine
from ullage.recorded import Recorded, RecordedBreak, read_recording, recorded_breaks
from ullage.records import Bill
from ullage.spending import Spending, spending_of
from ullage.tokens import Counter
from ullage.types import Compaction, RecordedCompaction, Trace, Usage

FACTS = 150
"""Most facts that are looked for in a session: each stretch between compactions has some, and no one kind crowds out the rest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionReport:
    """One recorded compaction. ``request`` (pico-dollars) and ``account`` are none where there is no price or no bill."""

    source: RecordedCompaction
    event: Compaction | None
    request: int | None
    account: Account | None
    forgetting: Forgetting


@dataclass(frozen=True, slots=True, kw_only=True)
class SubAgent:
    """A sub-agent's bill, in pico-dollars (none: no price or no usage)."""

    trace: str
    calls: int
    usage: Usage
    cost: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Autopsy:
    """Everything that is known of one session; ``facts`` is how many were looked for."""

    trace: Trace
    calibration: Calibration
    window: int
    window_source: str
    recorded: Recorded
    spending: Spending
    breaks: tuple[RecordedBreak, ...]
    compactions: tuple[CompactionReport, ...]
    habits: tuple[Habit, ...]
    law: SessionAudit
    agents: tuple[SubAgent, ...]
    facts: int
    notes: tuple[str, ...]

    @property
    def billed(self) -> int | None:
        """OBSERVED pico-dollars of the session and its sub-agents; none without a price for every model."""
        if self.spending.money is None or not self.recorded.rows or any(agent.cost is None for agent in self.agents):
            return None
        return self.spending.money.total + sum(agent.cost or 0 for agent in self.agents)

    @property
    def requests(self) -> int | None:
        """MODELLED pico-dollars of the summary requests, which no recording holds."""
        costs = [one.request for one in self.compactions]
        return None if any(cost is None for cost in costs) else sum(cost or 0 for cost in costs)


def autopsy(trace: Trace, counter: Counter, sheet: PriceSheet) -> Autopsy:
    """Open one session up; ``counter`` is the raw tokenizer's, it is calibrated here."""
    calibration = calibrate(trace, counter)
    true = counter.scaled_by(calibration.factor)
    prices = sheet.prices(trace.meta.model)
    limit = prices.input_limit if isinstance(prices, ModelPrices) else None
    window, source = choose_window(trace, RunOptions(strategies=()), limit)
    recorded = read_recording(trace, true, window, calibration.overhead, sheet.rules(models_of(trace)))
    bank = mine(trace, limit=FACTS)
    forgettings = forgetting_of(trace, bank, true)
    return Autopsy(
        trace=trace,
        calibration=calibration,
        window=window,
        window_source=source,
        recorded=recorded,
        spending=spending_of(recorded, sheet),
        breaks=recorded_breaks(recorded, sheet),
        compactions=tuple(_compactions(recorded, forgettings, sheet)),
        habits=habits_of(recorded, sheet),
        law=audit(trace, counter, sheet),
        agents=tuple(_agents(trace.children, sheet)),
        facts=sum(bool(probe.evidence) for probe in bank.probes),
        notes=tuple(_notes(trace, recorded)),
    )


def _compactions(recorded: Recorded, forgettings: Iterable[Forgetting], sheet: PriceSheet) -> Iterable[CompactionReport]:
    """Each summary with its books; the account of one is kept at the prices of the call that came after it."""
    summaries = [event for event in recorded.trace.compactions if event.kind == "summary"]
    known = {id(source): event for source, event in zip(recorded.sources, recorded.compactions, strict=True)}
    for source, forgetting in zip(summaries, forgettings, strict=True):
        event, request, account = known.get(id(source)), None, None
        if event is not None:
            prices = sheet.prices(next(row.model for row in recorded.rows if row.call == event.call))
            if isinstance(prices, ModelPrices):
                request = prices.price(event.summarizer).total
                account = _account(recorded, event, prices)
        yield CompactionReport(source=source, event=event, request=request, account=account, forgetting=forgetting)


def _account(recorded: Recorded, event: Compaction, prices: ModelPrices) -> Account | None:
    place = recorded.compactions.index(event)
    books = accounts(recorded.rows, recorded.compactions, prices, recorded.window, fresh=recorded.fresh)
    return next((book for book in books if book.event == place), None)


def _agents(children: Iterable[Trace], sheet: PriceSheet) -> Iterable[SubAgent]:
    """Sub-agents and theirs, each with its own bill."""
    for child in children:
        usages = [(call.usage, call.model or child.meta.model) for call in child.calls if call.usage is not None]
        bill = bill_calls(usages, sheet, label="OBSERVED")
        yield SubAgent(
            trace=child.id,
            calls=len(child.calls),
            usage=sum((usage for usage, _ in usages), Usage()),
            cost=bill.total if isinstance(bill, Bill) else None,
        )
        yield from _agents(child.children, sheet)


def _notes(trace: Trace, recorded: Recorded) -> Iterable[str]:
    """What a reader must know about how far the figures reach."""
    if not recorded.rows:
        yield f"no bill can be read: {recorded.law}"
    if recorded.unbilled and recorded.rows:
        yield f"{recorded.unbilled} of {len(trace.calls)} calls have no usage and are in no figure"
    if recorded.counted:
        yield f"outputs of {recorded.counted} calls are placeholders in the recording: counted from the replies instead"
    unseen = sum(event.kind == "unrecorded_agent" for event in trace.events)
    if unseen:
        yield f"{unseen} sub-agents ran whose calls are not in the file: their cost is in no figure"
    if trace.starts_midway:
        yield "the recording starts midway: what came before is in no figure"
    if trace.provenance.cache == "read":
        yield "the provider reports reads only: what a call left in its cache is taken as its whole prompt"

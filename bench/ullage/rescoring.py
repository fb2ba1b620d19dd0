"""Old answers under new graders or prices: no replay, no model."""

from __future__ import annotations

import msgspec

from ullage.billing import Replayed, bill_replay
from ullage.examining import DIED
from ullage.pricing import PriceSheet
from ullage.records import Bill, RunRecord
from ullage.scoring import grade
from ullage.types import Answer, Probe


def rescore(record: RunRecord, sheet: PriceSheet, model: str = "") -> RunRecord:
    """Grade every stored answer again and price every stored usage again; everything else stays as it was."""
    probes = {asked.probe.id: asked.probe for asked in record.probes}
    graded = {
        name: tuple(regrade(answer, probes[answer.probe]) for answer in getattr(record, name))
        for name in ("answers", "floors", "ceilings")
    }
    record = msgspec.structs.replace(record, **graded, inputs=msgspec.structs.replace(record.inputs, prices=sheet.dated))
    return record if record.kind == "bound" else _priced(record, sheet, model)


def regrade(answer: Answer, probe: Probe) -> Answer:
    """The same answer under the graders as they are now; what could not be asked, or came after a death, stays."""
    if answer.outcome == "unscorable" or answer.reason == DIED:
        return answer
    outcome, reason = grade(probe, answer.text)
    return msgspec.structs.replace(answer, outcome=outcome, reason=reason)


def _priced(record: RunRecord, sheet: PriceSheet, model: str) -> RunRecord:
    bill = bill_replay(Replayed.of(record), sheet, model)
    return msgspec.structs.replace(
        record,
        bill=bill if isinstance(bill, Bill) else None,
        unpriced="" if isinstance(bill, Bill) else bill.reason,
    )

"""What a report lists: facts that were lost and by which edit, broken rules, faults, deaths, and the traces themselves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ullage.losses import Removal, removal_of
from ullage.records import Evidence, RunRecord
from ullage.scored import Scored, headline, scored

LOSSES_SHOWN = 25
"""Most lost facts that are listed for one strategy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lost:
    """One fact that a strategy lost: its question, its evidence, and what removed it."""

    trace: str
    item: Scored
    removal: Removal

    @property
    def evidence(self) -> Evidence | None:
        """The quoted evidence in the message that the edit changed, else the first that is quoted."""
        quoted = self.item.asked.evidence
        return next((e for e in quoted if e.message == self.removal.message), quoted[0] if quoted else None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Losses:
    """Where a strategy's wrong answers come from, in questions at the common checkpoints."""

    spec: str
    questions: int
    missed: int
    removed: int
    died: int
    standing: int
    other: int
    facts: int
    shown: tuple[Lost, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Broken:
    """Violations or faults of one kind under one strategy, with the first as an example."""

    spec: str
    name: str
    severity: str
    count: int
    traces: int
    call: int
    trace: str
    example: str


def losses_of(spec: str, records: Iterable[RunRecord]) -> Losses:
    """Sort a strategy's missed questions by cause and list the lost facts, those that the recording used most first."""
    questions = missed = died = standing = removed = 0
    facts: dict[tuple[str, str], Lost] = {}
    for record in records:
        for item in headline(scored(record)):
            questions += 1
            if (item.score or 0.0) >= 0.5:
                continue
            missed += 1
            removal = removal_of(record, item)
            died += item.exam.dead
            standing += item.survives is True and not item.exam.dead
            removed += removal is not None
            if removal is not None:
                facts.setdefault(
                    (record.inputs.trace, item.asked.probe.id), Lost(trace=record.trace.id, item=item, removal=removal)
                )
    order = sorted(
        facts.values(),
        key=lambda lost: (-lost.item.asked.demand, lost.trace, lost.item.asked.probe.settled_at, lost.item.asked.probe.id),
    )
    return Losses(
        spec=spec,
        questions=questions,
        missed=missed,
        removed=removed,
        died=died,
        standing=standing,
        other=missed - removed - died - standing,
        facts=len(facts),
        shown=tuple(order[:LOSSES_SHOWN]),
    )


def violations_of(groups: Mapping[str, Sequence[RunRecord]]) -> list[Broken]:
    """Violations by strategy, invariant and severity; errors first."""
    found: dict[tuple[str, str, str], list[tuple[RunRecord, int, str]]] = {}
    for spec, records in groups.items():
        for record in records:
            for violation in record.violations:
                key = (spec, violation.invariant, violation.severity)
                found.setdefault(key, []).append((record, violation.call, violation.evidence))
    return _grouped(found)


def faults_of(groups: Mapping[str, Sequence[RunRecord]]) -> list[Broken]:
    """Exceptions of strategies by strategy and kind."""
    found: dict[tuple[str, str, str], list[tuple[RunRecord, int, str]]] = {}
    for spec, records in groups.items():
        for record in records:
            for fault in record.faults:
                found.setdefault((spec, fault.kind, "error"), []).append(
                    (record, fault.call, f"{fault.moment.value}: {fault.text}")
                )
    return _grouped(found)


def deaths_of(groups: Mapping[str, Sequence[RunRecord]]) -> list[RunRecord]:
    """Records whose replay ended early."""
    return [record for records in groups.values() for record in records if record.died_at is not None]


def traces_of(groups: Mapping[str, Sequence[RunRecord]]) -> list[RunRecord]:
    """One record for each trace, in the order of ids."""
    found: dict[str, RunRecord] = {}
    for records in groups.values():
        for record in records:
            found.setdefault(record.inputs.trace, record)
    return sorted(found.values(), key=lambda record: (record.trace.id, record.inputs.trace))


def skipped_of(groups: Mapping[str, Sequence[RunRecord]]) -> list[tuple[str, str, int]]:
    """What was not measured and why, with how often, over all traces; most frequent first."""
    counts: dict[tuple[str, str], int] = {}
    for record in traces_of(groups):
        for skipped in record.skipped:
            key = (skipped.what, skipped.reason)
            counts[key] = counts.get(key, 0) + skipped.count
    return sorted(((what, reason, count) for (what, reason), count in counts.items()), key=lambda row: (-row[2], row[0], row[1]))


def notes_of(groups: Mapping[str, Sequence[RunRecord]]) -> list[str]:
    """Notes of the records, each once, with how many traces say so."""
    counts: dict[str, int] = {}
    for record in traces_of(groups):
        for note in record.notes:
            counts[note] = counts.get(note, 0) + 1
    return [f"{note} ({count} trace{'s' if count > 1 else ''})" for note, count in counts.items()]


def _grouped(found: Mapping[tuple[str, str, str], Sequence[tuple[RunRecord, int, str]]]) -> list[Broken]:
    rows = [
        Broken(
            spec=spec,
            name=name,
            severity=severity,
            count=len(items),
            traces=len({record.inputs.trace for record, _, _ in items}),
            call=items[0][1],
            trace=items[0][0].trace.id,
            example=items[0][2],
        )
        for (spec, name, severity), items in found.items()
    ]
    return sorted(rows, key=lambda row: row.severity != "error")

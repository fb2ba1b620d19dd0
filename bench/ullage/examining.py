"""Examinations: which probes may be asked at a point of a trace, what the reader answers there, and what became of each fact."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from ullage.exams import Removals, Sitting, ages, counted_before, losses, removals
from ullage.lookups import CLOSED_DESK, OPEN_BOOK, Desk
from ullage.options import RunOptions
from ullage.prepare import Prepared
from ullage.probes import asked_as, block_text, survives
from ullage.readers import Question, Reader, Reply
from ullage.records import AskedProbe, Evidence, Loss, Skipped, quote
from ullage.scoring import grade
from ullage.types import Answer, Compaction, Exam, Lookup, Message, Outcome, Probe, ToolResult, ToolUse

FLOOR_LIMIT = 0.2
"""A probe that the question alone answers more often than this is not asked (methodology 5.5: free text)."""
CHANCE_ROOM = 0.1
"""And a choice probe at most this much above chance (same source)."""
CEILING_LIMIT = 0.8
"""A probe that the reader cannot answer on the full context at least this often is not asked (same source)."""
DIED = "died"


@dataclass(frozen=True, slots=True, kw_only=True)
class Paper:
    """What the examinations of one replay gave."""

    exams: tuple[Exam, ...]
    answers: tuple[Answer, ...]
    floors: tuple[Answer, ...]
    ceilings: tuple[Answer, ...]
    lookups: tuple[Lookup, ...]
    losses: tuple[Loss, ...]
    probes: tuple[AskedProbe, ...]
    skipped: tuple[Skipped, ...]

    def fields(self) -> dict[str, Any]:
        """The fields of a record that come from examinations."""
        return {
            "exams": self.exams,
            "answers": self.answers,
            "floors": self.floors,
            "ceilings": self.ceilings,
            "lookups": self.lookups,
            "losses": self.losses,
            "probes": self.probes,
            "skipped": self.skipped,
        }


@dataclass(slots=True)
class Examiner:
    """Asks one trace's probes, with floors and ceilings measured once for all strategies."""

    prepared: Prepared
    reader: Reader
    options: RunOptions
    places: dict[str, int] = field(init=False)
    probes: tuple[Probe, ...] = field(init=False)
    floors: dict[str, list[Answer]] = field(init=False)
    full: dict[int, dict[str, list[Answer]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.places = {message.id: n for n, message in enumerate(self.prepared.transcript)}
        self.probes = tuple(probe for probe in self.prepared.bank.probes if probe.tier == self.options.tier)
        self.floors = self._read((), self.probes)

    def eligible(self, call: int) -> tuple[Probe, ...]:
        """Probes that may be asked before a call: settled, evidence in the past, not known by heart, answerable on everything."""
        answers = self.ceiling(call)
        return tuple(p for p in self.open_probes(call) if rate(answers[p.id]) >= CEILING_LIMIT or p.grader == "abstain")

    def open_probes(self, call: int) -> tuple[Probe, ...]:
        """Probes whose evidence and last change lie before a call and whose question does not give the answer away."""
        before = self.prepared.history(call)
        return tuple(p for p in self.probes if self._is_past(p, before) and self._floor_ok(p))

    def ceiling(self, call: int) -> Mapping[str, list[Answer]]:
        """Answers on the whole uncompacted history before a call, by probe."""
        known = self.full.get(call)
        if known is None:
            context = self.prepared.transcript.upto(self.prepared.history(call))
            known = self.full[call] = self._read(tuple(context), self.open_probes(call))
        return known

    def examine(self, sittings: Sequence[Sitting], compactions: Sequence[Compaction], desk: Desk = CLOSED_DESK) -> Paper:
        """Hold every sitting and gather answers, floors, ceilings, losses and the probes that were asked.

        At an open desk the reader may look up what it declined.
        """
        removed, counts = removals(compactions), counted_before(compactions, self.prepared.window)
        exams, answers, ceilings, lookups, asked = [], list[Answer](), list[Answer](), list[Lookup](), dict[str, Probe]()
        kept: set[str] = set()
        for number, sitting in enumerate(sittings):
            probes = self.eligible(sitting.exam.call)
            asked.update((probe.id, probe) for probe in probes)
            before = sum(event.call <= sitting.exam.call for event in compactions)
            found = self._sit(sitting, number, probes, removed, counts, before)
            answers += found
            lookups += self._look_up(desk, sitting, probes, found)
            if sitting.exam.kind == "checkpoint":
                kept = {a.probe for a in found if a.survives} if not sitting.exam.dead else kept
            exams.append(msgspec.structs.replace(sitting.exam, asked=len(probes)))
            full = self.ceiling(sitting.exam.call)
            ceilings += [msgspec.structs.replace(answer, exam=number) for probe in probes for answer in full[probe.id]]
        return Paper(
            exams=tuple(exams),
            answers=tuple(answers),
            floors=tuple(answer for probe_id in asked for answer in self.floors[probe_id]),
            ceilings=tuple(ceilings),
            lookups=tuple(lookups),
            losses=losses(asked.values(), removed, kept),
            probes=tuple(self._asked(probe) for probe in asked.values()),
            skipped=(*self._skipped(sittings), *self._not_opened(desk)),
        )

    def _sit(
        self, sitting: Sitting, number: int, probes: Sequence[Probe], removed: Removals, counts: Sequence[int], before: int
    ) -> list[Answer]:
        if sitting.exam.dead:
            return [Answer(probe=p.id, exam=number, outcome="wrong", reason=DIED, survives=False) for p in probes]
        replies = self._read(sitting.messages, probes)
        present = survives(probes, self.prepared.transcript, sitting.messages)
        found = []
        for probe in probes:
            alive = present[probe.id]
            age = ages(probe, removed, counts, sitting.exam, before) if probe.evidence else 0
            place = None if alive is not False else _lost_to(probe, removed, before)
            found += [
                msgspec.structs.replace(answer, exam=number, survives=alive, age=age, lost_to=place)
                for answer in replies[probe.id]
            ]
        return found

    def _look_up(self, desk: Desk, sitting: Sitting, probes: Sequence[Probe], answers: Sequence[Answer]) -> list[Lookup]:
        """What the reader says to questions that it declined, after it opened what the context points to."""
        if sitting.exam.dead or not sitting.stored or not desk.is_open:
            return []
        open_ones = [a for a in answers if a.text is None and a.outcome != "unscorable"]
        known = {probe.id: probe for probe in probes}
        questions = [_question(known[answer.probe]) for answer in open_ones]
        found = []
        planned = self.reader.openings(sitting.messages, questions, sitting.stored.keys())
        for answer, question, openings in zip(open_ones, questions, planned, strict=True):
            system = self.prepared.trace.system
            came = desk.consult(self.reader, question, openings, sitting, system=system, draw=answer.draw)
            if came is not None:
                outcome, reason = _graded(known[answer.probe], came.reply)
                said = msgspec.structs.replace(answer, text=came.reply.text, outcome=outcome, reason=reason)
                found.append(Lookup(answer=said, opened=came.opened, gone=came.gone, usage=came.usage))
        return found

    def _read(self, context: Sequence[Message], probes: Sequence[Probe]) -> dict[str, list[Answer]]:
        """Ask the reader every probe, ``draws`` times, and grade what it says."""
        questions = [_question(probe) for probe in probes]
        answers: dict[str, list[Answer]] = {probe.id: [] for probe in probes}
        for draw in range(1 if self.reader.deterministic else self.options.draws):
            replies = self.reader.read(context, questions, system=self.prepared.trace.system if context else "", draw=draw)
            for probe, reply in zip(probes, replies, strict=True):
                outcome, reason = _graded(probe, reply)
                answers[probe.id].append(
                    Answer(probe=probe.id, exam=0, draw=draw, text=reply.text, outcome=outcome, reason=reason)
                )
        return answers

    def _is_past(self, probe: Probe, before: int) -> bool:
        if probe.settled_at + self.prepared.offset >= before:
            return False
        return all(self.places.get(span.message, before) < before for span in probe.evidence)

    def _floor_ok(self, probe: Probe) -> bool:
        if probe.grader == "abstain":
            return True
        limit = 1 / len(probe.choices) + CHANCE_ROOM if probe.choices else FLOOR_LIMIT
        return rate(self.floors[probe.id]) <= limit

    def _asked(self, probe: Probe) -> AskedProbe:
        evidence = tuple(self._evidence(probe, n) for n in range(len(probe.evidence)))
        place = max((item.position for item in evidence), default=0)
        return AskedProbe(probe=probe, evidence=evidence, zone=zone(place, len(self.prepared.transcript)), demand=len(probe.uses))

    def _evidence(self, probe: Probe, number: int) -> Evidence:
        span = probe.evidence[number]
        place = self.places[span.message]
        message = self.prepared.transcript[place]
        block = message.blocks[span.block]
        text, at, length = quote(block_text(block), span.start, span.end)
        tool = block.name if isinstance(block, ToolUse) else self._tool_of(block) if isinstance(block, ToolResult) else ""
        kind = str(block.__struct_config__.tag)
        return Evidence(
            message=span.message,
            block=span.block,
            role=message.role,
            kind=kind,
            tool=tool,
            position=place,
            text=text,
            at=at,
            length=length,
        )

    def _tool_of(self, result: ToolResult) -> str:
        for message in reversed(self.prepared.transcript[: self.places_of_call(result.tool_use_id)]):
            for block in message.blocks:
                if isinstance(block, ToolUse) and block.id == result.tool_use_id:
                    return block.name
        return ""

    def places_of_call(self, tool_use_id: str) -> int:
        """The position after the message that holds a tool call; 0 when there is none."""
        return next((n + 1 for n, m in enumerate(self.prepared.transcript) if tool_use_id in m.tool_use_ids), 0)

    def _not_opened(self, desk: Desk) -> tuple[Skipped, ...]:
        """That the book stayed closed although it was to be opened."""
        if not self.options.open_book or desk.is_open:
            return ()
        return (Skipped(what=OPEN_BOOK, reason="no tool of the strategy reads what it stored"),)

    def _skipped(self, sittings: Sequence[Sitting]) -> tuple[Skipped, ...]:
        """Probes that no examination could ask, by reason."""
        last = max((s.exam.call for s in sittings), default=0)
        before = self.prepared.history(last) if self.prepared.trace.calls else 0
        past = [p for p in self.probes if self._is_past(p, before)]
        tally = {
            "evidence or last change after the last examination": len(self.probes) - len(past),
            "answered from the question alone": sum(not self._floor_ok(p) for p in past),
            "not answered on the full context": sum(self._floor_ok(p) for p in past) - len(self.eligible(last)),
            "of another tier": len(self.prepared.bank.probes) - len(self.probes),
        }
        return tuple(Skipped(what="probe", reason=reason, count=count) for reason, count in tally.items() if count)


def rate(answers: Sequence[Answer]) -> float:
    """Share of draws that were correct; 0 for none."""
    return sum(answer.outcome == "correct" for answer in answers) / len(answers) if answers else 0.0


def zone(position: int, length: int) -> str:
    """Which part of the trace a position lies in: the first tenth, the last fifth, or the middle."""
    if position * 10 < length:
        return "head"
    return "tail" if position * 5 >= length * 4 else "middle"


def _question(probe: Probe) -> Question:
    return Question(text=probe.question, grader=asked_as(probe), choices=probe.choices, language=probe.language)


def _graded(probe: Probe, reply: Reply) -> tuple[Outcome, str]:
    if reply.failure:
        return "unscorable", reply.failure
    return grade(probe, reply.text)


def _lost_to(probe: Probe, removed: Removals, before: int) -> int | None:
    places = [removed[span.message][0] for span in probe.evidence if span.message in removed]
    return max((place for place in places if place < before), default=None)

"""The scanner behind all rules about the shape of a request: one pass over the turns that changed, for any number of rules.

It mirrors the request as turns. At a step it cuts the turns from the first changed position on, rebuilds them, and asks about
each rebuilt turn (and the one before, which may have grown) the rules that its bits can concern. So a call without
edits costs its new messages, and an edit costs the messages behind it, as applying it did.

A finding is keyed by rule, message and detail, and by whether the uncompacted history holds it too at this call. Those of
cut turns are remembered while their turns are rebuilt: one that comes back is the same fault and not reported again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ullage.invariants import RECORDED, Invariant
from ullage.invariants._past import Past
from ullage.invariants._turns import SERVER, Turn
from ullage.step import Step
from ullage.types import Erase, Message, Trace, Violation

FIRST, LAST = 1 << 11, 1 << 12
"""The turn opens, or closes, the request."""
BEFORE = 1 << 16
"""Factor that makes a bit of a turn the same bit of the turn before it: ``USE * BEFORE``."""
INJECTED = "injected"
"""Id of the message that stands for blocks which go with one request only."""


Key = tuple[str, str, str, bool]
"""Rule, message, detail, recorded."""


class Finding(NamedTuple):
    """A broken rule at one message. ``detail`` tells several at the same message apart (a tool-use id, for example)."""

    message: str
    evidence: str
    detail: str = ""


class Scene(NamedTuple):
    """What a rule may look at: the turns of a request up to the one at hand, tool calls by id, and what was recorded.

    ``turns`` may hold more than the past of the turn at hand: rules look back, never ahead.
    """

    turns: Sequence[Turn]
    calls: dict[str, list[int]]
    past: Past


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnRule(Invariant):
    """Base of the rules that are decided by a turn, the turns before it, and whether it opens or closes the request."""

    def concerns(self, bits: int) -> bool:
        """Tell from the bits of a turn, and of the one before it, whether ``look`` could find anything."""
        raise NotImplementedError

    def look(self, scene: Scene, at: int, *, last: bool) -> Iterable[Finding]:
        """Findings at the turn ``scene.turns[at]``; ``last``: the request ends with it.

        Being last may only add findings, except at turns with the bit ``SERVER``.
        """
        raise NotImplementedError

    def open(self, trace: Trace) -> Scanner:
        """A scanner for this rule alone."""
        return Scanner((self,), trace)


class Scanner:
    """Checks one replay against any number of ``TurnRule``s."""

    def __init__(self, rules: Sequence[TurnRule], trace: Trace) -> None:
        self._rules = rules
        self._past = Past(trace=trace)
        self._turns: list[Turn] = []
        self._calls: dict[str, list[int]] = {}
        self._concerned: dict[int, tuple[TurnRule, ...]] = {}
        self._with_injected = False
        self._scene = Scene(self._turns, self._calls, self._past)

    def check(self, step: Step) -> list[Violation]:
        """New findings in the request of one step, in the order of its turns."""
        self._past.at(step)
        start = self._start(step)
        gone, kept = self._cut(start)
        self._read([*kept, *step.context[start:]])
        if step.injected:
            self._read([Message(id=INJECTED, role="user", blocks=step.injected)])
        self._with_injected = bool(step.injected)
        return self._look(gone, step.index)

    def _start(self, step: Step) -> int:
        """The first position to read again: what changed, what the server erased, and the injected blocks of last time."""
        length = self._turns[-1].stop - self._with_injected if self._turns else 0
        start = min(step.changed_from, length)
        for event in step.compactions:
            for edit in event.edits:
                if isinstance(edit, Erase):
                    at = step.context.position(edit.id)
                    start = start if at is None else min(start, at)
        return start

    def _cut(self, position: int) -> tuple[frozenset[Key], list[Message]]:
        """Forget the turns that reach beyond ``position``; returns their findings and the messages before it.

        The turn that ends there is asked about again if it may have other findings now that it is not the last, or is it
        again; if it grows, ``add`` says so.
        """
        turns = self._turns
        cut = bool(turns) and turns[-1].stop > position
        gone: tuple[Key, ...] = ()
        kept: list[Message] = []
        while turns and turns[-1].stop > position:
            turn = turns.pop()
            gone += turn.findings
            kept = turn.messages[: max(0, position - turn.start)]
            for use in turn.uses:
                positions = self._calls[use]
                positions.pop()
                if not positions:
                    del self._calls[use]
        if turns:
            gone += turns[-1].findings
            turns[-1].fresh = cut or bool(turns[-1].findings or turns[-1].bits & SERVER)
            turns[-1].findings = ()
        return frozenset(gone), kept

    def _read(self, messages: Iterable[Message]) -> None:
        """Append messages, merging those of one role."""
        turns, at = self._turns, self._turns[-1].stop if self._turns else 0
        for message in messages:
            if turns and turns[-1].role == message.role:
                turns[-1].add(message)
            else:
                turns.append(Turn(at, message))
            for use in message.tool_use_ids:
                self._calls.setdefault(use, []).append(at)
            at += 1

    def _look(self, gone: frozenset[Key], call: int) -> list[Violation]:
        """Ask the rules about every rebuilt turn."""
        turns, found, told = self._turns, list[Violation](), set(gone)
        at = len(turns)
        while at and turns[at - 1].fresh:
            at -= 1
        for n in range(at, len(turns)):
            turn, last = turns[n], n == len(turns) - 1
            turn.fresh = False
            for rule in self._rules_for(bits_at(turns, n, last=last)):
                for finding in rule.look(self._scene, n, last=last):
                    recorded = recorded_too(rule, finding, self._past)
                    key = (rule.id, finding.message, finding.detail, recorded)
                    turn.findings += (key,)
                    if key not in told:
                        told.add(key)
                        evidence = f"{RECORDED}: {finding.evidence}" if recorded else finding.evidence
                        found.append(rule.violation(call, (finding.message,), evidence))
        return found

    def _rules_for(self, bits: int) -> tuple[TurnRule, ...]:
        known = self._concerned.get(bits)
        if known is None:
            known = self._concerned[bits] = tuple(rule for rule in self._rules if rule.concerns(bits))
        return known


def bits_at(turns: Sequence[Turn], at: int, *, last: bool) -> int:
    """The bits of a turn, those of the turn before it, and its place in the request."""
    bits = turns[at].bits | (turns[at - 1].bits * BEFORE if at else 0)
    return bits | (0 if turns[at].start else FIRST) | (LAST if last else 0)


def recorded_too(rule: TurnRule, finding: Finding, past: Past) -> bool:
    """Tell whether the uncompacted history holds the same finding at the same message."""
    turns = past.around(finding.message)
    scene = Scene(turns, past.calls, past)
    for at, turn in enumerate(turns):
        last = turn.stop == past.upto
        if (at or turn.start == 0) and rule.concerns(bits_at(turns, at, last=last)):
            found = rule.look(scene, at, last=last)
            if any((one.message, one.detail) == (finding.message, finding.detail) for one in found):
                return True
    return False

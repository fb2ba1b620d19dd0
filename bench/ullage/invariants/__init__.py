"""Invariants: what must hold of every request that would be sent, and of every decision. One file each.

A checker sees one ``Step`` after another and keeps what it needs to look only at what changed. A violation is yielded
once, at the call where its finding appears; while the finding stays it is not yielded again, so counts are numbers of
faults, not of calls that carried one. A finding that goes and comes back counts again.

What the recording itself breaks (an unanswered call, two user messages in a row) is not the strategy's doing. A finding
is *recorded* when the uncompacted history at the same call holds the same finding at the same message; its evidence then
begins with ``RECORDED`` and ``checking.Checkers`` keeps it apart.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, Protocol

from ullage.step import Step
from ullage.types import Severity, Trace, Violation

RECORDED = "recorded"
"""First word of the evidence of a finding that the recording itself holds."""
EVIDENCE_CHARACTERS = 240
"""Longest line of evidence: enough for two ids and a rule."""


class Checker(Protocol):
    """The state of one invariant while one replay runs."""

    def check(self, step: Step) -> Iterable[Violation]:
        """New findings at one step; steps come in order, each once."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Invariant:
    """Base of all invariants.

    ``scope`` is ``all``, the APIs in which it holds (see ``apis``), ``declared`` (only for strategies that promise
    it) or ``decision`` (held by asking a strategy again, see ``auditing``, not by looking at requests). ``rule`` is its
    number in the provider tables.
    """

    declares: ClassVar[tuple[str, ...]] = ("rule", "severity", "scope", "source")
    summary: ClassVar[str] = ""
    rule: ClassVar[str] = ""
    severity: ClassVar[Severity] = "error"
    scope: ClassVar[str] = "all"
    source: ClassVar[str] = ""

    @property
    def id(self) -> str:
        """The name in records: that of the module."""
        return type(self).__module__.rpartition(".")[2]

    def open(self, trace: Trace) -> Checker:
        """Start checking one replay of ``trace``."""
        raise NotImplementedError

    def violation(self, call: int, messages: tuple[str, ...], evidence: str) -> Violation:
        """A violation of this invariant; the evidence becomes one line of at most ``EVIDENCE_CHARACTERS``."""
        line = " ".join(evidence.split())[:EVIDENCE_CHARACTERS]
        return Violation(invariant=self.id, severity=self.severity, call=call, messages=messages, evidence=line)

"""Invariants: what must hold of every request that would be sent, and of every decision. One file each.

A checker sees one ``Step`` after another and keeps what it needs to look only at what changed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, Protocol

from ullage.step import Step
from ullage.types import Severity, Trace, Violation


class Checker(Protocol):
    """The state of one invariant while one replay runs."""

    def check(self, step: Step) -> Iterable[Violation]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Invariant:
    """Base of all invariants. ``scope`` is ``all``, a provider name, or ``declared`` (only for strategies that promise it)."""

    declares: ClassVar[tuple[str, ...]] = ("rule", "severity", "scope", "source")
    summary: ClassVar[str] = ""
    rule: ClassVar[str] = ""
    severity: ClassVar[Severity] = "error"
    scope: ClassVar[str] = "all"
    source: ClassVar[str] = ""

    def open(self, trace: Trace) -> Checker:
        """Start checking one replay of ``trace``."""
        raise NotImplementedError

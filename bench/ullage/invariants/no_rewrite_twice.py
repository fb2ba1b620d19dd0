"""Monotone replacement: what was replaced once keeps its bytes, so that the prompt cache is broken once and not again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ullage.invariants import Invariant
from ullage.step import Step
from ullage.types import Block, Drop, Edit, Erase, Insert, Rewrite, Trace, Violation


@dataclass(frozen=True, slots=True, kw_only=True)
class NoRewriteTwice(Invariant):
    """The content of a message changes at most once; removing it for good is no change of content."""

    summary: ClassVar[str] = "no message is rewritten a second time"
    scope: ClassVar[str] = "declared"
    source: ClassVar[str] = "the red lines reported for MUR AI: a part once replaced keeps the same bytes for the session"

    def open(self, trace: Trace) -> _Versions:
        """Follow the versions of each message."""
        return _Versions(self, trace)


class _Versions:
    """Content and number of changes of every message that an edit named. ``None`` stands for content that was erased."""

    def __init__(self, invariant: Invariant, trace: Trace) -> None:
        self._invariant, self._trace = invariant, trace
        self._recorded: dict[str, tuple[Block, ...]] | None = None
        self._content: dict[str, tuple[Block, ...] | None] = {}
        self._changes: dict[str, int] = {}

    def check(self, step: Step) -> list[Violation]:
        """One finding for each change of content after a message's first."""
        if not step.compactions:
            return []
        edits = [edit for event in step.compactions for edit in event.edits]
        again = [message_id for edit in edits for message_id in self._changed(edit) if self._changes[message_id] > 1]
        return [
            self._invariant.violation(step.index, (message_id,), f"message {message_id!r} was rewritten again")
            for message_id in again
        ]

    def _changed(self, edit: Edit) -> list[str]:
        """Apply one edit; the message whose content it changed, if any."""
        if isinstance(edit, Insert):
            known = edit.message.id in self._content
            return (
                self._become(edit.message.id, edit.message.blocks) if known else self._begin(edit.message.id, edit.message.blocks)
            )
        if isinstance(edit, Rewrite):
            return self._become(edit.id, edit.blocks)
        if isinstance(edit, Drop):
            for message_id in edit.ids:
                self._begin(message_id, self._now(message_id))
        return self._become(edit.id, None) if isinstance(edit, Erase) else []

    def _become(self, message_id: str, blocks: tuple[Block, ...] | None) -> list[str]:
        if self._now(message_id) == blocks:
            return []
        self._content[message_id] = blocks
        self._changes[message_id] = self._changes.get(message_id, 0) + 1
        return [message_id]

    def _begin(self, message_id: str, blocks: tuple[Block, ...] | None) -> list[str]:
        self._content.setdefault(message_id, blocks)
        return []

    def _now(self, message_id: str) -> tuple[Block, ...] | None:
        if message_id in self._content:
            return self._content[message_id]
        if self._recorded is None:
            self._recorded = {message.id: message.blocks for message in self._trace.messages}
        return self._recorded.get(message_id)

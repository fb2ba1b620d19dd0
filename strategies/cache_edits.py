"""Clears old tool results on the server: the client's bytes, and so the cached prefix, stay as they are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from ullage.context import Context
from ullage.errors import CannotShrink
from ullage.strategies.shared.results import older_than
from ullage.strategies.shared.stubs import shrinks
from ullage.strategy import UNCHANGED, Strategy, TriggerUnit, View
from ullage.types import Decision, Erase, Moment, ToolUse

COMPACTABLE = ("read", "bash", "shell", "grep", "glob", "websearch", "webfetch", "edit", "write")
"""Tools whose results Claude Code's cached microcompact deletes: files, shells, searches, the web; never MCP, agents or others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheEdits(Strategy):
    """Once more than ``trigger`` results of ``tools`` stand whole, has the server delete all but the newest ``keep``.

    This is the ``cache_edits`` instruction of Claude Code's cached microcompact: what was deleted is neither read nor
    billed later, and nothing before or after it is sent again. The modelled system sets both numbers remotely; these are
    ours. ``tools`` are names in lower case; empty: the results of every tool. The first message, pinned and protected
    ones and short results are left alone. At an overflow ``trigger`` is ignored, in the end all but the newest result go.
    """

    keep: int = 10
    trigger: int = 20
    tools: tuple[str, ...] = COMPACTABLE

    summary: ClassVar[str] = "has the server delete old tool results, the prefix unchanged"
    moments: ClassVar[frozenset[Moment]] = frozenset({Moment.BEFORE_CALL, Moment.OVERFLOW})
    trigger_unit: ClassVar[TriggerUnit] = "count"
    promises: ClassVar[tuple[str, ...]] = ("task_survives", "no_rewrite_twice")
    sources: ClassVar[tuple[str, ...]] = (
        "analyses of Claude Code's cached microcompact (cache_edits, undocumented: simulated here, never called)",
    )

    def __post_init__(self) -> None:
        if self.keep < 1:
            raise ValueError(f"found keep={self.keep}; expected at least 1 result")
        if self.trigger < self.keep:
            raise ValueError(f"found trigger={self.trigger}; expected at least keep={self.keep} results")

    def decide(self, view: View) -> Decision:
        """Erase what is older than the newest results, when enough stand there or nothing else helps."""
        if view.moment is Moment.OVERFLOW:
            return self._at_overflow(view)
        until = (view.state or {}).get("until")
        whole = sum(1 for _ in self._erasable(view.context, 0, until))
        return self._erase(view, self.keep) if whole > self.trigger else UNCHANGED

    def _erase(self, view: View, keep: int) -> Decision:
        passed = list(self._erasable(view.context, keep, (view.state or {}).get("until")))
        if not passed:
            return UNCHANGED
        ids = [view.context[at].id for at in reversed(passed)]
        edits = tuple(Erase(id=one) for one in ids)
        return Decision(edits=edits, state={"until": ids[-1]}, tier="erase", reason=f"{len(edits)} results deleted by the server")

    def _at_overflow(self, view: View) -> Decision:
        for keep in dict.fromkeys((self.keep, 1)):
            decision = self._erase(view, keep)
            if decision.edits:
                return decision
        raise CannotShrink("every tool result but the newest is deleted already")

    def _erasable(self, context: Context, keep: int, until: str | None) -> Iterator[int]:
        """Positions of results that may go, newest first, without the newest ``keep`` of them; ``until`` is where it ended last."""
        seen = 0
        for at in older_than(context, 0, until):
            message = context[at]
            if not at or message.pinned or message.protected or not shrinks(message) or not self._compactable(context, at):
                continue
            seen += 1
            if seen > keep:
                yield at

    def _compactable(self, context: Context, at: int) -> bool:
        """Whether all results of a message come from tools of the list; the calls stand in the message before."""
        if not self.tools:
            return True
        names = {block.id: block.name for block in context[at - 1].blocks if isinstance(block, ToolUse)}
        return all(names.get(one, "").lower() in self.tools for one in context[at].tool_result_ids)

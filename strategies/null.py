"""Never compacts: the cost baseline. It dies when its prompt outgrows the window."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from ullage.strategies.shared.manager import ConversationManager
from ullage.strategies.shared.tool_pairs import ContextWindowOverflowException
from ullage.strategies.shared.work import Work
from ullage.strategy import TriggerUnit
from ullage.types import Moment


@dataclass(frozen=True, slots=True, kw_only=True)
class Null(ConversationManager):
    """Sends the whole history at every call."""

    summary: ClassVar[str] = "never compacts; dies at the window"
    moments: ClassVar[frozenset[Moment]] = frozenset()
    trigger_unit: ClassVar[TriggerUnit] = "none"
    sources: ClassVar[tuple[str, ...]] = ("strands-agents 1.36 to 1.62: NullConversationManager",)

    def initial_state(self) -> dict[str, Any]:
        """The package's state: its class, and a count that stays 0."""
        return {"__name__": "NullConversationManager", "removed_message_count": 0}

    def reduce_context(self, work: Work, *, overflow: bool) -> None:  # noqa: ARG002 - there is nothing to work on
        """Do nothing, or say at an overflow that nothing can be done."""
        if overflow:
            raise ContextWindowOverflowException("null never shrinks a history")

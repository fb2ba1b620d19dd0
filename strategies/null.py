"""Never compacts: the cost baseline. It dies when its prompt outgrows the window."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ullage.strategy import UNCHANGED, Strategy, View
from ullage.types import Decision


@dataclass(frozen=True, slots=True, kw_only=True)
class Null(Strategy):
    """Sends the whole history at every call."""

    summary: ClassVar[str] = "never compacts; dies at the window"
    sources: ClassVar[tuple[str, ...]] = ("strands-agents 1.36 to 1.62: NullConversationManager",)

    def decide(self, view: View) -> Decision:  # noqa: ARG002 - the protocol's signature
        """Change nothing."""
        return UNCHANGED

"""Deciders: who plays the model that manages its own context."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ullage.strategy import DeciderRequest, ToolRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class DeciderPlugin:
    """Base of all deciders: subclasses are frozen dataclasses whose fields are their parameters."""

    declares: ClassVar[tuple[str, ...]] = ("deterministic", "needs_key")
    summary: ClassVar[str] = ""
    deterministic: ClassVar[bool] = True
    needs_key: ClassVar[bool] = False

    def __call__(self, request: DeciderRequest) -> tuple[ToolRequest, ...]:
        """The context tools that the model calls at this moment, in order; an empty tuple: none."""
        raise NotImplementedError

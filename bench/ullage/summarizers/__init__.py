"""Summarisers: they turn messages into a shorter text within a token budget."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ullage.strategy import Summary, SummaryRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class SummarizerPlugin:
    """Base of all summarisers: subclasses are frozen dataclasses whose fields are their parameters."""

    declares: ClassVar[tuple[str, ...]] = ("deterministic", "needs_key")
    summary: ClassVar[str] = ""
    deterministic: ClassVar[bool] = True
    needs_key: ClassVar[bool] = False

    def __call__(self, request: SummaryRequest) -> Summary:
        """Summarise the request's messages; never longer than its budget."""
        raise NotImplementedError

"""Which release of Strands, and which of its two implementations, a strategy follows."""

from __future__ import annotations

from typing import Literal

Profile = Literal["1.54", "1.62"]
"""``1.54``: the classic managers with the offloader, releases 1.44 to 1.55. ``1.62``: the pipeline of 1.56 and later."""

Dialect = Literal["python", "typescript"]
"""The TypeScript implementation differs in four places: no error for a split point beyond the end, no tool-pair
fall-back in the sliding window, a summary message of content alone, and arguments refused instead of clamped."""

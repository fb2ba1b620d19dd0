"""Old tool results, walked from the newest, so that a call costs what is new and not what is there."""

from __future__ import annotations

from collections.abc import Iterator

from ullage.context import Context
from ullage.types import ToolResult


def older_than(context: Context, keep: int, until: str | None) -> Iterator[int]:
    """Positions of messages whose tool results are all older than the newest ``keep``, newest first.

    The walk ends before the message ``until`` (none, or no longer there: it goes to the start). A message with several
    results counts as many; it stays whole when one of them is among the newest.
    """
    stop = -1 if until is None else context.position(until)
    positions = context.result_positions
    seen = 0
    for at in range(len(positions) - 1, -1, -1):
        position = positions[at]
        if stop is not None and position <= stop:
            return
        if seen >= keep:
            yield position
        else:
            seen += sum(1 for block in context[position].blocks if isinstance(block, ToolResult))

"""Tool calls and their results in two neighbouring turns, the same question in every API."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ullage.invariants._scan import Finding
from ullage.invariants._turns import Turn


def unanswered(turn: Turn, answered: Collection[str], how: str) -> list[Finding]:
    """Calls of a turn whose id is not among the answered ones."""
    if all(use in answered for use in turn.uses):
        return []
    return [
        Finding(message.id, f"tool call {use!r} {how}", use)
        for message in turn.messages
        for use in message.tool_use_ids
        if use not in answered
    ]


def orphans(turn: Turn, asked: Sequence[str]) -> list[Finding]:
    """Results of a turn without a call among the asked ones, and second results for one call."""
    found: list[Finding] = []
    seen: set[str] = set()
    for message in turn.messages:
        for result in message.tool_result_ids:
            if result not in asked:
                found.append(Finding(message.id, f"the result of {result!r} has no call in the turn before", result))
            elif result in seen:
                found.append(Finding(message.id, f"a second result for the call {result!r}", f"{result} again"))
            seen.add(result)
    return found

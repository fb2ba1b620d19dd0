"""Where a history may be cut without parting a tool call from its result.

Both rules look at neighbours only and never compare ids: so do the modelled systems, and a history whose results stand
in several user messages must be merged first (see ``turns``). Source: Strands Agents 1.44 to 1.62.
"""

from __future__ import annotations

from ullage.errors import CannotShrink
from ullage.strategies.shared.profiles import Dialect
from ullage.strategies.shared.shape import AnyMessages, has_tool_result, has_tool_use, role_of


class ContextWindowOverflowException(CannotShrink):
    """The history cannot be made smaller under the rules: what the modelled managers raise at an overflow."""


def adjust_split_point_for_tool_pairs(messages: AnyMessages, split_point: int, dialect: Dialect = "python") -> int:
    """Move a split point forward until neither side holds half of a tool pair.

    Raises ``ContextWindowOverflowException`` when every later point parts a pair, and for a point beyond the end, which
    the TypeScript implementation gives back as it is.
    """
    if split_point > len(messages):
        if dialect == "typescript":
            return split_point
        raise ContextWindowOverflowException(f"split point {split_point} lies beyond {len(messages)} messages")
    if split_point == len(messages):
        return split_point
    for at in range(split_point, len(messages)):
        if not _parts_pair(messages, at):
            return at
    raise ContextWindowOverflowException("every later split point parts a tool call from its result")


def _parts_pair(messages: AnyMessages, at: int) -> bool:
    """Tell whether a history that starts at ``at`` begins with an answer, or with a call that is not answered next."""
    if has_tool_result(messages[at]):
        return True
    return has_tool_use(messages[at]) and at + 1 < len(messages) and not has_tool_result(messages[at + 1])


def find_valid_trim_point(messages: AnyMessages, start: int) -> int:
    """The first position from ``start`` on at which a history may begin: a user message that answers no tool call.

    The length when there is none; a start beyond the end comes back as it is.
    """
    for at in range(start, len(messages)):
        message = messages[at]
        if role_of(message) != "user" or has_tool_result(message):
            continue
        if not has_tool_use(message) or (at + 1 < len(messages) and has_tool_result(messages[at + 1])):
            return at
    return max(start, len(messages))


def find_tool_pair(messages: AnyMessages, start: int) -> int | None:
    """The first position from ``start`` on with a tool call that the next user message answers; none if there is none.

    The fall-back of the Python sliding window for histories without a plain user message.
    """
    for at in range(start, len(messages) - 1):
        after = messages[at + 1]
        if has_tool_use(messages[at]) and role_of(after) == "user" and has_tool_result(after):
            return at
    return None

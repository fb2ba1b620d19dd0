"""Selection, removal and repair of messages in the pipeline of Strands 1.56 and later.

Selections are positions. Position 0 and the last message are never removed, calls and results go together when they are
neighbours, and the gap is marked in the assistant's voice.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import msgspec

from ullage.converse import ADDED, ASIDE, dumped, loaded, put_aside, require, slots
from ullage.strategies.shared.pins import has_pinned_flag
from ullage.strategies.shared.shape import has_text, has_tool_result, has_tool_use
from ullage.strategies.shared.work import Work
from ullage.types import Message, Text, ToolResult, ToolUse

Target = str | tuple[str, ...]
"""``*``, ``tool_results`` (only successful ones), ``tool_result_errors``, ``assistant_text``, ``user_text``; or names of tools
as ``tool::name`` or ``!tool::name``. Any other word matches nothing."""


class ToolFilter(NamedTuple):
    """Names of tools that a target includes, or else excludes; excludes beside includes are ignored."""

    include: frozenset[str] = frozenset()
    exclude: frozenset[str] = frozenset()

    @classmethod
    def of(cls, target: Target) -> ToolFilter:
        """Read the names in a tuple target."""
        if isinstance(target, str):
            return cls()
        include = frozenset(entry.removeprefix("tool::") for entry in target if not entry.startswith("!"))
        exclude = frozenset(entry[1:].removeprefix("tool::") for entry in target if entry.startswith("!"))
        return cls(include, frozenset() if include else exclude)

    def accepts(self, name: str) -> bool:
        """Tell whether results of a tool are meant."""
        return name not in self.exclude if self.exclude else name in self.include


def tool_name(messages: Sequence[Message], tool_use_id: str) -> str:
    """The name of the tool that an id belongs to: of the newest call with it, else empty."""
    for message in reversed(messages):
        if message.role == "assistant":
            for block in message.blocks:
                if isinstance(block, ToolUse) and block.id == tool_use_id:
                    return block.name
    return ""


def status_of(message: Message, block: ToolResult) -> str:
    """The status of a result; ``KeyError`` for one that came without, as in the package."""
    require(message, block, "status")
    aside = put_aside(message)
    if aside:
        at = next(at for at, other in enumerate(message.blocks) if other is block)
        added = aside.get(slots(message)[at], {}).get(ADDED, {})
        if "status" in added:
            return str(added["status"])
    return "error" if block.is_error else "success"


def check_names(messages: Iterable[Message]) -> None:
    """Read id and name of every call of the assistant, as each step does first; ``KeyError`` when one is missing."""
    for message in messages:
        if message.role == "assistant" and put_aside(message):
            for block in message.blocks:
                if isinstance(block, ToolUse):
                    require(message, block, "toolUseId", "name")


def result_matches(message: Message, block: ToolResult, target: Target, messages: Sequence[Message]) -> bool:
    """Tell whether a target means a tool result."""
    if target == "*":
        return True
    if target == "tool_results":
        return status_of(message, block) == "success"
    if target == "tool_result_errors":
        return status_of(message, block) == "error"
    require(message, block, "toolUseId")
    name = tool_name(messages, block.tool_use_id)
    return bool(name) and ToolFilter.of(target).accepts(name)


def text_matches(message: Message, target: Target) -> bool:
    """Tell whether a target means the texts of a message."""
    if target == "*":
        return True
    wanted = {"assistant_text": "assistant", "user_text": "user"}.get(target) if isinstance(target, str) else None
    return wanted == message.role and has_text(message)


def message_matches(message: Message, target: Target, messages: Sequence[Message]) -> bool:
    """Tell whether a target means a message, by its texts or by one of its results."""
    if text_matches(message, target):
        return True
    results = (block for block in message.blocks if isinstance(block, ToolResult)) if message.role == "user" else ()
    return any(result_matches(message, block, target, messages) for block in results)


def oldest_matches(messages: Sequence[Message], target: Target, preserve: float) -> list[int]:
    """Positions that a target means, without the newest ``preserve`` of them (below 1: a share, rounded up)."""
    matching = [at for at, message in enumerate(messages) if message_matches(message, target, messages)]
    newest = math.ceil(len(matching) * preserve) if 0 < preserve < 1 else int(preserve)
    return matching[: max(0, len(matching) - newest)]


def removable_with_partner(messages: Sequence[Message], at: int) -> list[int]:
    """A position with the neighbour that shares its tool pair; empty when either may not be removed."""
    last = len(messages) - 1
    if not 0 < at < last:
        return []
    found = [at]
    if has_tool_result(messages[at]) and has_tool_use(messages[at - 1]):
        if at - 1 == 0:
            return []
        found.append(at - 1)
    if has_tool_use(messages[at]) and has_tool_result(messages[at + 1]):
        if at + 1 == last:
            return []
        found.append(at + 1)
    return found


def last_places(messages: Sequence[Message]) -> list[int]:
    """For each position the last one that holds the very same message, which is where the package finds it again.

    A message stands twice after a merge of roles that broke half-way.
    """
    found = {id(message): at for at, message in enumerate(messages)}
    return [found[id(message)] for message in messages]


def removable(messages: Sequence[Message], wanted: Iterable[int]) -> list[int]:
    """All positions that go when these are removed, ascending."""
    places = last_places(messages)
    return sorted({places[at] for position in wanted for at in removable_with_partner(messages, places[position])})


def remove(work: Work, positions: Sequence[int], marker: str) -> None:
    """Remove messages, mark the gap and merge neighbours of one role."""
    gone = [work.messages[at] for at in positions]
    kept = set(positions)
    work.messages[:] = [message for at, message in enumerate(work.messages) if at not in kept]
    _insert_marker(work, min(positions), marker, gone)
    _merge_same_roles(work)


def _insert_marker(work: Work, at: int, text: str, gone: list[Message]) -> None:
    """Append the marker to an assistant message beside the gap (before it first, never message 0), or add one."""
    at = max(1, min(at, len(work.messages)))
    for neighbour in (at - 1, at):
        if 0 < neighbour < len(work.messages) and work.messages[neighbour].role == "assistant":
            carrier = work.messages[neighbour]
            work.messages[neighbour] = msgspec.structs.replace(carrier, blocks=(*carrier.blocks, Text(text=text)))
            return
    name = work.fresh_id(f"marker-{work.view.call}-{len(work.view.compactions)}")
    work.sources[name] = work.sources_of(gone)
    work.messages.insert(at, Message(id=name, role="assistant", blocks=(Text(text=text),), synthetic=True))


def _merge_same_roles(work: Work) -> None:
    """Merge neighbours of one role, in place and from the front: what raises half-way leaves the list half merged."""
    messages, write = work.messages, 0
    for read in range(len(messages)):
        current = messages[read]
        if write and messages[write - 1].role == current.role:
            pinned = [has_pinned_flag(messages[write - 1]), has_pinned_flag(current)]
            messages[write - 1] = _joined(messages[write - 1], current, pinned=any(pinned))
        else:
            messages[write] = current
            write += 1
    del messages[write:]


def _joined(first: Message, second: Message, *, pinned: bool) -> Message:
    """Two messages as one: the first's identity, both contents, a pin of either; other metadata is lost."""
    extra: dict[str, Any] = loaded(first.extra) if first.extra else {}
    kept = {key: value for key, value in extra.items() if key == "tracking_id"}
    blocks = first.blocks + second.blocks
    aside = put_aside(first) | _shifted(first, second)
    if aside:
        kept[ASIDE] = aside
    return msgspec.structs.replace(first, blocks=blocks, pinned=pinned, extra=dumped(kept) if kept else "")


def _shifted(first: Message, second: Message) -> dict[str, Any]:
    """What was put aside of a message whose blocks now stand behind those of another."""
    aside = put_aside(second)
    if not aside:
        return {}
    joined = slots(msgspec.structs.replace(first, blocks=first.blocks + second.blocks))[len(first.blocks) :]
    return {new: aside[old] for new, old in zip(joined, slots(second), strict=True) if old in aside}

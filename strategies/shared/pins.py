"""Pins: messages that no reduction may remove, and the protection of the other half of a pinned tool pair.

A pin is the flag ``pinned`` of a message, or its id in a strategy's own state, because an edit cannot change a flag.
A Converse dict carries it as ``metadata.custom.pinned``; only the value ``True`` counts. A partner is protected only
when it stands next to the pinned message. Source: Strands Agents 1.44 to 1.62.
"""

from __future__ import annotations

from collections.abc import Collection, MutableMapping, Sequence
from typing import Any, NamedTuple, TypeVar

import msgspec

from ullage.converse import dumped, loaded
from ullage.strategies.shared.shape import AnyMessage, AnyMessages, tool_ids
from ullage.types import Message

M = TypeVar("M", bound=AnyMessage)
CUSTOM, NO_METADATA = '"custom": ', '"metadata": null'
"""How custom metadata, and metadata that are null, show in the extra text of the noun of a Converse message.

With a blank after the colon: the extra text of other recordings is canonical JSON, and its keys mean nothing here.
"""


class Partition(NamedTuple):
    """Messages of a range, in order: those that are protected and those that may go."""

    pinned: list[Any]
    unpinned: list[Any]


def has_pinned_flag(message: AnyMessage, pinned_ids: Collection[str] = ()) -> bool:
    """Tell whether a message itself is pinned, by its flag or by its id in ``pinned_ids``.

    Raises ``AttributeError`` for a dict, or a message made from one, whose ``metadata.custom`` is no mapping, as the package
    does.
    """
    if isinstance(message, Message):
        if message.id in pinned_ids or message.pinned:
            return True
        return CUSTOM in message.extra and _metadata_flag(loaded(message.extra))
    return _metadata_flag(message)


def _metadata_flag(message: Any) -> bool:
    metadata = message.get("metadata")
    return metadata is not None and metadata.get("custom", {}).get("pinned") is True


def is_pinned(messages: AnyMessages, index: int, pinned_ids: Collection[str] = ()) -> bool:
    """Tell whether a message is pinned or shares a tool call with a pinned neighbour."""
    message = messages[index]
    if has_pinned_flag(message, pinned_ids):
        return True
    ids = tool_ids(message)
    if not ids:
        return False
    neighbours = [messages[at] for at in (index - 1, index + 1) if 0 <= at < len(messages)]
    return any(has_pinned_flag(other, pinned_ids) and ids & tool_ids(other) for other in neighbours)


def partition_pinned(messages: AnyMessages, start: int, end: int, pinned_ids: Collection[str] = ()) -> Partition:
    """Divide the messages from ``start`` to before ``end`` into protected ones and the others, each in order."""
    parts = Partition([], [])
    for at in range(start, end):
        parts[0 if is_pinned(messages, at, pinned_ids) else 1].append(messages[at])
    return parts


def pin_message(messages: list[M], index: int) -> None:
    """Pin one message of a list: a noun is replaced by a pinned copy, a dict is marked in place."""
    message = messages[index]
    if isinstance(message, Message):
        if CUSTOM in message.extra or NO_METADATA in message.extra:
            _add_pin(loaded(message.extra))
        messages[index] = msgspec.structs.replace(message, pinned=True)
        return
    _add_pin(_mutable(message))


def _add_pin(message: MutableMapping[str, Any]) -> None:
    """Mark a dict; ``AttributeError`` or ``TypeError`` when a container on the way is no mapping."""
    metadata = message.get("metadata", {})
    custom = metadata.get("custom", {})
    custom["pinned"] = True
    metadata["custom"] = custom
    message["metadata"] = metadata


def unpin_message(messages: list[M], index: int) -> None:
    """Remove the pin of one message of a list, and the containers that it leaves empty; partners keep theirs."""
    message = messages[index]
    if isinstance(message, Message):
        extra = message.extra
        if CUSTOM in extra:
            value = loaded(extra)
            _strip_pin(value)
            extra = dumped(value) if value else ""
        messages[index] = msgspec.structs.replace(message, pinned=False, extra=extra)
        return
    _strip_pin(_mutable(message))


def _strip_pin(message: MutableMapping[str, Any]) -> None:
    metadata = message.get("metadata")
    custom = None if metadata is None else metadata.get("custom")
    if metadata is None or custom is None:
        return
    custom.pop("pinned", None)
    if not custom:
        del metadata["custom"]
    if not metadata:
        del message["metadata"]


def _mutable(message: Any) -> MutableMapping[str, Any]:
    if not isinstance(message, MutableMapping):
        raise TypeError(f"cannot mark a {type(message).__name__}; expected a dict or a Message")
    return message


def apply_pin_first(messages: list[M], count: int) -> None:
    """Pin the first ``count`` messages of a list."""
    for at in range(min(count, len(messages))):
        pin_message(messages, at)


def first_ids(messages: Sequence[Message], count: int) -> tuple[str, ...]:
    """Ids of the first ``count`` messages, for strategies that keep their pins in their state."""
    return tuple(message.id for message in messages[: max(count, 0)])

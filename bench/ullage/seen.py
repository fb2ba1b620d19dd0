"""A growing list seen through a length, so that a long history is shown without being copied."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

_T = TypeVar("_T")


class Seen(Sequence[_T]):
    """What a growing list holds now; what is appended to it later is not seen."""

    def __init__(self, items: list[_T]) -> None:
        self._items, self._length = items, len(items)

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return tuple(self._items[i] for i in range(*index.indices(self._length)))
        at = index + self._length if index < 0 else index
        if not 0 <= at < self._length:
            raise IndexError(index)
        return self._items[at]

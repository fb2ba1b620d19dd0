"""The one growing value: a read-only sequence of messages over a log, and the verb that applies edits to it.

A ``Context`` is a log seen through a length, so a view costs O(1). Appending to the newest view extends the log in
place; ``apply`` cuts the log at the first changed position and rebuilds what follows, so that it costs the messages
from there on. A view that such a cut has made untrue raises ``StaleContext`` instead of showing other messages.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, overload

import msgspec

from ullage.errors import EditError, StaleContext
from ullage.types import (
    Block,
    Drop,
    Edit,
    Erase,
    Inject,
    Insert,
    Message,
    Opaque,
    Rewrite,
    Stash,
    ToolResult,
)

MessageCounter = Callable[[Message], int]
"""True tokens of one message; called once for each content."""


class _Log:
    """The arrays behind all views of one history, kept in step message by message."""

    __slots__ = (
        "counter",
        "cuts",
        "epoch",
        "index",
        "last_kind",
        "messages",
        "original_keys",
        "positions",
        "prefix",
        "results",
        "sources",
        "stubs",
        "tokens",
    )

    def __init__(self, counter: MessageCounter) -> None:
        self.counter = counter
        self.messages: list[Message] = []
        self.tokens: list[int] = [0]
        self.prefix: list[int] = [0]
        self.positions: list[int] = [0]
        self.last_kind: list[str] = [""]
        self.index: dict[str, int] = {}
        self.results: list[int] = []
        self.stubs: list[int] = []
        self.sources: dict[str, tuple[str, ...]] = {}
        self.original_keys: dict[str, int] = {}
        self.epoch = 0
        self.cuts: list[tuple[int, int]] = []

    def push(self, message: Message) -> None:
        """Append one message to every array."""
        if message.id in self.index:
            raise EditError(f"message id {message.id!r} is already in the context")
        key = message.key
        shape = message.shape
        at = len(self.messages)
        self.messages.append(message)
        self.tokens.append(self.tokens[-1] + self.counter(message))
        sent = self.original_keys.get(message.id, key) if self.original_keys else key
        self.prefix.append(hash((self.prefix[-1], sent)))
        joins = 1 if shape.first and shape.first == self.last_kind[-1] else 0
        self.positions.append(self.positions[-1] + shape.positions - joins)
        self.last_kind.append(shape.last if shape.positions else self.last_kind[-1])
        self.index[message.id] = at
        if message.tool_result_ids:
            self.results.append(at)
            if message.stub:
                self.stubs.append(at)

    def cut(self, position: int) -> list[Message]:
        """Remove everything from ``position`` on and return it; older views that reached further become stale."""
        tail = self.messages[position:]
        for message in tail:
            del self.index[message.id]
        del self.messages[position:]
        for array in (self.tokens, self.prefix, self.positions, self.last_kind):
            del array[position + 1 :]
        del self.results[bisect_left(self.results, position) :]
        del self.stubs[bisect_left(self.stubs, position) :]
        self.epoch += 1
        while self.cuts and self.cuts[-1][1] >= position:
            self.cuts.pop()
        self.cuts.append((self.epoch, position))
        return tail

    def stale(self, epoch: int, length: int) -> bool:
        """Tell whether a cut after ``epoch`` removed something below ``length``."""
        at = bisect_left(self.cuts, (epoch + 1, -1))
        return at < len(self.cuts) and self.cuts[at][1] < length


class Context(Sequence[Message]):
    """Messages in order, read-only. Positions are indices into it; tokens are true tokens."""

    __slots__ = ("_epoch", "_length", "_log")

    def __init__(self, log: _Log, length: int) -> None:
        self._log, self._length, self._epoch = log, length, log.epoch

    @classmethod
    def of(cls, messages: Sequence[Message], counter: MessageCounter) -> Context:
        """Start a new log from these messages."""
        log = _Log(counter)
        for message in messages:
            log.push(message)
        return cls(log, len(log.messages))

    def _within(self, length: int) -> int:
        """Refuse to look behind the view: the log may hold more, which the reader of the view must not see."""
        if not 0 <= length <= self._length:
            raise IndexError(f"{length} messages of a context of {self._length}")
        return length

    def _live(self) -> _Log:
        log = self._log
        if log.epoch != self._epoch:
            if log.stale(self._epoch, self._length):
                raise StaleContext("this view of the context was changed by an edit after it was taken")
            self._epoch = log.epoch
        return log

    def __len__(self) -> int:
        return self._length

    def upto(self, length: int) -> Context:
        """The first ``length`` messages, as a view of the same log."""
        if not 0 <= length <= self._length:
            raise IndexError(f"{length} messages of a context of {self._length}")
        view = Context(self._log, length)
        view._epoch = self._epoch
        return view

    @overload
    def __getitem__(self, index: int) -> Message: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Message, ...]: ...
    def __getitem__(self, index: int | slice) -> Message | tuple[Message, ...]:
        messages = self._live().messages
        if isinstance(index, slice):
            return tuple(messages[i] for i in range(*index.indices(self._length)))
        at = index + self._length if index < 0 else index
        if not 0 <= at < self._length:
            raise IndexError(f"position {index} of a context of {self._length} messages")
        return messages[at]

    def __iter__(self) -> Iterator[Message]:
        return iter(self._live().messages[: self._length])

    def position(self, message_id: str) -> int | None:
        """Where this message stands, or none."""
        at = self._live().index.get(message_id)
        return at if at is not None and at < self._length else None

    def tokens(self, start: int = 0, stop: int | None = None) -> int:
        """True tokens of the messages from ``start`` to before ``stop`` (none: the end)."""
        sums = self._live().tokens
        end = self._length if stop is None else stop
        if not 0 <= start <= end <= self._length:
            raise IndexError(f"messages {start} to {end} of a context of {self._length}")
        return sums[end] - sums[start]

    def prefix_hash(self, length: int) -> int:
        """Key of the first ``length`` messages: equal keys mean equal content in the same order."""
        return self._live().prefix[self._within(length)]

    def sent_key(self, position: int) -> int:
        """Content key of the bytes that the client sends at ``position`` (an erased message keeps its own)."""
        log = self._live()
        message = log.messages[self._within(position + 1) - 1]
        return log.original_keys.get(message.id, message.key)

    def cache_positions(self, length: int) -> int:
        """Cache positions that the first ``length`` messages take (runs of tool blocks count once)."""
        return self._live().positions[self._within(length)]

    def fits(self, tokens: int) -> int:
        """The largest number of leading messages that take at most ``tokens``."""
        sums = self._live().tokens
        at = bisect_left(sums, tokens + 1, 0, self._length + 1) - 1
        return max(at, 0)

    def fits_positions(self, positions: int) -> int:
        """The largest number of leading messages that take at most ``positions`` cache positions."""
        return bisect_left(self._live().positions, positions + 1, 0, self._length + 1) - 1

    @property
    def result_positions(self) -> Sequence[int]:
        """Positions of messages that hold a tool result, ascending. Cheap at the end of a log, else a copy."""
        return self._seen(self._live().results)

    @property
    def stub_positions(self) -> Sequence[int]:
        """Positions of messages whose tool result an edit replaced, ascending."""
        return self._seen(self._live().stubs)

    def _seen(self, positions: list[int]) -> Sequence[int]:
        if not positions or positions[-1] < self._length:
            return positions
        return positions[: bisect_left(positions, self._length)]

    def sources(self, message_id: str) -> tuple[str, ...]:
        """Ids of the original messages that an inserted message stands for; its own id for an original one."""
        return self._log.sources.get(message_id, (message_id,))

    def append(self, message: Message) -> Context:
        """Return the context with one more message; extends the log in place when this view is its end."""
        log = self._live()
        if self._length != len(log.messages):
            raise StaleContext("only the newest view of a context can be appended to")
        log.push(message)
        return Context(log, self._length + 1)

    def apply(self, edits: Sequence[Edit]) -> Applied:
        """Apply edits in one step and return the new context and what changed; see ``Applied``.

        Raises ``EditError`` for an unknown or repeated id, before anything has changed.
        """
        log = self._live()
        if self._length != len(log.messages):
            raise StaleContext("only the newest view of a context can be edited")
        plan = _plan(self, edits)
        if plan.rebuild is None:
            return Applied(self, None, plan.injected, plan.stashed)
        log.original_keys.update(plan.erased)
        for message_id in plan.dropped | (plan.rewritten.keys() - plan.erased.keys()):
            log.original_keys.pop(message_id, None)
        kept = log.messages[plan.rebuild - 1].id if plan.rebuild else None
        before = log.cut(plan.rebuild)
        for message in (*plan.head, *plan.inserted.get(kept, ())):
            log.push(message)
        for message in before:
            for new in plan.replaced(message):
                log.push(new)
        for new_id, sources in plan.sources.items():
            log.sources[new_id] = tuple(dict.fromkeys(o for s in sources for o in log.sources.get(s, (s,))))
        return Applied(Context(log, len(log.messages)), plan.first, plan.injected, plan.stashed)


class Applied(NamedTuple):
    """A new context with the first position of the old one whose sent bytes changed (none: no byte changed)."""

    context: Context
    first_changed: int | None
    injected: tuple[Block, ...]
    stashed: tuple[Stash, ...]


ERASED = "erased"
"""Kind of the opaque block that stands for a tool result which the server deleted."""


class _Plan:
    """Edits sorted by the message that they touch, checked against the context."""

    def __init__(self) -> None:
        self.dropped: set[str] = set()
        self.rewritten: dict[str, Message] = {}
        self.inserted: dict[str | None, list[Message]] = {}
        self.sources: dict[str, tuple[str, ...]] = {}
        self.injected: tuple[Block, ...] = ()
        self.stashed: tuple[Stash, ...] = ()
        self.erased: dict[str, int] = {}
        self.first: int | None = None
        self.rebuild: int | None = None
        self.head: list[Message] = []

    def touch(self, position: int, *, sent: bool = True) -> None:
        """Remember the smallest position that changes; ``sent`` when the client's bytes change there."""
        self.rebuild = position if self.rebuild is None else min(self.rebuild, position)
        if sent:
            self.first = position if self.first is None else min(self.first, position)

    def replaced(self, message: Message) -> list[Message]:
        """What stands in the new context where ``message`` stood."""
        new = [] if message.id in self.dropped else [self.rewritten.get(message.id, message)]
        return new + self.inserted.get(message.id, [])


def _plan(context: Context, edits: Sequence[Edit]) -> _Plan:
    plan = _Plan()
    for edit in edits:
        if isinstance(edit, Inject):
            plan.injected += edit.blocks
        elif isinstance(edit, Stash):
            plan.stashed += (edit,)
        elif isinstance(edit, Drop):
            _plan_drop(context, plan, edit)
        elif isinstance(edit, Insert):
            _plan_insert(context, plan, edit)
        else:
            _plan_rewrite(context, plan, edit)
    clash = plan.dropped & plan.rewritten.keys()
    if clash:
        raise EditError(f"message {min(clash)!r} is both dropped and rewritten")
    return plan


def _at(context: Context, message_id: str, verb: str) -> int:
    position = context.position(message_id)
    if position is None:
        raise EditError(f"{verb} names message {message_id!r}, which is not in the context")
    return position


def _plan_drop(context: Context, plan: _Plan, edit: Drop) -> None:
    for message_id in edit.ids:
        if message_id in plan.dropped:
            raise EditError(f"message {message_id!r} is dropped twice")
        plan.touch(_at(context, message_id, "drop"))
        plan.dropped.add(message_id)


def _plan_insert(context: Context, plan: _Plan, edit: Insert) -> None:
    new = edit.message
    old = context.position(new.id)
    if new.id in plan.sources or (old is not None and new.id not in plan.dropped):
        raise EditError(f"insert brings message id {new.id!r}, which is already in the context")
    plan.sources[new.id] = edit.sources
    if edit.after is None:
        plan.head.append(new)
        plan.touch(0)
        return
    plan.touch(_at(context, edit.after, "insert") + (0 if edit.after in plan.dropped else 1))
    plan.inserted.setdefault(edit.after, []).append(new)


def _plan_rewrite(context: Context, plan: _Plan, edit: Rewrite | Erase) -> None:
    erase = isinstance(edit, Erase)
    position = _at(context, edit.id, "erase" if erase else "rewrite")
    if edit.id in plan.rewritten:
        raise EditError(f"message {edit.id!r} is rewritten twice")
    old = context[position]
    new = _with_blocks(old, _erased(old) if isinstance(edit, Erase) else edit.blocks)
    if new is old:
        return
    plan.rewritten[edit.id] = new
    if erase:
        plan.erased[edit.id] = context.sent_key(position)
    plan.touch(position, sent=not erase)


def _with_blocks(old: Message, blocks: tuple[Block, ...]) -> Message:
    if blocks == old.blocks:
        return old
    return msgspec.structs.replace(old, blocks=blocks, stub=old.stub or bool(old.tool_result_ids))


def _erased(old: Message) -> tuple[Block, ...]:
    gone = (Opaque(kind=ERASED, tokens=0),)
    return tuple(msgspec.structs.replace(b, content=gone) if isinstance(b, ToolResult) else b for b in old.blocks)

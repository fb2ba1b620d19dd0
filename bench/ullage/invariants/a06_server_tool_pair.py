"""Tools that the provider runs itself leave a call and a typed result in one assistant turn; Claude's API refuses half of a pair."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import msgspec

from ullage.invariants._scan import Finding, Scene, TurnRule
from ullage.invariants._turns import SERVER, SERVER_CALL, SERVER_RESULT
from ullage.types import Message, Opaque


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerToolPair(TurnRule):
    """A provider-run call has its result in the same turn, and the reverse; a call that still runs may end the request."""

    summary: ClassVar[str] = "provider-run tool calls keep their results"
    rule: ClassVar[str] = "A06"
    scope: ClassVar[str] = "anthropic"
    source: ClassVar[str] = "anthropics/claude-code 64026: unexpected tool_use_id found in advisor_tool_result blocks"

    def concerns(self, bits: int) -> bool:
        """A turn that holds half of such a pair."""
        return bool(bits & SERVER)

    def look(self, scene: Scene, at: int, *, last: bool) -> Iterable[Finding]:
        """One finding for each half without the other."""
        turn = scene.turns[at]
        halves = [half for message in turn.messages for half in _halves(message)]
        calls = {half.call for half in halves if half.asks}
        answers = {half.call for half in halves if not half.asks}
        return [
            Finding(half.message, f"the {half.kind} block of {half.call!r} stands alone", half.call)
            for half in halves
            if half.call not in (answers if half.asks else calls) and not (half.asks and last)
        ]


class _Half(NamedTuple):
    """One block of a pair: where it stands, its kind, its call's id, and whether it is the call."""

    message: str
    kind: str
    call: str
    asks: bool


def _halves(message: Message) -> Iterable[_Half]:
    for block in message.blocks:
        if isinstance(block, Opaque) and block.kind.endswith((SERVER_CALL, SERVER_RESULT)):
            asks = block.kind.endswith(SERVER_CALL)
            call = _field(block.data, "id" if asks else "tool_use_id")
            if call:
                yield _Half(message.id, block.kind, call, asks)


def _field(data: str, key: str) -> str:
    """A text of the verbatim block; empty where the recording holds no JSON object with it."""
    try:
        value = msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError):
        return ""
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, str) else ""

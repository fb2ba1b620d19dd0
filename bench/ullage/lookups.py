"""Open book: a reader that declined may open what the strategy stored, by the strategy's own tools, and is asked again.

Only what the examined context points to can be opened, and only as the store stood then: an entry that was evicted is gone.
It then reads the context with the calls and their results behind it, as the agent's model would.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ullage.errors import said_by
from ullage.exams import Sitting
from ullage.readers import Opening, Question, Reader, Reply
from ullage.strategy import Retrieved, Strategy, ToolRequest
from ullage.types import Message, Text, ToolResult, ToolSpec, ToolUse, Usage, canonical_json

REFERENCE, PATTERN = "reference", "pattern"
"""Arguments of a retrieval tool that a reader knows how to fill; a tool without the second gives entries whole."""

OPEN_BOOK = "open book"
"""What a record calls this examination where it could not be held."""


class Opened(NamedTuple):
    """A call of a tool that reads the store, with its answer."""

    request: ToolRequest
    answer: Retrieved


class Consulted(NamedTuple):
    """What came of one question: the reply to what was opened, the calls made, those in vain, and their price in tokens."""

    reply: Reply
    opened: int
    gone: int
    usage: Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """Where a reader may look things up: the strategies whose tools it has, how often it may, and the counter that bills it."""

    strategies: tuple[Strategy, ...]
    most: int
    count: Callable[[Message], int]

    @property
    def is_open(self) -> bool:
        """Whether any strategy offers a tool that takes a reference."""
        return self.most > 0 and any(_reads(tool) for strategy in self.strategies for tool in strategy.offered_tools())

    def consult(
        self,
        reader: Reader,
        question: Question,
        openings: Sequence[Opening],
        sitting: Sitting,
        *,
        system: str = "",
        draw: int = 0,
    ) -> Consulted | None:
        """Open entries one after the other until the reader answers; none when there is nothing to open.

        Each further request reads the examined prompt from the cache again.
        """
        calls = {b.id: b for m in sitting.messages for b in m.blocks if isinstance(b, ToolUse)}
        shown: list[Message] = []
        prompt, opened, gone = sitting.exam.tokens, 0, 0
        reply, usage = Reply(), Usage()
        for opening in openings[: self.most]:
            try:
                entry = self.open(opening, sitting.stored)
            except Exception as error:  # noqa: BLE001 - a strategy's own tool: its fault makes the question unscorable
                return Consulted(Reply(failure=f"retrieve() raised {said_by(error)}"), opened + 1, gone, usage)
            if entry is None:
                continue
            call, result = map(self.count, _turn(entry.request.name, entry.request.arguments, entry.answer, opened))
            usage += Usage(cache_read=prompt, uncached=call + result, output=call)
            prompt, opened, gone = prompt + call + result, opened + 1, gone + entry.answer.is_error
            shown += _shown(entry, opening, calls, opened)
            if not entry.answer.is_error:
                reply = reader.read((*sitting.messages, *shown), [question], system=system, draw=draw)[0]
                if reply.text is not None or reply.failure:
                    break
        return Consulted(reply, opened, gone, usage) if opened else None

    def open(self, opening: Opening, stored: Mapping[str, str]) -> Opened | None:
        """Call the first offered tool that reads entries; none when no tool does."""
        for strategy in self.strategies:
            for tool in strategy.offered_tools():
                if _reads(tool):
                    request = ToolRequest(name=tool.name, arguments=_arguments(tool, opening))
                    answer = strategy.retrieve(stored, request)
                    if answer is not None:
                        return Opened(request, answer)
        return None


CLOSED_DESK = Desk(strategies=(), most=0, count=lambda _: 0)
"""Where nothing can be looked up."""


def _properties(tool: ToolSpec) -> dict[str, Any]:
    found = json.loads(tool.schema or "{}").get("properties")
    return found if isinstance(found, dict) else {}


def _reads(tool: ToolSpec) -> bool:
    """Tell a tool that takes a reference; ``retrieve`` says whether it reads the store."""
    return REFERENCE in _properties(tool)


def _arguments(tool: ToolSpec, opening: Opening) -> str:
    known = _properties(tool)
    return canonical_json({REFERENCE: opening.ref} | ({PATTERN: opening.pattern} if PATTERN in known else {}))


def _turn(name: str, arguments: str, answer: Retrieved, number: int) -> tuple[Message, Message]:
    """A call and its result as they would stand in a history."""
    call = f"opened_{number}"
    use = ToolUse(id=call, name=name, arguments=arguments)
    result = ToolResult(tool_use_id=call, content=(Text(text=answer.text),), is_error=answer.is_error)
    return (
        Message(id=f"{call}_use", role="assistant", blocks=(use,)),
        Message(id=f"{call}_result", role="user", blocks=(result,)),
    )


def _shown(entry: Opened, opening: Opening, calls: Mapping[str, ToolUse], number: int) -> tuple[Message, Message]:
    """The same for the reader: as the result of the call that the reference stands for, and without its own search words.

    A model knows which file it has opened; and what it searched for is no evidence that it was there.
    """
    answer = entry.answer._replace(text=entry.answer.text.replace(opening.pattern, ""))
    origin = calls.get(opening.call)
    if origin is None:
        return _turn(entry.request.name, "{}", answer, number)
    return _turn(origin.name, origin.arguments, answer, number)

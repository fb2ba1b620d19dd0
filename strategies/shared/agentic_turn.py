"""One turn in which the model manages its own context: the decider's calls, their results, and the history between them."""

from __future__ import annotations

import json
from typing import Any

from ullage.strategies.shared.agentic_tools import TOOLS, run_tool
from ullage.strategies.shared.profiles import Profile
from ullage.strategies.shared.work import Work
from ullage.strategy import ToolRequest
from ullage.types import Message, Text, ToolResult, ToolUse

NAMES = frozenset(tool.name for tool in TOOLS)


def take_turn(work: Work, requests: tuple[ToolRequest, ...], profile: Profile) -> None:
    """Append the message that makes the calls, run them in order, and append the message with their results.

    The tools see the history with the calling message as its last, as they do in the package.
    """
    name = work.fresh_id(f"context-tools-{work.view.call}")
    ids = [f"{name}-{at}" for at in range(len(requests))]
    uses = tuple(ToolUse(id=i, name=r.name, arguments=r.arguments) for i, r in zip(ids, requests, strict=True))
    work.messages.append(Message(id=name, role="assistant", blocks=uses, synthetic=True))
    results = []
    for call_id, request in zip(ids, requests, strict=True):
        text = run_tool(work, request.name, _arguments(request), profile)
        results.append(ToolResult(tool_use_id=call_id, content=(Text(text=text),)))
    work.messages.append(Message(id=f"{name}-results", role="user", blocks=tuple(results), synthetic=True))
    if not work.tiers:
        work.acted("agentic", "the model called context tools")


def _arguments(request: ToolRequest) -> dict[str, Any]:
    value = json.loads(request.arguments)
    return value if isinstance(value, dict) else {}

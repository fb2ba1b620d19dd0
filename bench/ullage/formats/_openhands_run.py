"""One OpenHands run while its events are read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from ullage.formats._anthropic import milliseconds
from ullage.formats._chat import arguments_of
from ullage.formats._facts import main_model
from ullage.formats._lines import list_at, object_at
from ullage.formats._talk import Talk
from ullage.formats._usage import completion_usage, names_cache
from ullage.types import Block, Message, Text, ToolResult, ToolUse, Trace, TraceMeta, canonical_json

_STATE = frozenset({"null", "agent_state_changed", "change_agent_state", "recall", "system", "initialize"})
"""Events of the program itself, which the model does not read; ``system`` holds the system prompt."""
_ASIDE = frozenset({"thought", "keep_prompt", "is_confirmed", "confirmation_state", "kernel_init_code", "hidden", "blocking"})
"""Arguments of an action that are not arguments of the tool."""


@dataclass(slots=True, kw_only=True)
class Run(Talk):
    """Collects events: actions of the agent become calls with a tool use, observations their results."""

    name: str
    system: str = ""
    cached: bool = False
    _places: dict[str, int] = field(default_factory=dict)
    _uses: dict[str, str] = field(default_factory=dict)
    _open: list[str] = field(default_factory=list)
    _response: str = ""

    def add(self, event: dict[str, Any]) -> bool:
        """Take one event; tells whether the model read or wrote it."""
        kind, at = str(event.get("action") or event.get("observation") or ""), milliseconds(event.get("timestamp"))
        self._places[str(event.get("id"))] = len(self.messages)
        if kind == "system":
            self.system = str(object_at(event, "args").get("content") or "")
        elif kind.startswith("condensation"):
            self._condensation(event, at)
        if kind in _STATE or kind.startswith("condensation"):
            return False
        if "observation" in event:
            self._observation(event, at)
        elif event.get("source") == "user":
            text = str(object_at(event, "args").get("content") or event.get("message") or "")
            self.hear(Message(id=self._id(event), role="user", blocks=(Text(text=text),), at=at, human=True))
        else:
            self._action(event, kind, at)
        return True

    def _action(self, event: dict[str, Any], kind: str, at: int | None) -> None:
        arguments, told = object_at(event, "args"), object_at(event, "tool_call_metadata")
        thought = arguments.get("content") if kind == "message" else arguments.get("thought")
        if kind == "finish":
            thought = thought or arguments.get("final_thought") or event.get("message")
        blocks: list[Block] = [Text(text=str(thought))] if thought else []
        if kind not in ("message", "finish"):
            use = str(told.get("tool_call_id") or f"{self.name}/{self._id(event)}")
            kept = {key: value for key, value in arguments.items() if key not in _ASIDE}
            blocks.append(ToolUse(id=use, name=str(told.get("function_name") or kind), arguments=arguments_of(kept)))
            self._uses[str(event.get("id"))] = use
            self._open.append(use)
        response = object_at(told, "model_response")
        if response.get("id") and response["id"] == self._response and self.messages[-1].role == "assistant":
            last = self.messages[-1]
            self.messages[-1] = msgspec.structs.replace(last, blocks=(*last.blocks, *blocks))
            return
        self._response = str(response.get("id") or "")
        self._call(event, response, tuple(blocks), at)

    def _call(self, event: dict[str, Any], response: dict[str, Any], blocks: tuple[Block, ...], at: int | None) -> None:
        self.cached = self.cached or names_cache(response.get("usage"))
        message = Message(id=self._id(event), role="assistant", blocks=blocks, at=at)
        self.reply(message, model=str(response.get("model") or ""), usage=completion_usage(response.get("usage")))

    def _observation(self, event: dict[str, Any], at: int | None) -> None:
        """The answer to its cause, or, where no ids are recorded, to the oldest open call."""
        use = str(object_at(event, "tool_call_metadata").get("tool_call_id") or self._uses.get(str(event.get("cause")), ""))
        if not use and self._open and event.get("cause") is None:
            use = self._open[0]
        if use in self._open:
            self._open.remove(use)
        items = (Text(text=str(event.get("content") or "")),)
        if not use:
            self.hear(Message(id=self._id(event), role="user", blocks=items, at=at))
            return
        failed = event.get("observation") == "error"
        self.hear(
            Message(id=self._id(event), role="user", blocks=(ToolResult(tool_use_id=use, content=items, is_error=failed),), at=at)
        )

    def _condensation(self, event: dict[str, Any], at: int | None) -> None:
        """What was forgotten stays in the history; the summary stands on the event."""
        details = object_at(event, "args") or event
        summary = str(details.get("summary") or "")
        forgotten = [str(one) for one in list_at(details, "forgotten_event_ids")]
        if summary or forgotten:
            cleared = tuple(use for one in forgotten if (use := self._uses.get(one)))
            self.compacted(at, summary=summary, cleared=cleared)

    def _id(self, event: dict[str, Any]) -> str:
        number = event.get("id")
        return f"event-{number}" if number is not None else f"message-{len(self.messages)}-{len(self._open)}"

    def trace(self, source: str, costs: Sequence[Any]) -> Trace:
        """The finished trace; where there is one cost a call, it stands beside the call."""
        if len(costs) == len(self.calls):
            paid = [item.get("cost") if isinstance(item, dict) else item for item in costs]
            self.calls = [
                msgspec.structs.replace(call, extra=canonical_json({"cost": cost}))
                for call, cost in zip(self.calls, paid, strict=True)
            ]
        meta = TraceMeta(format="openhands", source=source, model=main_model(self.calls), client="openhands")
        return self.finished(self.name, meta, "read" if self.cached else "none", system=self.system)

"""One Kimi Code wire log while its lines are read."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import msgspec

from ullage.formats._anthropic import milliseconds, whole
from ullage.formats._chat import arguments_of, items_of, tool_specs
from ullage.formats._facts import main_model
from ullage.formats._lines import object_at
from ullage.formats._talk import Talk
from ullage.types import (
    Block,
    Message,
    Opaque,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
    Trace,
    TraceMeta,
    Usage,
    canonical_json,
)

_REWINDS = frozenset({"context.undo", "context.clear", "agent.switched"})


@dataclass(slots=True)
class Wire(Talk):
    """Collects the lines of one agent. A step's blocks, then its results, wait until the step ends or the next begins."""

    system: str = ""
    tools: Any = None
    model: str = ""
    version: str = ""
    started: str = ""
    _reply: list[Block] = field(default_factory=list)
    _results: list[ToolResult] = field(default_factory=list)
    _at: int | None = None
    _paid: bool = True

    def add(self, line: dict[str, Any]) -> bool:
        """Take one line; tells whether it says anything of the conversation."""
        kind, at = str(line.get("type")), milliseconds(line.get("time"))
        if kind == "metadata":
            self.version, self.started = str(line.get("protocol_version") or ""), str(line.get("created_at") or "")
        elif kind in ("config.update", "profile.bind"):
            self.system = str(line.get("systemPrompt") or self.system)
            self.model = str(line.get("modelAlias") or self.model)
        elif kind == "llm.tools_snapshot":
            self.tools = line.get("tools")
        elif kind == "llm.request":
            self._request(line, at)
        elif kind == "context.append_message":
            self._context(object_at(line, "message"), at)
        elif kind == "context.append_loop_event":
            return self._step(object_at(line, "event"), at)
        elif kind == "usage.record":
            self._usage(line, at)
        elif kind == "context.apply_compaction":
            self._compaction(line, at)
        elif kind in _REWINDS:
            self.note("rewind", at, kind)
        else:
            return False
        return True

    def close(self) -> None:
        """End a step that was broken off: a call without a bill, where anything came of it."""
        if self._reply:
            self._end(None)

    def _request(self, line: dict[str, Any], at: int | None) -> None:
        self.model = str(line.get("model") or self.model)
        if line.get("attempt"):
            self.note("api_error", at, f"attempt {line['attempt']}")

    def _context(self, message: dict[str, Any], at: int | None) -> None:
        self.close()
        items, name = items_of(message.get("content")), f"message-{len(self.messages)}"
        if message.get("role") == "assistant":
            self.messages.append(Message(id=name, role="assistant", blocks=items, at=at))
        elif items:
            human = object_at(message, "origin").get("kind") == "user"
            self.messages.append(Message(id=name, role="user", blocks=items, at=at, human=human))

    def _step(self, event: dict[str, Any], at: int | None) -> bool:
        kind = event.get("type")
        if kind == "step.begin":
            self.close()
            self._at = at
        elif kind == "content.part":
            self._reply.append(_part(event.get("part")))
        elif kind == "tool.call":
            arguments = arguments_of(event.get("args"))
            self._reply.append(
                ToolUse(id=str(event.get("toolCallId") or ""), name=str(event.get("name") or ""), arguments=arguments)
            )
        elif kind == "tool.result":
            result = object_at(event, "result")
            output = result.get("output")
            items = items_of(output if isinstance(output, (str, list)) else None if output is None else canonical_json(output))
            failed = bool(result.get("isError"))
            self._results.append(ToolResult(tool_use_id=str(event.get("toolCallId") or ""), content=items, is_error=failed))
        elif kind == "step.end":
            self._end(usage_of(event.get("usage")))
        else:
            return False
        return True

    def _end(self, usage: Usage | None) -> None:
        name = f"step-{len(self.calls)}"
        self.reply(Message(id=name, role="assistant", blocks=tuple(self._reply), at=self._at), model=self.model, usage=usage)
        if self._results:
            self.messages.append(Message(id=f"{name}/results", role="user", blocks=tuple(self._results), at=self._at))
        self._reply, self._results, self._paid = [], [], usage is not None

    def _usage(self, line: dict[str, Any], at: int | None) -> None:
        """A record of a turn repeats its step's usage; one of the session is a request beside the conversation."""
        usage = usage_of(line.get("usage") or line)
        if line.get("usageScope") == "session":
            self.note("side_request", at, canonical_json(usage))
        elif self.calls and not self._paid and usage is not None:
            self.calls[-1] = msgspec.structs.replace(self.calls[-1], usage=usage, output_reliable=True)
            self._paid = True

    def _compaction(self, line: dict[str, Any], at: int | None) -> None:
        self.close()
        self.compacted(
            at,
            tokens_before=whole(line.get("tokensBefore")) or None,
            tokens_after=whole(line.get("tokensAfter")) or None,
            summary=str(line.get("contextSummary") or line.get("summary") or ""),
        )

    def trace(self, source: str) -> Trace:
        """The finished trace; the log names no session, so its file and start do."""
        meta = TraceMeta(
            format="kimi_code",
            source=source,
            model=main_model(self.calls) or self.model,
            client=f"kimi-code, protocol {self.version}",
        )
        name = f"{source.partition('.')[0]}-{self.started}"
        return self.finished(name, meta, "read_write", system=self.system, tools=tool_specs(self.tools))


def usage_of(raw: Any) -> Usage | None:
    """Billed usage: ``inputOther`` excludes what was read and written."""
    if not isinstance(raw, dict) or "inputOther" not in raw:
        return None
    return Usage(
        uncached=whole(raw.get("inputOther")),
        cache_read=whole(raw.get("inputCacheRead")),
        cache_write_5m=whole(raw.get("inputCacheCreation")),
        output=whole(raw.get("output")),
    )


def _part(part: Any) -> Block:
    kind = part.get("type") if isinstance(part, dict) else None
    if kind == "text" and isinstance(part.get("text"), str):
        return Text(text=part["text"])
    if kind == "think" and isinstance(part.get("think"), str):
        return Thinking(text=part["think"])
    return Opaque(kind=str(kind or "part"), data=canonical_json(part))

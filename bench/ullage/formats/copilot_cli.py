"""Copilot CLI event logs: messages, tool runs, and the model; no prompt or cache figures."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import msgspec

from ullage.errors import TraceError
from ullage.formats import Format, Imported, Source
from ullage.formats._anthropic import milliseconds, whole
from ullage.formats._chat import Conversation
from ullage.formats._facts import main_model
from ullage.formats._lines import LineReader, first_objects, list_at, object_at
from ullage.types import Trace, TraceMeta, canonical_json

_REDUCTIONS = {"session.truncation": "clearing", "session.compaction_complete": "summary"}


@dataclass(frozen=True, slots=True, kw_only=True)
class CopilotCli(Format):
    """Each assistant message is a call; the log holds the output count at most, so usage is none."""

    summary: ClassVar[str] = "Copilot CLI events JSONL"
    suffixes: ClassVar[tuple[str, ...]] = (".jsonl",)

    def matches(self, source: Source) -> bool:
        """The first event starts a session and carries data."""
        first = next(first_objects(source.head, 1), {})
        return first.get("type") == "session.start" and isinstance(first.get("data"), dict)

    def read(self, source: Source) -> Imported:
        """Import the session, sub-agents as its children."""
        reader, log = LineReader(source), _Log()
        for number, event in reader.objects():
            reader.opaque += not log.add(number, event)
        if not log.main.messages:
            raise TraceError(str(source), "no message of a session", "Copilot CLI user and assistant messages")
        problems = tuple(reader.problems)
        trace = log.trace(source.path.name)
        return Imported(path=str(source), format="copilot_cli", traces=(trace,), lines=reader.counts(), problems=problems)


@dataclass(slots=True)
class _Log:
    """The events of one log; messages below a tool call belong to the sub-agent that it started."""

    session: dict[str, Any] = field(default_factory=dict)
    system: list[str] = field(default_factory=list)
    model: str = ""
    main: Conversation = field(default_factory=lambda: Conversation(name="main"))
    agents: dict[str, Conversation] = field(default_factory=dict)

    def add(self, number: int, event: dict[str, Any]) -> bool:
        """Take one event; tells whether it says anything of the conversation."""
        kind, data, at = str(event.get("type")), object_at(event, "data"), milliseconds(event.get("timestamp"))
        parent = str(data.get("parentToolCallId") or "")
        talk = self.agents.setdefault(parent, Conversation(name=parent)) if parent else self.main
        if kind == "session.start":
            self.session = self.session or data
        elif kind == "session.model_change":
            self.model = str(data.get("newModel") or self.model)
        elif kind == "system.message":
            self._system(talk, data, number, at)
        elif kind == "user.message":
            text = data.get("transformedContent") or data.get("content")
            talk.add({"role": "user", "content": text}, number, at=at, human=not parent)
        elif kind == "assistant.message":
            self._assistant(talk, data, number, at)
        elif kind == "tool.execution_complete":
            self._result(talk, data, number, at)
        elif kind in _REDUCTIONS:
            self._reduction(kind, data, at)
        elif kind in ("session.error", "abort"):
            detail = str(data.get("message") or data.get("reason") or kind)
            self.main.note("aborted" if kind == "abort" else "api_error", at, detail)
        else:
            return False
        return True

    def _system(self, talk: Conversation, data: dict[str, Any], number: int, at: int | None) -> None:
        if talk.messages:
            talk.add({"role": "system", "content": data.get("content")}, number, at=at)
        elif talk is self.main and data.get("content"):
            self.system.append(str(data["content"]))

    def _assistant(self, talk: Conversation, data: dict[str, Any], number: int, at: int | None) -> None:
        asked = [one for one in list_at(data, "toolRequests") if isinstance(one, dict)]
        calls = [{"id": one.get("toolCallId"), "name": one.get("name"), "arguments": one.get("arguments")} for one in asked]
        row = {
            "role": "assistant",
            "content": data.get("content"),
            "tool_calls": calls,
            "reasoning_content": data.get("reasoningText"),
        }
        counted = whole(data.get("outputTokens"))
        extra = canonical_json({"output_tokens": counted}) if counted else ""
        talk.add(row, number, at=at, model=str(data.get("model") or self.model), extra=extra)

    def _result(self, talk: Conversation, data: dict[str, Any], number: int, at: int | None) -> None:
        told = object_at(data, "result").get("content", object_at(data, "error").get("message"))
        row = {"role": "tool", "tool_call_id": data.get("toolCallId"), "content": told, "is_error": data.get("success") is False}
        talk.add(row, number, at=at)

    def _reduction(self, kind: str, data: dict[str, Any], at: int | None) -> None:
        before = data.get("preCompactionTokens") or data.get("preTruncationTokensInMessages")
        after = data.get("postCompactionTokens") or data.get("postTruncationTokensInMessages")
        saved = data.get("tokensRemovedDuringTruncation") or data.get("droppedTokens")
        self.main.compacted(
            at,
            kind="summary" if _REDUCTIONS[kind] == "summary" else "clearing",
            trigger=str(data.get("reason") or ""),
            tokens_before=whole(before) or None,
            tokens_after=whole(after) or None,
            tokens_saved=whole(saved) or None,
            summary=str(data.get("summaryContent") or ""),
        )

    def trace(self, source: str) -> Trace:
        """The finished trace."""
        name, version = str(self.session.get("sessionId") or source), self.session.get("copilotVersion") or ""
        model = main_model(self.main.calls) or self.model
        meta = TraceMeta(format="copilot_cli", source=source, model=model, client=f"copilot-cli {version}".strip())
        trace = self.main.finished(name, meta, "none", system="\n\n".join(self.system))
        children = tuple(_child(talk, name, source) for talk in self.agents.values() if talk.messages)
        return msgspec.structs.replace(trace, children=children)


def _child(talk: Conversation, session: str, source: str) -> Trace:
    meta = TraceMeta(format="copilot_cli", source=source, model=main_model(talk.calls))
    return msgspec.structs.replace(talk.finished(f"{session}/{talk.name}", meta, "none"), parent=talk.name)

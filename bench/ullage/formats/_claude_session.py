"""One Claude Code session while its lines are read: responses grouped, results paired, compactions kept as events."""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, Literal

import msgspec

from ullage.formats._anthropic import blocks_of, milliseconds, usage_of, whole
from ullage.formats._claude_lines import (
    attachment_blocks,
    attachment_extra,
    boundary_of,
    call_extra,
    extra_of,
    queued_by_person,
    results_in,
    text_of,
    typed_by_person,
)
from ullage.formats._claude_parts import Draft, QueuedPrompt, Response
from ullage.formats._facts import in_order, larger_than_recorded, main_model, model_changes, provenance_of
from ullage.formats._lines import object_at
from ullage.types import Call, RecordedCompaction, RecordedEvent, ToolResult, ToolUse, Trace, TraceMeta, canonical_json

RESERVE = 20_000
"""Claude Code keeps min(the model's largest output, 20,000) tokens free (analysis of 2.1.68 to 2.1.91)."""


@dataclass(slots=True)
class Session:
    """Collects the lines of one session, or of one sub-agent, and makes the trace.

    ``paid`` are the response ids of all sessions of the file: a resumed session repeats its history, which is billed once.
    ``doubled``, ``late`` and ``restored`` count repeated lines, results that came after a later response, and queued
    messages of which only the queue's own record is left.
    """

    id: str
    parent: str = ""
    paid: dict[str, str] = field(default_factory=dict)
    drafts: list[Draft] = field(default_factory=list)
    responses: dict[str, Response] = field(default_factory=dict)
    compactions: list[RecordedCompaction] = field(default_factory=list)
    events: list[RecordedEvent] = field(default_factory=list)
    children: dict[str, Session] = field(default_factory=dict)
    meta: dict[str, str] = field(default_factory=dict)
    doubled: int = 0
    late: int = 0
    restored: int = 0
    counted: int = 0
    midway: bool | None = None
    _seen: set[str] = field(default_factory=set)
    _after: dict[str, int] = field(default_factory=dict)
    _uses: dict[str, str] = field(default_factory=dict)
    _answered: set[str] = field(default_factory=set)
    _results: dict[str, int] = field(default_factory=dict)
    _open: set[str] = field(default_factory=set)
    _waiting: list[Draft] = field(default_factory=list)
    _queue: list[QueuedPrompt] = field(default_factory=list)
    _kept: dict[int, str] = field(default_factory=dict)
    _agents: dict[str, RecordedEvent] = field(default_factory=dict)
    _uses_of: dict[str, str] = field(default_factory=dict)
    _last: str = ""
    _attaching: bool = False

    def add(self, line: dict[str, Any]) -> bool:
        """Take one line; tells whether it carried anything of the conversation."""
        if self._repeated(line):
            self.doubled += 1
            return True
        self.notice(line)
        for key in ("cwd", "version"):
            if line.get(key):
                self.meta.setdefault(key, str(line[key]))
        take = {"assistant": self._assistant, "user": self._user, "system": self._system, "attachment": self._attachment}
        carried = take.get(str(line.get("type")), self._queue_operation)(line)
        self._after[str(line.get("uuid") or "")] = len(self.responses)
        return carried

    def child(self, agent: str, parent: str) -> Session:
        """The sub-agent of this name, started by the tool call ``parent``."""
        found = self.children.setdefault(agent, Session(id=f"{self.id}/{agent}", parent=parent, paid=self.paid))
        found.parent = found.parent or parent
        return found

    def notice(self, line: dict[str, Any]) -> None:
        """Note a line's place in the thread: a first line with a predecessor elsewhere means a session joined midway."""
        uuid = str(line.get("uuid") or "")
        if not uuid:
            return
        if self.midway is None:
            before = str(line.get("parentUuid") or line.get("logicalParentUuid") or "")
            self.midway = bool(before) and before not in self._after
        self._after[uuid] = len(self.responses)

    def _repeated(self, line: dict[str, Any]) -> bool:
        """The same line again: by its id, or, copied under a new id, by its time and message."""
        keys = [str(line["uuid"])] if line.get("uuid") else []
        if line.get("timestamp") and isinstance(line.get("message"), dict):
            keys.append(blake2b(msgspec.json.encode([line["timestamp"], line["message"]]), digest_size=12).hexdigest())
        known = any(key in self._seen for key in keys)
        self._seen.update(keys)
        return known

    def _assistant(self, line: dict[str, Any]) -> bool:
        message = object_at(line, "message")
        at, model = milliseconds(line.get("timestamp")), str(message.get("model") or "")
        blocks = blocks_of(message.get("content"))
        if model == "<synthetic>" or line.get("isApiErrorMessage"):
            kind = "api_error" if line.get("isApiErrorMessage") else "synthetic"
            self._event(kind, at, text_of(blocks))
            return True
        key = str(message.get("id") or line.get("uuid") or f"response-{len(self.responses)}")
        response = self.responses.get(key) or self._begin(key, at, model, line)
        fresh = [block for block in blocks if not (isinstance(block, ToolUse) and block.id in self._uses)]
        self.drafts[response.position].blocks += fresh
        for block in fresh:
            if isinstance(block, ToolUse):
                self._uses[block.id] = key
                self._open.add(block.id)
        response.learn(usage_of(message.get("usage")), stopped=message.get("stop_reason") is not None, extra=call_extra(line))
        return True

    def _begin(self, key: str, at: int | None, model: str, line: dict[str, Any]) -> Response:
        self._flush()
        self._attaching, self._open, self._last = False, set(), key
        counted = self.paid.setdefault(key, self.id) == self.id
        response = Response(position=len(self.drafts), at=at, model=model, counted=counted)
        self.responses[key] = response
        self.drafts.append(Draft(id=key, role="assistant", blocks=[], at=at, extra=extra_of(line)))
        self.counted += counted
        return response

    def _user(self, line: dict[str, Any]) -> bool:
        message = object_at(line, "message")
        blocks, at = list(blocks_of(message.get("content"))), milliseconds(line.get("timestamp"))
        if line.get("isCompactSummary"):
            self._summary(text_of(blocks), at)
            return True
        if line.get("isVisibleInTranscriptOnly") or not blocks:
            return False
        meta, text, results = bool(line.get("isMeta")), text_of(blocks), results_in(blocks)
        draft = Draft(id=str(line.get("uuid") or self._name("line")), role="user", blocks=blocks, at=at, extra=extra_of(line))
        if results:
            self._note_agent(line, results[0])
            self._answer(draft, results)
            return True
        draft.human = not meta and typed_by_person(text)
        if self._attaching and meta:
            self._attach(draft)
            return True
        self._attaching = False
        self._note_rewind(line, at)
        self._waiting = [one for one in self._waiting if not (one.queued and text_of(one.blocks) == text)]
        self._place(draft)
        return True

    def _answer(self, draft: Draft, results: list[ToolResult]) -> None:
        """Put results after their response; parallel results of one response stand in one message, results first."""
        owner = self._uses.get(results[0].tool_use_id)
        ids = {result.tool_use_id for result in results}
        if ids <= self._answered:
            self.doubled += 1
            return
        self._answered |= ids
        self._open -= ids
        text = text_of(draft.blocks)
        draft.answers, draft.human = owner, typed_by_person(text)
        place = self._results.get(owner or "")
        if place is not None and owner == self._last:
            self.drafts[place].merge(draft)
            return
        last = self.drafts[-1] if self.drafts else None
        if owner is None and last is not None and last.role == "user" and results_in(last.blocks) and last.answers is None:
            last.merge(draft)
            return
        self.late += owner is not None and owner != self._last
        self._results.setdefault(owner or "", len(self.drafts))
        self.drafts.append(draft)

    def _place(self, draft: Draft) -> None:
        """Text that comes while tool calls are unanswered goes after their results, as in the request that was sent."""
        (self._waiting if self._open else self.drafts).append(draft)

    def _flush(self) -> None:
        self.drafts += self._waiting
        self._waiting = []

    def _attachment(self, line: dict[str, Any]) -> bool:
        blocks = attachment_blocks(line)
        if not blocks:
            return False
        queued = object_at(line, "attachment").get("type") == "queued_command"
        draft = Draft(
            id=str(line.get("uuid") or self._name("attachment")),
            role="user",
            blocks=list(blocks),
            at=milliseconds(line.get("timestamp")),
            queued=queued,
            human=queued and queued_by_person(line) and typed_by_person(text_of(blocks)),
            extra=attachment_extra(line),
        )
        if queued:
            self._waiting = [one for one in self._waiting if not (one.queued and text_of(one.blocks) == text_of(blocks))]
        if self._attaching and not queued:
            self._attach(draft)
        else:
            self._place(draft)
        return True

    def _queue_operation(self, line: dict[str, Any]) -> bool:
        """Old clients write no line for a prompt that was queued and sent along with tool results: the queue tells."""
        if line.get("type") != "queue-operation":
            return False
        operation, at = line.get("operation"), milliseconds(line.get("timestamp"))
        if operation == "enqueue" and line.get("content"):
            self._queue.append(QueuedPrompt(id=self._name("queued"), content=line["content"], at=at, since=len(self.drafts)))
            return True
        if operation == "popAll":
            self._queue.clear()
            return True
        if operation not in ("remove", "dequeue") or not self._queue:
            return False
        if operation == "remove":
            self._send_queued(self._queue.pop(0))
        else:
            self._queue.pop(0)
        return True

    def _send_queued(self, prompt: QueuedPrompt) -> None:
        blocks = list(blocks_of(prompt.content))
        text = text_of(blocks)
        since = (*self.drafts[prompt.since :], *self._waiting)
        if text and not any(text in text_of(one.blocks) for one in since if one.role == "user"):
            draft = Draft(id=prompt.id, role="user", blocks=blocks, at=prompt.at, queued=True, human=typed_by_person(text))
            self._waiting.append(draft)
            self.restored += 1

    def _summary(self, text: str, at: int | None) -> None:
        if not self.compactions or self.compactions[-1].kind != "summary" or self.compactions[-1].summary:
            self._flush()
            self.compactions.append(RecordedCompaction(call=self.counted, position=len(self.drafts), at=at, trigger="unrecorded"))
        self.compactions[-1] = msgspec.structs.replace(self.compactions[-1], summary=text)
        self._attaching = True

    def _attach(self, draft: Draft) -> None:
        event = self.compactions[-1]
        self.compactions[-1] = msgspec.structs.replace(event, attached=(*event.attached, draft.message()))

    def _system(self, line: dict[str, Any]) -> bool:
        subtype, at = line.get("subtype"), milliseconds(line.get("timestamp"))
        if subtype in ("compact_boundary", "microcompact_boundary"):
            self._flush()
            event, kept = boundary_of(line, self.counted, len(self.drafts))
            if kept:
                self._kept[len(self.compactions)] = kept
            self.compactions.append(event)
            return True
        if subtype in ("api_error", "api_refusal", "error", "model_refusal_fallback"):
            kind = "api_error" if subtype in ("api_error", "error") else str(subtype)
            self._event(kind, at, canonical_json(line.get("error") or line.get("content") or ""))
            return True
        return False

    def _event(self, kind: str, at: int | None, detail: str) -> None:
        self.events.append(RecordedEvent(kind=kind, call=self.counted, at=at, detail=detail[:200]))

    def _note_rewind(self, line: dict[str, Any], at: int | None) -> None:
        """A prompt that hangs on an earlier line: the responses after that line are no longer in the client's context."""
        there = self._after.get(str(line.get("parentUuid") or ""))
        if there is not None and there < len(self.responses):
            self._event("rewind", at, f"responses abandoned: {len(self.responses) - there}")

    def _note_agent(self, line: dict[str, Any], result: ToolResult) -> None:
        """The structured copy of a sub-agent's result names the agent and the size of its last request."""
        told, at = line.get("toolUseResult"), milliseconds(line.get("timestamp"))
        if isinstance(told, dict) and isinstance(told.get("agentId"), str):
            self._uses_of[told["agentId"]] = result.tool_use_id
            detail = f"{result.tool_use_id}: last prompt and output {whole(told.get('totalTokens'))} tokens"
            self._agents[told["agentId"]] = RecordedEvent(kind="unrecorded_agent", call=self.counted, at=at, detail=detail)

    def _name(self, what: str) -> str:
        return f"{self.id}/{what}-{len(self._seen)}-{len(self.drafts) + len(self._waiting) + len(self._queue)}"

    def trace(self, source: str) -> Trace:
        """The finished trace, sub-agents as its children."""
        self._flush()
        calls = self._calls()
        children = tuple(self._child_trace(agent, child, source) for agent, child in self.children.items() if child.drafts)
        messages = tuple(draft.message() for draft in self.drafts)
        unseen = [event for agent, event in self._agents.items() if agent not in self.children]
        return Trace(
            id=self.id,
            parent=self.parent,
            messages=messages,
            calls=calls,
            compactions=tuple(self._with_kept(number, event) for number, event in enumerate(self.compactions)),
            events=in_order([*self.events, *model_changes(calls), *unseen]),
            children=children,
            meta=self._meta(source, main_model(calls)),
            provenance=provenance_of(calls, "read_write"),
            starts_midway=bool(self.midway) or larger_than_recorded(calls, messages),
        )

    def _meta(self, source: str, model: str) -> TraceMeta:
        version = self.meta.get("version", "")
        return TraceMeta(
            format="claude_code",
            source=source,
            model=model,
            client=f"claude-code {version}".strip(),
            cwd=self.meta.get("cwd", ""),
            reserve=RESERVE,
        )

    def _with_kept(self, number: int, event: RecordedCompaction) -> RecordedCompaction:
        uuid = self._kept.get(number)
        place = next((n for n, draft in enumerate(self.drafts) if uuid in draft.lines), None)
        return event if uuid is None or place is None else msgspec.structs.replace(event, kept_from=place)

    def _child_trace(self, agent: str, child: Session, source: str) -> Trace:
        child.parent = child.parent or self._uses_of.get(agent, "") or self._call_with_prompt(child)
        return child.trace(source)

    def _call_with_prompt(self, child: Session) -> str:
        """The tool call whose arguments hold the sub-agent's first text; empty where none does."""
        prompt = canonical_json(text_of(child.drafts[0].blocks))
        uses = (block for draft in self.drafts for block in draft.blocks if isinstance(block, ToolUse))
        return next((use.id for use in uses if prompt != '""' and prompt in use.arguments), "")

    def _calls(self) -> tuple[Call, ...]:
        calls: list[Call] = []
        ttl: Literal["", "5m", "1h"] = ""
        for key, response in self.responses.items():
            usage = response.usage
            if not response.counted:
                continue
            if usage is not None and usage.cache_write:
                ttl = "1h" if usage.cache_write_1h else "5m"
            calls.append(
                Call(
                    id=key,
                    upto=response.position,
                    reply=response.position,
                    at=response.at,
                    model=response.model,
                    usage=usage,
                    output_reliable=response.stopped and usage is not None,
                    ttl=ttl,
                    extra=response.extra,
                )
            )
        return tuple(calls)

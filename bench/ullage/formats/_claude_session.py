"""One Claude Code session while its lines are read: responses grouped, results paired, compactions kept as events."""

from __future__ import annotations

from collections import Counter as Tally
from dataclasses import dataclass, field
from typing import Any

import msgspec

from ullage.formats._anthropic import blocks_of, milliseconds, usage_of, whole
from ullage.types import (
    Block,
    Call,
    Message,
    Provenance,
    RecordedCompaction,
    RecordedEvent,
    Role,
    Text,
    ToolResult,
    Trace,
    TraceMeta,
    Usage,
    canonical_json,
)

RESERVE = 20_000
"""Claude Code keeps min(the model's largest output, 20,000) tokens free (analysis of 2.1.68 to 2.1.91)."""
_KNOWN_KEYS = frozenset(
    "type message uuid parentUuid timestamp sessionId version cwd gitBranch userType isSidechain toolUseResult requestId slug".split()
)
_MACHINE_TEXT = ("<command-", "<local-command-", "<system-reminder>", "Caveat: ", "[Request interrupted", "<bash-", "<user-memory-")
"""How text begins that the client put in a user turn itself."""


@dataclass(slots=True)
class _Draft:
    """A message in the making."""

    id: str
    role: Role
    blocks: list[Block]
    at: int | None = None
    human: bool = False
    extra: str = ""
    results_only: bool = False


@dataclass(slots=True)
class _Response:
    """One API response, gathered from all of its lines."""

    position: int
    at: int | None
    model: str
    usage: Usage | None = None
    stopped: bool = False
    order: int = 0


@dataclass(slots=True)
class Session:
    """Collects the lines of one session, or of one sub-agent, and makes the trace."""

    id: str
    parent: str = ""
    drafts: list[_Draft] = field(default_factory=list)
    responses: dict[str, _Response] = field(default_factory=dict)
    compactions: list[RecordedCompaction] = field(default_factory=list)
    events: list[RecordedEvent] = field(default_factory=list)
    children: dict[str, Session] = field(default_factory=dict)
    seen: set[str] = field(default_factory=set)
    attaching: bool = False
    models: Tally[str] = field(default_factory=Tally)
    meta: dict[str, str] = field(default_factory=dict)
    midway: bool | None = None
    doubled: int = 0

    def add(self, line: dict[str, Any]) -> bool:
        """Take one line; tells whether it carried anything of the conversation."""
        uuid = str(line.get("uuid") or "")
        if uuid and uuid in self.seen:
            self.doubled += 1
            return True
        self.start(line)
        for key in ("cwd", "version"):
            if line.get(key):
                self.meta.setdefault(key, str(line[key]))
        kind = line.get("type")
        if kind == "assistant":
            return self._assistant(line)
        if kind == "user":
            return self._user(line, uuid)
        if kind == "system":
            return self._system(line)
        if kind == "attachment":
            return self._attachment(line, uuid)
        return False

    def child(self, agent: str, parent: str) -> Session:
        """The sub-agent of this name, started by the tool call ``parent``."""
        return self.children.setdefault(agent, Session(id=f"{self.id}/{agent}", parent=parent))

    def start(self, line: dict[str, Any]) -> None:
        """Note a line's place in the thread: a first line with a predecessor elsewhere means a session joined midway."""
        if self.midway is None and line.get("uuid"):
            before = line.get("parentUuid") or line.get("logicalParentUuid")
            self.midway = bool(before) and before not in self.seen
        self.seen.add(str(line.get("uuid") or ""))

    def _assistant(self, line: dict[str, Any]) -> bool:
        message = line.get("message") or {}
        at, model = milliseconds(line.get("timestamp")), str(message.get("model") or "")
        if model == "<synthetic>" or line.get("isApiErrorMessage"):
            text = " ".join(b.text for b in blocks_of(message.get("content")) if isinstance(b, Text))
            kind = "api_error" if line.get("isApiErrorMessage") or "API Error" in text else "synthetic"
            self.events.append(RecordedEvent(kind=kind, call=len(self.responses), at=at, detail=text[:200]))
            return True
        self.attaching = False
        key = str(message.get("id") or line.get("uuid") or f"response-{len(self.responses)}")
        response = self.responses.get(key)
        if response is None:
            response = self.responses[key] = _Response(len(self.drafts), at, model, order=len(self.responses))
            self.drafts.append(_Draft(key, "assistant", [], at, extra=_extra(line)))
            self.models[model] += 1
        self.drafts[response.position].blocks += blocks_of(message.get("content"))
        response.usage = _largest(response.usage, usage_of(message.get("usage")))
        response.stopped = message.get("stop_reason") is not None
        return True

    def _user(self, line: dict[str, Any], uuid: str) -> bool:
        message = line.get("message") or {}
        blocks, at = list(blocks_of(message.get("content"))), milliseconds(line.get("timestamp"))
        if line.get("isCompactSummary"):
            self._summary(blocks)
            return True
        if line.get("isVisibleInTranscriptOnly") or not blocks:
            return False
        meta = bool(line.get("isMeta"))
        draft = _Draft(uuid or f"line-{len(self.drafts)}", "user", blocks, at, extra=_extra(line))
        draft.results_only = all(isinstance(block, ToolResult) for block in blocks)
        text = " ".join(block.text for block in blocks if isinstance(block, Text))
        draft.human = not meta and not draft.results_only and bool(text) and not text.lstrip().startswith(_MACHINE_TEXT)
        if self.attaching and meta:
            self._attach(draft)
            return True
        self.attaching = False
        last = self.drafts[-1] if self.drafts else None
        if draft.results_only and last is not None and last.results_only:
            last.blocks += blocks
        else:
            self.drafts.append(draft)
        return True

    def _attachment(self, line: dict[str, Any], uuid: str) -> bool:
        """Newer clients record the text of a reminder as it was sent."""
        rendered = (line.get("attachment") or {}).get("rendered")
        text = rendered if isinstance(rendered, str) else ""
        if not text:
            return False
        draft = _Draft(uuid or f"line-{len(self.drafts)}", "user", [Text(text=text)], milliseconds(line.get("timestamp")))
        if self.attaching:
            self._attach(draft)
        else:
            self.drafts.append(draft)
        return True

    def _summary(self, blocks: list[Block]) -> None:
        text = "\n".join(block.text for block in blocks if isinstance(block, Text))
        if not self.compactions or self.compactions[-1].kind != "summary" or self.compactions[-1].summary:
            self.compactions.append(RecordedCompaction(call=len(self.responses), position=len(self.drafts), trigger="unrecorded"))
        self.compactions[-1] = msgspec.structs.replace(self.compactions[-1], summary=text)
        self.attaching = True

    def _attach(self, draft: _Draft) -> None:
        event = self.compactions[-1]
        self.compactions[-1] = msgspec.structs.replace(event, attached=(*event.attached, _message(draft)))

    def _system(self, line: dict[str, Any]) -> bool:
        subtype, at = line.get("subtype"), milliseconds(line.get("timestamp"))
        place = {"call": len(self.responses), "position": len(self.drafts), "at": at}
        if subtype == "compact_boundary":
            meta = line.get("compactMetadata") or {}
            self.compactions.append(
                RecordedCompaction(
                    **place,
                    trigger=str(meta.get("trigger") or ""),
                    tokens_before=whole(meta.get("preTokens")) or None,
                    tokens_after=whole(meta.get("postTokens")) or None,
                )
            )
            return True
        if subtype == "microcompact_boundary":
            meta = line.get("microcompactMetadata") or {}
            self.compactions.append(
                RecordedCompaction(
                    **place,
                    kind="clearing",
                    trigger=str(meta.get("trigger") or ""),
                    tokens_before=whole(meta.get("preTokens")) or None,
                    tokens_saved=whole(meta.get("tokensSaved")) or None,
                    cleared=tuple(str(i) for i in meta.get("compactedToolIds") or ()),
                )
            )
            return True
        if subtype == "api_error":
            detail = str(line.get("error") or line.get("content") or "")[:200]
            self.events.append(RecordedEvent(kind="api_error", call=len(self.responses), at=at, detail=detail))
            return True
        return False

    def trace(self, source: str) -> Trace:
        """The finished trace, sub-agents as its children."""
        calls = self._calls()
        recorded = [call.usage for call in calls if call.usage is not None]
        model = max(sorted(self.models), key=lambda name: self.models[name]) if self.models else ""
        return Trace(
            id=self.id,
            parent=self.parent,
            messages=tuple(_message(draft) for draft in self.drafts),
            calls=calls,
            compactions=tuple(self.compactions),
            events=tuple(sorted([*self.events, *_model_changes(calls)], key=lambda e: (e.call, e.at or 0, e.kind))),
            children=tuple(child.trace(source) for child in self.children.values()),
            meta=TraceMeta(
                format="claude_code",
                source=source,
                model=model,
                client=f"claude-code {self.meta['version']}" if "version" in self.meta else "claude-code",
                cwd=self.meta.get("cwd", ""),
                reserve=RESERVE,
            ),
            provenance=Provenance(
                usage="per_call" if recorded and len(recorded) == len(calls) else ("total" if recorded else "none"),
                cache="read_write" if recorded else "none",
                output_reliable=bool(calls) and all(call.output_reliable for call in calls),
            ),
            starts_midway=bool(self.midway),
        )

    def _calls(self) -> tuple[Call, ...]:
        calls, ttl = [], ""
        for key, response in self.responses.items():
            usage = response.usage
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
                    ttl=ttl,  # type: ignore[arg-type]  # one of the two names above, or nothing yet
                )
            )
        return tuple(calls)


def _model_changes(calls: tuple[Call, ...]) -> list[RecordedEvent]:
    return [
        RecordedEvent(kind="model_change", call=n, at=after.at, detail=f"{before.model} → {after.model}")
        for n, (before, after) in enumerate(zip(calls, calls[1:], strict=False), 1)
        if before.model != after.model
    ]


def _largest(known: Usage | None, new: Usage | None) -> Usage | None:
    """Usage is repeated on each line of a response; output grows while it streams."""
    if known is None or new is None:
        return known or new
    return msgspec.structs.replace(new, output=max(known.output, new.output))


def _message(draft: _Draft) -> Message:
    return Message(id=draft.id, role=draft.role, blocks=tuple(draft.blocks), at=draft.at, human=draft.human, extra=draft.extra)


def _extra(line: dict[str, Any]) -> str:
    rest = {key: value for key, value in line.items() if key not in _KNOWN_KEYS and value not in (None, False, [], {})}
    return canonical_json(rest) if rest else ""

"""OpenCode exports: messages of typed parts; a tool part holds its call and its result, a step-finish part its bill."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from ullage.errors import TraceError
from ullage.formats import Format, Imported, LineCounts, Source
from ullage.formats._anthropic import milliseconds, whole
from ullage.formats._chat import arguments_of, image_at
from ullage.formats._facts import main_model, unanswered
from ullage.formats._lines import document, first_value, object_at, objects_at
from ullage.formats._talk import Talk
from ullage.types import (
    Block,
    Image,
    Message,
    Opaque,
    RecordedCompaction,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
    Trace,
    TraceMeta,
    Usage,
    canonical_json,
)

_EXPECTED = "an OpenCode export: {info, messages: [{info, parts}]}"
_ASIDE = frozenset({"step-start", "snapshot", "patch", "agent", "retry"})
"""Parts for the client and its screen: the model does not read them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Opencode(Format):
    """Each step is a call; input excludes cached tokens. Cleared results come back whole, summaries are events."""

    summary: ClassVar[str] = "OpenCode session export JSON"
    suffixes: ClassVar[tuple[str, ...]] = (".json",)

    def matches(self, source: Source) -> bool:
        """An object whose messages have info and parts; of one that is longer than the head, its keys tell."""
        value, head = first_value(source.head), source.head
        if value is not None:
            first = next(iter(objects_at(value, "messages")), {})
            return "info" in object_at(value) and "info" in first and "parts" in first
        keys = (b'"info"', b'"messages"', b'"parts"', b'"sessionID"')
        return head.lstrip()[:1] == b"{" and b'"info"' in head.lstrip()[:16] and all(key in head for key in keys)

    def read(self, source: Source) -> Imported:
        """Import the session."""
        value, repaired = document(source, _EXPECTED)
        session, rows = _Session(), objects_at(value, "messages")
        for number, row in enumerate(rows):
            session.add(number, row)
        if not session.calls:
            raise TraceError(str(source), "no reply of a model", _EXPECTED)
        session.clear()
        trace = session.trace(object_at(value, "info"), source.path.name)
        counts = LineCounts(read=len(rows), opaque=session.aside, repaired=int(repaired))
        problems = tuple(f"{source}: {text}" for text in unanswered(trace.messages))
        return Imported(path=str(source), format="opencode", traces=(trace,), lines=counts, problems=problems)


@dataclass(slots=True)
class _Session(Talk):
    """The conversation so far; ``cleared`` leads from the time of a clearing to the results that it took away."""

    places: dict[str, int] = field(default_factory=dict)
    cleared: dict[int, list[str]] = field(default_factory=dict)
    aside: int = 0
    _kept: str = ""
    _trigger: str = ""

    def add(self, number: int, row: dict[str, Any]) -> None:
        """Take one message; a compaction's request and its summary are events and no messages."""
        info, parts = object_at(row, "info"), objects_at(row, "parts")
        name, at = f"{info.get('id') or 'message'}/{number}", milliseconds(object_at(info, "time").get("created"))
        self.places[str(info.get("id"))] = len(self.messages)
        asked = next((part for part in parts if part.get("type") == "compaction"), None)
        if info.get("role") == "assistant":
            if info.get("summary") is True:
                self._summary(info, parts, at)
            else:
                self._steps(info, parts, name, at)
        elif info.get("role") == "user" and asked is not None:
            self._kept, self._trigger = str(asked.get("tail_start_id") or ""), "auto" if asked.get("auto") else "manual"
        elif info.get("role") == "user":
            blocks = tuple(_block(part) for part in parts if part.get("type") not in _ASIDE and not part.get("ignored"))
            human = any(part.get("type") == "text" and not part.get("synthetic") for part in parts)
            self.messages.append(Message(id=name, role="user", blocks=blocks, at=at, human=human))
        else:
            self.aside += 1

    def _steps(self, info: dict[str, Any], parts: list[dict[str, Any]], name: str, at: int | None) -> None:
        """The steps of one assistant message: older versions put several into one."""
        if info.get("error"):
            self.note("api_error", at, canonical_json(info["error"]))
        steps: list[tuple[list[dict[str, Any]], dict[str, Any] | None]] = []
        held: list[dict[str, Any]] = []
        for part in parts:
            if part.get("type") == "step-finish":
                steps.append((held, object_at(part, "tokens")))
                held = []
            elif part.get("type") not in _ASIDE:
                held.append(part)
        if held:
            steps.append((held, None if steps else object_at(info, "tokens")))
        for place, (held, tokens) in enumerate(steps):
            self._step(info, held, tokens, f"{name}.{place}", at)

    def _step(
        self, info: dict[str, Any], parts: list[dict[str, Any]], tokens: dict[str, Any] | None, name: str, at: int | None
    ) -> None:
        usage, blocks = usage_of(tokens), tuple(_block(part) for part in parts)
        usage = usage if usage is not None and usage.prompt + usage.output else None
        if not blocks and usage is None:
            return
        message = Message(id=name, role="assistant", blocks=blocks, at=at)
        self.reply(message, model=str(info.get("modelID") or ""), usage=usage)
        results = tuple(made for part in parts if (made := _result(part)) is not None)
        if results:
            self.messages.append(Message(id=f"{name}/results", role="user", blocks=results, at=at))
        for part in parts:
            when = milliseconds(object_at(part, "state", "time").get("compacted"))
            if when:
                self.cleared.setdefault(when, []).append(str(part.get("callID") or ""))

    def _summary(self, info: dict[str, Any], parts: list[dict[str, Any]], at: int | None) -> None:
        """The reply to a compaction's request: its text is the summary, its bill a request beside the conversation."""
        usage = usage_of(object_at(info, "tokens"))
        if usage is not None:
            self.note("side_request", at, canonical_json(usage))
        if info.get("error"):
            return
        self.compacted(
            at,
            trigger=self._trigger,
            summary="\n\n".join(str(part["text"]) for part in parts if part.get("type") == "text" and part.get("text")),
            kept_from=self.places.get(self._kept),
        )

    def clear(self) -> None:
        """Put each clearing before the first call after its time."""
        for when, names in sorted(self.cleared.items()):
            call = next((n for n, one in enumerate(self.calls) if one.at is not None and one.at >= when), len(self.calls))
            position = self.calls[call].upto if call < len(self.calls) else len(self.messages)
            self.compactions.append(
                RecordedCompaction(kind="clearing", call=call, position=position, at=when, cleared=tuple(names))
            )
        self.compactions.sort(key=lambda event: (event.call, event.at or 0))

    def trace(self, info: dict[str, Any], source: str) -> Trace:
        """The finished trace."""
        meta = TraceMeta(
            format="opencode",
            source=source,
            model=main_model(self.calls),
            client=f"opencode {info.get('version') or ''}".strip(),
            cwd=str(info.get("directory") or ""),
        )
        return self.finished(str(info.get("id") or source), meta, "read_write")


def usage_of(tokens: dict[str, Any] | None) -> Usage | None:
    """Billed usage: ``input`` excludes what was read and written, reasoning is billed beside the output."""
    if not tokens or "input" not in tokens:
        return None
    cache = object_at(tokens, "cache")
    return Usage(
        uncached=whole(tokens.get("input")),
        cache_read=whole(cache.get("read")),
        cache_write_5m=whole(cache.get("write")),
        output=whole(tokens.get("output")) + whole(tokens.get("reasoning")),
    )


def _block(part: dict[str, Any]) -> Block:
    kind = part.get("type")
    if kind in ("text", "reasoning") and isinstance(part.get("text"), str):
        return Text(text=part["text"]) if kind == "text" else Thinking(text=part["text"])
    if kind == "tool" and part.get("callID"):
        arguments = arguments_of(object_at(part, "state").get("input"))
        return ToolUse(id=str(part["callID"]), name=str(part.get("tool") or ""), arguments=arguments)
    if kind == "file" and str(part.get("mime")).startswith("image/"):
        return image_at(str(part.get("url") or ""))
    return Opaque(kind=str(kind or "unknown"), data=canonical_json(part))


def _result(part: dict[str, Any]) -> ToolResult | None:
    state = object_at(part, "state")
    told = state.get("error") if state.get("status") == "error" else state.get("output")
    if part.get("type") != "tool" or not part.get("callID") or told is None:
        return None
    text = told if isinstance(told, str) else canonical_json(told)
    attached = [_block(one) for one in objects_at(state, "attachments")]
    content = (Text(text=text), *(one for one in attached if isinstance(one, (Text, Image, Opaque))))
    return ToolResult(tool_use_id=str(part["callID"]), content=content, is_error=state.get("status") == "error")

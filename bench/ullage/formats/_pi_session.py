"""One pi session while its entries are read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ullage.formats._anthropic import milliseconds, whole
from ullage.formats._facts import main_model, unanswered
from ullage.formats._images import image_size
from ullage.formats._lines import list_at, object_at
from ullage.formats._talk import Talk
from ullage.types import (
    Block,
    Image,
    Message,
    Opaque,
    ResultItem,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
    Trace,
    TraceMeta,
    Usage,
    canonical_json,
)

RESERVE = 16_384
"""pi compacts when the context holds more than the window less 16,384 tokens."""
_SETTINGS = {"thinking_level_change": "thinkingLevel", "model_change": "modelId"}


@dataclass(slots=True)
class PiSession(Talk):
    """Collects the entries of one session and makes the trace. ``places`` leads from entry index and id to a message."""

    header: dict[str, Any] = field(default_factory=dict)
    places: dict[str, int] = field(default_factory=dict)
    after: dict[str, int] = field(default_factory=dict)

    def add(self, index: int, entry: dict[str, Any]) -> bool:
        """Take one entry; tells whether it says anything of the conversation."""
        kind, at = str(entry.get("type")), milliseconds(entry.get("timestamp"))
        name = str(entry.get("id") or f"entry-{index}")
        self._note_branch(entry, at)
        known = True
        if kind == "session":
            self.header = self.header or entry
        elif kind == "message":
            known = self._message(name, object_at(entry, "message"), at)
        elif kind == "custom_message":
            self._user(name, items_of(entry.get("content")), at, human=False)
        elif kind == "branch_summary":
            self._user(name, items_of(entry.get("summary")), at, human=False)
        elif kind == "compaction":
            self._compaction(entry, at)
        elif kind in _SETTINGS:
            self.note("setting_change", at, f"{_SETTINGS[kind]} {entry.get(_SETTINGS[kind])}")
        else:
            known = False
        self.places[f"#{index}"] = self.places[name] = len(self.messages) - 1
        self.after[name] = len(self.calls)
        return known

    def _note_branch(self, entry: dict[str, Any], at: int | None) -> None:
        """In a tree, a user message below an earlier entry leaves the replies after that entry behind."""
        there = self.after.get(str(entry.get("parentId") or ""))
        if entry.get("type") == "message" and there is not None and there < len(self.calls):
            self.note("rewind", at, f"responses abandoned: {len(self.calls) - there}")

    def _message(self, name: str, message: dict[str, Any], at: int | None) -> bool:
        role, at = message.get("role"), milliseconds(message.get("timestamp")) or at
        if role == "assistant":
            self._assistant(name, message, at)
        elif role == "toolResult":
            answered, failed = str(message.get("toolCallId") or ""), bool(message.get("isError"))
            result = ToolResult(tool_use_id=answered, content=items_of(message.get("content")), is_error=failed)
            self.hear(Message(id=name, role="user", blocks=(result,), at=at))
        elif role == "user":
            self._user(name, items_of(message.get("content")), at, human=True)
        elif role in ("custom", "hookMessage"):
            self._user(name, items_of(message.get("content")), at, human=False)
        elif role == "branchSummary":
            self._user(name, items_of(message.get("summary")), at, human=False)
        elif role == "bashExecution" and not message.get("excludeFromContext"):
            self._user(name, (Text(text=f"$ {message.get('command')}\n{message.get('output') or ''}"),), at, human=False)
        else:
            return False
        return True

    def _assistant(self, name: str, told: dict[str, Any], at: int | None) -> None:
        usage, stopped = usage_of(told.get("usage")), told.get("stopReason")
        broken = stopped in ("aborted", "error")
        blocks = tuple(block for item in list_at(told, "content") if (block := block_of(item)) is not None)
        billed = usage is not None and usage.prompt + usage.output > 0
        if broken:
            detail = str(told.get("errorMessage") or stopped)[:200]
            self.note("api_error" if stopped == "error" else "aborted", at, detail)
        message = Message(id=name, role="assistant", blocks=blocks, at=at)
        if billed or not broken:
            model, billing = str(told.get("model") or ""), usage if billed else None
            writes = usage is not None and usage.cache_write > 0
            self.reply(message, model=model, usage=billing, reliable=not broken, ttl="5m" if writes else "")
        elif blocks:
            self.messages.append(message)

    def _user(self, name: str, items: tuple[ResultItem, ...], at: int | None, *, human: bool) -> None:
        if items:
            self.messages.append(Message(id=name, role="user", blocks=items, at=at, human=human))

    def _compaction(self, entry: dict[str, Any], at: int | None) -> None:
        kept = entry.get("firstKeptEntryId") or f"#{entry.get('firstKeptEntryIndex')}"
        self.compacted(
            at,
            trigger="extension" if entry.get("fromHook") else "",
            tokens_before=whole(entry.get("tokensBefore")) or None,
            summary=str(entry.get("summary") or ""),
            kept_from=self.places.get(str(kept)),
        )

    def oddities(self) -> Iterator[str]:
        """What a reader of the figures should know, one line each."""
        started = milliseconds(self.header.get("timestamp"))
        copied = sum(1 for call in self.calls if call.at is not None and started is not None and call.at < started)
        if copied and (self.header.get("branchedFrom") or self.header.get("parentSession")):
            yield f"branched from another session: {copied} calls before the branch are copies, counted here too"
        yield from unanswered(self.messages)

    def trace(self, source: str) -> Trace:
        """The finished trace."""
        meta = TraceMeta(
            format="pi",
            source=source,
            model=main_model(self.calls) or str(self.header.get("modelId") or ""),
            client=f"pi, session version {self.header.get('version') or 1}",
            cwd=str(self.header.get("cwd") or ""),
            reserve=RESERVE,
        )
        return self.finished(str(self.header.get("id") or source), meta, "read_write")


def usage_of(raw: Any) -> Usage | None:
    """Billed usage: ``input`` excludes what was read and written, writes are of the 5-minute kind."""
    if not isinstance(raw, dict) or "input" not in raw:
        return None
    return Usage(
        uncached=whole(raw.get("input")),
        cache_read=whole(raw.get("cacheRead")),
        cache_write_5m=whole(raw.get("cacheWrite")),
        output=whole(raw.get("output")),
    )


def block_of(item: Any) -> Block | None:
    """One block of a reply; none for empty text and thinking."""
    kind = item.get("type") if isinstance(item, dict) else None
    if kind == "text" and isinstance(item.get("text"), str):
        return Text(text=item["text"]) if item["text"] else None
    if kind == "thinking" and isinstance(item.get("thinking"), str):
        signature = str(item.get("thinkingSignature") or "")
        return Thinking(text=item["thinking"], signature=signature) if item["thinking"] or signature else None
    if kind == "toolCall" and isinstance(item.get("id"), str):
        arguments = canonical_json(item.get("arguments") if item.get("arguments") is not None else {})
        return ToolUse(id=item["id"], name=str(item.get("name") or ""), arguments=arguments)
    if kind == "image" and isinstance(item.get("data"), str):
        width, height = image_size(item["data"])
        return Image(media_type=str(item.get("mimeType") or ""), data=item["data"], width=width, height=height)
    return Opaque(kind=str(kind or "unknown"), data=canonical_json(item))


def items_of(content: Any) -> tuple[ResultItem, ...]:
    """Text and images of a user message or a tool result; other kinds verbatim."""
    if isinstance(content, str):
        return (Text(text=content),) if content else ()
    found = [block_of(item) for item in content] if isinstance(content, list) else []
    return tuple(
        block if isinstance(block, (Text, Image, Opaque)) else Opaque(kind="block", data=canonical_json(block))
        for block in found
        if block is not None
    )

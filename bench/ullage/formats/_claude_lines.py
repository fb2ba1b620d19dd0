"""Single lines of a Claude Code session: what a person typed, what the client put in, and what is worth keeping beside it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ullage.formats._anthropic import blocks_of, milliseconds, whole
from ullage.formats._lines import list_at, object_at
from ullage.types import Block, Opaque, RecordedCompaction, Text, ToolResult, canonical_json

_THREAD_KEYS = frozenset({"uuid", "parentUuid", "logicalParentUuid", "sessionId", "requestId", "isSidechain", "agentId", "slug"})
_PLACE_KEYS = frozenset({"type", "timestamp", "version", "cwd", "gitBranch", "userType"})
_LINE_KEYS = _THREAD_KEYS | _PLACE_KEYS | {"message", "toolUseResult", "attachment"}
_MESSAGE_KEYS = frozenset({"role", "content", "id", "model", "type", "usage", "stop_reason", "stop_sequence"})
_PROMPT_KEYS = frozenset({"input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "cache_creation"})
_USAGE_KEYS = _PROMPT_KEYS | {"output_tokens", "service_tier"}
_MACHINE_TEXT = (
    "<command-",
    "<local-command-",
    "<system-reminder>",
    "<task-notification>",
    "<teammate-message",
    "<bash-",
    "<user-memory-",
    "Caveat: ",
    "[Request interrupted",
)
"""How text begins that the client put in a user turn itself."""
_TEXT_FIELDS = ("content", "snippet", "text", "prompt", "addedBlocks", "addedLines", "blockingError", "banner")
"""Fields of an attachment that hold what the model is told, where the text as sent is not recorded."""


def extra_of(line: dict[str, Any]) -> dict[str, Any]:
    """Unknown keys of a line and of its message, for ``Message.extra``; empty values are left out."""
    rest = {key: value for key, value in line.items() if key not in _LINE_KEYS and value not in (None, False, [], {}, "")}
    inner = {k: v for k, v in object_at(line, "message").items() if k not in _MESSAGE_KEYS and v is not None}
    return rest | ({"message": inner} if inner else {})


def call_extra(line: dict[str, Any]) -> str:
    """What else is known of a request, as JSON text: its id, why it stopped, usage beyond the five figures."""
    message = object_at(line, "message")
    usage = object_at(message, "usage")
    kept: dict[str, Any] = {
        key: value for key, value in usage.items() if key not in _USAGE_KEYS and value not in (None, "", 0, [], {})
    }
    if usage.get("service_tier") not in (None, "standard"):
        kept["service_tier"] = usage["service_tier"]
    known = {"request": line.get("requestId"), "stop_reason": message.get("stop_reason")}
    kept |= {key: value for key, value in known.items() if value}
    return canonical_json(kept) if kept else ""


def text_of(blocks: Iterable[Block]) -> str:
    """The texts of blocks, joined by a newline."""
    return "\n".join(block.text for block in blocks if isinstance(block, Text))


def typed_by_person(text: str) -> bool:
    """Whether a user turn's text is not one that the client writes itself."""
    return bool(text.strip()) and not text.lstrip().startswith(_MACHINE_TEXT)


def results_in(blocks: Iterable[Block]) -> list[ToolResult]:
    """The tool results among blocks."""
    return [block for block in blocks if isinstance(block, ToolResult)]


def attachment_blocks(line: dict[str, Any]) -> tuple[Block, ...]:
    """What an attachment told the model: its text as sent where recorded, else its content; nothing for settings."""
    body = object_at(line, "attachment")
    rendered = body.get("rendered") or line.get("rendered")
    if rendered:
        return _rendered(rendered)
    found: list[Block] = []
    for key in _TEXT_FIELDS:
        value = body.get(key)
        text = _plain(value)
        if text.strip():
            found.append(Text(text=text))
        elif isinstance(value, (list, dict)) and value and not text:
            found.append(Opaque(kind=f"attachment:{body.get('type')}", data=canonical_json(value)))
    return tuple(found)


def attachment_extra(line: dict[str, Any]) -> dict[str, Any]:
    """The fields of an attachment that tell what it is."""
    body = object_at(line, "attachment")
    kept = {
        key: value for key, value in body.items() if key not in (*_TEXT_FIELDS, "rendered") and value not in (None, "", [], {})
    }
    return extra_of(line) | {"attachment": kept}


def queued_by_person(line: dict[str, Any]) -> bool:
    """Whether an attachment is a prompt that a person queued while the agent was working."""
    body = object_at(line, "attachment")
    origin = body.get("origin")
    source = origin.get("kind") if isinstance(origin, dict) else origin
    return body.get("commandMode") in (None, "prompt") and not body.get("isMeta") and source in (None, "human")


def _rendered(value: Any) -> tuple[Block, ...]:
    if isinstance(value, dict):
        value = value.get("content", value.get("message", value.get("text")))
        return _rendered(value) if value else ()
    if isinstance(value, list):
        nested = [item for item in value if isinstance(item, dict) and "type" not in item]
        return tuple(block for item in value for block in _rendered(item)) if nested else blocks_of(value)
    return blocks_of(value)


def _plain(value: Any) -> str:
    """Text inside a field: itself, a list of lines, or the content of a nested file; empty where it is something else."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        return next((text for key in ("content", "text", "file", "blockingError") if (text := _plain(value.get(key)))), "")
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return "\n".join(value)
    return ""


def boundary_of(line: dict[str, Any], call: int, position: int) -> tuple[RecordedCompaction, str]:
    """A compaction or clearing event, and the id of the first line that was kept as it was (empty: none recorded)."""
    clearing = line.get("subtype") == "microcompact_boundary"
    meta = object_at(line, "microcompactMetadata" if clearing else "compactMetadata")
    event = RecordedCompaction(
        kind="clearing" if clearing else "summary",
        call=call,
        position=position,
        at=milliseconds(line.get("timestamp")),
        trigger=str(meta.get("trigger") or ""),
        tokens_before=whole(meta.get("preTokens")) or None,
        tokens_after=whole(meta.get("postTokens")) or None,
        tokens_saved=whole(meta.get("tokensSaved")) or None,
        cleared=tuple(str(item) for item in list_at(meta, "compactedToolIds")),
    )
    uuids = list_at(meta, "preservedMessages", "uuids")
    first = uuids[0] if uuids else object_at(meta, "preservedSegment").get("headUuid")
    return event, str(first or "")

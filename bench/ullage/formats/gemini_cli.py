"""Gemini CLI chats: one message a call with its tool results inside; a JSON file, or since 0.40 lines with patches."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

from ullage.errors import TraceError
from ullage.formats import Format, Imported, LineCounts, Source
from ullage.formats._anthropic import milliseconds, whole
from ullage.formats._facts import main_model
from ullage.formats._lines import LineReader, document, first_value, object_at, objects_at
from ullage.formats._talk import Talk
from ullage.formats._usage import included_usage
from ullage.types import (
    Block,
    Message,
    Opaque,
    ResultItem,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
    Trace,
    TraceMeta,
    canonical_json,
)

_EXPECTED = "a Gemini CLI chat: {sessionId, projectHash, messages}"
_REPLIES = ("gemini", "model")


@dataclass(frozen=True, slots=True, kw_only=True)
class GeminiCli(Format):
    """Input includes cached tokens; thoughts are billed as output. A message with zero tokens is a tool step, no call."""

    summary: ClassVar[str] = "Gemini CLI chat JSON, and JSON Lines since 0.40"
    suffixes: ClassVar[tuple[str, ...]] = (".json", ".jsonl")

    def matches(self, source: Source) -> bool:
        """The object, or the header line, has a session id and a project hash."""
        first = first_value(source.head.split(b"\n", 1)[0]) or first_value(source.head)
        if isinstance(first, dict):
            return "sessionId" in first and "projectHash" in first
        return (
            source.head.lstrip()[:1] == b"{" and b'"sessionId"' in source.head[:2048] and b'"projectHash"' in source.head[:2048]
        )

    def read(self, source: Source) -> Imported:
        """Import the chat."""
        chat, counts, problems = _chat(source)
        rows = objects_at(chat, "messages")
        if not any(row.get("type") in _REPLIES for row in rows):
            raise TraceError(str(source), "no reply of a model", _EXPECTED)
        trace = _trace(chat, rows, source)
        aside = sum(row.get("type") not in ("user", *_REPLIES) for row in rows)
        lines = LineCounts(read=counts.read or len(rows), opaque=aside, repaired=counts.repaired)
        return Imported(path=str(source), format="gemini_cli", traces=(trace,), lines=lines, problems=problems)


def _chat(source: Source) -> tuple[dict[str, Any], LineCounts, tuple[str, ...]]:
    """The whole chat; of a file of lines the header with the messages and patches applied in order."""
    first, _, rest = source.data.lstrip(b"\xef\xbb\xbf \r\n").partition(b"\n")
    header = first_value(first)
    if not (isinstance(header, dict) and rest.strip()):
        value, repaired = document(source, _EXPECTED)
        return object_at(value), LineCounts(repaired=int(repaired)), ()
    reader = LineReader(source)
    chat = _patched(line for _, line in reader.objects())
    return chat, reader.counts(), tuple(reader.problems)


def _patched(lines: Iterable[dict[str, Any]]) -> dict[str, Any]:
    chat: dict[str, Any] = {}
    messages: dict[str, dict[str, Any]] = {}
    for line in lines:
        if isinstance(line.get("$set"), dict):
            chat |= line["$set"]
            if "messages" in line["$set"]:
                messages = {_key(row, n): row for n, row in enumerate(objects_at(line, "$set", "messages"))}
        elif "type" in line and "sessionId" not in line:
            messages[_key(line, len(messages))] = line
        else:
            chat |= line
    return chat | {"messages": list(messages.values())}


def _key(row: dict[str, Any], number: int) -> str:
    return str(row.get("id") or f"#{number}")


def _trace(chat: dict[str, Any], rows: list[dict[str, Any]], source: Source) -> Trace:
    talk = Talk()
    for number, row in enumerate(rows):
        kind, at, name = row.get("type"), milliseconds(row.get("timestamp")), _key(row, number)
        if kind == "user":
            talk.hear(Message(id=name, role="user", blocks=_parts(row.get("content")), at=at, human=True))
        elif kind in _REPLIES:
            _take(row, Message(id=name, role="assistant", blocks=_reply(row), at=at), talk)
            if results := _results(row):
                talk.hear(Message(id=f"{name}/results", role="user", blocks=results, at=at))
        elif kind == "error":
            talk.note("api_error", at, str(row.get("content")))
    meta = TraceMeta(format="gemini_cli", source=source.path.name, model=main_model(talk.calls), client="gemini-cli")
    return talk.finished(str(chat.get("sessionId") or source.path.name), meta, "read")


def _take(row: dict[str, Any], message: Message, talk: Talk) -> None:
    """A reply with its bill; one that was billed nothing is shown by the client and was no call."""
    tokens = row.get("tokens")
    usage, extra = None, ""
    if isinstance(tokens, dict):
        thoughts = whole(tokens.get("thoughts"))
        prompt = whole(tokens.get("input")) + whole(tokens.get("tool"))
        usage = included_usage(prompt, whole(tokens.get("cached")), whole(tokens.get("output")) + thoughts)
        extra = canonical_json({"thoughts": thoughts}) if thoughts else ""
    if usage is not None and not usage.prompt and not usage.output:
        talk.messages.append(message)
    else:
        talk.reply(message, model=str(row.get("model") or ""), usage=usage, extra=extra)


def _reply(row: dict[str, Any]) -> tuple[Block, ...]:
    thoughts = objects_at(row, "thoughts")
    texts = ["\n".join(str(one[key]) for key in ("subject", "description") if one.get(key)) for one in thoughts]
    blocks: list[Block] = [Thinking(text=text) for text in texts if text]
    blocks += _parts(row.get("content", row.get("parts")))
    for call in objects_at(row, "toolCalls"):
        arguments = canonical_json(call.get("args") or {})
        blocks.append(ToolUse(id=str(call.get("id") or ""), name=str(call.get("name") or ""), arguments=arguments))
    return tuple(blocks)


def _results(row: dict[str, Any]) -> tuple[ToolResult, ...]:
    """Tool results as sent back; ``resultDisplay`` repeats them for the screen."""
    found = []
    for call in objects_at(row, "toolCalls"):
        if call.get("result") is not None:
            failed = call.get("status") == "error"
            found.append(ToolResult(tool_use_id=str(call.get("id") or ""), content=_parts(call["result"]), is_error=failed))
    return tuple(found)


def _parts(content: Any) -> tuple[ResultItem, ...]:
    """Text parts and function responses; anything else verbatim."""
    if isinstance(content, str):
        return (Text(text=content),) if content else ()
    return tuple(_part(part) for part in (content if isinstance(content, list) else [content] if content else []))


def _part(part: Any) -> ResultItem:
    if isinstance(part, str):
        return Text(text=part)
    if isinstance(part, dict) and isinstance(part.get("text"), str):
        return Text(text=part["text"])
    response = object_at(part, "functionResponse", "response")
    if isinstance(response.get("output"), str):
        return Text(text=response["output"])
    if response:
        return Text(text=canonical_json(response))
    return Opaque(kind="part", data=canonical_json(part))

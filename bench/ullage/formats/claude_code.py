"""Claude Code session files: one JSON object a line, several lines a response, sub-agents in progress lines."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, ClassVar

from ullage.errors import TraceError
from ullage.formats import Format, Imported, Source
from ullage.formats._claude_session import Session
from ullage.formats._lines import LineReader

_LINE_TYPES = frozenset(
    "user assistant system progress summary file-history-snapshot queue-operation attachment pr-link custom-title "
    "agent-name last-prompt permission-mode".split()
)
_PASSED_OVER = _LINE_TYPES - {"user", "assistant", "system", "progress", "attachment"}
"""Titles, snapshots and settings of the client: no part of the conversation. A ``summary`` line is a title, no compaction."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaudeCode(Format):
    """Restores the uncompacted history; recorded compactions are events, sub-agents are children."""

    summary: ClassVar[str] = "Claude Code session JSONL (2.0 to 2.1), with sub-agents and compactions"
    suffixes: ClassVar[tuple[str, ...]] = (".jsonl",)

    def matches(self, source: Source) -> bool:
        """Some of the first lines are objects of the client's own types with its threading keys."""
        for line in source.head.removeprefix(b"\xef\xbb\xbf").split(b"\n")[:40]:
            try:
                value = json.JSONDecoder().raw_decode(line.decode("utf-8", "replace").strip())[0]
            except (ValueError, RecursionError):
                continue
            if isinstance(value, dict) and _is_line(value):
                return True
        return False

    def read(self, source: Source) -> Imported:
        """Import every session of the file."""
        reader, sessions, sides = LineReader(source), dict[str, Session](), dict[str, str]()
        for number, line in reader.objects():
            kind = line.get("type")
            session = sessions.get(str(line.get("sessionId"))) if line.get("sessionId") else None
            if kind not in _LINE_TYPES:
                reader.opaque += 1
                reader.note(number, f"found line type {kind!r}; kept out of the conversation")
                continue
            if kind in _PASSED_OVER or not line.get("sessionId"):
                reader.opaque += 1
                continue
            if session is None:
                session = sessions[str(line["sessionId"])] = Session(id=str(line["sessionId"]))
            if not _take(session, line, sides):
                reader.opaque += 1
        traces = tuple(s.trace(source.path.name) for s in sessions.values() if s.drafts)
        if not traces:
            raise TraceError(str(source), "no message of a session", "Claude Code session lines (user, assistant, system)")
        _note_oddities(reader, source, sessions)
        return Imported(path=str(source), format="claude_code", traces=traces, lines=reader.counts(), problems=tuple(reader.problems))


def _is_line(value: dict[str, Any]) -> bool:
    kind = value.get("type")
    if kind in ("user", "assistant", "system", "progress", "attachment"):
        return "sessionId" in value and ("uuid" in value or "parentUuid" in value)
    return (kind == "file-history-snapshot" and "snapshot" in value) or (kind == "summary" and "leafUuid" in value)


def _take(session: Session, line: dict[str, Any], sides: dict[str, str]) -> bool:
    """Hand a line to the session or to the sub-agent that it belongs to."""
    if line.get("type") == "progress":
        session.start(line)
        return _progress(session, line)
    if line.get("isSidechain"):
        parent = str(line.get("parentUuid") or "")
        root = sides.get(parent) or str(line.get("agentId") or line.get("uuid") or "side")
        sides[str(line.get("uuid") or "")] = root
        return session.child(root, "").add(line)
    return session.add(line)


def _progress(session: Session, line: dict[str, Any]) -> bool:
    data = line.get("data")
    if not isinstance(data, dict) or data.get("type") != "agent_progress" or not isinstance(data.get("message"), dict):
        return False
    child = session.child(str(data.get("agentId") or line.get("parentToolUseID") or "agent"), str(line.get("parentToolUseID") or ""))
    inner = data["message"]
    return child.add({"timestamp": line.get("timestamp"), **inner})


def _note_oddities(reader: LineReader, source: Source, sessions: dict[str, Session]) -> None:
    for session in sessions.values():
        if session.doubled:
            reader.problems.append(f"{source}: session {session.id}: {session.doubled} lines repeat a line already read; counted once")
        calls = {i for draft in session.drafts for i in _call_ids(draft.blocks)}
        answers = {i for draft in session.drafts for i in _answer_ids(draft.blocks)}
        if calls - answers:
            reader.problems.append(f"{source}: session {session.id}: {len(calls - answers)} tool calls have no result")
        if answers - calls:
            reader.problems.append(f"{source}: session {session.id}: {len(answers - calls)} results answer no recorded call")


def _call_ids(blocks: list[Any]) -> list[str]:
    return [block.id for block in blocks if hasattr(block, "arguments")]


def _answer_ids(blocks: list[Any]) -> list[str]:
    return [block.tool_use_id for block in blocks if hasattr(block, "tool_use_id")]

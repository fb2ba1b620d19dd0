"""Claude Code session files: one JSON object a line, several lines a response, sub-agents in progress lines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from ullage.errors import TraceError
from ullage.formats import Format, Imported, Source
from ullage.formats._claude_session import Session
from ullage.formats._lines import LineReader, first_objects
from ullage.formats._talk import counted
from ullage.types import ToolResult, ToolUse, Trace

_TALK = frozenset({"user", "assistant", "system", "progress", "attachment", "queue-operation"})
_TITLES = ("summary", "custom-title", "ai-title", "agent-name", "last-prompt")
_STATE = (
    "file-history-snapshot",
    "pr-link",
    "permission-mode",
    "mode",
    "worktree-state",
    "relocated",
    "bridge-session",
    "frame-link",
)
_ASIDE = frozenset((*_TITLES, *_STATE))
"""Titles, snapshots and settings of the client: no part of the conversation. A ``summary`` line is a title, no compaction."""
MAX_AGENT_FILES = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaudeCode(Format):
    """Restores the uncompacted history; recorded compactions are events, sub-agents are children.

    A trace ``starts_midway`` when its first line continues a line that the file does not hold, or when its first prompt
    is larger than the text recorded before it, at a token a byte, and any prefix that the client sends together.
    """

    summary: ClassVar[str] = "Claude Code session JSONL (2.0 to 2.1), with sub-agents and compactions"
    suffixes: ClassVar[tuple[str, ...]] = (".jsonl",)

    def matches(self, source: Source) -> bool:
        """Some of the first lines are objects of the client's own types with its threading keys."""
        return any(_is_line(value) for value in first_objects(source.head)) or _is_cut_line(source.head)

    def read(self, source: Source) -> Imported:
        """Import every session of the file, keyed by session id."""
        reader, book, agent = LineReader(source), _Book(), _agent_name(source.path)
        for number, line in reader.objects():
            if not book.take(number, {"agentId": agent} | line if agent else line):
                reader.opaque += 1
        for path in _agent_files(source, book.sessions):
            _take_agent(path, reader, book)
        traces = tuple(book.traces(source.path.name))
        if not traces:
            raise TraceError(str(source), "no message of a session", "Claude Code session lines (user, assistant, system)")
        for text in book.oddities():
            reader.note(None, text)
        return Imported(
            path=str(source), format="claude_code", traces=traces, lines=reader.counts(), problems=tuple(reader.problems)
        )


def _agent_files(source: Source, sessions: Iterable[str]) -> list[Path]:
    """Files of sub-agents beside a session's file: ``<session>/subagents/agent-<name>.jsonl`` since about 2.1."""
    folders = [source.path.parent / name / "subagents" for name in sessions if Path(name).name == name and name != ".."]
    return [path for folder in folders for path in sorted(folder.glob("agent-*.jsonl"))[:MAX_AGENT_FILES]]


def _agent_name(path: Path) -> str:
    """The sub-agent that a file is of by its name; empty for a session's file."""
    name = path.name.removesuffix(".gz").removesuffix(".jsonl")
    return name.removeprefix("agent-") if name.startswith("agent-") else ""


def _take_agent(path: Path, reader: LineReader, book: _Book) -> None:
    """Add the lines of a sub-agent's own file; one that cannot be read is named and does not stop the session."""
    own, name = LineReader(Source(path)), _agent_name(path)
    try:
        for number, line in own.objects():
            if not book.take(number, {"agentId": name} | line | {"isSidechain": True}):
                own.opaque += 1
    except TraceError as error:
        own.refused += 1
        own.problems.append(str(error))
    reader.read, reader.opaque = reader.read + own.read, reader.opaque + own.opaque
    reader.repaired, reader.refused = reader.repaired + own.repaired, reader.refused + own.refused
    reader.problems += own.problems


@dataclass(slots=True)
class _Book:
    """The sessions of one file. ``sides`` leads from a line of a side chain to the name of its agent."""

    sessions: dict[str, Session] = field(default_factory=dict)
    sides: dict[str, str] = field(default_factory=dict)
    paid: dict[str, str] = field(default_factory=dict)
    strange: dict[str, list[int]] = field(default_factory=dict)

    def take(self, number: int, line: dict[str, Any]) -> bool:
        """Hand a line to its session; tells whether it carried anything of the conversation."""
        kind, name = str(line.get("type")), line.get("sessionId")
        if kind not in _TALK and kind not in _ASIDE:
            self.strange.setdefault(kind, []).append(number)
        if kind not in _TALK or not name:
            return False
        session = self.sessions.get(str(name)) or self.sessions.setdefault(str(name), Session(id=str(name), paid=self.paid))
        if kind == "progress":
            session.notice(line)
            return _progress(session, line)
        return self._side(session, line) if line.get("isSidechain") else session.add(line)

    def _side(self, session: Session, line: dict[str, Any]) -> bool:
        uuid, before = str(line.get("uuid") or ""), str(line.get("parentUuid") or "")
        agent = str(line.get("agentId") or self.sides.get(before) or uuid or "side")
        self.sides[uuid] = agent
        return session.child(agent, "").add(line)

    def traces(self, source: str) -> Iterator[Trace]:
        """A trace for each session; a file that holds sub-agents alone gives a trace for each of these."""
        for session in self.sessions.values():
            trace = session.trace(source)
            if session.drafts:
                yield trace
            else:
                yield from trace.children

    def oddities(self) -> Iterator[str]:
        """What a reader of the figures should know, one line each."""
        for kind, lines in self.strange.items():
            yield f"found line type {kind!r} on {len(lines)} lines, first on line {lines[0]}; kept out of the conversation"
        for session in self.sessions.values():
            yield from (f"session {session.id}: {text}" for text in _oddities(session))
            for name, child in session.children.items():
                yield from (f"session {session.id}, sub-agent {name}: {text}" for text in _oddities(child))


def _oddities(session: Session) -> Iterator[str]:
    calls = {block.id for draft in session.drafts for block in draft.blocks if isinstance(block, ToolUse)}
    answers = {block.tool_use_id for draft in session.drafts for block in draft.blocks if isinstance(block, ToolResult)}
    rewinds = sum(event.kind == "rewind" for event in session.events)
    elsewhere = len(session.responses) - session.counted
    return counted(
        (
            (session.doubled, "{} lines repeat a line already read; counted once"),
            (elsewhere, "{} responses were already counted in another session of the file"),
            (len(calls - answers), "{} tool calls have no result"),
            (len(answers - calls), "{} results answer no recorded call"),
            (session.late, "{} results came after a later response; kept where they stand"),
            (
                session.restored,
                "{} queued messages stand in the queue's own records only; placed after the results they were sent with",
            ),
            (rewinds, "{} prompts hang on an earlier line; the responses that they abandoned stay in the history"),
        )
    )


def _is_line(value: dict[str, Any]) -> bool:
    kind = value.get("type")
    if kind in ("user", "assistant", "system", "progress", "attachment"):
        return "sessionId" in value and ("uuid" in value or "parentUuid" in value)
    return (kind == "file-history-snapshot" and "snapshot" in value) or (kind == "summary" and "leafUuid" in value)


def _is_cut_line(head: bytes) -> bool:
    """Whether a file begins with a line that is longer than the head (a pasted image) and has the client's threading keys."""
    keys = head[:4096].partition(b'"message"')[0]
    return b"\n" not in head and all(key in keys for key in (b'"parentUuid"', b'"sessionId"', b'"isSidechain"'))


def _progress(session: Session, line: dict[str, Any]) -> bool:
    data = line.get("data")
    if not isinstance(data, dict) or data.get("type") != "agent_progress" or not isinstance(data.get("message"), dict):
        return False
    call = str(line.get("parentToolUseID") or "")
    child = session.child(str(data.get("agentId") or call or "agent"), call)
    return child.add(
        {"timestamp": line.get("timestamp"), "version": line.get("version"), "cwd": line.get("cwd"), **data["message"]}
    )

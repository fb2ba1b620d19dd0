"""One Codex session while its lines are read: items grouped into replies, totals into calls, compactions kept as events."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import msgspec

from ullage.formats._anthropic import milliseconds, whole
from ullage.formats._codex_items import is_output, item_blocks, message_of
from ullage.formats._facts import main_model, unanswered
from ullage.formats._lines import list_at, object_at
from ullage.formats._talk import Talk
from ullage.formats._usage import included_usage
from ullage.types import Block, Message, Trace, TraceMeta, Usage, canonical_json

_FAULTS = {"turn_aborted": "aborted", "stream_error": "api_error", "error": "api_error", "thread_rolled_back": "rewind"}
"""Interface events that may explain a bill."""
_SETTINGS = ("effort", "approval_policy", "personality")


@dataclass(slots=True)
class Rollout(Talk):
    """Collects the lines of one session and makes the trace.

    Items of the model gather in an open reply. A token count whose running total changed closes it as one call; a tool
    result or a user message closes it too, and the figures are then given to it when they come.
    """

    metas: list[dict[str, Any]] = field(default_factory=list)
    typed: set[str] = field(default_factory=set)
    settings: dict[str, Any] = field(default_factory=dict)
    model: str = ""
    window: int | None = None
    total: str = ""
    repeated: int = 0
    _reply: list[Block] = field(default_factory=list)
    _reply_at: int | None = None
    _unpaid: int | None = None

    def add(self, line: dict[str, Any]) -> bool:
        """Take one line; tells whether it says anything of the conversation."""
        kind, payload, at = line.get("type"), object_at(line, "payload"), milliseconds(line.get("timestamp"))
        if kind == "session_meta":
            self.metas.append(payload)
        elif kind == "turn_context":
            self._context(payload, at)
        elif kind == "response_item":
            self._item(payload, at)
        elif kind == "compacted":
            self._compaction(payload, at)
        elif kind == "event_msg":
            return self._event(payload, at)
        else:
            return False
        return True

    def close(self) -> None:
        """End an open reply that no token count closed: a call without a bill."""
        if self._reply:
            self._unpaid = len(self.calls)
            self._call(None)

    def _context(self, payload: dict[str, Any], at: int | None) -> None:
        self.model = str(payload.get("model") or self.model)
        now = {key: payload[key] for key in _SETTINGS if payload.get(key) is not None}
        changed = [key for key in now if key in self.settings and self.settings[key] != now[key]]
        self.settings |= now
        if changed:
            self.note("setting_change", at, ", ".join(f"{key} {canonical_json(now[key])}" for key in changed))

    def _item(self, item: dict[str, Any], at: int | None) -> None:
        if is_output(item):
            if not self._reply:
                self._reply_at = at
            self._reply += item_blocks(item)
            return
        self.close()
        self.hear(message_of(item, f"item-{len(self.messages)}", at))

    def _event(self, payload: dict[str, Any], at: int | None) -> bool:
        kind = str(payload.get("type"))
        if kind == "token_count":
            self._count(object_at(payload, "info"))
        elif kind == "user_message":
            self.typed.add(str(payload.get("message") or ""))
        elif kind in _FAULTS:
            self.note(_FAULTS[kind], at, str(payload.get("message") or payload.get("reason") or payload.get("num_turns") or kind))
        else:
            return False
        return True

    def _count(self, info: dict[str, Any]) -> None:
        """A repeated total is a refresh of rate limits, no call; a total that stands still over a compaction tells its size."""
        if not info:
            return
        self.window = whole(info.get("model_context_window")) or self.window
        total, last = canonical_json(info.get("total_token_usage")), object_at(info, "last_token_usage")
        if total == self.total:
            self.repeated += 1
            self._note_size(last)
            return
        self.total = total
        usage = included_usage(
            whole(last.get("input_tokens")), whole(last.get("cached_input_tokens")), whole(last.get("output_tokens"))
        )
        if not self._reply and self._unpaid is not None:
            paid = msgspec.structs.replace(self.calls[self._unpaid], usage=usage, output_reliable=True)
            self.calls[self._unpaid] = paid
        else:
            self._call(usage)
        self._unpaid = None

    def _note_size(self, last: dict[str, Any]) -> None:
        event = self.compactions[-1] if self.compactions else None
        fresh = event is not None and event.call == len(self.calls) and event.tokens_after is None
        if event is not None and fresh and not whole(last.get("input_tokens")) and whole(last.get("total_tokens")):
            self.compactions[-1] = msgspec.structs.replace(event, tokens_after=whole(last.get("total_tokens")))

    def _call(self, usage: Usage | None) -> None:
        name, blocks = f"reply-{len(self.calls)}", tuple(self._reply)
        self.reply(Message(id=name, role="assistant", blocks=blocks, at=self._reply_at), model=self.model, usage=usage)
        self._reply, self._reply_at = [], None

    def _compaction(self, payload: dict[str, Any], at: int | None) -> None:
        self.close()
        number = len(self.compactions)
        history = [item for item in list_at(payload, "replacement_history") if isinstance(item, dict)]
        attached = tuple(message_of(item, f"compaction-{number}/{n}", at) for n, item in enumerate(history))
        usage = self.calls[-1].usage if self.calls else None
        before = usage.prompt + usage.output if usage is not None else None
        self.compacted(at, tokens_before=before, summary=str(payload.get("message") or ""), attached=attached)

    def oddities(self) -> Iterator[str]:
        """What a reader of the figures should know, one line each."""
        names = {str(meta.get("id")) for meta in self.metas if meta.get("id")}
        if len(names) > 1:
            yield f"holds {len(names)} session headers with different ids: copied history of another session is counted here too"
        yield from unanswered(self.messages)
        unbilled = sum(call.usage is None for call in self.calls)
        if unbilled:
            yield f"{unbilled} replies have no token count"

    def trace(self, source: str) -> Trace:
        """The finished trace; a user message is human when the interface logged its text as typed."""
        meta = self.metas[0] if self.metas else {}
        self.messages = [
            msgspec.structs.replace(m, human=True) if m.role == "user" and m.text in self.typed else m for m in self.messages
        ]
        told = TraceMeta(
            format="codex",
            source=source,
            model=main_model(self.calls) or self.model,
            client=f"codex {meta.get('cli_version') or ''}".strip(),
            cwd=str(meta.get("cwd") or ""),
            window=self.window,
        )
        system = str(object_at(meta, "base_instructions").get("text") or meta.get("instructions") or "")
        return self.finished(str(meta.get("id") or source), told, "read", system=system)

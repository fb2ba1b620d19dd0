"""Cline and Roo Code tasks: ``api_conversation_history.json``, Anthropic messages with time, model and metrics beside them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import msgspec

from ullage.errors import TraceError
from ullage.formats import Format, Imported, LineCounts, Source
from ullage.formats._anthropic import blocks_of, milliseconds, whole
from ullage.formats._chat_files import conversation_at_head
from ullage.formats._facts import main_model, unanswered
from ullage.formats._lines import document, object_at
from ullage.formats._talk import Talk, from_user
from ullage.formats._usage import included_usage
from ullage.types import Message, TraceMeta, Usage, canonical_json

_EXPECTED = "a Cline or Roo task: a list of {role, content, ts}"
_KEYS = frozenset({"role", "content", "ts", "modelInfo", "metrics"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Cline(Format):
    """Each assistant message is a call, billed where metrics stand beside it (prompt includes cached). Summaries are events."""

    summary: ClassVar[str] = "Cline and Roo Code api_conversation_history.json"
    suffixes: ClassVar[tuple[str, ...]] = (".json",)

    def matches(self, source: Source) -> bool:
        """A list of messages of which the first has a time in milliseconds under ``ts``, the client's own key."""
        if source.head.lstrip()[:1] != b"[":
            return False
        rows = conversation_at_head(source.head)
        return (
            rows is not None
            and bool(rows)
            and isinstance(rows[0].get("ts"), int)
            and rows[0].get("role") in ("user", "assistant")
        )

    def read(self, source: Source) -> Imported:
        """Import the task; its folder names it, where the file has the client's own name."""
        value, repaired = document(source, _EXPECTED)
        rows = [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []
        stem = source.stem
        name = source.path.resolve().parent.name if stem == "api_conversation_history" else stem
        talk = Talk()
        for number, row in enumerate(rows):
            if row.get("isSummary") is True:
                told = Message(id="summary", role="user", blocks=blocks_of(row.get("content")))
                talk.compacted(milliseconds(row.get("ts")), summary=told.text)
            elif row.get("role") in ("user", "assistant"):
                _take(row, f"{name}/{number}", talk)
        if not talk.calls:
            raise TraceError(str(source), "no reply of a model", _EXPECTED)
        cached = any(object_at(row, "metrics", "tokens").get("cached") is not None for row in rows)
        meta = TraceMeta(format="cline", source=source.path.name, model=main_model(talk.calls), client="cline")
        trace = talk.finished(name, meta, "read" if cached else "none")
        aside = sum(row.get("isSummary") is not True and row.get("role") not in ("user", "assistant") for row in rows)
        counts = LineCounts(read=len(rows), opaque=aside, repaired=int(repaired))
        problems = tuple(f"{source}: {text}" for text in unanswered(talk.messages))
        return Imported(path=str(source), format="cline", traces=(trace,), lines=counts, problems=problems)


def _take(row: dict[str, Any], name: str, talk: Talk) -> None:
    at, blocks = milliseconds(row.get("ts")), blocks_of(row.get("content"))
    beyond = {key: value for key, value in row.items() if key not in _KEYS and value not in (None, "", [], {})}
    extra = canonical_json(beyond) if beyond else ""
    if row["role"] == "assistant":
        message = Message(id=name, role="assistant", blocks=blocks, at=at, extra=extra)
        talk.reply(message, model=str(object_at(row, "modelInfo").get("modelId") or ""), usage=_usage(row))
        return
    message = from_user(name, blocks, at=at, extra=extra)
    typed = not message.tool_result_ids and not message.text.startswith("[")
    talk.hear(msgspec.structs.replace(message, human=message.human and typed))


def _usage(row: dict[str, Any]) -> Usage | None:
    tokens = object_at(row, "metrics", "tokens")
    if tokens.get("prompt") is None:
        return None
    return included_usage(whole(tokens.get("prompt")), whole(tokens.get("cached")), whole(tokens.get("completion")))

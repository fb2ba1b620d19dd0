"""Cline and Roo Code tasks: ``api_conversation_history.json``, Anthropic messages with time, model and metrics beside them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import msgspec

from ullage.errors import TraceError
from ullage.formats import Format, Imported, LineCounts, Source
from ullage.formats._anthropic import blocks_of, milliseconds, whole
from ullage.formats._chat import only_results
from ullage.formats._chat_files import conversation_at_head
from ullage.formats._facts import main_model, model_changes, provenance_of, unanswered
from ullage.formats._lines import document, object_at
from ullage.formats._usage import included_usage
from ullage.types import Call, Message, RecordedCompaction, Trace, TraceMeta, Usage, canonical_json

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
        stem = source.path.name.removesuffix(".gz").removesuffix(".json")
        name = source.path.resolve().parent.name if stem == "api_conversation_history" else stem
        messages: list[Message] = []
        calls: list[Call] = []
        compactions: list[RecordedCompaction] = []
        for number, row in enumerate(rows):
            if row.get("isSummary") is True:
                text = Message(id="summary", role="user", blocks=blocks_of(row.get("content"))).text
                at = milliseconds(row.get("ts"))
                compactions.append(RecordedCompaction(call=len(calls), position=len(messages), at=at, summary=text))
            elif row.get("role") in ("user", "assistant"):
                _take(row, f"{name}/{number}", messages, calls)
        if not calls:
            raise TraceError(str(source), "no reply of a model", _EXPECTED)
        cached = any(object_at(row, "metrics", "tokens").get("cached") is not None for row in rows)
        trace = Trace(
            id=name,
            messages=tuple(messages),
            calls=tuple(calls),
            compactions=tuple(compactions),
            events=tuple(model_changes(calls)),
            meta=TraceMeta(format="cline", source=source.path.name, model=main_model(calls), client="cline"),
            provenance=provenance_of(calls, "read" if cached else "none"),
        )
        aside = len(rows) - len(messages) - len(compactions)
        counts = LineCounts(read=len(rows), opaque=aside, repaired=int(repaired))
        problems = tuple(f"{source}: {text}" for text in unanswered(messages))
        return Imported(path=str(source), format="cline", traces=(trace,), lines=counts, problems=problems)


def _take(row: dict[str, Any], name: str, messages: list[Message], calls: list[Call]) -> None:
    at, blocks = milliseconds(row.get("ts")), blocks_of(row.get("content"))
    beyond = {key: value for key, value in row.items() if key not in _KEYS and value not in (None, "", [], {})}
    extra = canonical_json(beyond) if beyond else ""
    if row["role"] == "assistant":
        place, usage, model = len(messages), _usage(row), str(object_at(row, "modelInfo").get("modelId") or "")
        reliable = usage is not None
        calls.append(Call(id=name, upto=place, reply=place, at=at, model=model, usage=usage, output_reliable=reliable))
        messages.append(Message(id=name, role="assistant", blocks=blocks, at=at, extra=extra))
        return
    message = Message(id=name, role="user", blocks=blocks, at=at, extra=extra)
    typed = bool(message.text) and not message.tool_result_ids and not message.text.startswith("[")
    messages.append(msgspec.structs.replace(message, human=typed and not only_results(message)))


def _usage(row: dict[str, Any]) -> Usage | None:
    tokens = object_at(row, "metrics", "tokens")
    if tokens.get("prompt") is None:
        return None
    return included_usage(whole(tokens.get("prompt")), whole(tokens.get("cached")), whole(tokens.get("completion")))

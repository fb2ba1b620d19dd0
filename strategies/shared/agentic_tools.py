"""The three tools with which a model manages its own history in Strands' agentic mode, and the status line it reads.

Every failure is a sentence in our words, behind an opening that tells its kind, and says what to try next; none raises. A
success is a format. The tools work on the history while the message with their own call is its last.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

from ullage.errors import UserError
from ullage.strategies.shared.pins import is_pinned, pin_message, unpin_message
from ullage.strategies.shared.profiles import Profile
from ullage.strategies.shared.shape import (
    MessageType,
    has_text,
    has_tool_result,
    has_tool_use,
    matches_message_type,
)
from ullage.strategies.shared.summary import conversation_request, summary_message
from ullage.strategies.shared.tool_pairs import (
    ContextWindowOverflowException,
    adjust_split_point_for_tool_pairs,
    find_valid_trim_point,
)
from ullage.strategies.shared.work import Work
from ullage.types import Message, ToolSpec, canonical_json

KEEP_RECENT, RATIO = 10, 0.3
SMALLEST_KEPT = 2
SMALLEST_RATIO, LARGEST_RATIO = 0.1, 0.8

PinFilter = Literal["user", "assistant", "tools"]


def status_line(used: int, limit: int) -> str:
    """The block at the end of a request that tells the model how full its window is; four lines after a blank one."""
    return (
        f"\n\n<context-status>\n<used>{used:,} / {limit:,} tokens ({used / limit * 100:.1f}%)</used>\n"
        f"<remaining>~{max(0, limit - used):,} tokens</remaining>\n</context-status>"
    )


def run_tool(work: Work, name: str, arguments: dict[str, Any], profile: Profile) -> str:
    """Run one of the three tools on the history; returns the text that the model reads."""
    if name == "summarize_context":
        return summarize_context(work, profile=profile, **_known(arguments, ("keep_recent", "summary_ratio", "message_type")))
    if name == "truncate_context":
        return truncate_context(work, **_known(arguments, ("keep_recent", "message_type")))
    if name == "pin_context":
        return pin_context(work, **_known(arguments, ("select", "filter", "action")))
    return f"There is no tool named {name}."


def _known(arguments: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: arguments[name] for name in names if name in arguments}


class _Range(NamedTuple):
    """Messages of a range in order: those that a tool may take, and those that stay."""

    eligible: list[Message]
    preserved: list[Message]


def _divided(messages: Sequence[Message], stop: int, message_type: MessageType) -> _Range:
    """Divide the messages before ``stop``: the first user message, pinned ones and other types stay."""
    parts = _Range([], [])
    first_user = next((at for at, message in enumerate(messages[:stop]) if message.role == "user"), None)
    for at in range(stop):
        stays = at == first_user or is_pinned(messages, at) or not matches_message_type(messages[at], message_type)
        parts[1 if stays else 0].append(messages[at])
    return parts


def _kept(keep_recent: int | None) -> int:
    return max(SMALLEST_KEPT, KEEP_RECENT if keep_recent is None else keep_recent)


def summarize_context(
    work: Work,
    *,
    profile: Profile,
    keep_recent: int | None = None,
    summary_ratio: float | None = None,
    message_type: MessageType | None = None,
) -> str:
    """Fold the oldest messages into one summary, but not the newest ``keep_recent``, the first user message or pinned ones."""
    messages, count, kept = work.messages, len(work.messages), _kept(keep_recent)
    ratio = max(SMALLEST_RATIO, min(LARGEST_RATIO, RATIO if summary_ratio is None else summary_ratio))
    split = min(max(1, int(count * ratio)), count - kept)
    if split <= 0:
        return f"No summarization performed: too few messages may go ({count} in the conversation, the newest {kept} stay)."
    try:
        stop = adjust_split_point_for_tool_pairs(messages, split)
    except ContextWindowOverflowException:
        return (
            f"No summarization performed: from index {split} on every boundary parts a tool call from its result. Try a smaller "
            'keep_recent or a larger summary_ratio, or truncate_context with message_type="tools".'
        )
    parts = _divided(messages, stop, message_type or "all")
    if not parts.eligible:
        return f"No summarization performed: {_none_eligible(message_type, count)}"
    try:
        summary = summary_message(work, work.summarize(conversation_request(tuple(parts.eligible))), profile)
    except UserError:
        raise
    except Exception as error:  # noqa: BLE001 - the tool tells the model whatever went wrong
        return f"The summary failed: {error}"
    work.sources[summary.id] = work.sources_of(parts.eligible)
    messages[:stop] = [*parts.preserved, summary]
    work.acted("summarize_context", f"{len(parts.eligible)} messages summarised by the model's decision")
    done, left = f"Summarized {len(parts.eligible)} {_label(message_type)}message(s).", len(messages)
    return f"{done} Removed {count - left} message(s), {left} remaining."


def truncate_context(work: Work, *, keep_recent: int | None = None, message_type: MessageType | None = None) -> str:
    """Drop the oldest messages at a user turn, but not the newest ``keep_recent``, the first user message or pinned ones."""
    messages, count, kept = work.messages, len(work.messages), _kept(keep_recent)
    if count <= SMALLEST_KEPT or count <= kept:
        return f"No messages dropped: the conversation has only {count}."
    start = count - kept
    trim = find_valid_trim_point(messages, start)
    if trim >= count:
        return (
            f"No messages dropped: between index {start} and {count - 1} no plain user message begins a turn. Try a larger "
            "keep_recent, or summarize_context."
        )
    parts = _divided(messages, trim, message_type or "all")
    if not parts.eligible:
        return f"No messages dropped: {_none_eligible(message_type, count)}"
    messages[:trim] = parts.preserved
    work.acted("truncate_context", f"{count - len(messages)} messages dropped by the model's decision")
    return f"Dropped {count - len(messages)} {_label(message_type)}message(s). {len(messages)} remaining."


def pin_context(
    work: Work,
    *,
    select: Literal["last_turn"] | int | list[int],
    filter: PinFilter | None = None,  # noqa: A002 - the tool's own parameter name
    action: Literal["pin", "unpin"] = "pin",
) -> str:
    """Pin or unpin the current turn, the last N messages, or messages by index, narrowed by ``filter``."""
    messages = work.messages
    if not messages:
        return "The conversation has no messages."
    candidates = _selected(messages, select)
    if candidates is None:
        return f"Every index is out of range: the conversation has {len(messages)} messages."
    chosen = [at for at in candidates if filter is None or _passes(messages[at], filter)]
    if not chosen:
        return "No message matches."
    for at in chosen:
        (pin_message if action == "pin" else unpin_message)(messages, at)
    work.own["rescan"] = True
    return f"{'Pinned' if action == 'pin' else 'Unpinned'} {len(chosen)} message(s)."


def _selected(messages: Sequence[Message], select: Any) -> list[int] | None:
    """Positions that a selection means; none when it lists only positions out of range."""
    size = len(messages)
    if select == "last_turn":
        begins = (at for at in range(size - 1, -1, -1) if messages[at].role == "user" and has_text(messages[at]))
        return list(range(size - 1, next(begins, 0) - 1, -1))
    if isinstance(select, int):
        return [size - 1 - k for k in range(min(max(0, select), size))]
    return [at for at in select if 0 <= at < size] or None


def _passes(message: Message, wanted: PinFilter) -> bool:
    if wanted == "tools":
        return has_tool_use(message) or has_tool_result(message)
    return wanted not in ("user", "assistant") or (message.role == wanted and has_text(message))


def _none_eligible(message_type: MessageType | None, count: int) -> str:
    return f"no {_label(message_type) or 'eligible '}messages in the range ({count} in the conversation)."


def _label(message_type: MessageType | None) -> str:
    return "" if message_type in (None, "all") else f'"{message_type}" '


_TYPE = {"type": "string", "enum": ["tools", "messages", "all"], "description": "Which messages are meant; all unless told."}
_KEEP = {"type": "integer", "description": "How many of the newest messages stay as they are; 10 unless told."}


def _spec(name: str, description: str, properties: dict[str, Any], required: tuple[str, ...] = ()) -> ToolSpec:
    schema = canonical_json({"type": "object", "properties": properties, "required": list(required)})
    return ToolSpec(name=name, description=description, schema=schema)


TOOLS = (
    _spec(
        "summarize_context",
        "Fold the oldest messages of this conversation into one short summary to make room. Newest and pinned messages stay.",
        {
            "keep_recent": _KEEP,
            "summary_ratio": {
                "type": "number",
                "description": "Share of the oldest messages to fold, 0.1 to 0.8; 0.3 unless told.",
            },
            "message_type": _TYPE,
        },
    ),
    _spec(
        "truncate_context",
        "Drop the oldest messages of this conversation for good. Pinned messages and whole tool calls stay together.",
        {"keep_recent": _KEEP, "message_type": _TYPE},
    ),
    _spec(
        "pin_context",
        "Protect messages from being summarised or dropped, or give that up. Pin sparingly.",
        {
            "select": {
                "anyOf": [
                    {"type": "string", "enum": ["last_turn"]},
                    {"type": "integer"},
                    {"type": "array", "items": {"type": "integer"}},
                ],
                "description": "last_turn, the number of newest messages, or a list of indices from 0.",
            },
            "filter": {"type": "string", "enum": ["user", "assistant", "tools"], "description": "Narrows the selection."},
            "action": {"type": "string", "enum": ["pin", "unpin"], "description": "pin unless told."},
        },
        ("select",),
    ),
)
"""The definitions that the model is offered, in our words."""

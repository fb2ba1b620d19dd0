"""Tools with which a model can fetch back what a strategy put into the store, and what they answer."""

from __future__ import annotations

import json
from typing import Any

from ullage.strategies.shared.profiles import Profile
from ullage.strategies.shared.search import Search
from ullage.strategies.shared.texts import CHARACTERS_PER_TOKEN
from ullage.strategy import Retrieved, StoreReader, ToolRequest
from ullage.types import ToolSpec, canonical_json

DEFAULT_CONTEXT_LINES = 5
LONGEST_ANSWER_TOKENS = 10_000
"""Limit of ``retrieve_context``; the offloader's tool is limited by its own ``max_result_tokens``, and only in searches."""

_SCHEMA = canonical_json(
    {
        "type": "object",
        "properties": {
            "reference": {"type": "string", "description": "The reference in the placeholder."},
            "pattern": {"type": "string", "description": "A word or a regular expression."},
            "line_range": {
                "type": "object",
                "properties": {"start": {"type": "integer"}, "end": {"type": "integer"}},
                "required": ["start", "end"],
                "description": "First and last line, counted from 1.",
            },
            "context_lines": {"type": "integer", "description": "Lines around each match; 5 unless told."},
        },
        "required": ["reference"],
    }
)
_USE = "With pattern: matching lines with line numbers and their surroundings. With line_range: those lines. With neither: all of it."

RETRIEVE_OFFLOADED = ToolSpec(
    name="retrieve_offloaded_content",
    description=f"Fetch content that was moved out of the conversation, by the reference in its placeholder. {_USE}",
    schema=_SCHEMA,
)
RETRIEVE_CONTEXT = ToolSpec(
    name="retrieve_context",
    description=f"Fetch the original of content that was shortened, dropped or summarised, by the reference left in its place. {_USE}",
    schema=_SCHEMA,
)


def retrieve_offloaded(store: StoreReader, arguments: dict[str, Any], *, max_result_tokens: int, profile: Profile) -> Retrieved:
    """What ``retrieve_offloaded_content`` answers: the raw text, or a search in it; an evicted reference is unknown."""
    content = store.get(str(arguments.get("reference")))
    if not content:
        return Retrieved(f"unknown reference {arguments.get('reference')!r}", is_error=True)
    pattern, lines, context = arguments.get("pattern"), arguments.get("line_range"), arguments.get("context_lines")
    if pattern is None and lines is None and context is None:
        return Retrieved(content)
    if lines is None and pattern is None and context is not None:
        lines = {"start": 1, "end": max(1, int(context))}
    return _searched(content, arguments | {"line_range": lines}, max_result_tokens * CHARACTERS_PER_TOKEN, profile)


def retrieve_context(store: StoreReader, arguments: dict[str, Any]) -> Retrieved:
    """What ``retrieve_context`` answers: the JSON of the stored block, or a search in its text."""
    content = store.get(str(arguments.get("reference")))
    if content is None:
        return Retrieved(f"unknown reference {arguments.get('reference')!r}", is_error=True)
    limit = LONGEST_ANSWER_TOKENS * CHARACTERS_PER_TOKEN
    if arguments.get("pattern") is None and arguments.get("line_range") is None:
        return Retrieved(content if len(content) <= limit else f"{content[:limit]}\n\n[truncated]")
    text = _searchable(json.loads(content))
    if text is None:
        return Retrieved("only text can be searched; leave pattern and line_range out", is_error=True)
    return _searched(text, arguments, limit, "1.62")


def arguments_for(tool: ToolSpec, request: ToolRequest) -> dict[str, Any] | None:
    """The arguments of a call of this tool; none when another tool was called."""
    arguments: dict[str, Any] = json.loads(request.arguments)
    return arguments if request.name == tool.name else None


def _searchable(value: Any) -> str | None:
    if isinstance(value, str):
        return value
    if not isinstance(value, dict):
        return None
    if isinstance(value.get("text"), str):
        return str(value["text"])
    return None if value.get("json") is None else json.dumps(value["json"], indent=2)


def _searched(text: str, arguments: dict[str, Any], max_chars: int, profile: Profile) -> Retrieved:
    lines, context = arguments.get("line_range"), arguments.get("context_lines")
    try:
        span = None if lines is None else (int(lines["start"]), int(lines["end"]))
        search = Search(
            pattern=arguments.get("pattern"),
            line_range=span,
            context_lines=DEFAULT_CONTEXT_LINES if context is None else int(context),
            max_chars=max_chars,
            profile=profile,
        )
        return Retrieved(search.run(text))
    except (KeyError, TypeError, ValueError) as error:
        return Retrieved(f"line_range: {error}", is_error=True)

"""Tools with which a model can fetch back what a strategy put into the store."""

from __future__ import annotations

from ullage.types import ToolSpec, canonical_json

RETRIEVE_OFFLOADED = ToolSpec(
    name="retrieve_offloaded_content",
    description=(
        "Fetch content that was moved out of the conversation, by the reference in its placeholder. With pattern: matching lines "
        "with line numbers and their surroundings. With line_range: those lines. With neither: everything."
    ),
    schema=canonical_json(
        {
            "type": "object",
            "properties": {
                "reference": {"type": "string", "description": "The reference in the placeholder."},
                "pattern": {"type": "string", "description": "A word or a regular expression."},
                "line_range": {
                    "type": "object",
                    "properties": {"start": {"type": "integer"}, "end": {"type": "integer"}},
                    "description": "First and last line, counted from 1.",
                },
                "context_lines": {"type": "integer", "description": "Lines around each match; 5 unless told."},
            },
            "required": ["reference"],
        }
    ),
)

"""Message APIs: by whose rules the requests of a replay are judged."""

from __future__ import annotations

APIS = ("anthropic", "bedrock", "openai", "responses", "gemini")
"""Messages, Bedrock Converse, Chat Completions and what is compatible with it, Responses, Gemini ``generateContent``."""
_OF_PROVIDER = {"": "anthropic", "anthropic": "anthropic", "vertex": "anthropic", "bedrock": "bedrock", "gemini": "gemini"}
"""By the provider of a cache policy; any other speaks Chat Completions. ``vertex`` is Claude there."""
_OF_FORMAT = {"codex": "responses"}
"""A client that is known to use one API, whatever serves it."""


def api_of(provider: str, trace_format: str) -> str:
    """The API that a trace of this format is sent to at a provider, unless one is chosen."""
    return _OF_FORMAT.get(trace_format) or _OF_PROVIDER.get(provider, "openai")

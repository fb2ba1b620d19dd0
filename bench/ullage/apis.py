"""Message APIs: by whose rules the requests of a replay are judged."""

from __future__ import annotations

APIS = ("anthropic", "bedrock", "openai", "responses", "gemini")
"""Messages, Bedrock Converse, Chat Completions and what is compatible with it, Responses, Gemini ``generateContent``."""
_OF_PROVIDER = {"": "anthropic", "anthropic": "anthropic", "vertex": "anthropic", "bedrock": "bedrock", "gemini": "gemini"}
"""By the provider of a cache policy; any other speaks Chat Completions. ``vertex`` is Claude there."""
_OF_FORMAT = {"codex": "responses"}
"""A client that uses one API of OpenAI's; at a provider that has another one it would have to use that."""


def api_of(provider: str, trace_format: str) -> str:
    """The API that a session is sent to: the provider's, and the client's own where that is OpenAI's or nobody is named."""
    served = _OF_PROVIDER.get(provider, "openai")
    return _OF_FORMAT.get(trace_format, served) if served == "openai" or not provider else served

"""The parameters that everything which asks a live model has in common, and the one way to ask it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ullage.cassette import LlmReply
    from ullage.llm import Gateway


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveModel:
    """A model that litellm reaches. Its answers are recorded, so that the next run is free and identical.

    ``cassette`` is the folder of recorded answers, ``mode`` how it is used, ``budget_usd`` a cap on what live ones cost.
    """

    model: str
    api_base: str = ""
    temperature: float = 0.0
    cassette: str = ".cassettes"
    mode: str = "record"
    budget_usd: float | None = None

    def ask(self, role: str, content: str, *, max_tokens: int, draw: int = 0) -> LlmReply:
        """Send one request: ``role`` as the system prompt, ``content`` as the user's message."""
        gateway = _gateway(self.model, self.api_base, self.temperature, self.cassette, self.mode, self.budget_usd)
        messages: Sequence[dict[str, Any]] = [{"role": "system", "content": role}, {"role": "user", "content": content}]
        return gateway.ask(messages, draw=draw, max_tokens=max_tokens)


@cache
def _gateway(model: str, api_base: str, temperature: float, cassette: str, mode: str, budget: float | None) -> Gateway:
    from ullage.llm import open_gateway  # noqa: PLC0415 - only where a model is asked

    return open_gateway(model, api_base=api_base, temperature=temperature, cassette=cassette, mode=mode, budget_usd=budget)

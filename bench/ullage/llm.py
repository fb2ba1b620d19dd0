"""The one gateway to live models: the only module that imports litellm, and only for a live call."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

from ullage.cassette import Cassette, LlmReply, LlmRequest, Mode
from ullage.errors import UserError
from ullage.pricing import PriceSheet, Unpriced, usd
from ullage.types import Usage, canonical_json

MODES: tuple[str, ...] = get_args(Mode)
RETRIES = 4
FIRST_PAUSE_S = 1.0
"""Pause before the first retry; it doubles with each."""

Complete = Callable[..., Any]


def _litellm_completion() -> Complete:
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    print("loading litellm …", file=sys.stderr)
    import litellm  # noqa: PLC0415 - the gateway's purpose: nothing else may load it

    litellm.suppress_debug_info = True
    complete: Complete = litellm.completion
    return complete


@dataclass(slots=True, kw_only=True)
class Gateway:
    """Asks one model, through a cassette, within a budget.

    ``budget_usd`` caps what live answers may cost in all (none: no cap); without a known price the cap refuses to
    start. ``complete`` has litellm's ``completion`` signature and is loaded on the first live call.
    """

    model: str
    cassette: Cassette
    parameters: dict[str, Any] = field(default_factory=dict)
    budget_usd: float | None = None
    complete: Complete | None = None
    pause: Callable[[float], None] = time.sleep
    spent_usd: float = 0.0
    calls: int = 0

    def ask(self, messages: Sequence[dict[str, Any]], *, draw: int = 0, max_tokens: int | None = None) -> LlmReply:
        """Answer a chat request: from the cassette where it is recorded, else live and then recorded."""
        parameters = self.parameters | ({"max_tokens": max_tokens} if max_tokens else {})
        public = {key: value for key, value in parameters.items() if key not in ("api_key", "extra_headers")}
        request = LlmRequest(
            model=self.model, messages=canonical_json(list(messages)), parameters=canonical_json(public), draw=draw
        )
        known = self.cassette.get(request)
        if known is not None:
            return known
        self._check_budget()
        reply = self._live(messages, parameters)
        self._charge(reply)
        self.cassette.put(request, reply)
        return reply

    def _live(self, messages: Sequence[dict[str, Any]], parameters: dict[str, Any]) -> LlmReply:
        complete = self.complete = self.complete or _litellm_completion()
        wait = FIRST_PAUSE_S
        for attempt in range(RETRIES + 1):
            try:
                self.calls += 1
                return _reply(complete(model=self.model, messages=list(messages), **parameters))
            except Exception as error:
                kind = type(error).__name__
                if attempt == RETRIES or kind not in _PASSING:
                    raise UserError(f"model {self.model}: {kind}: {_first_line(error)}") from error
                print(f"{self.model}: {kind}, again in {wait:.0f} s", file=sys.stderr)
                self.pause(wait)
                wait *= 2
        raise UserError(f"model {self.model}: no answer")

    def _check_budget(self) -> None:
        if self.budget_usd is not None and self.spent_usd >= self.budget_usd:
            raise UserError(
                f"model {self.model}: the budget of ${self.budget_usd:.2f} is spent (${self.spent_usd:.4f}, {self.calls} calls)"
            )

    def _charge(self, reply: LlmReply) -> None:
        if self.budget_usd is None or reply.usage is None:
            return
        money = PriceSheet.load().price(reply.usage, self.model)
        if isinstance(money, Unpriced):
            raise UserError(f"model {self.model}: {money.reason}, so a budget cannot be kept; give --prices or drop the budget")
        self.spent_usd += usd(money.total)


_PASSING = ("RateLimitError", "APIConnectionError", "Timeout", "InternalServerError", "ServiceUnavailableError", "APIError")
"""litellm's names for failures that may pass by themselves."""


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [""])[0][:300]


def _reply(response: Any) -> LlmReply:
    choice = response.choices[0]
    return LlmReply(
        text=choice.message.content or "",
        usage=_usage(getattr(response, "usage", None)),
        model=str(getattr(response, "model", "") or ""),
        finish=str(getattr(choice, "finish_reason", "") or ""),
    )


def _usage(raw: Any) -> Usage | None:
    """litellm's convention: ``prompt_tokens`` includes what was read and written."""
    if raw is None:
        return None
    details = getattr(raw, "prompt_tokens_details", None)
    read = int(getattr(details, "cached_tokens", 0) or 0)
    written = int(getattr(raw, "cache_creation_input_tokens", 0) or 0)
    prompt = int(getattr(raw, "prompt_tokens", 0) or 0)
    output = int(getattr(raw, "completion_tokens", 0) or 0)
    return Usage(uncached=max(0, prompt - read - written), cache_read=read, cache_write_5m=written, output=output)


def parse_json_reply(text: str) -> Any:
    """The first JSON value in a model's reply, or none when there is none."""
    for start, char in enumerate(text):
        if char in "[{":
            try:
                return json.JSONDecoder().raw_decode(text[start:])[0]
            except json.JSONDecodeError:
                continue
    return None


def open_gateway(
    model: str,
    *,
    api_base: str = "",
    temperature: float = 0.0,
    cassette: str = ".cassettes",
    mode: str = "record",
    budget_usd: float | None = None,
) -> Gateway:
    """A gateway from the parameters of a reader's or summariser's spec; keys come from the environment alone."""
    if mode not in MODES:
        raise UserError(f"model {model}: found mode={mode!r}; expected one of {', '.join(MODES)}")
    parameters: dict[str, Any] = {"temperature": temperature}
    if api_base:
        parameters["api_base"] = api_base
    return Gateway(model=model, cassette=Cassette(folder=Path(cassette), mode=mode), parameters=parameters, budget_usd=budget_usd)  # type: ignore[arg-type]  # checked above

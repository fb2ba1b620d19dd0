"""The cost of a run with live models, counted from a run without them."""

from __future__ import annotations

from typing import Any

import msgspec

from ullage.commands._options import Place
from ullage.deciders.llm import ASKED_FROM
from ullage.options import RunOptions
from ullage.pricing import PriceSheet, Unpriced, usd
from ullage.records import RunRecord
from ullage.session import run
from ullage.specs import parse_one
from ullage.types import Usage

ANSWER_TOKENS = 40
"""Output of one answer of a reader that is told to be brief: a value or a short phrase."""
QUESTION_TOKENS = 120
"""The reader's instructions and one question."""


def estimate(options: RunOptions, place: Place) -> dict[str, Any]:
    """Requests, tokens and dollars of reader, summariser and decider, from the same run with the offline ones."""
    offline = msgspec.structs.replace(options, reader="lexical", summarizer="extractive", decider="policy")
    records = run(offline, place).records
    reader = _part("reader", options.reader, _readings(records, options.draws))
    writing = sum((r.summarizer for r in records), Usage())
    summarizer = _part(
        "summarizer", options.summarizer, (sum(r.summarizer_calls for r in records), writing.prompt, writing.output)
    )
    return {
        "parts": [reader, summarizer, _part("decider", options.decider, _decisions(records, options.decider))],
        "traces": len({r.inputs.trace for r in records}),
        "strategies": list(options.strategies),
    }


def _readings(records: tuple[RunRecord, ...], draws: int) -> tuple[int, int, int]:
    """One request a question: each strategy's contexts, what it looks up, and floor and ceiling once a trace."""
    requests = tokens = 0
    seen: set[str] = set()
    for record in records:
        for exam in record.exams:
            asked = 0 if exam.dead else exam.asked * draws
            requests += asked
            tokens += asked * (exam.tokens + QUESTION_TOKENS)
        requests += sum(lookup.opened for lookup in record.lookups)
        tokens += sum(lookup.usage.prompt for lookup in record.lookups)
        if record.inputs.trace not in seen:
            seen.add(record.inputs.trace)
            whole = len(record.ceilings) * draws
            requests += whole + len(record.floors) * draws
            tokens += whole * (record.trace.tokens + QUESTION_TOKENS) + len(record.floors) * draws * QUESTION_TOKENS
    return requests, tokens, requests * ANSWER_TOKENS


def _decisions(records: tuple[RunRecord, ...], spec: str) -> tuple[int, int, int]:
    """One request a call from the decider's share of the window on, for every strategy that acted on one offline."""
    at = float(dict(parse_one(spec).arguments).get("at", ASKED_FROM))
    asking = [record for record in records if any(request.kind == "decision" for request in record.requests)]
    prompts = [row.prompt_tokens for record in asking for row in record.rows if row.prompt_tokens >= at * record.window]
    return len(prompts), sum(prompts), len(prompts) * ANSWER_TOKENS


def _part(name: str, spec: str, counts: tuple[int, int, int]) -> dict[str, Any]:
    requests, tokens, output = counts
    arguments = dict(parse_one(spec).arguments)
    model = str(arguments.get("model") or "")
    part: dict[str, Any] = {
        "part": name,
        "model": model,
        "requests": requests,
        "input": tokens,
        "output": output,
        "usd": None,
        "reasons": {},
    }
    if not model:
        part["usd"] = 0.0
        part["reasons"]["usd"] = f"{spec} asks no model: it costs nothing"
        return part
    prices = PriceSheet.load().prices(model)
    if isinstance(prices, Unpriced):
        part["reasons"]["usd"] = prices.reason
        return part
    mean = Usage(uncached=tokens // max(requests, 1), output=output // max(requests, 1))
    part["usd"] = usd(prices.price(mean).total * requests)
    part["reasons"]["usd"] = "priced at the mean size of a request, nothing read from a cache"
    return part

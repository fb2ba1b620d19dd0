"""Brings two results of one case to a common form and names what differs."""

from __future__ import annotations

import re
from typing import Any

from ullage.converse import dumped

Case = dict[str, Any]

GUIDANCE = re.compile(r"(\[Offloaded: \d+ blocks, ~[\d,]+ tokens\]\n).*?\n\n", re.DOTALL)
ANSWERS: tuple[tuple[str, str], ...] = (
    ("too few", r"not enough eligible|too few messages|conversation only has|has only \d+\."),
    ("no boundary", r"no valid (split|trim) boundary|every boundary parts|no plain user message begins"),
    ("none eligible", r'no ("\w+"|eligible) messages'),
    ("failed", r"Summarization failed|The summary failed"),
    ("out of range", r"out of range"),
    ("no match", r"No matching messages found|No message matches"),
    ("empty", r"No messages in the conversation|The conversation has no messages"),
)
SEARCHES: tuple[tuple[str, str], ...] = (
    ("empty", r"^Content is empty|^There is no content"),
    ("no match", r"^No matches found|^No line matches"),
)
NOTE = re.compile(r"\n\n\[(output truncated, narrow your|cut here; narrow the) (\w+)\]$")


def differences(case: Case, real: Case, ours: Case) -> list[str]:
    """Names of the parts that differ; empty for parity."""
    left, right = normal(case, real), normal(case, ours)
    return [key for key in left if key in right and left[key] != right[key]]


def normal(case: Case, result: Case) -> Case:
    """A result without what may differ: generated ids, our own words, prompts."""
    made = dict(result)
    known = {m.get("tracking_id") for m in case["messages"]} | {"track-old"}
    if made.get("messages") is not None:
        made["messages"] = [_message(message, known) for message in made["messages"]]
    if made.get("state"):
        made["state"] = _state(made["state"], known)
    if "requests" in made:
        made["requests"] = [_request(case, request) for request in made["requests"]]
    if "results" in made:
        made["results"] = _results(made["results"])
    if made.get("failed"):
        made["text"] = None
    if "text" in made and case["kind"] in ("agentic", "search", "retrieval"):
        made["text"] = _answer(case["kind"], made["text"])
    if "stashed" in made:
        made["stashed"] = dict(sorted(made["stashed"].items()))
    made.pop("acted", None)
    if case["kind"] == "pipeline":
        made["exceptions"] = _progress(case, result)
        made.pop("state", None)
    return {key: dumped(_ordered(value)) for key, value in made.items()}


def _ordered(value: Any) -> Any:
    """The same value with its keys in one order: that of a dict's keys means nothing."""
    if isinstance(value, dict):
        return {key: _ordered(value[key]) for key in sorted(value)}
    return [_ordered(item) for item in value] if isinstance(value, list) else value


def _progress(case: Case, result: Case) -> list[Any]:
    """Whether each overflow found a step that acted: the package's pass says so, ours raises when none did."""
    if "acted" in result:
        flags = [acted for moment, acted in zip(case["moments"], result["acted"], strict=True) if moment == "overflow"]
        return [bool(flag) for flag in flags]
    return [kind is None for moment, kind in zip(case["moments"], result["exceptions"], strict=True) if moment == "overflow"]


def _message(message: Case, known: set[Any]) -> Case:
    made = {key: value for key, value in message.items() if key != "tracking_id" or value in known}
    made["content"] = [_block(block) for block in message["content"]]
    return dict(sorted(made.items()))


def _block(block: Case) -> Case:
    if "content" not in block.get("toolResult", ()):
        return block
    result = dict(sorted(block["toolResult"].items()))
    result["content"] = [{"text": GUIDANCE.sub(r"\1", item["text"])} if "text" in item else item for item in result["content"]]
    return {"toolResult": result}


def _state(state: Case, known: set[Any]) -> Case:
    made = {key: value for key, value in state.items() if key != "own"}
    if made.get("summary_message"):
        made["summary_message"] = _message(made["summary_message"], known)
    return dict(sorted(made.items()))


def _request(case: Case, request: Case) -> Case:
    known = {m.get("tracking_id") for m in case["messages"]} | {"track-old"}
    messages = [_message(message, known) for message in request["messages"]]
    if case["kind"] == "request":
        return {"messages": [{k: m[k] for k in ("role", "content")} for m in messages]}
    if case["kind"] != "pipeline":
        messages[-1] = {"role": messages[-1]["role"], "content": "closing"}
    return {"messages": messages, "tool_specs": request.get("tool_specs"), "prompted": bool(request.get("system_prompt"))}


def _results(results: Case) -> Case:
    made = dict(sorted(results.items()))
    made["adjust"] = [None if made["adjust"][0] is None else "raises", made["adjust"][1]]
    return made


def _answer(kind: str, text: str | None) -> Any:
    if not text:
        return None
    for name, pattern in ANSWERS if kind == "agentic" else SEARCHES:
        if re.search(pattern, text):
            return [name, [int(number) for number in re.findall(r"-?\d+", text)]]
    return NOTE.sub(r"\n\n[cut \2]", text)

"""Cases for a parity run: what to call on which history, drawn from seeds, as JSON values."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

from ullage.histories import make_history, make_malformed

Case = dict[str, Any]

REPLIES: tuple[Case, ...] = (
    {"blocks": [{"text": "SUMMARY"}]},
    {"blocks": [{"text": "SUMMARY"}]},
    {"blocks": [{"text": "first"}, {"text": "second"}]},
    {"blocks": [{"text": " \n "}]},
    {"blocks": [{"text": ""}]},
    {"blocks": []},
    {"blocks": [{"reasoningContent": {"reasoningText": {"text": "why", "signature": "s"}}}, {"text": "SUMMARY"}]},
    {"blocks": [{"reasoningContent": {"reasoningText": {"text": "why", "signature": "s"}}}]},
    {"blocks": [{"toolUse": {"toolUseId": "x", "name": "shell", "input": {}}}]},
    {"blocks": [{"citationsContent": {"content": [{"text": " "}], "citations": [{"title": "t"}]}}]},
    {"blocks": [{"citationsContent": {"content": [{"text": "cited"}], "citations": [{"title": "t"}]}}, {"text": "plain"}]},
    {"raise": "the model is down"},
)
CLASSIC_STATES = {
    "null": "NullConversationManager",
    "sliding_window": "SlidingWindowConversationManager",
    "summarizing": "SummarizingConversationManager",
}
TARGETS: tuple[Any, ...] = (
    "*", "*", "tool_results", "tool_results", "tool_result_errors", "assistant_text", "user_text", "bogus",
    ["tool::shell"], ["!tool::shell", "!tool::search"], ["tool::shell", "!tool::search"], ["search"],
)  # fmt: skip


def cases(kind: str, count: int, version: str, seed: int = 0) -> Iterator[Case]:
    """``count`` cases of one kind; the same for the same arguments."""
    driven, make = KINDS[kind]
    for number in range(count):
        name = f"{kind}-{number}" if seed == 0 else f"{kind}-{seed}-{number}"
        rng = random.Random(name)
        at = rng.randrange(10**9)
        malformed = kind in ODD and rng.random() < MALFORMED
        messages = make_malformed(at) if malformed else make_history(at)
        yield {"kind": driven, "seed": number, "messages": messages, **make(rng, messages, version)}


def sliding_window(rng: random.Random, messages: list[Case], _: str) -> Case:
    """A sliding window with any parameters."""
    params: Case = {"window_size": rng.choice((0, 1, 1, 2, 3, 4, 5, 8, 12, 40))}
    if rng.random() < 0.3:
        params["should_truncate_results"] = False
    if rng.random() < 0.3:
        params["pin_first"] = rng.choice((-1, 0, 1, 2, 50))
    if rng.random() < 0.3:
        params["per_turn"] = rng.choice((True, 1, 2, 3))
    return _classic(rng, "sliding_window", params, messages)


def summarizing(rng: random.Random, messages: list[Case], _: str) -> Case:
    """A summarising manager with any parameters."""
    params: Case = {
        "summary_ratio": rng.choice((-1.0, 0.0, 0.05, 0.1, 0.3, 0.3, 0.5, 0.8, 0.95, 2.0)),
        "preserve_recent_messages": rng.choice((-2, 0, 1, 2, 3, 5, 10, 50)),
    }
    if rng.random() < 0.3:
        params["pin_first"] = rng.choice((-1, 0, 1, 2, 50))
    return _classic(rng, "summarizing", params, messages)


def null(rng: random.Random, messages: list[Case], _: str) -> Case:
    """The manager that does nothing."""
    return _classic(rng, "null", {}, messages)


def _classic(rng: random.Random, manager: str, params: Case, messages: list[Case]) -> Case:
    if rng.random() < 0.5 and manager != "null":
        params["threshold"] = rng.choice((0.5, 0.7, 1.0))
    moments = rng.choices(("overflow", "overflow", "turn_end", "before_call"), k=rng.randint(1, 4))
    case = {
        "manager": manager, "params": params, "moments": moments, "reply": rng.choice(REPLIES), "window": 1000,
        "projected": rng.choice((0, 499, 500, 700, 1000, 5000)),
    }  # fmt: skip
    if rng.random() < 0.3:
        case["state"] = _state(rng, manager, messages)
    return case


def _state(rng: random.Random, manager: str, messages: list[Case]) -> Case:
    state: Case = {"__name__": CLASSIC_STATES[manager], "removed_message_count": rng.randint(0, len(messages) + 2)}
    if manager == "sliding_window" and rng.random() < 0.7:
        state["model_call_count"] = rng.randint(0, 5)
    if manager == "summarizing":
        summary = {"role": "user", "content": [{"text": "EARLIER"}], "tracking_id": "track-old"}
        state["summary_message"] = summary if rng.random() < 0.6 else None
    return state


def restore(rng: random.Random, messages: list[Case], _: str) -> Case:
    """A stored session and the state of its manager."""
    manager = rng.choice(("sliding_window", "summarizing"))
    state = _state(rng, manager, messages)
    if rng.random() < 0.1:
        state["__name__"] = "OtherManager"
    return {"manager": manager, "params": {}, "state": state}


def agentic(rng: random.Random, _: list[Case], __: str) -> Case:
    """A call of an agentic tool."""
    tool = rng.choice(("summarize_context", "truncate_context", "pin_context"))
    arguments: Case = {}
    if tool == "pin_context":
        arguments["select"] = rng.choice(("last_turn", -1, 0, 1, 3, 99, True, [0], [0, 0, 2, -1], [77], []))
        _maybe(rng, arguments, "filter", ("user", "assistant", "tools", None, "other"))
        _maybe(rng, arguments, "action", ("pin", "pin", "unpin", "unpin", "other"))
    else:
        _maybe(rng, arguments, "keep_recent", (-1, 0, 1, 2, 3, 5, 10, 50, None))
        _maybe(rng, arguments, "message_type", ("tools", "messages", "all", None, "other"))
        if tool == "summarize_context":
            _maybe(rng, arguments, "summary_ratio", (-1, 0.0, 0.1, 0.5, 0.8, 2.0, None))
    return {"tool": tool, "arguments": arguments, "reply": rng.choice(REPLIES), "window": 1000}


def functions(rng: random.Random, messages: list[Case], _: str) -> Case:
    """A position for the shared functions."""
    return {"at": rng.randint(0, len(messages) + 2)}


def projection(rng: random.Random, _: list[Case], __: str) -> Case:
    """A system prompt beside a history."""
    return {"system": rng.choice((None, "You are careful.", "x" * 401))}


def offloader(rng: random.Random, messages: list[Case], _: str) -> Case:
    """A newest message with results around the limits."""
    limit = rng.choice((1, 10, 100, 500, 2500))
    for message in messages:
        for block in message["content"]:
            if "toolResult" in block:
                block["toolResult"].setdefault("status", "success")
    if not any("toolResult" in block for block in (messages[-1]["content"] if messages else ())):
        item = {"text": "".join(rng.choice("ab \n") for _ in range(rng.choice((0, 40, 400, 4000))))}
        extra = rng.choice(([], [{"text": ""}], [{"video": {"format": "mp4"}}], [{"image": {"format": "png", "source": {}}}]))
        content = [*extra, item, *rng.choice(([], [{"json": {"a": [1, 2]}}], [{"text": ""}]))]
        messages.append(
            {"role": "user", "content": [{"toolResult": {"toolUseId": "new", "status": "success", "content": content}}]}
        )
    return {"params": {"max_result_tokens": limit, "preview_tokens": rng.choice((0, 1, limit // 2, limit - 1)) % limit}}


def presets(rng: random.Random, messages: list[Case], version: str) -> Case:
    """``auto`` or ``agentic``: a pipeline, or at 1.54 a manager with an offloader."""
    case = _pipeline(rng, messages, {"preset": rng.choice(("auto", "agentic"))})
    if version.startswith("1.54"):
        case |= {
            "kind": "classic_preset",
            "moments": [*case["moments"], *rng.choices(("turn_end", "overflow"), k=rng.randint(0, 2))],
        }
        for message in messages:
            for block in message["content"]:
                if "toolResult" in block and rng.random() < 0.2:
                    block["toolResult"]["content"] = [{"text": "x\n" * rng.choice((2_999, 3_000, 3_001, 17_000))}]
    return case


def steps(rng: random.Random, messages: list[Case], _: str) -> Case:
    """A pipeline of steps."""
    entries: list[Any] = []
    for _index in range(rng.randint(0, 3)):
        named = ("proactive_summarization", "large_tool_offloading", "overflow_protection", "stale_tool_cleanup")
        entries.append(rng.choice(named) if rng.random() < 0.3 else _step(rng))
    return _pipeline(rng, messages, {"preset": None, "strategies": entries, "stash": rng.random() < 0.7})


def _step(rng: random.Random) -> Case:
    entry: Case = {"step": rng.choice(("truncate", "drop", "summarize")), "target": rng.choice(TARGETS)}
    if rng.random() < 0.5:
        entry["threshold"] = rng.choice((-5, 0, 5, 60, 200, 1500))
    if rng.random() < 0.5:
        entry["utilization"] = rng.choice((-1, 0, 0.5, 0.9, 1.0, 1.5))
    if rng.random() < 0.6:
        entry["preserve_recent"] = rng.choice((-1, 0, 1, 2, 4, 99, 2.5, 0.3, 0.7, 0.999))
    if entry["step"] == "truncate":
        entry["preview_tokens"] = rng.choice((-3, 0, 4, 50, 750))
        if "threshold" in entry and entry["threshold"] <= entry["preview_tokens"]:
            entry["threshold"] = entry["preview_tokens"] + 1
        if rng.random() < 0.3:
            entry["preview"] = rng.choice(("head", "tail", "head_tail"))
    return entry


def _pipeline(rng: random.Random, messages: list[Case], case: Case) -> Case:
    moments = rng.choices(("arrival", "before_call", "overflow", "overflow"), k=rng.randint(1, 3))
    if not messages:
        moments = [moment for moment in moments if moment != "arrival"] or ["overflow"]
    return {
        "stash": True, "strategies": [], **case, "moments": moments, "reply": rng.choice(REPLIES),
        "window": rng.choice((1, 60, 300, 1000, 10_000)), "projected": rng.choice((0, 200, 900, 1000, 20_000)),
    }  # fmt: skip


def status(rng: random.Random, _: list[Case], __: str) -> Case:
    """A projection and a window."""
    return {"messages": [], "window": rng.choice((1000, 200_000)), "projected": rng.randint(0, 300_000)}


def injector(rng: random.Random, _: list[Case], __: str) -> Case:
    """A text and when it is injected."""
    return {"text": rng.choice(("note", "", "  ", "two\nlines")), "trigger": rng.choice(("userTurn", "everyTurn"))}


def search(rng: random.Random, _: list[Case], __: str) -> Case:
    """A text and a search in it."""
    lines = ["".join(rng.choice("ab1 (") for _ in range(rng.randint(0, 8))) for _ in range(rng.choice((0, 1, 5, 30)))]
    arguments: Case = {"context_lines": rng.choice((-1, 0, 1, 5)), "max_chars": rng.choice((5, 40, 10_000))}
    _maybe(rng, arguments, "pattern", ("a", "b+", "(", "a|1", "(a+)+", "zz", "", "a/]"))
    _maybe(rng, arguments, "line_range", ([1, 3], [0, 2], [3, 1], [2, 99], [50, 60]))
    return {"messages": [], "text": "\n".join(lines), "search": arguments}


def retrieval(rng: random.Random, _: list[Case], version: str) -> Case:
    """A retrieval tool, stored content, and what is asked of it."""
    case = search(rng, [], version)
    arguments: Case = {"reference": rng.choice(("mem_1_t_0", "mem_1_t_0", "nothing"))}
    _maybe(rng, arguments, "pattern", ("a", "b+", "(a+)+", "zz", ""))
    _maybe(rng, arguments, "context_lines", (0, 1, 5))
    if rng.random() < 0.4:
        arguments["line_range"] = rng.choice(({"start": 1, "end": 3}, {"start": 3, "end": 1}, {"start": 2, "end": 99}))
    if version.startswith("1.54") or rng.random() < 0.5:
        return {
            "messages": [],
            "tool": "retrieve_offloaded_content",
            "text": case["text"] or "x",
            "limit": 10,
            "arguments": arguments,
        }
    stored: Any = rng.choice(({"text": case["text"]}, {"json": {"a": [1, "缓"]}}, {"text": "y" * 50_000}, "plain", {"video": {}}))
    arguments["reference"] = arguments["reference"].replace("mem_1_", "")
    return {"messages": [], "tool": "retrieve_context", "stored": stored, "arguments": arguments}


def request(rng: random.Random, messages: list[Case], _: str) -> Case:
    """A history with tool names that providers refuse."""
    for message in messages:
        for block in message["content"]:
            if "toolUse" in block and rng.random() < 0.1:
                block["toolUse"]["name"] = rng.choice(("bad name", "x" * 65, "ok-name_1"))
    if messages and any("toolUse" in block for block in messages[-1]["content"]):
        # An agent answers a dangling call when the next prompt arrives; that is not what is compared here.
        messages.append({"role": "assistant", "content": [{"text": ""}]})
    return {}


def _maybe(rng: random.Random, arguments: Case, key: str, values: tuple[Any, ...]) -> None:
    if rng.random() < 0.6:
        arguments[key] = rng.choice(values)


Maker = Callable[[random.Random, list[Case], str], Case]
KINDS: dict[str, tuple[str, Maker]] = {
    "null": ("manager", null),
    "sliding_window": ("manager", sliding_window),
    "summarizing": ("manager", summarizing),
    "agentic_tools": ("agentic", agentic),
    "shared_functions": ("functions", functions),
    "projection": ("projection", projection),
    "offloader": ("offloader", offloader),
    "presets": ("pipeline", presets),
    "pipeline_steps": ("pipeline", steps),
    "restore": ("restore", restore),
    "status_line": ("status", status),
    "injector": ("injector", injector),
    "search": ("search", search),
    "retrieval": ("retrieval", retrieval),
    "request": ("request", request),
}
ONLY_1_62 = frozenset({"pipeline_steps"})
"""Kinds that the older release does not have."""
ODD, MALFORMED = frozenset(KINDS) - {"offloader", "request", "injector", "projection", "shared_functions"}, 0.05
"""Kinds that also get malformed histories, and how large a part those are."""

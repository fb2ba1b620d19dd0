"""The same cases through our strategies, in the driver's form."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from ullage.converse import converse_of, messages_of
from ullage.doors import agentic_tool, reduce, usage_in
from ullage.specs import Spec
from ullage.strategies.shared.agentic_tools import status_line
from ullage.strategies.shared.estimators import ceil_div, strands_message_tokens
from ullage.strategies.shared.pins import is_pinned, partition_pinned, pin_message, unpin_message
from ullage.strategies.shared.profiles import Profile
from ullage.strategies.shared.requests import normalized_for_request
from ullage.strategies.shared.retrieval import retrieve_context, retrieve_offloaded
from ullage.strategies.shared.search import Search
from ullage.strategies.shared.shape import matches_message_type
from ullage.strategies.shared.tool_pairs import adjust_split_point_for_tool_pairs, find_valid_trim_point
from ullage.testing import FakeStore

Case = dict[str, Any]
RENAMED = {"summary_ratio": "ratio", "preserve_recent_messages": "keep_recent"}


def run(case: Case, version: str) -> Case:
    """The result of a case by our code, for the release ``version`` (``1.54`` or ``1.62``)."""
    return RUNS[case["kind"]](copy.deepcopy(case), version)


def answer(case: Case) -> Any:
    """The case's summariser."""
    reply = case["reply"]
    # A delta of no characters yields no block: the package's stream reader drops it.
    return RuntimeError(reply["raise"]) if "raise" in reply else [b for b in reply["blocks"] if b != {"text": ""}]


def outcome(action: Callable[[], Any]) -> list[Any]:
    """Kind of exception and result, as the driver gives them."""
    try:
        return [None, action()]
    except Exception as error:  # noqa: BLE001 - the kind is what is compared
        return [type(error).__name__, None]


def manager(case: Case, version: str) -> Case:
    """A classic manager through its moments."""
    arguments = [(RENAMED.get(key, key), value) for key, value in case["params"].items()]
    if case["manager"] == "summarizing":
        arguments.append(("profile", version))
    return chain(str(Spec(case["manager"], tuple(arguments))), case)


def pipeline(case: Case, version: str) -> Case:
    """A context manager through its moments."""
    if case["preset"]:
        return chain(f"{case['preset']}(profile={version!r})", case)
    entries = tuple(entry if isinstance(entry, str) else _step(entry) for entry in case["strategies"])
    return chain(str(Spec("context_manager", (("strategies", entries), ("stash", case["stash"])))), case)


def _step(entry: Case) -> str:
    arguments = {key: value for key, value in entry.items() if key != "step"}
    target = arguments["target"]
    arguments["target"] = tuple(target) if isinstance(target, list) else target
    return str(Spec(entry["step"], tuple(arguments.items())))


def chain(spec: str, case: Case) -> Case:
    """One decision after the other on one history."""
    messages, state = case["messages"], case.get("state")
    memory: Mapping[str, Any] = {}
    stashed: dict[str, str] = {}
    kinds: list[str | None] = []
    requests: list[Case] = []
    for moment in case["moments"]:
        done = reduce(
            spec,
            messages,
            moment=moment,
            projected_tokens=case["projected"],
            window=case["window"],
            summarize=answer(case),
            state={**(state or {}), "own": memory},
            store=stashed,
        )
        messages, state, memory = done.messages, done.state, done.memory
        stashed = {**stashed, **done.stashed}
        kinds.append(done.exception)
        requests += done.requests
    return {"messages": messages, "state": state, "exceptions": kinds, "requests": requests, "stashed": stashed}


def agentic(case: Case, version: str) -> Case:
    """One agentic tool."""
    done = agentic_tool(
        case["tool"],
        case["arguments"],
        case["messages"],
        summarize=answer(case),
        window=case["window"],
        profile="1.54" if version == "1.54" else "1.62",
    )
    requests = [done.request] if done.request else []
    return {"messages": done.messages, "exceptions": [done.exception], "requests": requests, "text": done.text}


def functions(case: Case, _: str) -> Case:
    """The shared functions, on the dicts themselves; nouns must agree with them."""
    messages, at = case["messages"], case["at"]
    nouns = messages_of(messages)
    results: Case = {
        "adjust": both(lambda m: adjust_split_point_for_tool_pairs(m, at), messages, nouns),
        "trim": both(lambda m: find_valid_trim_point(m, at), messages, nouns),
        "pinned": [both(partial(_pinned_at, at=i), messages, nouns) for i in range(len(messages))],
        "types": [[matches_message_type(m, kind) for kind in ("tools", "messages", "all")] for m in messages],
        "partition": outcome(lambda: list(partition_pinned(messages, 0, min(at, len(messages))))),
        "counted": sum(map(strands_message_tokens, nouns)),
    }
    if messages:
        results["pin"] = outcome(lambda: pin_message(messages, at % len(messages)))[0]
        results["unpin"] = outcome(lambda: unpin_message(messages, (at + 1) % len(messages)))[0]
    return {"results": results, "messages": messages}


def _pinned_at(messages: Any, at: int) -> bool:
    return is_pinned(messages, at)


def both(action: Callable[[Any], Any], dicts: Any, nouns: Any) -> list[Any]:
    """The outcome on dicts, after a check that nouns give the same."""
    first, second = outcome(lambda: action(dicts)), outcome(lambda: action(nouns))
    if first != second:
        raise AssertionError(f"dicts give {first}, nouns {second}")
    return first


def projection(case: Case, _: str) -> Case:
    """The projected size of the next prompt."""
    kind, found = outcome(lambda: usage_in(case["messages"]))
    if kind:
        return {"projected": [kind, None]}
    usage, at = found
    nouns = messages_of(case["messages"])
    if usage is not None:
        return {"projected": [None, usage.prompt + usage.output + sum(map(strands_message_tokens, nouns[at:]))]}
    return {"projected": [None, ceil_div(len(case["system"] or ""), 4) + sum(map(strands_message_tokens, nouns))]}


def offloader(case: Case, version: str) -> Case:
    """The offloader on the newest message."""
    spec = Spec("offloader", (*case["params"].items(), ("profile", version)))
    return {"messages": reduce(str(spec), case["messages"], moment="arrival").messages}


def restore(case: Case, version: str) -> Case:
    """A resumed session."""
    done = reduce(str(Spec(case["manager"], (("profile", version),))), case["messages"], moment="restore", state=case["state"])
    if done.exception:
        return {"messages": None, "state": None, "exceptions": [done.exception]}
    return {"messages": done.messages, "state": done.state, "exceptions": [None]}


def status(case: Case, _: str) -> Case:
    """The status line."""
    return {"text": status_line(case["projected"], case["window"])}


def injector(case: Case, version: str) -> Case:
    """The request that an injector makes of a history."""
    spec = Spec("injector", (("text", case["text"]), ("trigger", case["trigger"]), ("profile", version)))
    done = reduce(str(spec), case["messages"], moment="before_call")
    messages = done.messages
    if done.injected:
        at = max(at for at, message in enumerate(messages) if message["role"] == "user")
        copied = {key: value for key, value in messages[at].items() if key != "tracking_id"}
        messages[at] = {**copied, "content": [*messages[at]["content"], *done.injected]}
    return {"messages": messages}


def search(case: Case, version: str) -> Case:
    """A search in stored content."""
    arguments = dict(case["search"])
    lines = arguments.pop("line_range", None)
    made = Search(**arguments, line_range=tuple(lines) if lines else None, profile="1.54" if version == "1.54" else "1.62")
    kind, text = outcome(lambda: made.run(case["text"]))
    return {"exceptions": [kind], "text": text}


def retrieval(case: Case, version: str) -> Case:
    """A retrieval tool on content that was stored before."""
    if case["tool"] == "retrieve_context":
        answer = retrieve_context(FakeStore({"t_0": json.dumps(case["stored"])}), case["arguments"])
    else:
        profile: Profile = "1.54" if version == "1.54" else "1.62"
        store = FakeStore({"mem_1_t_0": case["text"]})
        answer = retrieve_offloaded(store, case["arguments"], max_result_tokens=case["limit"], profile=profile)
    return {"failed": answer.is_error, "text": answer.text}


def request(case: Case, _: str) -> Case:
    """The request that an agent makes of a history."""
    sent = [{"role": "user", "content": [{"text": "next"}]}]
    nouns = normalized_for_request(messages_of([*case["messages"], *sent]))
    return {"exceptions": [None], "requests": [{"messages": [converse_of(message) for message in nouns]}]}


RUNS: dict[str, Callable[[Case, str], Case]] = {
    "manager": manager,
    "classic_preset": pipeline,
    "pipeline": pipeline,
    "agentic": agentic,
    "functions": functions,
    "projection": projection,
    "offloader": offloader,
    "restore": restore,
    "status": status,
    "injector": injector,
    "search": search,
    "retrieval": retrieval,
    "request": request,
}

"""Runs cases through the installed `strands-agents`; executed by the isolated environment's own Python, one JSON line a case.

Standard library and the package only. Bytes travel as ``{"$bytes": base64}``.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import copy
import dataclasses
import json
import logging
import sys
import tempfile
import warnings
from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial
from types import SimpleNamespace
from typing import Any

warnings.simplefilter("ignore")
logging.disable(logging.CRITICAL)

from strands import Agent  # noqa: E402 - logging is off before the package speaks
from strands.agent.conversation_manager import (  # noqa: E402 - logging is off before the package speaks
    NullConversationManager,
    SlidingWindowConversationManager,
    SummarizingConversationManager,
)
from strands.agent.conversation_manager.compression import context_compression, pin_message  # noqa: E402 - logging is off before the package speaks
from strands.event_loop.event_loop import _estimate_input_tokens  # noqa: E402 - logging is off before the package speaks
from strands.models.model import Model  # noqa: E402 - logging is off before the package speaks
from strands.types.exceptions import ContextWindowOverflowException  # noqa: E402 - logging is off before the package speaks

Case = dict[str, Any]

MANAGERS: dict[str, Any] = {
    "null": NullConversationManager,
    "sliding_window": SlidingWindowConversationManager,
    "summarizing": SummarizingConversationManager,
}


class Stub(Model):  # type: ignore[misc]  # the package is not installed where types are checked
    """A model that answers as the case says and keeps what it was asked."""

    stateful = False

    def __init__(self, reply: Case, limit: int) -> None:
        self.reply, self.limit = reply, limit
        self.calls: list[Case] = []

    @property
    def context_window_limit(self) -> int:
        """The window of the case."""
        return self.limit

    def update_config(self, **_: Any) -> None:
        """Nothing can be set."""

    def get_config(self) -> Case:
        """What the package reads of a model."""
        return {"context_window_limit": self.limit, "model_id": "stub"}

    def structured_output(self, *_args: Any, **_kwargs: Any) -> AsyncIterator[Any]:
        """Not used."""
        raise NotImplementedError

    async def stream(self, messages: Any, tool_specs: Any = None, system_prompt: Any = None, **_: Any) -> AsyncIterator[Case]:
        """Answer, and keep the request."""
        self.calls.append(
            {"messages": copy.deepcopy(messages), "tool_specs": copy.deepcopy(tool_specs), "system_prompt": system_prompt}
        )
        if "raise" in self.reply:
            raise RuntimeError(self.reply["raise"])
        yield {"messageStart": {"role": "assistant"}}
        for block in self.reply["blocks"]:
            for event in block_events(block):
                yield event
        yield {"messageStop": {"stopReason": "end_turn"}}
        yield {"metadata": {"usage": {"inputTokens": 0, "outputTokens": 0, "totalTokens": 0}, "metrics": {"latencyMs": 0}}}


def block_events(block: Case) -> Iterator[Case]:
    """The stream events of one content block."""
    if "toolUse" in block:
        use = block["toolUse"]
        yield {"contentBlockStart": {"start": {"toolUse": {"toolUseId": use["toolUseId"], "name": use["name"]}}}}
        yield {"contentBlockDelta": {"delta": {"toolUse": {"input": json.dumps(use["input"])}}}}
    else:
        yield {"contentBlockStart": {"start": {}}}
        if "text" in block:
            yield {"contentBlockDelta": {"delta": {"text": block["text"]}}}
        elif "citationsContent" in block:
            for citation in block["citationsContent"]["citations"]:
                yield {"contentBlockDelta": {"delta": {"citation": citation}}}
            yield {"contentBlockDelta": {"delta": {"text": block["citationsContent"]["content"][0]["text"]}}}
        elif "reasoningContent" in block:
            text = block["reasoningContent"]["reasoningText"]
            yield {"contentBlockDelta": {"delta": {"reasoningContent": {"text": text["text"]}}}}
            yield {"contentBlockDelta": {"delta": {"reasoningContent": {"signature": text["signature"]}}}}
    yield {"contentBlockStop": {}}


def plain(value: Any) -> Any:
    """A value with bytes as JSON carries them."""
    if isinstance(value, bytes):
        return {"$bytes": base64.b64encode(value).decode()}
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, (list, tuple)) else value


def restored(value: Any) -> Any:
    """The value that ``plain`` was given."""
    if isinstance(value, dict):
        if set(value) == {"$bytes"}:
            return base64.b64decode(value["$bytes"])
        return {key: restored(item) for key, item in value.items()}
    return [restored(item) for item in value] if isinstance(value, list) else value


def shim(case: Case, model: Stub) -> Any:
    """All that a classic manager needs of an agent."""
    return SimpleNamespace(messages=case["messages"], model=model, aux_model=model)


def outcome(action: Callable[[], Any]) -> tuple[str | None, Any]:
    """The kind of exception that an action raises, and its result."""
    try:
        result = action()
        if asyncio.iscoroutine(result):
            result = asyncio.run(result)
    except Exception as error:  # noqa: BLE001 - the kind is what is asked for
        return type(error).__name__, None
    return None, result


def run_manager(case: Case) -> Case:
    """A classic manager through its moments."""
    model = Stub(case["reply"], case["window"])
    params = dict(case["params"])
    threshold = params.pop("threshold", None)
    if threshold is not None:
        params["proactive_compression"] = {"compression_threshold": threshold}
    manager = MANAGERS[case["manager"]](**params)
    if case.get("state"):
        manager.restore_from_session(case["state"])
    agent = shim(case, model)
    kinds = [outcome(partial(step, manager, agent, moment, case))[0] for moment in case["moments"]]
    return {"messages": agent.messages, "state": manager.get_state(), "exceptions": kinds, "requests": model.calls}


def step(manager: Any, agent: Any, moment: str, case: Case) -> None:
    """What the agent's loop does with a manager at a moment."""
    if moment == "turn_end":
        manager.apply_management(agent)
        return
    if moment == "overflow":
        manager.reduce_context(agent, e=ContextWindowOverflowException("too long"))
        return
    event = SimpleNamespace(agent=agent, projected_input_tokens=case["projected"])
    manager._on_before_model_call_threshold(event)
    if hasattr(manager, "_on_before_model_call"):
        manager._on_before_model_call(event)


def run_agentic(case: Case) -> Case:
    """One agentic tool."""
    from strands._context_manager.modes.agentic import agentic_context

    model = Stub(case["reply"], case["window"])
    agent = shim(case, model)
    tool = getattr(agentic_context, case["tool"])
    context = SimpleNamespace(agent=agent)
    kind, text = outcome(lambda: tool._tool_func(tool_context=context, **case["arguments"]))
    return {"messages": agent.messages, "exceptions": [kind], "requests": model.calls, "text": text}


def run_functions(case: Case) -> Case:
    """The functions that several parts of the package share."""
    messages, at = case["messages"], case["at"]
    results: Case = {
        "adjust": outcome(lambda: context_compression.adjust_split_point_for_tool_pairs(messages, at)),
        "trim": outcome(lambda: context_compression.find_valid_trim_point(messages, at)),
        "pinned": [outcome(partial(pin_message.is_pinned, messages, i)) for i in range(len(messages))],
        "types": [
            [context_compression.matches_message_type(message, kind) for kind in ("tools", "messages", "all")]
            for message in messages
        ],
    }
    results["partition"] = outcome(lambda: pin_message.partition_pinned(messages, 0, min(at, len(messages))))
    results["counted"] = asyncio.run(Stub({"blocks": []}, 1000).count_tokens(messages))
    if messages:
        place = at % len(messages)
        results["pin"] = outcome(lambda: pin_message.pin_message(messages, place))[0]
        results["unpin"] = outcome(lambda: pin_message.unpin_message(messages, (at + 1) % len(messages)))[0]
    return {"results": results, "messages": messages}


def run_projection(case: Case) -> Case:
    """The projected size of the next prompt."""
    model = Stub({"blocks": []}, 1000)
    agent = Agent(model=model, messages=case["messages"], callback_handler=None, system_prompt=case["system"])
    return {"projected": outcome(lambda: _estimate_input_tokens(agent))}


def run_offloader(case: Case) -> Case:
    """The offloader on every result of the newest message."""
    from strands.vended_plugins.context_offloader import ContextOffloader
    from strands.vended_plugins.context_offloader.storage import InMemoryStorage

    model = Stub({"blocks": []}, 1000)
    plugin = ContextOffloader(InMemoryStorage(), **case["params"])
    agent = Agent(model=model, callback_handler=None, plugins=[plugin])
    offload(plugin, agent, case["messages"][-1])
    return {"messages": case["messages"]}


def offload(plugin: Any, agent: Any, message: Case) -> None:
    """What an offloader does after each tool call whose result a message holds; a hook that raises changes nothing."""
    for index, block in enumerate(message["content"]):
        if "toolResult" in block:
            result = block["toolResult"]
            use = {"toolUseId": result.get("toolUseId", ""), "name": "shell", "input": {}}
            event = SimpleNamespace(agent=agent, cancel_message=None, tool_use=use, selected_tool=None, result=result)
            outcome(partial(plugin._handle_tool_result, event))
            message["content"][index] = {"toolResult": event.result}


def run_classic_preset(case: Case) -> Case:
    """A preset of 1.54, a manager with an offloader, through its moments."""
    model = Stub(case["reply"], case["window"])
    agent = Agent(model=model, messages=case["messages"], callback_handler=None, context_manager=case["preset"])
    plugin = agent._plugin_registry._plugins["context_offloader"]
    manager = agent.conversation_manager
    kinds: list[str | None] = []
    for moment in case["moments"]:
        if moment == "arrival":
            offload(plugin, agent, agent.messages[-1])
            kinds.append(None)
        else:
            kinds.append(outcome(partial(step, manager, agent, moment, case))[0])
    return {"messages": agent.messages, "state": manager.get_state(), "exceptions": kinds, "requests": model.calls}


def run_pipeline(case: Case) -> Case:
    """A context manager through its moments."""
    from strands._context_manager.context_manager import ContextManager
    from strands._context_manager.strategies.offload import Offload

    def built(entry: Any) -> Any:
        if isinstance(entry, str):
            return entry
        target = entry["target"] if isinstance(entry["target"], str) else list(entry["target"])
        config = {k: entry[k] for k in ("preview_tokens", "preview") if k in entry}
        when = {k: entry[k] for k in ("threshold", "utilization", "preserve_recent") if k in entry}
        if entry["step"] == "drop":
            return Offload.drop(target).when(**when)
        return getattr(Offload, entry["step"])(target, config).when(**when)

    model = Stub(case["reply"], case["window"])
    if case["preset"]:
        manager = ContextManager.from_strategy(case["preset"])
    else:
        manager = ContextManager(strategies=[built(entry) for entry in case["strategies"]], stash=case["stash"])
    agent = Agent(model=model, messages=case["messages"], callback_handler=None, context_manager=manager)
    kinds, acted = [], []
    for moment in case["moments"]:
        kind, done = outcome(partial(pipeline_step, manager, agent, moment, case))
        kinds.append(kind)
        acted.append(done)
    stashed = {}
    if manager.stash is not None:
        for key in asyncio.run(manager.stash.list()):
            stashed[key] = json.dumps(asyncio.run(manager.stash.retrieve(key)))
    return {"messages": agent.messages, "exceptions": kinds, "requests": model.calls, "acted": acted, "stashed": stashed}


async def pipeline_step(manager: Any, agent: Any, moment: str, case: Case) -> Any:
    """What the agent's loop does with a context manager at a moment."""
    if moment == "arrival":
        from strands.hooks.events import MessageAddedEvent

        await agent.hooks.invoke_callbacks_async(MessageAddedEvent(agent=agent, message=agent.messages[-1]))
        return None
    if moment == "overflow":
        return await manager._run_strategies(agent, overflow=True)
    return await manager._run_strategies(agent, case["projected"])


def run_restore(case: Case) -> Case:
    """A new agent on a stored session."""
    from strands.session.file_session_manager import FileSessionManager

    params = dict(case["params"])
    manager = MANAGERS[case["manager"]](**params)
    with tempfile.TemporaryDirectory() as folder:
        model = Stub({"blocks": [{"text": "x"}]}, 1000)
        first = Agent(
            model=model,
            messages=case["messages"],
            agent_id="a",
            callback_handler=None,
            conversation_manager=manager,
            session_manager=FileSessionManager("s", storage_dir=folder),
        )
        record = first._session_manager.session_repository.read_agent("s", "a")
        record.conversation_manager_state = case["state"]
        first._session_manager.session_repository.update_agent("s", record)
        with contextlib.redirect_stdout(sys.stderr):
            kind, second = outcome(
                lambda: Agent(
                    model=model,
                    agent_id="a",
                    callback_handler=None,
                    conversation_manager=MANAGERS[case["manager"]](**params),
                    session_manager=FileSessionManager("s", storage_dir=folder),
                )
            )
    messages = second.messages if second is not None else None
    state = second.conversation_manager.get_state() if second is not None else None
    return {"messages": messages, "state": state, "exceptions": [kind]}


def run_status(case: Case) -> Case:
    """The status line of the agentic mode."""
    from strands._context_manager.modes.agentic.agentic_context import create_token_usage_middleware

    case["messages"] = [{"role": "user", "content": [{"text": "x"}]}]
    return {"text": sent_through(create_token_usage_middleware(), case)[-1]["content"][-1]["text"]}


def run_injector(case: Case) -> Case:
    """The request that an injector makes of a history."""
    from strands.vended_plugins.context_injector.plugin import _create_injection_middleware

    middleware = _create_injection_middleware(lambda _: case["text"], trigger=case["trigger"])
    return {"messages": sent_through(middleware, case)}


def sent_through(middleware: Any, case: Case) -> Any:
    """The messages behind a middleware."""
    try:
        from strands.middleware.stages import InvokeModelContext
    except ImportError:
        from strands._middleware.stages import InvokeModelContext
    fields: Case = {field.name: None for field in dataclasses.fields(InvokeModelContext)}
    fields |= {
        "agent": SimpleNamespace(state=None),
        "messages": case["messages"],
        "model": Stub({"blocks": []}, case.get("window", 1000)),
        "projected_input_tokens": case.get("projected"),
        "dynamic_trailing_blocks": 0,
    }
    context = asyncio.run(middleware(InvokeModelContext(**fields)))
    return context.messages


def run_search(case: Case) -> Case:
    """A search in stored content."""
    from strands.vended_plugins.context_offloader.search import _search_content

    arguments = dict(case["search"])
    if arguments.get("line_range"):
        arguments["line_range"] = tuple(arguments["line_range"])
    kind, text = outcome(lambda: _search_content(case["text"], **arguments))
    return {"exceptions": [kind], "text": text}


def run_retrieval(case: Case) -> Case:
    """A retrieval tool on content that was stored before."""
    if case["tool"] == "retrieve_context":
        return run_retrieve_context(case)
    from strands.vended_plugins.context_offloader import ContextOffloader
    from strands.vended_plugins.context_offloader.storage import InMemoryStorage

    storage = InMemoryStorage()
    plugin = ContextOffloader(storage, max_result_tokens=case["limit"], preview_tokens=0)
    agent = Agent(model=Stub({"blocks": []}, 1000), callback_handler=None, plugins=[plugin])
    asyncio.run(storage.store("t_0", case["text"].encode(), "text/plain"))
    tool = plugin.retrieve_offloaded_content
    kind, answer = outcome(lambda: tool._tool_func(tool_context=SimpleNamespace(agent=agent), **case["arguments"]))
    return {"failed": kind is not None, "text": answer if isinstance(answer, str) else None}


def run_retrieve_context(case: Case) -> Case:
    """The retrieval tool of the pipeline."""
    from strands._context_manager.retrieval_tool import _create_retrieval_tool
    from strands._context_manager.stash import Stash
    from strands.storage.in_memory_storage import InMemoryStorage

    stash = Stash(InMemoryStorage(), "s", "a")
    asyncio.run(stash.store("t", 0, json.dumps(case["stored"]).encode()))
    tool = _create_retrieval_tool(stash)
    answer = asyncio.run(tool._tool_func({"toolUseId": "r", "input": case["arguments"]}))
    return {"failed": answer["status"] == "error", "text": answer["content"][0].get("text")}


def run_request(case: Case) -> Case:
    """The request that an agent makes of a history."""
    model = Stub({"blocks": [{"text": "ok"}]}, 10**9)
    agent = Agent(model=model, messages=case["messages"], callback_handler=None, conversation_manager=NullConversationManager())
    kind, _ = outcome(lambda: agent.invoke_async("next"))
    return {"exceptions": [kind], "requests": model.calls}


RUNS: dict[str, Callable[[Case], Case]] = {
    "manager": run_manager,
    "agentic": run_agentic,
    "functions": run_functions,
    "projection": run_projection,
    "offloader": run_offloader,
    "classic_preset": run_classic_preset,
    "pipeline": run_pipeline,
    "restore": run_restore,
    "status": run_status,
    "injector": run_injector,
    "search": run_search,
    "retrieval": run_retrieval,
    "request": run_request,
}


def main() -> None:
    """Run the cases on standard input."""
    for line in sys.stdin:
        case = restored(json.loads(line))
        result = RUNS[case["kind"]](case)
        print(json.dumps(plain(result)), flush=True)


if __name__ == "__main__":
    main()

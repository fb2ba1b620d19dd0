"""The bridge to the installed ``strands-agents``: our messages as its lists, its lists as our messages.

Nothing of the package is imported before it is used. It gets messages in Converse shape with our ids as its tracking ids
and a model whose every answer is our summariser's; afterwards its list is compared with the one that it was given.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Coroutine
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import msgspec

from ullage.converse import block_of, converse_of, dumped, messages_of
from ullage.errors import UserError
from ullage.strategies.shared.oldest import initial_state as summarizing_state
from ullage.strategies.shared.pipeline import OVERFLOW_RETRIES
from ullage.strategies.shared.tool_pairs import ContextWindowOverflowException
from ullage.strategies.shared.work import Work
from ullage.strategy import SummaryRequest
from ullage.types import Block, Message, ToolResult

STATES = {
    "null": {"__name__": "NullConversationManager", "removed_message_count": 0},
    "sliding_window": {"__name__": "SlidingWindowConversationManager", "removed_message_count": 0, "model_call_count": 0},
    "summarizing": summarizing_state(),
}
CLASSES = {name: state["__name__"] for name, state in STATES.items()}


def new_state(manager: str) -> dict[str, Any]:
    """The state of a new manager in the package's form."""
    return dict(STATES[manager])


@dataclass(slots=True)
class Bridge:
    """One decision's history as the package sees it. ``agent`` is all that a classic manager needs of an agent."""

    work: Work
    given: list[dict[str, Any]] = field(init=False)
    agent: Any = field(init=False)

    def __post_init__(self) -> None:
        self.given = [shown(message) for message in self.work.messages]
        model = model_of(self.work)
        self.agent = SimpleNamespace(messages=[shown(m) for m in self.work.messages], model=model, aux_model=model)

    def take_back(self, messages: list[dict[str, Any]], tier: str) -> None:
        """Put the package's list into the work; a message that it made stands for all that it removed."""
        old = {message.id: (message, value) for message, value in zip(self.work.messages, self.given, strict=True)}
        kept = [value for value in messages if value.get("tracking_id") in old]
        names = {value["tracking_id"] for value in kept}
        gone = [message for message in self.work.messages if message.id not in names]
        nouns = Nouns()
        for message, value in old.values():
            nouns.learn(message, value)
        after = []
        for at, value in enumerate(messages):
            known = old.get(value.get("tracking_id", ""))
            after.append(self._made(value, at, gone) if known is None else _updated(*known, value, nouns))
        if [m.id for m in after] != [m.id for m in self.work.messages] or any(m is not old[m.id][0] for m in after):
            self.work.acted(tier, f"{len(gone)} messages gone, {len(messages) - len(kept)} new, by the package")
        self.work.messages[:] = after

    def _made(self, value: dict[str, Any], at: int, gone: list[Message]) -> Message:
        name = self.work.fresh_id(f"package-{self.work.view.call}-{len(self.work.view.compactions)}-{at}")
        self.work.sources[name] = self.work.sources_of(gone)
        return Message(id=name, role=value["role"], blocks=tuple(map(block_of, value["content"])), synthetic=True)


def shown(message: Message) -> dict[str, Any]:
    """A message as the package gets it: content, pin, and our id as its tracking id."""
    return {**converse_of(msgspec.structs.replace(message, extra="")), "tracking_id": message.id}


class Nouns:
    """The nouns behind the package's dicts, so that what it kept stays byte for byte: blocks, and items of results."""

    def __init__(self) -> None:
        self.known: dict[str, Any] = {}

    def learn(self, message: Message, value: dict[str, Any]) -> None:
        """Remember the blocks of a message and the items of its results."""
        for block, shown_block in zip(message.blocks, value["content"], strict=True):
            self.known[dumped(shown_block)] = block
            if isinstance(block, ToolResult):
                shown_items = shown_block["toolResult"]["content"]
                self.known.update((dumped(item), noun) for item, noun in zip(shown_items, block.content, strict=True))

    def block(self, value: dict[str, Any]) -> Block:
        """The noun of a block: the one that it was made from, else a new one with known items."""
        known: Block | None = self.known.get(dumped(value))
        if known is not None:
            return known
        made = block_of(value)
        if isinstance(made, ToolResult):
            items = value["toolResult"]["content"]
            content = tuple(self.known.get(dumped(item), noun) for item, noun in zip(items, made.content, strict=True))
            return msgspec.structs.replace(made, content=content)
        return made


def _updated(message: Message, given: dict[str, Any], value: dict[str, Any], nouns: Nouns) -> Message:
    """The message, with the package's content and pin if it changed them; blocks that it kept stay byte for byte."""
    if value == given:
        return message
    pinned = ((value.get("metadata") or {}).get("custom") or {}).get("pinned") is True
    blocks = tuple(map(nouns.block, value["content"]))
    return msgspec.structs.replace(message, blocks=blocks, pinned=pinned)


def model_of(work: Work) -> Any:
    """A model of the package that answers every request with our summariser's text."""
    from strands.models.model import Model  # noqa: PLC0415 - an optional part, loaded when it is used

    class SummarizingModel(Model):  # type: ignore[misc]  # no type information where the package is not installed
        stateful = False

        def update_config(self, **model_config: Any) -> None:
            """Nothing can be set."""

        def get_config(self) -> dict[str, Any]:
            return {"context_window_limit": work.view.window, "model_id": "ullage"}

        def structured_output(self, *_: Any, **__: Any) -> AsyncIterator[Any]:
            raise NotImplementedError

        async def stream(
            self,
            messages: Any,
            tool_specs: Any = None,  # noqa: ARG002 - the package passes it by position
            system_prompt: Any = None,
            **_: Any,
        ) -> AsyncIterator[Any]:
            summary = work.summarize(_request(messages, system_prompt))
            yield {"messageStart": {"role": "assistant"}}
            yield {"contentBlockStart": {"start": {}}}
            yield {"contentBlockDelta": {"delta": {"text": summary.text}}}
            yield {"contentBlockStop": {}}
            yield {"messageStop": {"stopReason": "end_turn"}}
            usage = {"inputTokens": 0, "outputTokens": 0, "totalTokens": 0}
            yield {"metadata": {"usage": usage, "metrics": {"latencyMs": 0}}}

    return SummarizingModel()


def _request(messages: Any, system_prompt: str | None) -> SummaryRequest:
    """A request of the package as one of ours; the closing user message of the direct path is an instruction."""
    closing = messages[-1] if len(messages) > 1 else None
    body = messages[:-1] if closing is not None else messages
    ending = "\n".join(block.get("text", "") for block in closing["content"]) if closing is not None else ""
    instructions = "\n".join(part for part in (system_prompt or "", ending) if part)
    return SummaryRequest(messages=messages_of(body), instructions=instructions, purpose="conversation")


@dataclass(frozen=True, slots=True)
class ClassicManager:
    """One of the package's conversation managers for one decision: built, given its state, run, and read again."""

    bridge: Bridge
    manager: str
    parameters: dict[str, Any]

    def reduce(self, *, overflow: bool) -> None:
        """``reduce_context``, reactive or proactive."""
        from strands.types.exceptions import ContextWindowOverflowException as Overflow  # noqa: PLC0415 - optional

        error = Overflow(self.bridge.work.view.overflow or "too long") if overflow else None
        self._run(lambda built: built.reduce_context(self.bridge.agent, e=error), "reduce")

    def apply(self) -> None:
        """``apply_management``."""
        self._run(lambda built: built.apply_management(self.bridge.agent), "manage")

    def before_call(self, projected: int | None) -> None:
        """The hooks before a model call, in the order in which the package registers them."""
        event = SimpleNamespace(agent=self.bridge.agent, projected_input_tokens=projected)

        def hooks(built: Any) -> None:
            built._on_before_model_call_threshold(event)  # noqa: SLF001 - the hook has no public name
            if hasattr(built, "_on_before_model_call"):
                built._on_before_model_call(event)  # noqa: SLF001 - likewise

        self._run(hooks, "before_call")

    def _run(self, action: Any, tier: str) -> None:
        from strands.agent import conversation_manager as package  # noqa: PLC0415 - an optional part

        work = self.bridge.work
        built = getattr(package, CLASSES[self.manager])(**self.parameters)
        built.restore_from_session({key: value for key, value in work.state.items() if key != "own"})
        if work.own.get("pin_first_applied"):
            built._pin_first_applied = True  # noqa: SLF001 - kept in memory only, so a session would lose it
        try:
            _translated(lambda: action(built))
        finally:
            work.state.update(json.loads(json.dumps(built.get_state())))
            if getattr(built, "_pin_first_applied", False):
                work.own["pin_first_applied"] = True
            self.bridge.take_back(self.bridge.agent.messages, tier)


@dataclass(frozen=True, slots=True)
class PackagePipeline:
    """The package's context manager (1.56 and later) for one decision, under an agent of its own."""

    bridge: Bridge
    preset: str

    def overflowed(self) -> None:
        """A pass for an overflow; raises when no step acted or the call was tried three times already."""
        work = self.bridge.work
        call, tries = work.own.get("retries") or (None, 0)
        tries = tries if call == work.view.call else 0
        if tries >= OVERFLOW_RETRIES and not work.view.forced:
            raise ContextWindowOverflowException(f"the call was tried {OVERFLOW_RETRIES} times")
        if not self._run(lambda manager, agent: manager._run_strategies(agent, overflow=True), "overflow"):  # noqa: SLF001 - private
            raise ContextWindowOverflowException("no step made progress")
        work.own["retries"] = [work.view.call, tries + 1]

    def before_call(self, projected: int | None) -> None:
        """The pass before a model call."""
        self._run(lambda manager, agent: manager._run_strategies(agent, projected), "pass")  # noqa: SLF001 - private

    def message_added(self) -> None:
        """The hooks on a new message."""
        from strands.hooks.events import MessageAddedEvent  # noqa: PLC0415 - an optional part

        def added(_: Any, agent: Any) -> Coroutine[Any, Any, Any]:
            hooks: Coroutine[Any, Any, Any] = agent.hooks.invoke_callbacks_async(
                MessageAddedEvent(agent=agent, message=agent.messages[-1])
            )
            return hooks

        if self.bridge.given:
            self._run(added, "arrival")

    def _run(self, action: Any, tier: str) -> Any:
        from strands import Agent  # noqa: PLC0415 - an optional part

        try:
            from strands.experimental.context_manager import ContextManager  # noqa: PLC0415 - an optional part, from 1.55 on
        except ImportError as error:
            raise UserError(f"strands_real: {self.preset} needs strands-agents 1.56 or later; {error}") from error
        manager = ContextManager.from_strategy(self.preset)
        messages = self.bridge.agent.messages
        agent = Agent(model=self.bridge.agent.model, messages=messages, callback_handler=None, context_manager=manager)
        acted = asyncio.run(action(manager, agent))
        for ref in asyncio.run(manager.stash.list()):
            content = json.dumps(asyncio.run(manager.stash.retrieve(ref)))
            self.bridge.work.stash(ref, content, keep_existing=True)
        self.bridge.take_back(agent.messages, tier)
        return acted


def _translated(action: Any) -> None:
    """Run the package; its own *cannot shrink* becomes ours, anything else comes out as it is."""
    from strands.types.exceptions import ContextWindowOverflowException as Overflow  # noqa: PLC0415 - optional

    try:
        action()
    except Overflow as error:
        raise ContextWindowOverflowException(str(error)) from error

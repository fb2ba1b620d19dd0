"""Public doors for vectors from elsewhere: one decision of a named strategy over messages in Converse shape.

The messages are taken for the modelled package's own: nothing is merged or repaired. What comes back has the package's
shape: messages, the state that its sessions keep, the kind of exception, and the request that its summariser received.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, Literal, NamedTuple

import msgspec

from ullage.context import Context
from ullage.converse import block_of, converse_block, converse_of, dumped, loaded, messages_of, with_block
from ullage.errors import SpecError
from ullage.registry import load_strategies
from ullage.strategies.shared.agentic_tools import run_tool
from ullage.strategies.shared.estimators import strands_message_tokens
from ullage.strategies.shared.manager import ConversationManager, projection
from ullage.strategies.shared.requests import request_of
from ullage.strategies.shared.sessions import check_class
from ullage.strategies.shared.work import OWN, Work
from ullage.strategy import DeciderRequest, Strategy, Summary, SummaryRequest, ToolRequest, View
from ullage.types import Block, Decision, Inject, Message, Moment, Usage

Reply = str | Sequence[Mapping[str, Any]] | Mapping[str, Any] | Summary | Exception
"""What a summariser answers: a text, content blocks, a message, or an exception that it raises."""
Summarize = Reply | Callable[[dict[str, Any]], Reply] | None


WINDOW = 200_000
"""Tokens of a window that nobody names, or names as 0: so does the package count for a model without a limit."""


class Reduced(NamedTuple):
    """One decision: messages after it, state in the package's form, kind of exception (none: it did not raise), request.

    ``request`` is the last one that the summariser received (none: it was not asked), ``requests`` all of them.
    ``injected`` are blocks that go with the next request only, ``stashed`` what went to the store, by reference;
    ``memory`` is what the package keeps in the process only and forgets when a session is resumed.
    """

    messages: list[dict[str, Any]]
    state: dict[str, Any]
    exception: str | None
    request: dict[str, Any] | None
    requests: tuple[dict[str, Any], ...] = ()
    injected: tuple[dict[str, Any], ...] = ()
    stashed: Mapping[str, str] = {}
    memory: Mapping[str, Any] = {}


class ToolRun(NamedTuple):
    """One run of an agentic tool: like ``Reduced``, with the text that the model reads."""

    messages: list[dict[str, Any]]
    state: dict[str, Any]
    exception: str | None
    request: dict[str, Any] | None
    text: str


def reduce(
    spec: str,
    messages: Sequence[Mapping[str, Any]],
    *,
    moment: Moment | str,
    projected_tokens: int | None = None,
    window: int = WINDOW,
    summarize: Summarize = None,
    state: Mapping[str, Any] | None = None,
    store: Mapping[str, str] | None = None,
) -> Reduced:
    """Apply one decision of the strategy that ``spec`` names.

    ``projected_tokens`` is what the next prompt is expected to hold; without it the strategy computes it from the usage in
    the messages' metadata, or counts. ``moment``: ``arrival`` (the last message is new), ``before_call``, ``overflow``,
    ``after_call``, ``turn_end`` or ``restore`` (the messages are the stored log). ``state`` is one that the package's
    sessions keep; its key ``own`` may carry the ``memory`` of a decision before. ``store`` is what a stash already holds.
    """
    strategy = _loaded(spec)
    desk = _Desk(summarize)
    view = _view(
        desk,
        messages,
        projected_tokens,
        moment=Moment(moment),
        window=window or WINDOW,
        state=_noun_state(state),
        store=_Store(store),
    )
    if not isinstance(strategy, ConversationManager):
        return _other(strategy, view, desk)
    return _manager(strategy, view, desk, countable=projected_tokens is not None or _usage_in(messages) is not None)


def agentic_tool(
    name: str,
    arguments: Mapping[str, Any],
    messages: Sequence[Mapping[str, Any]],
    *,
    summarize: Summarize = None,
    window: int = WINDOW,
    profile: Literal["1.54", "1.62"] = "1.62",
) -> ToolRun:
    """Run one of the agentic tools on a history whose last message is usually the one that calls it."""
    desk = _Desk(summarize)
    view = _view(desk, messages, None, moment=Moment.BEFORE_CALL, window=window or WINDOW, state=None, store=_Store(None))
    work = Work(view, {}, as_given=True)
    kind, text = None, ""
    try:
        text = run_tool(work, name, dict(arguments), profile)
    except Exception as error:  # noqa: BLE001 - the kind is what is asked for
        kind = type(error).__name__
    return ToolRun([converse_of(message) for message in work.messages], {}, kind, desk.last, text)


@cache
def _loaded(spec: str) -> Strategy:
    """The strategy that a spec names; remembered, because finding one reads the metadata of every installed package."""
    strategies = load_strategies(spec)
    if len(strategies) != 1:
        raise SpecError(f"{spec}: found a composition; expected one strategy")
    return strategies[0]


class _Desk:
    """The summariser port of the doors: answers as told and keeps the requests in Converse shape."""

    def __init__(self, answer: Summarize) -> None:
        self.answer = answer
        self.requests: list[dict[str, Any]] = []

    def __call__(self, request: SummaryRequest) -> Summary:
        shown = request_of(request)
        self.requests.append(shown)
        reply = self.answer(shown) if callable(self.answer) else self.answer
        if isinstance(reply, Exception):
            raise reply
        return summary_of("summary" if reply is None else reply)

    @property
    def last(self) -> dict[str, Any] | None:
        return self.requests[-1] if self.requests else None


def summary_of(reply: str | Sequence[Mapping[str, Any]] | Mapping[str, Any] | Summary) -> Summary:
    """A summary from a text, from content blocks, or from a message in Converse shape.

    An empty text is no block: a stream of no characters makes none.
    """
    if isinstance(reply, Summary):
        return reply
    if isinstance(reply, str):
        return Summary(text=reply)
    content = reply["content"] if isinstance(reply, Mapping) else reply
    blocks: tuple[Block, ...] = tuple(block_of(block) for block in content if block != {"text": ""})
    text = "\n".join(block.text for block in blocks if hasattr(block, "text"))
    return Summary(text=text, blocks=msgspec.json.encode(blocks).decode())


class _Store:
    """A store that holds what the caller gives."""

    def __init__(self, content: Mapping[str, str] | None) -> None:
        self.content = content or {}

    def get(self, ref: str) -> str | None:
        return self.content.get(ref)


class _NoDecider:
    """Never calls a tool."""

    def __call__(self, request: DeciderRequest) -> tuple[ToolRequest, ...]:  # noqa: ARG002 - the port's signature
        return ()


def _view(desk: _Desk, messages: Sequence[Mapping[str, Any]], projected: int | None, **fields: Any) -> View:
    """A view of these messages; ``fields`` are ``moment``, ``window``, ``state`` and ``store``."""
    nouns = messages_of(messages)
    usage, usage_at = (None, None) if fields["moment"] is Moment.ARRIVAL else _usage_in(messages) or (None, None)
    if projected is not None:
        usage, usage_at = Usage(uncached=projected), len(messages)
    return View(
        context=Context.of(nouns, strands_message_tokens),
        transcript=nouns,
        usage=usage,
        usage_at=usage_at,
        overflow="the prompt is too long" if fields["moment"] is Moment.OVERFLOW else None,
        summarize=desk,
        decide=_NoDecider(),
        count=lambda items: sum(map(strands_message_tokens, items)),
        **fields,
    )


def usage_in(messages: Sequence[Mapping[str, Any]]) -> tuple[Usage | None, int | None]:
    """The usage on the last assistant message that carries one, and the position after it.

    Input tokens are the whole prompt when they and the output make the total, else cached tokens come on top; three
    zeros count as a usage. Metadata or a usage of another shape raise what the package raises.
    """
    for at in range(len(messages) - 1, -1, -1):
        usage = messages[at].get("metadata", {}).get("usage") if messages[at]["role"] == "assistant" else None
        if usage:
            read, written = usage.get("cacheReadInputTokens", 0), usage.get("cacheWriteInputTokens", 0)
            whole = usage["inputTokens"] + usage["outputTokens"] == usage["totalTokens"]
            total = usage["inputTokens"] + (0 if whole else read + written)
            return Usage(uncached=total, output=usage["outputTokens"]), at + 1
    return None, None


def _usage_in(messages: Sequence[Mapping[str, Any]]) -> tuple[Usage | None, int | None] | None:
    """``usage_in``, or none where the package swallows an error and goes on without an estimate."""
    try:
        return usage_in(messages)
    except (AttributeError, KeyError, TypeError):
        return None


def _manager(strategy: ConversationManager, view: View, desk: _Desk, *, countable: bool) -> Reduced:
    """A strategy of the family. ``countable``: the next prompt can be estimated."""
    work = Work(view, strategy.initial_state(), as_given=True)
    kind = None
    try:
        check_class(view.state, strategy.initial_state()["__name__"])
        strategy.act(work, view.moment, projection(view) if view.moment is Moment.BEFORE_CALL and countable else None)
    except Exception as error:  # noqa: BLE001 - the kind is what is asked for
        kind = type(error).__name__
    state = work.final_state()
    return Reduced(
        messages=[converse_of(message) for message in work.messages],
        state=_package_state(state),
        exception=kind,
        request=desk.last,
        requests=tuple(desk.requests),
        injected=tuple(converse_block(block) for block in work.injected),
        stashed={stash.ref: stash.content for stash in work.stashed},
        memory={key: value for key, value in state[OWN].items() if key not in ("pinned", "unpinned")},
    )


def _other(strategy: Strategy, view: View, desk: _Desk) -> Reduced:
    """A strategy outside the family: its decision, applied."""
    kind, decision = None, Decision()
    try:
        decision = strategy.decide(view)
    except Exception as error:  # noqa: BLE001 - the kind is what is asked for
        kind = type(error).__name__
    given = {message.id: message for message in view.context}
    applied = view.context.apply(decision.edits)
    injected = tuple(converse_block(b) for edit in decision.edits if isinstance(edit, Inject) for b in edit.blocks)
    state = view.state if decision.state is msgspec.UNSET else decision.state
    return Reduced(
        messages=[converse_of(_rebuilt(given.get(message.id), message)) for message in applied.context],
        state=state or {},
        exception=kind,
        request=desk.last,
        requests=tuple(desk.requests),
        injected=injected,
        stashed={stash.ref: stash.content for stash in applied.stashed},
    )


def _rebuilt(before: Message | None, message: Message) -> Message:
    """The message without unknown keys of tool results that an edit has replaced; no edit can name them."""
    if before is None or len(before.blocks) != len(message.blocks):
        return message
    for index, (old, new) in enumerate(zip(before.blocks, message.blocks, strict=True)):
        message = message if old == new else with_block(message, index, new)
    return message


def _noun_state(state: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """A state in the package's form as a strategy keeps it: the summary is a noun."""
    if state is None:
        return None
    made = loaded(dumped(state))
    summary = made.get("summary_message")
    if isinstance(summary, dict) and "content" in summary:
        made["summary_message"] = msgspec.to_builtins(messages_of([summary])[0])
    return dict(made)


def _package_state(state: dict[str, Any]) -> dict[str, Any]:
    """The part of a state that the package's sessions keep, with the summary as a message."""
    made = {key: value for key, value in state.items() if key != OWN}
    if isinstance(made.get("summary_message"), dict):
        made["summary_message"] = converse_of(msgspec.convert(made["summary_message"], Message))
    return made

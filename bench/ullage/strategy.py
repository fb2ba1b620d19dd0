"""What a strategy is, and all that it may see.

A strategy is a frozen dataclass whose fields are its parameters. It reads a ``View`` and proposes a ``Decision``;
the core applies the edits. It keeps nothing between calls but the JSON state that it returns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple, Protocol

from msgspec import Struct

from ullage.context import Context
from ullage.types import Compaction, Decision, JsonText, Message, Moment, ToolSpec, Usage

TriggerUnit = Literal["estimate", "exact", "usage", "count", "none"]


class SummaryRequest(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A request to a summariser.

    ``messages`` are what it reads, ``instructions`` its system prompt or closing instruction, ``previous`` an earlier
    summary to be merged, ``max_tokens`` the room for the answer (none: the summariser's own default). ``warm`` says
    that the request repeats the agent's own prefix (tools, system, history from the start), so that it can be read
    from the prompt cache. ``sections`` names the parts that the modelled system asks for.
    """

    messages: tuple[Message, ...]
    instructions: str = ""
    previous: str = ""
    max_tokens: int | None = None
    warm: bool = False
    sections: tuple[str, ...] = ()
    purpose: str = "history"


class Summary(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A summariser's answer. ``blocks`` is the raw reply as JSON text where it was more than text; ``usage`` as billed, if known."""

    text: str
    blocks: JsonText = ""
    usage: Usage | None = None


class ToolRequest(Struct, frozen=True, kw_only=True):
    """A tool call that a decider makes on behalf of the model: a name and JSON arguments."""

    name: str
    arguments: JsonText = "{}"


class DeciderRequest(Struct, frozen=True, kw_only=True):
    """What a model would see when it decides on its own context: the messages, the status line and the tools offered."""

    messages: tuple[Message, ...]
    status: str
    used: int
    limit: int
    tools: tuple[ToolSpec, ...]


class Summarizer(Protocol):
    """Turns a request into a summary. Deterministic unless it says otherwise."""

    def __call__(self, request: SummaryRequest, /) -> Summary:
        """Summarise what the request holds."""
        ...


class Decider(Protocol):
    """Chooses which of a strategy's tools to call, like a model would; an empty tuple: none."""

    def __call__(self, request: DeciderRequest, /) -> tuple[ToolRequest, ...]:
        """Choose tools, in the order in which they run."""
        ...


class StoreReader(Protocol):
    """Reads what a strategy stashed, for one tenant and session."""

    def get(self, ref: str, /) -> str | None:
        """The content under a reference, or none."""
        ...


class Retrieved(NamedTuple):
    """What a tool that reads the store answers, and whether it is an error."""

    text: str
    is_error: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """Everything that a strategy may see at one moment: the past only.

    ``context`` is what the next request would send, ``transcript`` all that was recorded so far, ``window`` the
    model's input limit in tokens (in forced mode the budget), ``reserve`` the output room inside it. ``usage`` is of
    the strategy's last simulated call, ``overflow`` the provider's error text at an ``OVERFLOW``. ``count`` gives the
    true size of messages, only to strategies whose ``trigger_unit`` is ``exact``. ``now`` is in milliseconds.
    """

    moment: Moment
    context: Context
    transcript: Sequence[Message]
    window: int
    reserve: int = 0
    system: str = ""
    tools: tuple[ToolSpec, ...] = ()
    call: int = 0
    now: int | None = None
    usage: Usage | None = None
    usage_at: int | None = None
    overflow: str | None = None
    forced: bool = False
    state: Any = None
    compactions: Sequence[Compaction] = ()
    summarize: Summarizer
    decide: Decider
    store: StoreReader
    count: Callable[[Sequence[Message]], int]


class Strategy:
    """Base of all strategies: subclasses are frozen keyword-only dataclasses and define ``decide``.

    ``moments`` says when to be asked; ``trigger_unit`` what its own trigger counts; ``promises`` names invariants that
    hold for it beyond those for all; ``sources`` are the references that its behaviour and constants come from;
    ``known_violations`` are invariants that the modelled system itself breaks, with the reason.
    """

    summary: ClassVar[str] = ""
    declares: ClassVar[tuple[str, ...]] = (
        "moments",
        "trigger_unit",
        "deterministic",
        "reversible",
        "provider",
        "promises",
        "known_violations",
        "sources",
    )
    moments: ClassVar[frozenset[Moment]] = frozenset()
    trigger_unit: ClassVar[TriggerUnit] = "none"
    deterministic: ClassVar[bool] = True
    reversible: ClassVar[bool] = False
    provider: ClassVar[str] = "anthropic"
    promises: ClassVar[tuple[str, ...]] = ()
    known_violations: ClassVar[dict[str, str]] = {}
    sources: ClassVar[tuple[str, ...]] = ()

    def decide(self, view: View) -> Decision:
        """Propose edits and a new state; an empty decision changes nothing."""
        raise NotImplementedError

    def offered_tools(self) -> tuple[ToolSpec, ...]:
        """Tools that the strategy adds to every request, for example to fetch stashed content: their definitions are billed."""
        return ()

    def retrieve(self, store: StoreReader, request: ToolRequest) -> Retrieved | None:  # noqa: ARG002 - what subclasses look at
        """What an offered tool that reads the store answers; none for any other tool. Open-book examinations call it."""
        return None


UNCHANGED = Decision()
"""The decision that changes neither context nor state."""

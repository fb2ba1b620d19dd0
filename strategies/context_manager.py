"""Strands' ContextManager with steps of one's own choice: named presets and single steps, in order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from ullage.specs import build, nearest, parse_one
from ullage.strategies.shared.manager import NOT_IN_THE_PACKAGE, ConversationManager
from ullage.strategies.shared.pipeline import PRESETS, Pipeline
from ullage.strategies.shared.pipeline_steps import DropContent, OffloadStep, Summarize, Truncate
from ullage.strategies.shared.retrieval import RETRIEVE_CONTEXT, arguments_for, retrieve_context
from ullage.strategies.shared.work import Work
from ullage.strategy import Retrieved, StoreReader, ToolRequest, View
from ullage.types import Moment, ToolSpec

STEPS: dict[str, type[OffloadStep]] = {"truncate": Truncate, "drop": DropContent, "summarize": Summarize}


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextManager(ConversationManager):
    """Runs ``strategies`` in order before each call and at an overflow, with an emergency step at the end.

    An entry is a preset (``proactive_summarization``, ``large_tool_offloading``, ``overflow_protection``,
    ``stale_tool_cleanup``) or a step such as ``truncate(target='tool_results', threshold=1500, preview_tokens=750)``,
    ``drop(…)`` or ``summarize(utilization=0.85, preserve_recent=4)``. ``stash`` keeps originals for retrieval.
    """

    strategies: tuple[str, ...] = ("large_tool_offloading", "proactive_summarization")
    stash: bool = True

    summary: ClassVar[str] = "a pipeline of named presets and steps with an emergency step at the end"
    moments: ClassVar[frozenset[Moment]] = frozenset(
        {Moment.ARRIVAL, Moment.BEFORE_CALL, Moment.OVERFLOW, Moment.AFTER_CALL, Moment.RESTORE}
    )
    reversible: ClassVar[bool] = True
    sources: ClassVar[tuple[str, ...]] = ("strands-agents 1.56 to 1.62: ContextManager(strategies=…)",)
    known_violations: ClassVar[dict[str, str]] = NOT_IN_THE_PACKAGE | {
        "tool_use_last": "the marker is appended to an assistant message that ends in a tool call",
        "strict_shrink": "markers may be longer than what they stand for",
        "no_rewrite_twice": "what a step replaced may be replaced again by a later pass",
    }

    def __post_init__(self) -> None:
        self.pipeline()

    def pipeline(self) -> Pipeline:
        """The steps that the entries name; raises ``SpecError`` for an unknown one."""
        return Pipeline(steps=tuple(step for entry in self.strategies for step in _steps(entry)), stash=self.stash)

    def offered_tools(self) -> tuple[ToolSpec, ...]:
        """The tool that reads the stash, if there is one."""
        return (RETRIEVE_CONTEXT,) if self.stash else ()

    def retrieve(self, store: StoreReader, request: ToolRequest) -> Retrieved | None:
        """What that tool answers."""
        arguments = arguments_for(RETRIEVE_CONTEXT, request)
        return None if arguments is None else retrieve_context(store, arguments)

    def initial_state(self) -> dict[str, Any]:
        """The state of the manager without function that stands beside the pipeline."""
        return self.pipeline().initial_state()

    def due(self, view: View, projected: int | None) -> bool:
        """What the pipeline says; an overflow and a resumed session always matter."""
        return view.moment in (Moment.OVERFLOW, Moment.RESTORE) or self.pipeline().due(view, projected)

    def message_added(self, work: Work) -> None:
        """Stash the message and run the steps that act at arrival."""
        self.pipeline().message_added(work)

    def before_call(self, work: Work, projected: int | None) -> None:
        """A pass of the pipeline."""
        work.estimate, work.trigger = projected, "proactive"
        self.pipeline().run(work, projected, overflow=False)

    def reduce_context(self, work: Work, *, overflow: bool) -> None:  # noqa: ARG002 - there is no proactive way in
        """A pass for an overflow."""
        self.pipeline().overflowed(work)


def _steps(entry: str) -> tuple[OffloadStep, ...]:
    if entry in PRESETS:
        return PRESETS[entry]
    spec = parse_one(entry)
    if spec.name not in STEPS:
        raise ValueError(f"unknown step {spec.name!r}; {nearest(spec.name, [*PRESETS, *STEPS])}")
    return (build(STEPS[spec.name], spec),)

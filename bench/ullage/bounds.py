"""Bounds: what the best and the plainest choice within a budget would know. They are not strategies.

A bound sees the probes, so it is run by the runner after the bank is loaded, and only at examinations; it has no bill.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar

from ullage.errors import SpecError
from ullage.probes import block_text
from ullage.specs import Spec, build, spec_of
from ullage.tokens import Counter
from ullage.types import Message, Probe, Text

BUDGET_SHARE = 0.3
"""Default budget of a bound, as a share of the window."""
NO_BILL = "a bound makes no calls, so it has no bill"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """Base of the bounds: gives the messages that it would keep at one examination."""

    declares: ClassVar[tuple[str, ...]] = ()

    def keep(self, transcript: Sequence[Message], probes: Sequence[Probe], counter: Counter, budget: int) -> tuple[Message, ...]:
        """Messages within ``budget`` true tokens, chosen from the past and the examination's eligible probes."""
        raise NotImplementedError

    def budget_for(self, window: int) -> int:
        """The budget in tokens: the parameter, else its share of the window."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True, kw_only=True)
class Oracle(Bound):
    """The task and the evidence of the eligible probes, newest first within the budget."""

    budget: int | None = None

    def keep(self, transcript: Sequence[Message], probes: Sequence[Probe], counter: Counter, budget: int) -> tuple[Message, ...]:
        """Keep the first user message and the lines that hold evidence."""
        places = {message.id: n for n, message in enumerate(transcript)}
        task = next((m for m in transcript if m.role == "user" and m.text), None)
        kept = {} if task is None or counter(task) > budget else {task.id: task}
        room = budget - sum(map(counter, kept.values()))
        wanted = sorted(
            {(places[s.message], s.block, s.start, s.end) for p in probes for s in p.evidence if s.message in places},
            reverse=True,
        )
        lines: dict[tuple[int, int, str], None] = {}
        for place, block, start, end in wanted:
            key = (place, block, _lines_around(block_text(transcript[place].blocks[block]), start, end))
            message = _evidence_message(transcript[place], *key)
            if key in lines or transcript[place].id in kept or counter(message) > room:
                continue
            lines[key] = None
            room -= counter(message)
        pieces = [(place, _evidence_message(transcript[place], place, block, text)) for place, block, text in lines]
        pieces += [(places[m.id], m) for m in kept.values()]
        return tuple(message for _, message in sorted(pieces, key=lambda piece: (piece[0], piece[1].id)))

    def budget_for(self, window: int) -> int:
        """The parameter, else its share of the window."""
        return self.budget if self.budget is not None else int(window * BUDGET_SHARE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Truncate(Bound):
    """The newest whole rounds within the budget: an assistant message with the results that answer it, or a user message."""

    keep_tokens: int | None = None

    def keep(
        self,
        transcript: Sequence[Message],
        probes: Sequence[Probe],  # noqa: ARG002 - the base's signature: this bound looks at no probe
        counter: Counter,
        budget: int,
    ) -> tuple[Message, ...]:
        """Keep a suffix of the transcript that begins a round."""
        room, start = budget, len(transcript)
        for position in range(len(transcript) - 1, -1, -1):
            room -= counter(transcript[position])
            if room < 0:
                break
            if not transcript[position].tool_result_ids:
                start = position
        return tuple(transcript[start:])

    def budget_for(self, window: int) -> int:
        """The parameter, else its share of the window."""
        return self.keep_tokens if self.keep_tokens is not None else int(window * BUDGET_SHARE)


BOUNDS: dict[str, type[Bound]] = {"oracle": Oracle, "truncate": Truncate}


def load_bound(spec: Spec) -> tuple[Bound, str]:
    """Make the bound that a spec names, with its canonical text."""
    bound = build(BOUNDS[spec.name], spec)
    for field in fields(bound):
        value: Any = getattr(bound, field.name)
        if value is not None and value <= 0:
            raise SpecError(f"{spec.name}: found {field.name}={value}; expected a positive number of tokens")
    return bound, str(spec_of(bound, spec.name))


def _lines_around(text: str, start: int, end: int) -> str:
    """The whole lines in which a span stands."""
    first = text.rfind("\n", 0, start) + 1
    last = text.find("\n", end)
    return text[first : len(text) if last < 0 else last]


def _evidence_message(source: Message, place: int, block: int, text: str) -> Message:
    return Message(id=f"{source.id}#{place}.{block}.{len(text)}", role=source.role, blocks=(Text(text=text),), synthetic=True)

"""Bounds: what the best and the plainest choice within a budget would know. They are not strategies.

A bound sees the probes, so it is run by the runner after the bank is loaded, and only at examinations; it has no bill.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar

from ullage.errors import SpecError
from ullage.excerpts import Excerpt
from ullage.specs import Spec, build, spec_of
from ullage.tokens import Counter
from ullage.types import Message, Probe

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
        """Keep the first user message, and of each probe all its evidence or none, as lines with the calls that they answer."""
        excerpt = Excerpt(transcript)
        task = next((n for n, m in enumerate(transcript) if m.role == "user" and m.text), None)
        kept = {} if task is None or counter(transcript[task]) > budget else {task: transcript[task]}
        room = budget - sum(map(counter, kept.values()))
        places = {message.id: n for n, message in enumerate(transcript)}
        known = [p for p in probes if p.evidence and all(span in excerpt for span in p.evidence)]
        for probe in sorted(known, key=lambda p: (max(places[s.message] for s in p.evidence), p.id), reverse=True):
            spans = [span for span in probe.evidence if places[span.message] not in kept]
            new = excerpt.tried(spans)
            cost = sum(counter(m) - (counter(excerpt.messages[n]) if n in excerpt.messages else 0) for n, m in new.items())
            if cost <= room:
                excerpt.add(spans)
                room -= cost
        return tuple(message for _, message in sorted((kept | excerpt.messages).items()))

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

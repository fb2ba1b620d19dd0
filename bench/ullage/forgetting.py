"""What a recorded compaction forgot, and what the agent then looked at again.

Forgotten are facts that stood before it and are in neither its summary nor what was put back. No model is asked. A fact
is a mined probe with its evidence; it counts as kept where the words of its evidence stand together in one line, or where
its answer stands in what was kept. A summary that says it in other words counts as lost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from ullage.actions import Action, Place, actions
from ullage.lines import block_text
from ullage.mining.candidates import holds
from ullage.probes import returns_at, survives
from ullage.records import Evidence, quote
from ullage.types import Message, Probe, ProbeBank, RecordedCompaction, Text, ToolResult, ToolUse, Trace

Counts = Callable[[Message], int]
SHORTEST_ANSWER = 4
"""Characters below which an answer may stand in a text by chance, so that only its evidence tells."""
LOOKS = frozenset({"read", "search"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Lost:
    """A fact that a compaction took away.

    ``returned_at`` is the message that brought it back (none: it never came back), ``returned_by`` what that was;
    ``uses`` counts the later calls whose reply used the fact.
    """

    probe: Probe
    evidence: Evidence
    returned_at: int | None = None
    returned_by: str = ""
    uses: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Again:
    """Something that the agent had looked at or run before a compaction and did again after it."""

    kind: str
    target: str
    first: int
    again: int
    tokens: int


class Rate(NamedTuple):
    """Repeats in the messages after a compaction, and in as many messages before it: what would have happened anyway."""

    after: int
    before: int
    messages: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Forgetting:
    """One recorded summary held against the history that it replaced. ``facts`` stood before it, ``kept`` after it.

    Where the summary is not ``readable`` (encrypted, or not recorded), all that only it holds counts as lost.
    """

    readable: bool
    facts: int
    kept: int
    lost: tuple[Lost, ...]
    looks: tuple[Again, ...]
    commands: tuple[Again, ...]
    look_rate: Rate
    command_rate: Rate

    @property
    def gone(self) -> int:
        """Facts that never came back."""
        return sum(one.returned_at is None for one in self.lost)

    @property
    def missed(self) -> int:
        """Lost facts that the agent used again later."""
        return sum(one.uses > 0 for one in self.lost)


class _Stretch(NamedTuple):
    """The messages around one summary: what stood before, what was kept, and where the next one begins."""

    event: RecordedCompaction
    before: tuple[Message, ...]
    after: tuple[Message, ...]
    until: int


def forgetting_of(trace: Trace, bank: ProbeBank, count: Counts) -> tuple[Forgetting, ...]:
    """One entry for each recorded summary, in order; ``count`` gives the true tokens of a message."""
    done = actions(trace.messages)
    return tuple(_forgetting(trace, bank, stretch, done, count) for stretch in _stretches(trace))


def _stretches(trace: Trace) -> Iterator[_Stretch]:
    events = [event for event in trace.compactions if event.kind == "summary"]
    last: RecordedCompaction | None = None
    for event, following in pairwise([*events, None]):
        if event is None:
            return
        carried: tuple[Message, ...] = () if last is None else _carried(last)
        start = 0 if last is None else _kept_from(last)
        before = (*carried, *trace.messages[start : event.position])
        after = (*_carried(event), *trace.messages[_kept_from(event) : event.position])
        yield _Stretch(event, before, after, len(trace.messages) if following is None else following.position)
        last = event


def _kept_from(event: RecordedCompaction) -> int:
    return event.position if event.kept_from is None else event.kept_from


def _carried(event: RecordedCompaction) -> tuple[Message, ...]:
    """The summary and what was put back beside it, as messages."""
    text = Message(id=f"summary-{event.position}", role="user", blocks=(Text(text=event.summary),), synthetic=True)
    return (text, *event.attached) if event.summary else event.attached


def _forgetting(trace: Trace, bank: ProbeBank, stretch: _Stretch, done: Sequence[Action], count: Counts) -> Forgetting:
    position = stretch.event.position
    past = [probe for probe in bank.probes if probe.evidence and probe.settled_at < position]
    stood = survives(past, trace.messages, stretch.before)
    known = [probe for probe in past if stood[probe.id]]
    present = survives(known, trace.messages, stretch.after)
    gone = [probe for probe in known if not present[probe.id] and not _answered(probe, stretch.after)]
    by_id = {message.id: message for message in trace.messages}
    lost = [_lost(trace, probe, stretch, by_id) for probe in gone]
    looks = _again(trace, done, LOOKS, position, stretch.until, count)
    commands = _again(trace, done, frozenset({"shell"}), position, stretch.until, count)
    span = min(stretch.until - position, position)
    return Forgetting(
        readable=bool(stretch.event.summary),
        facts=len(known),
        kept=len(known) - len(lost),
        lost=tuple(sorted(lost, key=lambda one: (-one.uses, one.returned_at is None, -one.probe.settled_at, one.probe.id))),
        looks=tuple(looks),
        commands=tuple(commands),
        look_rate=_rate(done, LOOKS, position, span),
        command_rate=_rate(done, frozenset({"shell"}), position, span),
    )


def _answered(probe: Probe, messages: Sequence[Message]) -> bool:
    """Whether an answer that cannot stand there by chance is in what was kept."""
    answers = [text for text in probe.accept if len(text) >= SHORTEST_ANSWER] if probe.grader != "choice" else []
    return any(holds(block_text(block), text) for text in answers for message in messages for block in message.blocks)


def _lost(trace: Trace, probe: Probe, stretch: _Stretch, by_id: Mapping[str, Message]) -> Lost:
    back = returns_at(probe, by_id, trace.messages[stretch.event.position :])
    at = None if back is None else stretch.event.position + back
    return Lost(
        probe=probe,
        evidence=_evidence(trace, probe),
        returned_at=at,
        returned_by="" if at is None else _how(trace, at),
        uses=sum(call >= stretch.event.call for call in probe.uses),
    )


def _how(trace: Trace, at: int) -> str:
    """What kind of message brought a fact back."""
    message = trace.messages[at]
    answered = set(message.tool_result_ids)
    if answered:
        for earlier in reversed(trace.messages[:at]):
            names = [block.name for block in earlier.blocks if isinstance(block, ToolUse) and block.id in answered]
            if names:
                return f"a result of {names[0]}"
        return "a tool result"
    return "the agent's own words" if message.role == "assistant" else "the person" if message.human else "the client"


def _evidence(trace: Trace, probe: Probe) -> Evidence:
    """The probe's first evidence, quoted."""
    span = probe.evidence[0]
    place = next(n for n, message in enumerate(trace.messages) if message.id == span.message)
    message = trace.messages[place]
    block = message.blocks[span.block]
    text, at, length = quote(block_text(block), span.start, span.end)
    tool = block.name if isinstance(block, ToolUse) else _tool(trace, block, place) if isinstance(block, ToolResult) else ""
    return Evidence(
        message=span.message,
        block=span.block,
        role=message.role,
        kind=str(block.__struct_config__.tag),
        tool=tool,
        position=place,
        text=text,
        at=at,
        length=length,
    )


def _tool(trace: Trace, result: ToolResult, place: int) -> str:
    for message in reversed(trace.messages[:place]):
        for block in message.blocks:
            if isinstance(block, ToolUse) and block.id == result.tool_use_id:
                return block.name
    return ""


def _again(trace: Trace, done: Sequence[Action], kinds: frozenset[str], position: int, until: int, count: Counts) -> list[Again]:
    """Looks or commands between two positions whose target was looked at or run before; each target once, dearest first."""
    found: list[Again] = []
    counted: set[Place] = set()
    for first, action in _repeated(done, kinds, position, until):
        new = action.result is not None and action.result not in counted
        tokens = _size(trace, action.result, count) if action.result is not None and new else 0
        counted |= {action.result} if action.result is not None else set()
        found.append(
            Again(kind=action.kind, target=action.target, first=first.use.message, again=action.use.message, tokens=tokens)
        )
    return sorted(found, key=lambda one: (-one.tokens, one.again))


def _size(trace: Trace, place: Place, count: Counts) -> int:
    """Tokens of one result; a command that shows two files has one."""
    return count(Message(id="", role="user", blocks=(trace.messages[place.message].blocks[place.block],)))


def _repeated(done: Sequence[Action], kinds: frozenset[str], position: int, until: int) -> Iterator[tuple[Action, Action]]:
    """The first earlier action and the first repeat of it, for each target of these kinds."""
    known: dict[tuple[str, str], Action] = {}
    seen: set[tuple[str, str]] = set()
    for action in done:
        key = (action.kind, action.target)
        if action.kind not in kinds or not action.target or action.use.message >= until:
            continue
        if action.use.message < position:
            known.setdefault(key, action)
        elif key in known and key not in seen:
            seen.add(key)
            yield known[key], action


def _rate(done: Sequence[Action], kinds: frozenset[str], position: int, span: int) -> Rate:
    after = sum(1 for _ in _repeated(done, kinds, position, position + span))
    before = sum(1 for _ in _repeated(done, kinds, position - span, position))
    return Rate(after, before, span)

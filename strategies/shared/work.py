"""One decision in the making: the working copies that a modelled manager changes before edits are read off them.

The modelled systems change a list in place, in several steps, and may fail half-way with their counters already moved.
``Work`` is that list and that state; ``decision`` compares it with the view.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from ullage.converse import loaded
from ullage.strategies.shared.edits import edits_between
from ullage.strategies.shared.turns import Turns
from ullage.strategy import Summary, SummaryRequest, View
from ullage.types import Block, Decision, Edit, Inject, Message, Stash, ToolUse

OWN = "own"
"""Key of the part of a state that the modelled system keeps elsewhere (flags on messages, objects in memory)."""
SAME = "same"
"""Key of the own state: groups of positions that hold the very same message, as a merge that broke half-way leaves them."""

UNTRACKED = ("marker-", "summary-")
"""How the ids of messages begin that a pipeline makes itself."""


class Work:
    """Working copies of one view: ``messages`` with pins from the state applied, ``state``, and what was decided so far.

    ``start`` leaves the messages before it alone, for steps that look at the newest ones only. ``as_given`` takes the
    messages for the package's own: nothing is merged, and ids that they did not bring are not theirs.
    """

    def __init__(self, view: View, initial: dict[str, Any], *, start: int = 0, as_given: bool = False) -> None:
        self.view = view
        self.as_given = as_given
        self.turns = Turns(view.context[start:]) if as_given or start else Turns.of(view.context)
        self.state: dict[str, Any] = {**initial, **(view.state or {})}
        self.own: dict[str, Any] = dict(self.state.get(OWN) or {})
        self.before = self.turns.messages
        self.messages: list[Message] = [self._with_pin(message) for message in self.before]
        self._join(self.own.pop(SAME, ()))
        self.sources: dict[str, tuple[str, ...]] = {}
        self.stashed: list[Stash] = []
        self.injected: list[Block] = []
        self.tiers: list[str] = []
        self.reasons: list[str] = []
        self.estimate: int | None = None
        self.trigger = ""
        self._names: dict[str, str] | None = None

    def _with_pin(self, message: Message) -> Message:
        pinned = message.id in self.own.get("pinned", ()) or (message.pinned and message.id not in self.own.get("unpinned", ()))
        return message if pinned == message.pinned else msgspec.structs.replace(message, pinned=pinned)

    def _join(self, groups: Sequence[Sequence[int]]) -> None:
        """Make the positions of each group hold one object again, unless the list was changed in the meantime."""
        for first, *others in groups:
            for at in others:
                if at < len(self.messages) and self.messages[at].key == self.messages[first].key:
                    self.messages[at] = self.messages[first]

    def _same(self) -> list[list[int]]:
        places: dict[int, list[int]] = {}
        for at, message in enumerate(self.messages):
            places.setdefault(id(message), []).append(at)
        return [group for group in places.values() if len(group) > 1]

    def change(self, at: int, message: Message) -> None:
        """Put a changed message in the place of one, wherever that stands in the list: the package changes it in place.

        Only a list that is the package's own can hold one message twice.
        """
        old = self.messages[at]
        if not self.as_given:
            self.messages[at] = message
            return
        for place, other in enumerate(self.messages):
            if other is old:
                self.messages[place] = message

    def acted(self, tier: str, reason: str) -> None:
        """Note a step that changed something, and what triggered it."""
        self.tiers.append(tier)
        self.reasons.append(f"{self.trigger}: {reason}" if self.trigger else reason)

    def fresh_id(self, base: str) -> str:
        """An id that no message of the context, or of this work, has."""
        taken = {message.id for message in self.messages}
        name, n = base, 1
        while name in taken or self.view.context.position(name) is not None:
            n += 1
            name = f"{base}.{n}"
        return name

    def tool_name(self, tool_use_id: str) -> str:
        """The name of the tool that an id belongs to: of the newest call with it in the context, else empty."""
        if len(self.before) < len(self.view.context):
            return self._searched_name(tool_use_id)
        if self._names is None:
            self._names = {
                b.id: b.name for m in self.view.context if m.role == "assistant" for b in m.blocks if isinstance(b, ToolUse)
            }
        return self._names.get(tool_use_id, "")

    def _searched_name(self, tool_use_id: str) -> str:
        """The same, looked for from the end: for work on the newest messages, whose calls are near."""
        for message in reversed(self.view.context):
            if tool_use_id in message.tool_use_ids and message.role == "assistant":
                return next(b.name for b in reversed(message.blocks) if isinstance(b, ToolUse) and b.id == tool_use_id)
        return ""

    def tracking_id(self, message: Message) -> str:
        """The id under which the package tracks a message: the message's own, or ``unknown`` for one given without.

        Markers and summaries of a pipeline are put into the list as they are; only what an agent appends gets an id.
        """
        if message.synthetic and message.id.startswith(UNTRACKED):
            return "unknown"
        if not self.as_given or message.synthetic:
            return message.id
        extra = loaded(message.extra) if message.extra else {}
        return str(extra.get("tracking_id", "unknown"))

    def summarize(self, request: SummaryRequest) -> Summary:
        """Ask the summariser port."""
        return self.view.summarize(request)

    def stash(self, ref: str, content: str, *, keep_existing: bool = False) -> None:
        """Put content into the store; ``keep_existing`` leaves what is already there under the same reference."""
        if keep_existing and (any(s.ref == ref for s in self.stashed) or self.view.store.get(ref) is not None):
            return
        self.stashed.append(Stash(ref=ref, content=content))

    def sources_of(self, messages: list[Message]) -> tuple[str, ...]:
        """Ids that these messages stand for, through earlier insertions of the same work."""
        return tuple(dict.fromkeys(i for m in messages for i in self.sources.get(m.id, (m.id,))))

    def decision(self) -> Decision:
        """The decision that leads from the view to this work."""
        edits: tuple[Edit, ...] = self.turns.spread(edits_between(self.before, self.messages, self.sources))
        edits += tuple(self.stashed)
        if self.injected:
            edits += (Inject(blocks=tuple(self.injected)),)
        return Decision(
            edits=edits,
            state=self.final_state(),
            tier="+".join(dict.fromkeys(self.tiers)),
            reason="; ".join(self.reasons),
            estimate=self.estimate,
        )

    def final_state(self) -> dict[str, Any]:
        """The state after this work, with pins that no flag in the context carries."""
        flags = {message.id: message.pinned for message in self.before}
        pinned = [m.id for m in self.messages if m.pinned and not flags.get(m.id)]
        unpinned = [m.id for m in self.messages if not m.pinned and flags.get(m.id)]
        own = {key: value for key, value in self.own.items() if key not in ("pinned", "unpinned")}
        same = self._same() if self.as_given else []
        own |= {key: found for key, found in (("pinned", pinned), ("unpinned", unpinned), (SAME, same)) if found}
        return {**self.state, OWN: own}

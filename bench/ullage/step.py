"""What one replayed call leaves behind for the stages that follow: invariants, probes, records."""

from __future__ import annotations

from dataclasses import dataclass

from ullage.context import Context
from ullage.types import Block, Call, Compaction, Fault, Row, SideRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One call of a replay, as it was sent.

    ``context`` is the history in the request (before the reply is appended), valid until the next step is taken;
    ``changed_from`` the first position whose message is not what the previous request held there (its length when
    messages were only appended); ``compactions``, ``faults`` and side ``requests`` are those since the previous step. ``row`` is none
    when the call could not be made: then ``died`` says why and no step follows.
    """

    index: int
    call: Call
    context: Context
    injected: tuple[Block, ...] = ()
    prompt_tokens: int
    window: int
    reserve: int
    changed_from: int
    compactions: tuple[Compaction, ...] = ()
    faults: tuple[Fault, ...] = ()
    requests: tuple[SideRequest, ...] = ()
    row: Row | None
    died: str = ""

"""Choosing among candidates: every type and zone of the trace gets its turn, and within them every rule."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from ullage.mining.candidates import Candidate
from ullage.mining.decoys import interleaved, seeded

FAMILY_SHARE = 0.2
"""Most of a bank that one rule may find: twenty questions of one kind tell little more than ten."""


def stratified(candidates: Sequence[Candidate], zones: Sequence[str], limit: int, seed: int) -> list[Candidate]:
    """At most ``limit`` candidates, drawn in turn from each (type, zone), in trace order.

    Within a stratum the rules that found the candidates take turns, each in seeded order, facts never restated first.
    """
    strata: dict[tuple[str, str], list[Candidate]] = defaultdict(list)
    for candidate, zone in zip(candidates, zones, strict=True):
        strata[candidate.type, zone].append(candidate)
    queues = [
        interleaved(strata[key], lambda c: (c.restated_at is not None, seeded(str(seed), c.question))) for key in sorted(strata)
    ]
    chosen: list[Candidate] = []
    room: dict[str, int] = defaultdict(lambda: max(1, round(limit * FAMILY_SHARE)))
    for turn in range(max(map(len, queues), default=0)):
        for queue in queues:
            if turn < len(queue) and len(chosen) < limit and room[queue[turn].family] > 0:
                room[queue[turn].family] -= 1
                chosen.append(queue[turn])
    return sorted(chosen, key=lambda c: (c.settled_at, c.question))

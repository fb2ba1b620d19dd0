"""tau-bench results: a list of episodes, each with its chat messages; the policy is the system prompt."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import msgspec

from ullage.errors import TraceError
from ullage.formats import Format, Imported, LineCounts, Source
from ullage.formats._chat import chat_trace
from ullage.formats._chat_files import conversation_in
from ullage.formats._lines import document
from ullage.types import Trace, canonical_json

_EXPECTED = "tau-bench results: a list of {task_id, trial, reward, traj}"


@dataclass(frozen=True, slots=True, kw_only=True)
class TauBench(Format):
    """One trace an episode; neither usage nor times nor tools are recorded, and the user is simulated."""

    summary: ClassVar[str] = "tau-bench (first version) result files"
    suffixes: ClassVar[tuple[str, ...]] = (".json",)

    def matches(self, source: Source) -> bool:
        """A list whose first items have a task id and a traj."""
        head = source.head
        return head.lstrip()[:1] == b"[" and b'"traj"' in head and b'"task_id"' in head

    def read(self, source: Source) -> Imported:
        """Import every episode that holds a conversation."""
        value, repaired = document(source, _EXPECTED)
        episodes = value if isinstance(value, list) else []
        traces = [trace for number, episode in enumerate(episodes) if (trace := _trace(episode, number, source)) is not None]
        if not traces:
            raise TraceError(str(source), "no episode with messages", _EXPECTED)
        counts = LineCounts(read=len(episodes), refused=len(episodes) - len(traces), repaired=int(repaired))
        problems = (f"{source}: {counts.refused} episodes hold no conversation; refused",) if counts.refused else ()
        return Imported(path=str(source), format="tau_bench", traces=tuple(traces), lines=counts, problems=problems)


def _trace(episode: Any, number: int, source: Source) -> Trace | None:
    rows = conversation_in(episode.get("traj")) if isinstance(episode, dict) else None
    if rows is None:
        return None
    stem = source.stem
    name = f"{stem}#{number + 1}"
    trace = chat_trace(name, rows, source=source.path.name, form="tau_bench")
    kept = {key: episode[key] for key in ("task_id", "trial", "reward") if episode.get(key) is not None}
    group = f"{stem}/{kept['task_id']}" if "task_id" in kept else ""
    return msgspec.structs.replace(trace, meta=msgspec.structs.replace(trace.meta, group=group, extra=canonical_json(kept)))

"""tau2-bench results: simulations of an agent and a user, both models; the trace is the agent's view."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from ullage.errors import TraceError
from ullage.formats import Format, Imported, LineCounts, Source
from ullage.formats._anthropic import milliseconds
from ullage.formats._chat import Conversation, tool_specs
from ullage.formats._facts import main_model
from ullage.formats._lines import document, list_at, object_at
from ullage.formats._usage import completion_usage, names_cache
from ullage.types import Trace, TraceMeta, canonical_json

_EXPECTED = "tau2-bench results: {info, tasks, simulations}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tau2(Format):
    """What the simulated user does with its own tools is not in the agent's context and is left out, its usage too."""

    summary: ClassVar[str] = "tau2-bench result files"
    suffixes: ClassVar[tuple[str, ...]] = (".json",)

    def matches(self, source: Source) -> bool:
        """An object whose info describes agent, user and environment."""
        head = source.head
        return head.lstrip()[:1] == b"{" and b'"agent_info"' in head and b'"environment_info"' in head and b'"user_info"' in head

    def read(self, source: Source) -> Imported:
        """Import every simulation with messages."""
        value, repaired = document(source, _EXPECTED)
        simulations = [one for one in list_at(value, "simulations") if isinstance(one, dict)]
        told = [one for one in simulations if list_at(one, "messages")]
        if not told:
            raise TraceError(str(source), "no simulation with messages", _EXPECTED)
        hidden = sum(_hidden(row) for one in told for row in list_at(one, "messages"))
        traces = tuple(_trace(one, number, object_at(value, "info"), source) for number, one in enumerate(told, 1))
        read = sum(len(list_at(one, "messages")) for one in told)
        counts = LineCounts(read=read, opaque=hidden, repaired=int(repaired), refused=len(simulations) - len(told))
        return Imported(path=str(source), format="tau2", traces=traces, lines=counts)


def _hidden(row: Any) -> bool:
    """What only the simulated user sees: its tool calls and their results."""
    if not isinstance(row, dict):
        return True
    if row.get("role") == "tool":
        return row.get("requestor") == "user"
    return row.get("role") == "user" and bool(row.get("tool_calls"))


def _trace(simulation: dict[str, Any], number: int, info: dict[str, Any], source: Source) -> Trace:
    environment, agent = object_at(info, "environment_info"), object_at(info, "agent_info")
    model = str(agent.get("llm") or "")
    talk = Conversation(name=str(simulation.get("id") or f"{source.path.name}#{number}"), model=model)
    rows = [row for row in list_at(simulation, "messages") if not _hidden(row)]
    addressed = False
    for place, row in enumerate(rows):
        addressed = addressed or row.get("role") == "user"
        at, usage = milliseconds(row.get("timestamp")), completion_usage(row.get("usage"))
        cost = canonical_json({"cost": row["cost"]}) if row.get("cost") else ""
        talk.add(_plain(row), place, at=at, usage=usage, counted=addressed, extra=cost)
    cached = any(names_cache(row.get("usage")) for row in rows)
    kept = {key: simulation[key] for key in ("task_id", "trial", "seed") if simulation.get(key) is not None}
    kept |= {"domain": environment.get("domain_name"), "reward": object_at(simulation, "reward_info").get("reward")}
    meta = TraceMeta(
        format="tau2",
        source=source.path.name,
        model=main_model(talk.calls) or model,
        group=f"{kept['domain']}/{kept['task_id']}" if "task_id" in kept else "",
        extra=canonical_json(kept),
    )
    policy, tools = str(environment.get("policy") or ""), tool_specs(environment.get("tool_defs"))
    return talk.finished(talk.name, meta, "read" if cached else "none", system=policy, tools=tools, as_sent=False)


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    """The row in the chat form; a greeting before the user's first word is canned and no call."""
    plain = {key: row.get(key) for key in ("role", "content", "tool_calls")}
    if row.get("role") == "tool":
        plain |= {"tool_call_id": row.get("id"), "is_error": bool(row.get("error"))}
    return plain

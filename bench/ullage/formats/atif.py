"""ATIF trajectories (Harbor, Terminal-Bench 2): steps with calls and results together, sub-agents inside or beside the file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import msgspec

from ullage.errors import TraceError
from ullage.formats import Format, Imported, LineCounts, Source
from ullage.formats._anthropic import whole
from ullage.formats._atif_run import AgentRef, Run
from ullage.formats._beside import document_beside, file_beside
from ullage.formats._chat import Conversation, tool_specs
from ullage.formats._facts import in_order, main_model
from ullage.formats._lines import document, first_value, object_at, objects_at
from ullage.formats._usage import included_usage
from ullage.types import Provenance, RecordedEvent, Trace, TraceMeta, Usage, canonical_json

_EXPECTED = "an ATIF trajectory: {schema_version, agent, steps}"
_VERSION = re.compile(rb'"schema_version"\s*:\s*"ATIF-v')
_CONTINUED = re.compile(r"-cont-\d+$")
"""How Terminus 2 names the session of a continuation: by the first file's name, and a number."""
MAX_FILES = 1000
"""Files of one session: sub-agents and continuations."""
_ROOT = frozenset(("schema_version", "session_id", "trajectory_id", "agent", "steps", "final_metrics", "subagent_trajectories"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Atif(Format):
    """A step of the agent is a call. A continuation that stands beside the file is read on; sub-agents are children."""

    summary: ClassVar[str] = "ATIF trajectory JSON (Harbor, Terminal-Bench 2), versions 1.0 to 1.8"
    suffixes: ClassVar[tuple[str, ...]] = (".json",)

    def matches(self, source: Source) -> bool:
        """The object names its schema; of one that is longer than the head, the part before its steps does."""
        value = first_value(source.head)
        if value is not None:
            return str(object_at(value).get("schema_version")).startswith("ATIF-v") and "steps" in value
        return source.head.lstrip()[:1] == b"{" and _VERSION.search(source.head.partition(b'"steps"')[0]) is not None

    def read(self, source: Source) -> Imported:
        """Import the session with its continuations and sub-agents."""
        value, repaired = document(source, _EXPECTED)
        if not any(step.get("source") == "agent" for step in objects_at(value, "steps")):
            raise TraceError(str(source), "no step of an agent", _EXPECTED)
        reader = _Reader(source)
        trace = reader.trace(value, "", source)
        counts = LineCounts(read=reader.steps, opaque=reader.strange, repaired=int(repaired))
        if reader.strange:
            reader.problems.append(f"{source}: {reader.strange} steps are of no known source; kept out of the conversation")
        return Imported(path=str(source), format="atif", traces=(trace,), lines=counts, problems=tuple(reader.problems))


@dataclass(slots=True)
class _Reader:
    """Reads the documents of one session, each file once."""

    source: Source
    problems: list[str] = field(default_factory=list)
    steps: int = 0
    strange: int = 0
    _seen: set[Path] = field(default_factory=set)
    _names: set[str] = field(default_factory=set)

    def trace(self, value: dict[str, Any], parent: str, source: Source) -> Trace:
        """The trace of one document, ``parent`` being the tool call that started it."""
        name = self._name(value, source)
        run = Run(talk=Conversation(name=name), side=Conversation(name=f"{name}/sidechain"))
        steps = objects_at(value, "steps")
        self.steps += len(steps)
        self.strange += sum(not run.add(number, step) for number, step in enumerate(steps))
        starts_midway = run.copied > 0
        documents = [value, *self._continue(run, value)]
        children = tuple(self._children(run, documents, name, source))
        self.problems += [f"{source}: {text}" for text in run.oddities()]
        trace = _trace(run, value, source.path.name)
        trace = msgspec.structs.replace(
            trace,
            id=_CONTINUED.sub("", name) if starts_midway else name,
            parent=parent,
            children=children,
            starts_midway=starts_midway,
            events=in_order([*trace.events, *self._lost(run, source)]),
        )
        if len(documents) == 1:
            self.problems += [f"{source}: {text}" for text in _stated(value, trace)]
        return trace

    def _name(self, value: dict[str, Any], source: Source) -> str:
        """A name of its own: siblings may share the session, so the trajectory's own id goes first where it is used up."""
        wanted = str(value.get("session_id") or value.get("trajectory_id") or source.path.name.removesuffix(".gz"))
        if wanted in self._names:
            wanted = str(value.get("trajectory_id") or wanted)
        name = wanted
        while name in self._names:
            name = f"{wanted}#{len(self._names)}"
        if name != wanted:
            self.problems.append(f"{source}: session {wanted} stands for several trajectories; one is named {name}")
        self._names.add(name)
        return name

    def _continue(self, run: Run, value: dict[str, Any]) -> list[dict[str, Any]]:
        """The documents that go on with this one, in order, as far as they stand beside it."""
        found: list[dict[str, Any]] = []
        while isinstance(value.get("continued_trajectory_ref"), str):
            named = value["continued_trajectory_ref"]
            value = object_at(self._beside(named))
            if not value:
                self.problems.append(
                    f"{self.source}: continues in {named[:80]!r}, which is not beside it; its calls are not here"
                )
                break
            found.append(value)
            steps = objects_at(value, "steps")
            self.steps += len(steps)
            self.strange += run.follow(self._name(value, self.source), steps)
        return found

    def _beside(self, named: Any) -> Any:
        path = file_beside(self.source, named)
        if path is None or path in self._seen or len(self._seen) >= MAX_FILES:
            return None
        self._seen.add(path)
        return document_beside(path, _EXPECTED, self.problems)

    def _children(self, run: Run, documents: list[dict[str, Any]], name: str, source: Source) -> Iterator[Trace]:
        """Sub-agents: those inside the file with the calls that refer to them, those in files beside it, marked steps."""
        inside = [child for value in documents for child in objects_at(value, "subagent_trajectories")]
        for ref in list(run.refs):
            value = next((child for child in inside if _refers(ref, child)), None)
            if value is not None:
                inside.remove(value)
            else:
                value = object_at(self._beside(ref.told.get("trajectory_path")))
            if objects_at(value, "steps"):
                run.refs.remove(ref)
                yield self.trace(value, ref.parent, source)
        for value in inside:
            yield self.trace(value, "", source)
        if run.side.messages:
            yield _side(run, name, source.path.name)

    def _lost(self, run: Run, source: Source) -> list[RecordedEvent]:
        """Events for the sub-agents whose trajectories are in no file here."""
        if run.refs:
            self.problems.append(f"{source}: {len(run.refs)} sub-agents are recorded elsewhere; their calls are not here")
        at_end = len(run.talk.calls)
        return [RecordedEvent(kind="unrecorded_agent", call=at_end, detail=canonical_json(ref.told)[:200]) for ref in run.refs]


def _refers(ref: AgentRef, value: dict[str, Any]) -> bool:
    keys = ("trajectory_id", "session_id")
    named = next((key for key in keys if ref.told.get(key)), "")
    return bool(named) and ref.told[named] == value.get(named)


def _trace(run: Run, value: dict[str, Any], source: str) -> Trace:
    agent, talk = object_at(value, "agent"), run.talk
    default = str(agent.get("model_name") or "")
    talk.calls = [call if call.model else msgspec.structs.replace(call, model=default) for call in talk.calls]
    written = any(call.usage is not None and call.usage.cache_write for call in talk.calls)
    known = {key: item for key, item in value.items() if key not in _ROOT and item not in (None, "", [], {})}
    beyond = known | {key: agent[key] for key in ("extra",) if agent.get(key)}
    meta = TraceMeta(
        format="atif",
        source=source,
        model=main_model(talk.calls) or default,
        client=" ".join(str(agent[key]) for key in ("name", "version") if agent.get(key)),
        extra=canonical_json(beyond) if beyond else "",
    )
    total, system = _total(value), "\n\n".join(text for text in run.system if text)
    tools = tool_specs(agent.get("tool_definitions"))
    trace = talk.finished(
        talk.name, meta, "read_write" if written else "read" if run.cached else "none", system=system, tools=tools
    )
    if trace.provenance.usage != "none" or total is None:
        return trace
    complete = trace.provenance.prompt_complete
    unbilled = Provenance(usage="total", prompt_complete=complete, output_reliable=True)
    return msgspec.structs.replace(trace, provenance=unbilled, total_usage=total)


def _side(run: Run, name: str, source: str) -> Trace:
    """The steps that are marked as a sub-agent's: of which agent, the recording does not say."""
    meta = TraceMeta(format="atif", source=source, model=main_model(run.side.calls))
    return run.side.finished(f"{name}/sidechain", meta, "read" if run.cached else "none")


def _total(value: dict[str, Any]) -> Usage | None:
    final = object_at(value, "final_metrics")
    prompt, output = whole(final.get("total_prompt_tokens")), whole(final.get("total_completion_tokens"))
    return included_usage(prompt, whole(final.get("total_cached_tokens")), output) if prompt or output else None


def _stated(value: dict[str, Any], trace: Trace) -> Iterator[str]:
    """Where the steps and the sub-agents do not add up to what the run itself counts."""
    stated = whole(object_at(value, "final_metrics").get("total_prompt_tokens"))
    found = _prompts(trace)
    if stated and trace.provenance.usage == "per_call" and found != stated:
        yield f"the calls hold {found} prompt tokens with those of sub-agents; the run itself counts {stated}"


def _prompts(trace: Trace) -> int:
    own = sum(call.usage.prompt for call in trace.calls if call.usage is not None)
    return own + sum(_prompts(child) for child in trace.children)

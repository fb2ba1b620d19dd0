"""One ATIF trajectory while its steps are read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import msgspec

from ullage.formats._anthropic import milliseconds, whole
from ullage.formats._chat import Conversation, arguments_of, text_of
from ullage.formats._facts import unanswered
from ullage.formats._lines import object_at, objects_at
from ullage.formats._talk import counted
from ullage.formats._usage import included_usage
from ullage.types import Usage, canonical_json

_STEP = frozenset(
    ("step_id", "timestamp", "source", "model_name", "message", "reasoning_content", "tool_calls", "observation", "metrics")
)
_RESULT = frozenset({"source_call_id", "content", "subagent_trajectory_ref"})
_METRICS = frozenset(
    {"prompt_tokens", "completion_tokens", "cached_tokens", "prompt_token_ids", "completion_token_ids", "logprobs"}
)
"""What the usage holds, and copies of the texts as token ids."""
_REDUCED = ("summar", "compact")
"""Words of a system step that tells of a compaction; the requests that made it are trajectories of their own."""


class AgentRef(NamedTuple):
    """A trajectory that a step refers to, and the tool call that started it (empty: the client itself did)."""

    told: dict[str, Any]
    parent: str


@dataclass(slots=True, kw_only=True)
class Run:
    """Collects the steps of a session. ``side`` takes those that are marked as a sub-agent's among the agent's own."""

    talk: Conversation
    side: Conversation
    system: list[str] = field(default_factory=list)
    refs: list[AgentRef] = field(default_factory=list)
    copied: int = 0
    unnamed: int = 0
    several: int = 0
    ordered: int = 0
    cached: bool = False
    _handoff: bool = False

    def add(self, number: int, step: dict[str, Any]) -> bool:
        """Take one step; tells whether it is of a known source. Copied context is history, but no call of this run."""
        talk = self.side if object_at(step, "extra").get("is_sidechain") is True else self.talk
        handoff, self._handoff = self._handoff, False
        self.copied += _is_copied(step)
        if handoff and step.get("source") == "user" and not _is_copied(step):
            self._handed_over(text_of(_content(step.get("message"))))
            return True
        return self._take(talk, number, step)

    def follow(self, name: str, steps: Sequence[dict[str, Any]]) -> int:
        """Go on with the file that continues this one; returns how many of its steps are of no known source.

        The context that it copies is what the client kept of this one: it belongs to the compaction between them.
        """
        self.talk.name, self.side.name = name, f"{name}/sidechain"
        scratch = Conversation(name=f"{name}/copied")
        copied = [step for step in steps if _is_copied(step)]
        for number, step in enumerate(copied):
            self._take(scratch, number, step)
        last = self.talk.compactions[-1] if self.talk.compactions else None
        if last is None or last.position != len(self.talk.messages):
            self.talk.compacted(None)
        kept = list(scratch.messages)
        if kept and kept[-1].role == "user":
            self._handed_over(kept.pop().text)
        self.talk.compactions[-1] = msgspec.structs.replace(self.talk.compactions[-1], attached=tuple(kept))
        self._handoff = False
        return sum(not self.add(number, step) for number, step in enumerate(steps) if not _is_copied(step))

    def oddities(self) -> Iterator[str]:
        """What a reader of the figures should know, one line each."""
        yield from counted(
            (
                (self.copied, "{} steps are context copied from an earlier trajectory; no calls of this one"),
                (self.unnamed, "{} tool calls have no id; named by their place"),
                (self.ordered, "{} results name no tool call; paired in the order of the calls of their step"),
                (self.several, "{} steps stand for several requests each; every one is one call here"),
            )
        )
        yield from unanswered(self.talk.messages)

    def _take(self, talk: Conversation, number: int, step: dict[str, Any]) -> bool:
        source = step.get("source")
        if source == "agent":
            self._agent(talk, number, step)
        elif source == "user":
            row = {"role": "user", "content": _content(step.get("message"))} | _beyond_step(step)
            human = talk is self.talk and not _is_copied(step)
            talk.add(row, number, at=milliseconds(step.get("timestamp")), human=human)
            self._results(talk, number, step, [])
        elif source == "system":
            self._system(talk, number, step)
        return source in ("agent", "user", "system")

    def _agent(self, talk: Conversation, number: int, step: dict[str, Any]) -> None:
        calls = [self._call(talk, number, place, call) for place, call in enumerate(objects_at(step, "tool_calls"))]
        requests = whole(step.get("llm_call_count")) if step.get("llm_call_count") is not None else 1
        self.several += requests > 1
        metrics = object_at(step, "metrics")
        self.cached = self.cached or metrics.get("cached_tokens") is not None
        row = _beyond_step(step) | {
            "role": "assistant",
            "content": _content(step.get("message")),
            "tool_calls": calls,
            "reasoning_content": step.get("reasoning_content"),
        }
        talk.add(
            row,
            number,
            at=milliseconds(step.get("timestamp")),
            usage=usage_of(metrics),
            model=str(step.get("model_name") or ""),
            counted=bool(requests) and not _is_copied(step),
            extra=_json(metrics, _METRICS),
        )
        self._results(talk, number, step, [str(call["id"]) for call in calls])

    def _call(self, talk: Conversation, number: int, place: int, call: dict[str, Any]) -> dict[str, Any]:
        given = call.get("tool_call_id")
        self.unnamed += not given
        name = str(given or f"{talk.name}/{number}/call-{place}")
        return {"id": name, "name": call.get("function_name"), "arguments": arguments_of(call.get("arguments"))}

    def _results(self, talk: Conversation, number: int, step: dict[str, Any], calls: list[str]) -> None:
        """Results by the call that they name, else in the order of the calls; those left over are text for the agent."""
        results, at = objects_at(step, "observation", "results"), milliseconds(step.get("timestamp"))
        named = {str(result["source_call_id"]) for result in results if result.get("source_call_id")}
        free, over = [call for call in calls if call not in named], []
        for place, result in enumerate(results):
            call, content = str(result.get("source_call_id") or ""), _content(result.get("content"))
            if not call and free:
                call, self.ordered = free.pop(0), self.ordered + 1
            self.refs += [AgentRef(ref, call) for ref in objects_at(result, "subagent_trajectory_ref")]
            if call:
                talk.add({"role": "tool", "tool_call_id": call, "content": content}, f"{number}/result-{place}", at=at)
            elif content:
                over.append(content)
        for place, content in enumerate(over):
            talk.add({"role": "user", "content": content}, f"{number}/observation-{place}", at=at, human=False)

    def _system(self, talk: Conversation, number: int, step: dict[str, Any]) -> None:
        results, content = objects_at(step, "observation", "results"), _content(step.get("message"))
        at = milliseconds(step.get("timestamp"))
        made = any(objects_at(result, "subagent_trajectory_ref") for result in results)
        if made and any(word in text_of(content).lower() for word in _REDUCED):
            self.refs += [AgentRef(ref, "") for result in results for ref in objects_at(result, "subagent_trajectory_ref")]
            told = [text_of(_content(result.get("content"))) for result in results]
            self.talk.compacted(at, summary="\n\n".join(text for text in told if text))
            self._handoff = True
        elif talk is self.talk and not talk.messages and not results:
            self.system.append(text_of(content))
        else:
            if content:
                talk.add({"role": "system", "content": content} | _beyond_step(step), number, at=at)
            self._results(talk, number, step, [])

    def _handed_over(self, summary: str) -> None:
        last = self.talk.compactions[-1]
        texts = [text for text in (last.summary, summary) if text]
        self.talk.compactions[-1] = msgspec.structs.replace(last, summary="\n\n".join(texts))


def usage_of(metrics: dict[str, Any]) -> Usage | None:
    """Billed usage: ``prompt_tokens`` is the whole prompt; none where it is not recorded."""
    if metrics.get("prompt_tokens") is None:
        return None
    written = whole(object_at(metrics, "extra").get("cache_creation_input_tokens"))
    prompt, output = whole(metrics.get("prompt_tokens")), whole(metrics.get("completion_tokens"))
    return included_usage(prompt, whole(metrics.get("cached_tokens")), output, written)


def _is_copied(step: dict[str, Any]) -> bool:
    return step.get("is_copied_context") is True


def _content(content: Any) -> Any:
    """Content as chat parts: an image stands under its address."""
    if not isinstance(content, list):
        return content
    return [
        {"type": "image", "image": object_at(part, "source").get("path")} if object_at(part, "source").get("path") else part
        for part in content
    ]


def _beyond_step(step: dict[str, Any]) -> dict[str, Any]:
    """Keys of a step that nothing else holds, those of its observation beside them."""
    watched = object_at(step, "observation")
    results = [_without(result, _RESULT) for result in objects_at(watched, "results")]
    seen = _without(watched, frozenset({"results"})) | ({"results": results} if any(results) else {})
    return _without(step, _STEP) | ({"observation": seen} if seen else {})


def _without(value: dict[str, Any], known: frozenset[str]) -> dict[str, Any]:
    return {key: item for key, item in value.items() if key not in known and item not in (None, "", [], {})}


def _json(value: dict[str, Any], known: frozenset[str]) -> str:
    kept = _without(value, known)
    return canonical_json(kept) if kept else ""

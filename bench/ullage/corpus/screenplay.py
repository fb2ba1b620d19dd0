"""Screenplays: what playbooks say and do, written down beside them as text.

A file holds scenes; a scene holds directives, one a line that starts with ``::``, each with the lines below it as its
body. ``{{name}}`` stands for a value of the session. Python code of the playbook draws the values, reacts to what tools
print, and plays the scenes.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import resources
from typing import Any

from ullage.corpus.plot import PlotError, infer_grader
from ullage.corpus.session import MINUTE, Clock, Request, Session

_VALUE = re.compile(r"\{\{(\w+)\}\}")
_UNITS = {"s": 1000, "m": MINUTE, "h": 60 * MINUTE, "d": 24 * 60 * MINUTE}


@dataclass(frozen=True, slots=True)
class Directive:
    """One step: a verb, its words, its settings, its body, and the line it stands on."""

    verb: str
    words: tuple[str, ...]
    settings: dict[str, str]
    body: str
    line: int


def sections(text: str) -> dict[str, str]:
    """Parts of a file that are headed by lines ``=== NAME``; what stands before the first is a comment."""
    parts = re.split(r"^=== (.+)$", text, flags=re.MULTILINE)
    return {name.strip(): body.strip("\n") + "\n" for name, body in zip(parts[1::2], parts[2::2], strict=True)}


def data_file(name: str) -> str:
    """A text file that lies beside the playbooks."""
    return (resources.files("ullage.corpus.playbooks") / name).read_text(encoding="utf-8")


def filled(text: str, values: dict[str, str]) -> str:
    """A text with its ``{{name}}`` replaced; a name without value raises ``PlotError``."""

    def value(match: re.Match[str]) -> str:
        if match[1] not in values:
            raise PlotError(f"no value {match[1]!r}; known: {', '.join(sorted(values))}")
        return values[match[1]]

    return _VALUE.sub(value, text)


def directives(scene: str) -> list[Directive]:
    """The steps of one scene."""
    steps: list[Directive] = []
    parts = re.split(r"^:: (.+)$", scene, flags=re.MULTILINE)
    line = 1 + parts[0].count("\n")
    for head, body in zip(parts[1::2], parts[2::2], strict=True):
        if head.startswith("keep "):
            _, name, pattern = head.split(" ", 2)
            steps.append(Directive("keep", (name,), {}, pattern, line))
            line += 1 + body.count("\n")
            continue
        verb, *rest = shlex.split(head)
        settings = dict(word.split("=", 1) for word in rest if "=" in word)
        steps.append(Directive(verb, tuple(w for w in rest if "=" not in w), settings, body.strip("\n"), line))
        line += 1 + body.count("\n")
    return steps


def milliseconds(text: str) -> int:
    """A span of time such as ``90s``, ``12m``, ``2h``, ``1d``."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([smhd])", text)
    if not match:
        raise PlotError(f"no span of time: {text!r}")
    return round(float(match[1]) * _UNITS[match[2]])


@dataclass(slots=True)
class Stage:
    """Plays scenes of a screenplay on a session."""

    scenes: dict[str, str]
    session: Session
    system: str
    gathering: list[Request] | None = None
    played: set[str] = field(default_factory=set)

    def play(self, *names: str) -> None:
        """Play scenes in order; a mistake in one names scene and directive."""
        for name in names:
            if name not in self.scenes:
                raise PlotError(f"no scene {name!r}; there are {', '.join(self.scenes)}")
            self.played.add(name)
            for step in directives(self.scenes[name]):
                verb = _VERBS.get(step.verb)
                if verb is None:
                    raise PlotError(f"scene {name}, line {step.line}: no directive {step.verb!r}")
                try:
                    verb(self, step)
                except (PlotError, KeyError, IndexError, ValueError) as error:
                    raise PlotError(f"scene {name}, line {step.line}, :: {step.verb}: {error}") from error

    def notes(self, name: str) -> list[str]:
        """The paragraphs of a scene that holds no directives: remarks for a loop of the playbook."""
        self.played.add(name)
        return [self.fill(part.strip()) for part in self.scenes[name].split("\n\n") if part.strip()]

    def fill(self, text: str) -> str:
        """A text with the session's values."""
        return filled(text, self.session.values)

    def act(self, tool: str, arguments: dict[str, Any]) -> None:
        """Call a tool now, or with the others of a ``together`` block."""
        if self.gathering is None:
            self.session.together([(tool, arguments)])
        else:
            self.gathering.append((tool, arguments))


def _user(stage: Stage, step: Directive) -> None:
    after = step.settings.get("after")
    images = [
        stage.session.workspace.path(stage.fill(name)).read_bytes() for name in step.settings.get("image", "").split(",") if name
    ]
    stage.session.user(stage.fill(step.body), wait_ms=milliseconds(after) if after else None, images=images)


def _bash(stage: Stage, step: Directive) -> None:
    stage.act("bash", {"command": stage.fill(step.body)})


def _read(stage: Stage, step: Directive) -> None:
    arguments: dict[str, Any] = {"path": stage.fill(step.words[0])}
    if len(step.words) > 1:
        first, last = map(int, step.words[1].split("-"))
        arguments |= {"offset": first, "limit": last - first + 1}
    stage.act("read", arguments)


def _write(stage: Stage, step: Directive) -> None:
    stage.act("write", {"path": stage.fill(step.words[0]), "content": stage.fill(step.body) + "\n"})


def _edit(stage: Stage, step: Directive) -> None:
    old, new = re.split(
        r"^======\n?", stage.fill(step.body).removeprefix("<<<<<<\n").removesuffix("\n>>>>>>") + "\n", flags=re.MULTILINE
    )
    arguments = {"path": stage.fill(step.words[0]), "old": old.removesuffix("\n"), "new": new.removesuffix("\n")}
    stage.act("edit", arguments | ({"all": True} if "all" in step.words else {}))


def _grep(stage: Stage, step: Directive) -> None:
    arguments: dict[str, Any] = {"pattern": stage.fill(step.body)}
    arguments |= {k: stage.fill(step.settings[k]) for k in ("path", "glob") if k in step.settings}
    if "context" in step.settings:
        arguments["context"] = int(step.settings["context"])
    arguments |= {flag: True for flag in ("files_only", "ignore_case") if flag in step.words}
    stage.act("grep", arguments)


def _tests(stage: Stage, step: Directive) -> None:
    stage.act("run_tests", {"arguments": stage.fill(step.body)} if step.body else {})


def _sql(stage: Stage, step: Directive) -> None:
    stage.act("sql", {"database": stage.fill(step.words[0]), "query": stage.fill(step.body)})


def _docs(stage: Stage, step: Directive) -> None:
    limit = {"limit": int(step.settings["limit"])} if "limit" in step.settings else {}
    stage.act("search_documents", {"query": stage.fill(step.body)} | limit)


def _open(stage: Stage, step: Directive) -> None:
    stage.act("open_document", {"id": stage.fill(step.words[0])})


def _view(stage: Stage, step: Directive) -> None:
    stage.act("view_image", {"path": stage.fill(step.words[0])})


def _together(stage: Stage, _step: Directive) -> None:
    stage.gathering = []


def _end(stage: Stage, _step: Directive) -> None:
    requests, stage.gathering = stage.gathering, None
    if not requests:
        raise PlotError("end without together")
    stage.session.together(requests)


def _delegate(stage: Stage, step: Directive) -> None:
    """A sub-agent plays the scene named by ``scene`` in the same workspace and ends it with a reply."""
    parent = stage.session
    name = f"{parent.name}-a{len(parent.children) + 1}"
    clock = Clock(parent.clock.now, parent.clock.rng)
    child = Session(name=name, workspace=parent.workspace, clock=clock, rng=parent.rng, values=parent.values)
    tool = parent.delegate(" ".join(step.words), stage.fill(step.body), child)
    clock.now = parent.clock.now
    inner = Stage(stage.scenes, child, stage.system, played=stage.played)
    inner.play(step.settings["scene"])
    parent.clock.now = clock.now
    parent.join(tool, child, stage.system)


def _keep(stage: Stage, step: Directive) -> None:
    """Keep a group of the last output as a value: a playbook's way to react to what a tool printed."""
    match = re.search(stage.fill(step.body), stage.session.output, re.MULTILINE)
    if not match:
        raise PlotError(f"the last output does not match {step.body!r}; it begins {stage.session.output[:200]!r}")
    stage.session.values[step.words[0]] = match[1]


def _expect(stage: Stage, step: Directive) -> None:
    """What the last output must contain, so that the story and what really happened cannot part."""
    text = stage.fill(step.body)
    if text not in stage.session.output:
        raise PlotError(f"expected {text!r} in the last output, which begins {stage.session.output[:600]!r}")


def _fact(stage: Stage, step: Directive) -> None:
    """Body: lines ``key: text``; ``quote`` may come several times, lists are separated by `` | ``."""
    quotes: list[str] = []
    fields: dict[str, Any] = {}
    for line in filter(None, step.body.splitlines()):
        key, _, text = line.partition(": ")
        if key == "quote":
            quotes.append(stage.fill(text))
        elif key in ("ask", "again"):
            fields[key] = stage.fill(text)
        elif key in ("accept", "reject", "choices", "absent"):
            fields[key] = tuple(part.strip() for part in stage.fill(text).split(" | "))
        else:
            raise PlotError(f"no key {key!r} in a fact")
    prose = "prose" in step.words
    accept, choices = fields.get("accept", ()), fields.get("choices", ())
    if choices:
        fields["choices"] = tuple(stage.session.rng.sample(choices, len(choices)))
    grader = step.settings.get("grader") or infer_grader(accept, choices, prose=prose)
    stage.session.fact(quotes, key=step.words[0], type=step.words[1].replace("_", "-"), prose=prose, grader=grader, **fields)


_VERBS: dict[str, Callable[[Stage, Directive], None]] = {
    "user": _user,
    "think": lambda stage, step: stage.session.think(stage.fill(step.body)),
    "say": lambda stage, step: stage.session.say(stage.fill(step.body)),
    "reply": lambda stage, step: stage.session.reply(stage.fill(step.body)),
    "pause": lambda stage, step: stage.session.pause(milliseconds(step.words[0]) / MINUTE),
    "bash": _bash,
    "read": _read,
    "write": _write,
    "edit": _edit,
    "grep": _grep,
    "tests": _tests,
    "sql": _sql,
    "docs": _docs,
    "open": _open,
    "view": _view,
    "together": _together,
    "end": _end,
    "delegate": _delegate,
    "keep": _keep,
    "expect": _expect,
    "fact": _fact,
}

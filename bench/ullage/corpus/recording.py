"""From a playbook and a seed to a trace with its probes."""

from __future__ import annotations

import importlib
import pkgutil
import random
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from ullage.corpus import plot
from ullage.corpus.screenplay import Stage, data_file, filled, sections
from ullage.corpus.session import Clock, Session
from ullage.corpus.workspace import Workspace, temporary_workspace
from ullage.errors import UserError
from ullage.specs import nearest
from ullage.types import Probe, Trace, TraceMeta, canonical_json

EPOCH_MS = 1_772_440_200_000
"""2 March 2026, 08:30 UTC, a Monday: recordings begin on their playbook's day of one of eight weeks, so that weekdays can be counted on."""
WINDOW = 60_000
LICENCE = "CC-BY-4.0"
PACKAGE = "ullage.corpus.playbooks"


class Recording(NamedTuple):
    """A recorded trace with the probes of its plot."""

    trace: Trace
    probes: tuple[Probe, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Playbook:
    """Base of all playbooks: a module of ``playbooks/`` with one subclass and a screenplay of the module's name.

    ``prepare`` fills the workspace and draws the session's values; ``play`` tells the story. ``project`` is the name
    of the folder, ``offers`` the tools that the agent has. ``weekday`` is the day on which the story begins, 0 for
    Monday; ``week`` is set where its papers carry dates.
    """

    domain: ClassVar[str] = ""
    summary: ClassVar[str] = ""
    language: ClassVar[str] = "en"
    split: ClassVar[str] = "test"
    project: ClassVar[str] = "project"
    window: ClassVar[int] = WINDOW
    weekday: ClassVar[int] = 0
    week: ClassVar[int | None] = None
    offers: ClassVar[tuple[str, ...]] = ("bash", "read", "write", "edit", "grep")

    def prepare(self, workspace: Workspace, rng: random.Random) -> dict[str, str]:
        """Fill the workspace; the values that the screenplay may name."""
        raise NotImplementedError

    def play(self, stage: Stage) -> None:
        """Tell the story."""
        raise NotImplementedError


def names() -> tuple[str, ...]:
    """Names of all playbooks."""
    package = importlib.import_module(PACKAGE)
    return tuple(sorted(m.name for m in pkgutil.iter_modules(package.__path__) if not m.name.startswith("_")))


def checked(name: str) -> str:
    """The name of a playbook that there is; raises ``UserError`` with near names."""
    if name not in names():
        raise UserError(f"unknown playbook {name!r}; {nearest(name, list(names()))}")
    return name


def load(name: str) -> Playbook:
    """A playbook by name; raises ``UserError`` with near names."""
    module = importlib.import_module(f"{PACKAGE}.{checked(name)}")
    classes = [
        c for c in vars(module).values() if isinstance(c, type) and issubclass(c, Playbook) and c.__module__ == module.__name__
    ]
    if len(classes) != 1:
        raise UserError(f"playbook {name!r}: found {len(classes)} playbook classes; expected one")
    found: Playbook = classes[0]()
    return found


def record(name: str, seed: int) -> Recording:
    """Record one playbook with one seed; the same arguments give the same trace. Raises ``PlotError``."""
    playbook = load(name)
    scenes = sections(data_file(f"{name}.play"))
    rng = random.Random(f"{name}:{seed}")
    beats = random.Random(f"{name}:{seed}:clock")
    week = beats.randrange(8) if playbook.week is None else playbook.week
    clock = Clock(EPOCH_MS + (week * 7 + playbook.weekday) * 86_400_000 + beats.randrange(7_200_000), beats)
    with temporary_workspace(playbook.project) as workspace:
        values = playbook.prepare(workspace, rng)
        workspace.stamp(clock.now - 3 * 86_400_000)
        session = Session(name=f"{name}-{seed}", workspace=workspace, clock=clock, rng=rng, values=values)
        system = filled(scenes.pop("system"), values).strip()
        stage = Stage(scenes, session, system)
        playbook.play(stage)
    unplayed = set(scenes) - stage.played
    if unplayed:
        raise plot.PlotError(f"{name}: scenes never played: {', '.join(sorted(unplayed))}")
    again = plot.repeated_paragraphs(session.messages)
    if again:
        raise plot.PlotError(f"{name}: {len(again)} assistant paragraphs are said twice, for example {again[0]!r}")
    trace = session.trace(system=system, meta=_meta(playbook, name, seed), offered=playbook.offers)
    return Recording(trace, plot.probes_of(session.facts, trace.messages, trace.calls, playbook.language))


def _meta(playbook: Playbook, name: str, seed: int) -> TraceMeta:
    return TraceMeta(
        format="ullage_jsonl",
        source="longhaul",
        licence=LICENCE,
        model="claude-sonnet-4-5",
        client="ullage.corpus",
        cwd=f"/home/dev/{playbook.project}",
        language=playbook.language,
        window=playbook.window,
        split=playbook.split,
        group=name,
        extra=canonical_json({"playbook": name, "seed": seed, "domain": playbook.domain}),
    )

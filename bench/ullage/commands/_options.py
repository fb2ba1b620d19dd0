"""Options that several commands share, and what they turn into."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click
from msgspec import Struct

from ullage.apis import APIS
from ullage.commands._output import say
from ullage.errors import UserError
from ullage.options import DEFAULT_CHECKPOINTS, RunOptions


class Shares(click.ParamType):  # type: ignore[type-arg]  # generic in newer releases of click only
    """Comma-separated shares: ``0.4,0.7,1.0``."""

    name = "SHARES"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[float, ...]:
        """Parse the text."""
        if isinstance(value, tuple):
            return value
        try:
            return tuple(float(part) for part in str(value).split(","))
        except ValueError:
            self.fail(f"found {value!r}; expected shares like 0.4,0.7,1.0", param, ctx)


RUN_OPTIONS = (
    click.option("--strategy", "strategies", multiple=True, metavar="SPEC", help="A strategy or bound; may be given often."),
    click.option(
        "--traces",
        multiple=True,
        metavar="PATH",
        help="Files or folders of recordings, or a data set; default: the bundled ones.",
    ),
    click.option("--window", type=int, metavar="N", help="Tokens; default: the card's, else the model's input limit."),
    click.option("--model", default="", metavar="ID", help="Price and rules of this model; default: the recorded one."),
    click.option("--cache", default="", metavar="POLICY", help="Cache policy; default: the model's provider's."),
    click.option("--reader", default="lexical", metavar="SPEC", show_default=True, help="Who answers the probes."),
    click.option("--summarizer", default="extractive", metavar="SPEC", show_default=True, help="Who writes summaries."),
    click.option(
        "--decider", default="policy", metavar="SPEC", show_default=True, help="Who plays a model that calls context tools."
    ),
    click.option(
        "--mode",
        type=click.Choice(["deployed", "forced"]),
        default="deployed",
        show_default=True,
        help="Own triggers, or one budget.",
    ),
    click.option("--budget", type=int, metavar="B", help="Tokens that every strategy must shrink to in forced mode."),
    click.option("--swap", type=int, metavar="SEED", help="Replace probed identifiers by fresh values of the same shape."),
    click.option(
        "--restart-after",
        type=int,
        metavar="MINUTES",
        help="Behind longer pauses a new process restores the session; default: never.",
    ),
    click.option(
        "--open-book",
        type=int,
        default=0,
        metavar="N",
        help="A question that the context leaves open may open N stored entries, billed; default: closed book only.",
    ),
    click.option(
        "--api",
        type=click.Choice(APIS),
        help="Whose message rules the requests must obey; default: those of the client or of the cache's provider.",
    ),
    click.option("--checkpoints", type=Shares(), default=DEFAULT_CHECKPOINTS, metavar="SHARES", help="Default: 0.4,0.7,1.0."),
    click.option("--prices", default="", metavar="FILE", help="A price sheet that overrides the bundled one."),
    click.option("--draws", type=int, default=1, show_default=True, help="Answers drawn for each probe."),
    click.option(
        "--tier", type=click.Choice(["lexical", "paraphrase"]), default="lexical", show_default=True, help="Tier of probes."
    ),
    click.option("--seed", type=int, default=0, show_default=True, help="Seed of everything that is sampled."),
    click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="Set a parameter of every strategy that has it."),
    click.option("--jobs", type=click.IntRange(min=0), default=0, metavar="N", help="Processes; default: one a core."),
    click.option(
        "--executor", type=click.Choice(["local", "dask", "ray"]), default="local", show_default=True, help="Where they run."
    ),
    click.option("--out", type=click.Path(path_type=Path), metavar="DIR", help="Run folder; default: reports/<name>."),
    click.option("--resume", is_flag=True, help="Continue the run in --out; the same run continues without it too."),
)


def run_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of a run to a command."""
    for option in reversed(RUN_OPTIONS):
        function = option(function)
    return function


class Place(Struct, frozen=True, kw_only=True):
    """Where a run reads, works and writes; no part of what it finds."""

    traces: tuple[str, ...]
    jobs: int
    executor: str
    out: Path | None
    resume: bool


def split_options(given: dict[str, Any]) -> tuple[RunOptions, Place]:
    """Turn the command's options into what decides the records and where the work is done."""
    from ullage import registry

    strategies = tuple(canonical_strategy(text, given["settings"]) for text in given["strategies"])
    options = RunOptions(
        strategies=tuple(dict.fromkeys(strategies)),
        window=given["window"],
        model=given["model"],
        cache=registry.canonical("caches", given["cache"]) if given["cache"] else "",
        reader=plug_in("readers", given["reader"]),
        summarizer=plug_in("summarizers", given["summarizer"]),
        decider=plug_in("deciders", given["decider"]),
        mode=given["mode"],
        budget=given["budget"],
        swap=given["swap"],
        restart_after=given["restart_after"],
        open_book=given["open_book"],
        api=given["api"] or "",
        checkpoints=given["checkpoints"],
        prices=given["prices"],
        draws=given["draws"],
        tier=given["tier"],
        seed=given["seed"],
    ).check()
    place = Place(
        traces=tuple(given["traces"]),
        jobs=given["jobs"] or os.cpu_count() or 1,
        executor=given["executor"],
        out=given["out"],
        resume=given["resume"],
    )
    return options, place


def plug_in(kind: str, text: str) -> str:
    """The canonical spec of a reader, summariser or decider; a bare model id like ``openai/…`` means ``llm(model=…)``."""
    from ullage import registry

    if "/" in text and "(" not in text:
        text = f"llm(model={text!r})"
    return registry.canonical(kind, text)


def canonical_strategy(text: str, settings: Sequence[str]) -> str:
    """The one spelling of a strategy or bound, with ``--set`` applied to the parts that have the parameter."""
    from ullage import registry
    from ullage.bounds import BOUNDS, load_bound
    from ullage.specs import parse

    for setting in settings:
        text = _with_setting(text, setting)
    specs = parse(text)
    if any(spec.name in BOUNDS for spec in specs):
        if len(specs) > 1:
            raise UserError(f"strategy {text!r}: a bound cannot be composed; expected it alone")
        return load_bound(specs[0])[1]
    return registry.canonical("strategies", text)


def _with_setting(text: str, setting: str) -> str:
    from dataclasses import fields

    from ullage import registry
    from ullage.bounds import BOUNDS
    from ullage.specs import Spec, nearest, parse, parse_one

    key, _, value = setting.partition("=")
    ((_, literal),) = parse_one(f"x({key.strip()}={value})").arguments
    parts, known = [], set[str]()
    for spec in parse(text):
        cls = BOUNDS[spec.name] if spec.name in BOUNDS else registry.load_class("strategies", spec.name)
        names = {field.name for field in fields(cls)}
        known |= names
        kept = dict(spec.arguments) | ({key.strip(): literal} if key.strip() in names else {})
        parts.append(str(Spec(spec.name, tuple(kept.items()))))
    if key.strip() not in known:
        raise UserError(f"--set {setting}: {text} has no parameter {key.strip()!r}; {nearest(key.strip(), sorted(known))}")
    return " | ".join(parts)


def progress_line(done: int, of: int, name: str) -> None:
    """One line of progress a trace on standard error; on a terminal the lines overwrite each other."""
    text = f"[{done}/{of}] {name}"
    if sys.stderr.isatty():
        print(f"\r\x1b[K{text}", end="" if done < of else "\n", file=sys.stderr, flush=True)
    else:
        say(text)

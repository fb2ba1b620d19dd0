"""``ullage list``: what there is of a kind."""

from __future__ import annotations

from typing import Any

import click

from ullage.commands._output import say, show_json, show_table

KINDS = ("strategies", "formats", "caches", "readers", "summarizers", "deciders", "invariants", "metrics", "datasets")


@click.command("list", short_help="What there is of a kind.")
@click.argument("kind", type=click.Choice(KINDS))
@click.option("--json", "as_json", is_flag=True, help="A list of objects: name, spec, summary, parameters, declarations.")
def command(kind: str, *, as_json: bool) -> None:
    """List what there is of a kind, with its parameters."""
    entries = listing(kind)
    if as_json:
        show_json(entries)
        return
    rows = [(entry["name"], _parameters(entry), entry["summary"]) for entry in entries]
    show_table(("name", "parameters", "what it is"), rows, title=kind)
    for entry in entries:
        for point in entry.get("unsure", ()):
            say(f"{entry['name']}: not sure: {point}")


def listing(kind: str) -> list[dict[str, Any]]:
    """Entries of a kind, in the form that ``--json`` prints."""
    if kind == "metrics":
        from ullage.metrics import METRICS

        return [metric.entry() for metric in METRICS]
    if kind == "datasets":
        from ullage.data_sets import describe_datasets

        return describe_datasets()
    from ullage.registry import describe

    entries = describe(kind)
    if kind == "strategies":
        from ullage.bounds import BOUNDS
        from ullage.registry import describe_class

        entries += [describe_class(name, cls) | {"bound": True} for name, cls in BOUNDS.items()]
    return entries


def _parameters(entry: dict[str, Any]) -> str:
    return ", ".join(f"{p['name']}={'…' if p['required'] else repr(p['default'])}" for p in entry["parameters"])

"""Imports point downwards only, the core is pure, and strategies know the nouns and what strategies share, nothing else."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from contract_support import harness_modules, imports, strategy_modules, tree

FLOORS: dict[int, str] = {
    0: "messages types errors",
    1: """actions apis breaks cache caches calibration checking context converse intervals invariants lines options plain pricing
        proposals rendering seen specs step strategy swap terms tokens values""",
    2: """audit audit_laws auditing bounds deciders economics excerpts habits metering mining prepare probes readers recorded replay scoring
        scoring_self_test seventyseven spending summarizers""",
    3: """autopsy autopsy_json billing books breakdowns compare comparison_table examining exams forgetting gate gate_output lookups losses markdown measures
        metrics metrics_money open_book records report rescoring scored sensitivity sweep tables""",
    4: """__main__ banks cassette cli commands corpus data data_sets deciders.llm estimating formats live llm readers.llm registry resimulating
        runfolder
        runner session store summarizers.llm terminal traces worker""",
    5: "conformance doors histories testing testing_records testing_traces",
}
"""The floors of the house, by module or package: nouns, verbs, stages, out, shell; 5 stands beside and may use all.

The plug-ins that ask live models are named one by one: they belong to the shell, and nothing imports them by name.
"""
PURE = 2
"""The highest floor without I/O, clock or global randomness."""
EFFECTS = frozenset(
    (
        "asyncio",
        "datetime",
        "http",
        "logging",
        "os",
        "pathlib",
        "requests",
        "select",
        "shutil",
        "signal",
        "socket",
        "subprocess",
        "sys",
        "tempfile",
        "threading",
        "time",
        "urllib",
    )
)
READERS_OF_FILES = {
    "tokens": "finds the tokenizer files that ship inside litellm",
    "pricing": "reads the price sheet that ships inside litellm",
}
"""Modules of the core that read files which are part of an installed package: module and reason."""
STRATEGY_NOUNS = frozenset(("actions", "context", "converse", "errors", "specs", "strategy", "tokens", "types"))
"""What a strategy may import of the harness."""


def floor_of(module: str) -> int | None:
    """The floor of a module: its own, or that of the nearest package above it."""
    floors = {name: floor for floor, names in FLOORS.items() for name in names.split()}
    while module:
        if module in floors:
            return floors[module]
        module = module.rpartition(".")[0]
    return None


def ours(path: Path, *, lazy: bool = True) -> Iterator[tuple[int, str]]:
    """Line and name below ``ullage`` of each module of the harness that a file imports."""
    known = harness_modules()
    for line, name in imports(path, lazy=lazy):
        inner = name.removeprefix("ullage.")
        if name.startswith("ullage.") and inner in known:
            yield line, inner


def test_every_module_stands_on_a_floor() -> None:
    """A new module is put on one in ``FLOORS``, so that its imports are held to it."""
    assert [module for module in harness_modules() if module and floor_of(module) is None] == []


def test_the_table_names_no_module_that_is_gone() -> None:
    """So that the table stays the map."""
    known = harness_modules()
    assert [name for names in FLOORS.values() for name in names.split() if name not in known] == []


def test_imports_point_downwards() -> None:
    """Also those inside functions: a late import is still a dependency."""
    upward = [
        f"{module}:{line} imports {other}"
        for module, path in harness_modules().items()
        for line, other in ours(path)
        if (floor := floor_of(module)) is not None and (floor_of(other) or 0) > floor
    ]
    assert upward == []


def test_no_modules_import_each_other_in_a_circle() -> None:
    """At import time, on the same floor as well."""
    modules = harness_modules()
    graph = {module: {other for _, other in ours(path, lazy=False) if other != module} for module, path in modules.items()}
    parents = {module: {module.rpartition(".")[0]} - {""} for module in graph}
    done: set[str] = set()
    waiting = {module: {o for o in others if o not in parents[module]} for module, others in graph.items()}
    while ready := {module for module, others in waiting.items() if others <= done}:
        done |= ready
        waiting = {module: others for module, others in waiting.items() if module not in ready}
    assert sorted(waiting) == []


def core() -> list[tuple[str, Path]]:
    """The modules of the pure floors."""
    return [(m, path) for m, path in harness_modules().items() if m and (floor_of(m) or 0) <= PURE]


def test_the_core_has_no_effects() -> None:
    """Floors 0 to 2 open no file, read no clock, start no process and read no environment."""
    found = [
        f"{module}:{line} imports {name}"
        for module, path in core()
        for line, name in imports(path)
        if name.partition(".")[0] in EFFECTS and module not in READERS_OF_FILES
    ]
    opened = [
        f"{module}:{node.lineno} opens a file"
        for module, path in core()
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("open", "input", "exec", "eval")
    ]
    assert found + opened == []


def test_the_core_draws_from_seeded_generators_only() -> None:
    """``random.Random(seed)`` and nothing else of the module, in strategies as well."""
    found = [
        f"{path.name}:{node.lineno} random.{node.attr}"
        for path in [path for _, path in core()] + list(strategy_modules().values())
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == "random"
        and node.attr != "Random"
    ]
    assert found == []


def test_nothing_imports_a_strategy_by_name() -> None:
    """Strategies are found by listing; what they share may be imported from beside the house only."""
    found = []
    for module, path in harness_modules().items():
        for line, name in imports(path):
            shared = name in ("ullage.strategies", "ullage.strategies.shared") or name.startswith("ullage.strategies.shared.")
            if name.startswith("ullage.strategies") and not (shared and floor_of(module) == max(FLOORS)):
                found.append(f"{module}:{line} imports {name}")
    assert found == []


@pytest.mark.parametrize("name", [name for name in strategy_modules() if name])
def test_a_strategy_imports_nouns_and_what_strategies_share(name: str) -> None:
    """Never one another, nothing of the harness that could show it a trace, a probe or a price."""
    path = strategy_modules()[name]
    known = {f"ullage.{module}" for module in harness_modules()} | {
        f"ullage.strategies.{module}" for module in strategy_modules()
    }
    allowed = {f"ullage.{noun}" for noun in STRATEGY_NOUNS}
    found = [
        f"{line}: {other}"
        for line, other in imports(path)
        if other in known
        and other not in allowed
        and not other.startswith("ullage.strategies.shared")
        and other != "ullage.strategies"
    ]
    assert found == []

"""What the contract tests share: where the sources are, and what they import."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import ullage

HARNESS = Path(ullage.__file__).parent
STRATEGIES = (HARNESS / "strategies").resolve()


def checkout() -> Path:
    """The root of the checkout that these tests stand in; skips where they were copied elsewhere."""
    root = Path(__file__).resolve().parent.parent
    if not (root / "bench" / "ullage").is_dir():
        pytest.skip("the tests do not stand in a checkout")
    return root


@cache
def tree(path: Path) -> ast.Module:
    """The parsed source of a file."""
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def harness_modules() -> dict[str, Path]:
    """Every module of the harness by its name below ``ullage`` (packages by their own name), strategies left out."""
    found = {}
    for path in sorted(HARNESS.rglob("*.py")):
        parts = path.relative_to(HARNESS).with_suffix("").parts
        if parts[0] != "strategies" and not {"workspace", "__pycache__"} & set(parts):
            found[".".join(parts).removesuffix(".__init__").replace("__init__", "")] = path
    return found


def strategy_modules() -> dict[str, Path]:
    """Every module of the strategies by its name below ``ullage.strategies``."""
    found = {}
    for path in sorted(STRATEGIES.rglob("*.py")):
        parts = path.relative_to(STRATEGIES).with_suffix("").parts
        found[".".join(parts).removesuffix(".__init__").replace("__init__", "")] = path
    return found


def imports(path: Path, *, lazy: bool = True) -> Iterator[tuple[int, str]]:
    """Line and full name of each import; ``lazy``: also those inside functions. ``from a import b`` gives ``a.b`` and ``a``."""
    for node in _nodes(tree(path), lazy=lazy):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.lineno, node.module
            for alias in node.names:
                yield node.lineno, f"{node.module}.{alias.name}"


def _nodes(root: ast.AST, *, lazy: bool) -> Iterator[ast.AST]:
    for node in ast.iter_child_nodes(root):
        yield node
        if lazy or not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield from _nodes(node, lazy=lazy)

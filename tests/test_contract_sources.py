"""The house style as far as a machine can hold it, over every source of the project."""

from __future__ import annotations

import ast
import re
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from contract_support import checkout, tree

LONGEST_FUNCTION = 60
"""Lines, with signature and docstring; most are below 20."""
LONGEST_FILE = {"bench": 450, "strategies": 450, "tests": 500}
"""Lines, by folder: tests are flat lists of cases."""
LONG_FILES: dict[str, str] = {}
"""Files that may be longer: path and reason."""
MACHINE = re.compile("|".join(("/" + "work/", "/" + "root/", "py" + "pi[.]org", "python" + "hosted")))
"""Places of the machine that a file was written on, and hosts of package registries."""
SCRATCH = re.compile(r"(?<![\w.])/" + "tmp/")
"""A place that code of ours asks the system for; in a recorded or played session it is what an agent typed."""
SESSIONS = ("bench/ullage/corpus/playbooks/", "bench/ullage/data/", "datasets/")

pytestmark = pytest.mark.checkout


def sources(*folders: str) -> Iterator[tuple[str, Path]]:
    """Name and path of every Python source below these folders that version control knows, each once."""
    for name in tracked():
        if name.endswith(".py") and name.startswith(tuple(f"{folder}/" for folder in folders)):
            yield name, checkout() / name


def tracked() -> list[str]:
    """Names of the files of the checkout that are not ignored, links left out."""
    listed = ["git", "-C", str(checkout()), "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    done = subprocess.run(listed, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip("the checkout is not under version control")
    paths = [name for name in done.stdout.split("\0") if name and (checkout() / name).is_file()]
    return [name for name in paths if not (checkout() / name).is_symlink()]


def test_no_function_is_longer_than_a_screen() -> None:
    """Sixty lines are the most that can be read at once."""
    long = [
        f"{name}:{node.lineno} {node.name} has {lines} lines"
        for name, path in sources("bench", "strategies", "tests")
        for node in ast.walk(tree(path))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        and (lines := (node.end_lineno or node.lineno) - node.lineno + 1) > LONGEST_FUNCTION
    ]
    assert long == []


def test_no_file_is_long() -> None:
    """A longer one has more than one reason to exist, unless ``LONG_FILES`` says why not."""
    lengths = {name: len(path.read_text(encoding="utf-8").splitlines()) for name, path in sources(*LONGEST_FILE)}
    long = {name: lines for name, lines in lengths.items() if lines > LONGEST_FILE[name.partition("/")[0]]}
    assert sorted(long) == sorted(LONG_FILES), long


def test_input_is_never_checked_with_assert() -> None:
    """``assert`` is for tests: it vanishes under ``-O``."""
    found = [
        f"{name}:{node.lineno}"
        for name, path in sources("bench", "strategies")
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Assert)
    ]
    assert found == []


def test_no_exception_is_caught_without_naming_it() -> None:
    """A bare ``except`` swallows the interrupt of a person as well; ``BaseException`` only behind one that raises it again."""
    found = [
        f"{name}:{handler.lineno}"
        for name, path in sources("bench", "strategies", "tests")
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Try)
        for place, handler in enumerate(node.handlers)
        if handler.type is None or (_names(handler.type, "BaseException") and not any(map(_passes_on, node.handlers[:place])))
    ]
    assert found == []


def _names(kind: ast.expr | None, name: str) -> bool:
    kinds = kind.elts if isinstance(kind, ast.Tuple) else [kind]
    return any(isinstance(one, ast.Name) and one.id == name for one in kinds)


def _passes_on(handler: ast.ExceptHandler) -> bool:
    """Whether a handler does nothing but raise a person's interrupt again."""
    (only, *more) = handler.body
    return _names(handler.type, "KeyboardInterrupt") and not more and isinstance(only, ast.Raise) and only.exc is None


def test_the_folder_datasets_is_no_package() -> None:
    """With an ``__init__.py`` it would shadow the library of that name."""
    root = checkout()
    assert not list((root / "datasets").rglob("__init__.py"))
    assert (root / "datasets").is_dir()


def test_no_file_names_the_machine_that_it_was_written_on() -> None:
    """Paths of one machine and hosts of registries do not belong in a project that runs elsewhere."""
    found = []
    for name in tracked():
        try:
            text = (checkout() / name).read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        for n, line in enumerate(text.splitlines(), 1):
            if MACHINE.search(line) or (SCRATCH.search(line) and not name.startswith(SESSIONS)):
                found.append(f"{name}:{n}")
    assert found == []


def test_every_noqa_and_type_ignore_carries_its_reason() -> None:
    """A rule that is switched off without a word is a rule that nobody keeps."""
    silenced = re.compile(r"#\s*(?:noqa: [A-Z0-9, ]+|type: ignore\[[a-z, -]+\])(?P<reason>.*)$")
    bare = re.compile(r"#\s*(?:noqa(?!:)|type: ignore(?!\[))")
    found = []
    for name, path in sources("bench", "strategies", "tests"):
        for n, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            match = silenced.search(line)
            if bare.search(line) or (match and len(match["reason"].strip(" -#")) < 5):
                found.append(f"{name}:{n}")
    assert [place for place in found if not place.startswith("tests/test_contract_sources.py")] == []


def test_every_test_states_something_and_says_what() -> None:
    """A test without a statement cannot fail; one without a sentence cannot be read."""
    silent, wordless = [], []
    for name, path in sources("tests"):
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                if not any(isinstance(inner, ast.Assert) or _expects(inner) for inner in ast.walk(node)):
                    silent.append(f"{name}:{node.lineno} {node.name}")
                if not ast.get_docstring(node) and len(node.name.split("_")) < 5:
                    wordless.append(f"{name}:{node.lineno} {node.name}")
    assert (silent, wordless) == ([], [])


def _expects(node: ast.AST) -> bool:
    """A ``with pytest.raises(…)`` or ``pytest.warns(…)``."""
    call = node.func if isinstance(node, ast.Call) else None
    return isinstance(call, ast.Attribute) and call.attr in ("raises", "warns", "fail")


def test_the_wheel_carries_every_package() -> None:
    """A folder of sources that is not listed would be missing from an installed Ullage."""
    settings = tomllib.loads((checkout() / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]
    tracked_folders = {Path(name).parent for name, _ in sources("bench", "strategies")}
    named = {"ullage." + ".".join(folder.parts) for folder in tracked_folders if folder.parts[0] == "strategies"}
    named |= {".".join(folder.parts[1:]) for folder in tracked_folders if folder.parts[0] == "bench"}
    assert named <= set(settings["packages"])

"""A strategy file that cannot be used is said so in one line, and never ends the process its own way."""

from __future__ import annotations

from pathlib import Path

import pytest

from ullage import registry
from ullage.errors import SpecError

HEAD = """
from dataclasses import dataclass
from ullage.strategy import UNCHANGED, Strategy
"""


@pytest.mark.parametrize(
    ("source", "where", "what"),
    [
        ("x = 1\ny = (", ":2", "SyntaxError"),
        ("x = 1\n\nimport no_such_module_at_all", ":3", "ModuleNotFoundError"),
        ("raise SystemExit(0)", ":1", "SystemExit (0)"),
        ("def f():\n    raise ValueError('odd\\nlines')\nf()", ":2", "ValueError (odd lines)"),
    ],
)
def test_a_file_that_does_not_load_is_named_with_its_line(tmp_path: Path, source: str, where: str, what: str) -> None:
    """One line with file, line and error, also where the file asks the process to end."""
    path = tmp_path / "mine.py"
    path.write_text(source, encoding="utf-8")
    with pytest.raises(SpecError) as caught:
        registry.load_strategies(f"{path}:Mine")
    text = str(caught.value)
    assert text.startswith(f"{path}{where}: found {what}")
    assert "\n" not in text


@pytest.mark.parametrize(
    ("body", "what"),
    [
        ("class Mine(Strategy):\n    summary = 'plain'", "found a plain class; expected one under @dataclass"),
        ("@dataclass(frozen=True)\nclass Mine(Strategy):\n    moments = 5", "found moments = 5; expected a frozenset of Moment"),
        ("@dataclass(frozen=True)\nclass Mine(Strategy):\n    moments = frozenset({'now'})", "expected a frozenset of Moment"),
    ],
)
def test_a_class_that_is_no_strategy_is_refused(tmp_path: Path, body: str, what: str) -> None:
    """Not a dataclass, or asked at moments that do not exist: found before anything runs."""
    path = tmp_path / "mine.py"
    path.write_text(HEAD + body, encoding="utf-8")
    with pytest.raises(SpecError) as caught:
        registry.load_strategies(f"{path}:Mine")
    assert what in str(caught.value)

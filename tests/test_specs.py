"""The spec language: one text for everything with parameters, and one clear line for every mistake."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage import registry
from ullage.errors import SpecError
from ullage.specs import Spec, build, parse, parse_one, spec_of

NAMES = st.from_regex(r"[a-z_][a-z0-9_]{0,8}", fullmatch=True)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8)
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3).map(tuple), max_leaves=5)
SPECS = st.builds(Spec, NAMES, st.lists(st.tuples(NAMES, VALUES), max_size=4, unique_by=lambda pair: pair[0]).map(tuple))


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """Parameters of every kind."""

    count: int = 3
    share: float = 0.5
    name: str = "a"
    limit: int | None = None
    flag: bool = False

    def __post_init__(self) -> None:
        if not 0 < self.share <= 1:
            raise ValueError(f"found share={self.share}; expected a share above 0 and up to 1")


@given(SPECS)
def test_parse_after_print_is_the_identity(spec: Spec) -> None:
    """What is printed parses back to the same value."""
    import keyword

    if any(keyword.iskeyword(key) for key, _ in spec.arguments):
        return
    assert parse_one(str(spec)) == spec


@given(st.lists(NAMES, min_size=1, max_size=4))
def test_compositions_keep_their_order(names: list[str]) -> None:
    """``a | b`` gives a before b."""
    assert [spec.name for spec in parse(" | ".join(names))] == names


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", "found 'nothing'"),
        ("auto(", "expected (key=value, …)"),
        ("auto(0.7)", "keyword arguments only"),
        ("auto(a=1, a=2)", "given twice"),
        ("auto(a=b)", "expected a number, a text in quotes"),
        ("auto(a=__import__('os'))", "expected a number, a text in quotes"),
        ("auto(a=true)", "found a=true; expected True"),
        ("auto(a=null)", "found a=null; expected None"),
        ("auto(a={1: 2})", "holds a dict"),
        ("auto(a=1e999)", "not a finite number"),
        ("a | ", "found 'nothing'"),
        ("auto)(", "expected (key=value, …)"),
    ],
)
def test_a_text_that_does_not_parse_says_where(text: str, line: str) -> None:
    """One line, with what was found."""
    with pytest.raises(SpecError) as caught:
        parse(text)
    assert line in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("sample(cuont=2)", "unknown parameter 'cuont'; nearest: count"),
        ("sample(count=2.5)", "found count=2.5; expected int"),
        ("sample(count=True)", "found count=True; expected int"),
        ("sample(share=7)", "expected a share above 0 and up to 1"),
        ("sample(limit='x')", "expected int or None"),
    ],
)
def test_a_wrong_parameter_says_what_was_expected(text: str, line: str) -> None:
    """Unknown names come with near matches, wrong types with the right ones, refused values with the class's own words."""
    with pytest.raises(SpecError) as caught:
        build(Sample, parse_one(text))
    assert line in str(caught.value)


@given(
    st.builds(Sample, count=st.integers(), share=st.floats(0.01, 1), name=st.text(max_size=5), limit=st.none() | st.integers())
)
def test_an_object_and_its_spelling_are_the_same(sample: Sample) -> None:
    """Building the canonical spec of an object gives an equal object."""
    assert build(Sample, parse_one(str(spec_of(sample, "sample")))) == sample


def test_defaults_are_left_out_and_whole_numbers_serve_as_floats() -> None:
    """Two spellings of one value have one canonical text."""
    assert str(spec_of(build(Sample, parse_one("sample(share=1, count=3)")), "sample")) == "sample(share=1.0)"


def test_an_unknown_strategy_names_near_matches_and_the_folder() -> None:
    """The line says what exists and where it was looked for."""
    with pytest.raises(SpecError, match=r"unknown strategy 'sliding_windw'; nearest: sliding_window.*searched .*strategies"):
        registry.load_class("strategies", "sliding_windw")


def test_a_class_in_a_file_is_a_strategy(tmp_path: Path) -> None:
    """``file.py:Class(...)`` loads, prints, and parses back."""
    path = tmp_path / "mine.py"
    path.write_text(
        "from dataclasses import dataclass\n"
        "from ullage.strategy import Strategy\n"
        "@dataclass(frozen=True, slots=True, kw_only=True)\n"
        "class Mine(Strategy):\n"
        "    keep: int = 5\n"
    )
    (mine,) = registry.load_strategies(f"{path}:Mine(keep=7)")
    assert mine.keep == 7  # type: ignore[attr-defined]  # the class above
    assert registry.canonical("strategies", f"{path}:Mine(keep=5)") == f"{path}:Mine"
    with pytest.raises(SpecError, match="no strategy class 'Mien'; nearest: Mine"):
        registry.load_strategies(f"{path}:Mien")
    with pytest.raises(SpecError, match="no such file"):
        registry.load_strategies(f"{tmp_path}/none.py:Mine")

"""The spec language: one canonical text for everything that has parameters.

``auto(threshold=0.7)``, ``a(keep=5) | b``, ``path/to/mine.py:Mine(keep=5)``. Arguments are Python literals and keyword
only. ``parse`` gives ``Spec`` values; ``print(parse(text))`` parses back to the same value.
"""

from __future__ import annotations

import ast
import math
import re
import types
import typing
from dataclasses import MISSING, fields
from difflib import get_close_matches
from typing import Any, NamedTuple, TypeVar, get_args, get_origin, get_type_hints

from ullage.errors import SpecError

T = TypeVar("T")
_TARGET = re.compile(r"(?:[^():|\n]+\.py:[A-Za-z_][A-Za-z0-9_]*)|(?:[A-Za-z_][A-Za-z0-9_.\-]*(?:/[A-Za-z0-9_.\-:]+)*)")


class Spec(NamedTuple):
    """A name with keyword arguments in the order given; ``str`` is its text."""

    name: str
    arguments: tuple[tuple[str, Any], ...] = ()

    def __str__(self) -> str:
        if not self.arguments:
            return self.name
        return f"{self.name}({', '.join(f'{key}={spell(value)}' for key, value in self.arguments)})"


def spell(value: Any) -> str:
    """Write a parameter value so that it parses back: floats at full precision, strings in single quotes where possible."""
    if isinstance(value, tuple):
        inner = ", ".join(spell(item) for item in value)
        return f"({inner},)" if len(value) == 1 else f"({inner})"
    return repr(value)


def parse(text: str) -> tuple[Spec, ...]:
    """Parse a composition ``a | b(x=1)`` into its parts; raises ``SpecError`` with the place that is wrong."""
    parts = [_parse_one(part.strip(), text) for part in _split(text, "|")]
    return tuple(parts)


def parse_one(text: str) -> Spec:
    """Parse a spec that must not be a composition."""
    specs = parse(text)
    if len(specs) != 1:
        raise SpecError(f"spec {text!r}: found a composition; expected one name with arguments")
    return specs[0]


def _split(text: str, separator: str) -> list[str]:
    """Split at separators that stand outside brackets and quotes."""
    parts, depth, quote, start = [], 0, "", 0
    for i, char in enumerate(text):
        if quote:
            quote = "" if char == quote and text[i - 1] != "\\" else quote
        elif char in "'\"":
            quote = char
        elif char in "([{":
            depth += 1
        elif char in ")]}":
            depth -= 1
        elif char == separator and depth == 0:
            parts.append(text[start:i])
            start = i + 1
    return [*parts, text[start:]]


def _parse_one(part: str, whole: str) -> Spec:
    match = _TARGET.match(part)
    if not match:
        raise SpecError(f"spec {whole!r}: found {part or 'nothing'!r}; expected NAME or NAME(key=value, …)")
    name, rest = match.group(0).strip(), part[match.end() :].strip()
    if not rest:
        return Spec(name)
    if not (rest.startswith("(") and rest.endswith(")")):
        raise SpecError(f"spec {whole!r}: found {rest!r} after {name!r}; expected (key=value, …)")
    return Spec(name, _arguments(rest, whole))


def _arguments(rest: str, whole: str) -> tuple[tuple[str, Any], ...]:
    try:
        call = ast.parse(f"f{rest}", mode="eval").body
    except (SyntaxError, ValueError) as error:
        raise SpecError(f"spec {whole!r}: found {rest!r}; expected (key=value, …)") from error
    if not isinstance(call, ast.Call) or call.args or any(k.arg is None for k in call.keywords):
        raise SpecError(f"spec {whole!r}: found {rest!r}; expected keyword arguments only")
    seen: dict[str, Any] = {}
    for keyword in call.keywords:
        key = str(keyword.arg)
        if key in seen:
            raise SpecError(f"spec {whole!r}: parameter {key!r} is given twice")
        seen[key] = _literal(keyword.value, key, whole)
    return tuple(seen.items())


_SPELLED = {"true": "True", "false": "False", "null": "None", "none": "None"}
"""How values are written here that other languages spell in another way."""


def _literal(node: ast.expr, key: str, whole: str) -> Any:
    try:
        value = ast.literal_eval(node)
    except (ValueError, TypeError, MemoryError, RecursionError) as error:
        found = ast.unparse(node)
        meant = _SPELLED.get(found.lower(), f"a number, a text in quotes, True, False, None or a tuple; is {found!r} a text?")
        raise SpecError(f"spec {whole!r}: found {key}={found}; expected {meant}") from error
    return _frozen(value, key, whole)


def _frozen(value: Any, key: str, whole: str) -> Any:
    if isinstance(value, (list, tuple)):
        return tuple(_frozen(item, key, whole) for item in value)
    if value is None or isinstance(value, (bool, int, float, str)):
        if isinstance(value, float) and not math.isfinite(value):
            raise SpecError(f"spec {whole!r}: {key}={value} is not a finite number")
        return value
    raise SpecError(f"spec {whole!r}: {key} holds a {type(value).__name__}; expected a number, text, tuple or None")


def nearest(name: str, known: list[str]) -> str:
    """The clause of an error line that names near matches and what exists."""
    close = get_close_matches(name, known, n=3, cutoff=0.5)
    return f"nearest: {', '.join(close)}" if close else f"known: {', '.join(sorted(known)) or 'none'}"


def build(cls: type[T], spec: Spec) -> T:
    """Make the object that a spec names: ``cls`` is a frozen dataclass, its fields are the parameters.

    Raises ``SpecError`` for an unknown parameter, a value of the wrong type, and what the class itself refuses.
    """
    known = {f.name: f for f in fields(cls)}  # type: ignore[arg-type]  # every plug-in is a dataclass by contract
    hints = get_type_hints(cls)
    values: dict[str, Any] = {}
    for key, value in spec.arguments:
        if key not in known:
            raise SpecError(f"{spec.name}: unknown parameter {key!r}; {nearest(key, list(known))}")
        values[key] = _typed(spec.name, key, value, hints[key])
    missing = [f.name for f in known.values() if f.default is MISSING and f.default_factory is MISSING and f.name not in values]
    if missing:
        raise SpecError(f"{spec.name}: parameter {missing[0]!r} is required")
    try:
        return cls(**values)
    except ValueError as error:
        raise SpecError(f"{spec.name}: {error}") from error


def _typed(name: str, key: str, value: Any, hint: Any) -> Any:
    for kind in _alternatives(hint):
        if kind is float and type(value) is int:
            return float(value)
        if _matches(value, kind):
            return value
    wanted = " or ".join(getattr(kind, "__name__", str(kind)) for kind in _alternatives(hint))
    raise SpecError(f"{name}: found {key}={spell(value)}; expected {wanted}")


def _alternatives(hint: Any) -> list[Any]:
    if get_origin(hint) in (types.UnionType, typing.Union):
        return [kind for part in get_args(hint) for kind in _alternatives(part)]
    return [hint]


def _matches(value: Any, kind: Any) -> bool:
    if get_origin(kind) is typing.Literal:
        return value in get_args(kind)
    if get_origin(kind) is tuple:
        return isinstance(value, tuple)
    if kind is int:
        return type(value) is int
    if kind is None or kind is type(None):
        return value is None
    return isinstance(kind, type) and isinstance(value, kind)


def spec_of(obj: Any, name: str) -> Spec:
    """The canonical spec of a plug-in object: parameters that differ from their defaults, in field order."""
    given = []
    for field in fields(obj):
        default = field.default_factory() if field.default_factory is not MISSING else field.default
        value = getattr(obj, field.name)
        if value != default or type(value) is not type(default):
            given.append((field.name, value))
    return Spec(name, tuple(given))

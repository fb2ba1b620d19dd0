"""Finds and loads everything that has a spec: by listing folders, by file and by entry point. Nothing registers itself.

A plug-in of a kind is a module in the kind's package whose name does not start with an underscore; it defines exactly
one public class that derives from the kind's base. The module's name is the plug-in's name. Listing reads the folder
and imports nothing.
"""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
import sys
import traceback
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import Any

from ullage.errors import SpecError, said_by
from ullage.specs import build, nearest, parse, parse_one, spec_of
from ullage.strategy import Strategy
from ullage.types import Moment

BASES = {
    "strategies": "ullage.strategy:Strategy",
    "caches": "ullage.cache:CachePolicy",
    "formats": "ullage.formats:Format",
    "readers": "ullage.readers:Reader",
    "summarizers": "ullage.summarizers:SummarizerPlugin",
    "deciders": "ullage.deciders:DeciderPlugin",
    "invariants": "ullage.invariants:Invariant",
}
ENTRY_POINTS = "ullage.strategies"


@cache
def names(kind: str) -> tuple[str, ...]:
    """Names of all plug-ins of a kind, sorted; entry points only for strategies."""
    found = {m.name for m in pkgutil.iter_modules(folder_of(kind)) if not m.ispkg and not m.name.startswith("_")}
    if kind == "strategies":
        found |= set(_entry_points())
    return tuple(sorted(found))


def folder_of(kind: str) -> list[str]:
    """The folders that hold the plug-ins of a kind."""
    package = importlib.util.find_spec(f"ullage.{kind}")
    if package is None or package.submodule_search_locations is None:
        raise SpecError(f"the package ullage.{kind} is not installed")
    return list(package.submodule_search_locations)


def load_class(kind: str, name: str) -> type[Any]:
    """The class behind a name; raises ``SpecError`` with near matches and the folder searched."""
    if kind == "strategies" and ".py:" in name:
        return _from_file(name)
    if name not in names(kind):
        raise SpecError(f"unknown {_singular(kind)} {name!r}; {nearest(name, list(names(kind)))}; searched {folder_of(kind)[0]}")
    points = _entry_points() if kind == "strategies" else {}
    if name in points:
        return _checked(points[name].load(), kind, name)
    return _only_class(importlib.import_module(f"ullage.{kind}.{name}"), kind, name)


def load(kind: str, text: str) -> Any:
    """Make the plug-in that a spec text names."""
    spec = parse_one(text)
    return build(load_class(kind, spec.name), spec)


def load_strategies(text: str) -> tuple[Strategy, ...]:
    """Make the strategies of a composition ``a | b``, in order."""
    return tuple(build(load_class("strategies", spec.name), spec) for spec in parse(text))


def canonical(kind: str, text: str) -> str:
    """The one spelling of a spec text: names as given, parameters in field order, defaults left out."""
    parts = [spec_of(build(load_class(kind, spec.name), spec), spec.name) for spec in parse(text)]
    return " | ".join(str(part) for part in parts)


def describe(kind: str) -> list[dict[str, Any]]:
    """One entry a plug-in: name, spec, summary, parameters with defaults, and what the class declares."""
    return [describe_class(name, load_class(kind, name)) for name in names(kind)]


def describe_class(name: str, cls: type[Any]) -> dict[str, Any]:
    """The entry of one plug-in class."""
    parameters = [
        {"name": f.name, "type": str(f.type), "default": None if f.default is MISSING else f.default, "required": _required(f)}
        for f in fields(cls)
    ]
    return {"name": name, "spec": name, "summary": _summary(cls), "parameters": parameters} | _declared(cls)


def _required(parameter: Field[Any]) -> bool:
    return parameter.default is MISSING and parameter.default_factory is MISSING


def source_of(kind: str, name: str) -> Path:
    """The file that defines a plug-in."""
    module = sys.modules[load_class(kind, name).__module__]
    return Path(str(module.__file__))


def _declared(cls: type[Any]) -> dict[str, Any]:
    keys = getattr(cls, "declares", ())
    return {key: _plain(getattr(cls, key)) for key in keys}


def _plain(value: Any) -> Any:
    if isinstance(value, (frozenset, set)):
        return sorted(str(item) for item in value)
    return list(value) if isinstance(value, tuple) else value


def _summary(cls: type[Any]) -> str:
    text = getattr(cls, "summary", "") or (cls.__doc__ or "").strip().split("\n")[0]
    return str(text)


def _singular(kind: str) -> str:
    return {"strategies": "strategy", "caches": "cache policy"}.get(kind, kind.removesuffix("s"))


def _base(kind: str) -> type[Any]:
    module, _, attribute = BASES[kind].partition(":")
    base: type[Any] = getattr(importlib.import_module(module), attribute)
    return base


def _only_class(module: Any, kind: str, name: str) -> type[Any]:
    base = _base(kind)
    found = [
        value
        for key, value in vars(module).items()
        if isinstance(value, type) and issubclass(value, base) and value.__module__ == module.__name__ and not key.startswith("_")
    ]
    if len(found) != 1:
        raise SpecError(
            f"{module.__file__}: found {len(found)} public {base.__name__} classes; expected exactly one for {name!r}"
        )
    return found[0]


def _checked(cls: Any, kind: str, name: str) -> type[Any]:
    if not (isinstance(cls, type) and issubclass(cls, _base(kind))):
        raise SpecError(f"{name}: found {cls!r}; expected a class that derives from {BASES[kind]}")
    if not is_dataclass(cls):
        raise SpecError(f"{name}: found a plain class; expected one under @dataclass(frozen=True, slots=True, kw_only=True)")
    moments: Any = getattr(cls, "moments", frozenset())
    if not (isinstance(moments, (frozenset, set)) and all(isinstance(moment, Moment) for moment in moments)):
        raise SpecError(f"{name}: found moments = {moments!r}; expected a frozenset of Moment")
    return cls


@cache
def _entry_points() -> dict[str, Any]:
    from importlib.metadata import entry_points  # noqa: PLC0415 - reads every installed package's metadata

    return {point.name: point for point in entry_points(group=ENTRY_POINTS)}


def _from_file(target: str) -> type[Any]:
    path_text, _, attribute = target.rpartition(":")
    path = Path(path_text)
    if not path.is_file():
        raise SpecError(f"{path_text}: no such file; expected FILE.py:Class")
    name = f"ullage_user_{path.stem}_{abs(hash(str(path.resolve())))}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise SpecError(f"{path_text}: found a file that Python cannot load; expected FILE.py:Class")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        del sys.modules[name]
        raise SpecError(_why_not_loaded(path, error)) from error
    classes = [key for key, value in vars(module).items() if isinstance(value, type) and issubclass(value, Strategy)]
    if attribute not in classes:
        raise SpecError(
            f"{path_text}: no strategy class {attribute!r}; {nearest(attribute, [c for c in classes if c != 'Strategy'])}"
        )
    return _checked(getattr(module, attribute), "strategies", target)


def _why_not_loaded(path: Path, error: BaseException) -> str:
    """One line about what a strategy file raised while it was loaded, with the last of its own lines that ran."""
    own = [at.lineno for at in traceback.extract_tb(error.__traceback__) if at.filename == str(path)]
    line = error.lineno if isinstance(error, SyntaxError) and error.filename == str(path) else own[-1] if own else None
    where = str(path) if line is None else f"{path}:{line}"
    return f"{where}: found {type(error).__name__} ({said_by(error)}) while loading; expected a file that Python can load"

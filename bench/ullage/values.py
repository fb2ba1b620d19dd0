"""Typed values in text: what kind of answer a string is, and where values of a kind stand in a line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from ullage.terms import fold

_EXTENSIONS = (
    "py|pyi|ipynb|go|rs|js|jsx|ts|tsx|mjs|cjs|java|kt|kts|scala|c|cc|cpp|cxx|h|hpp|cs|rb|php|swift|m|mm|sh|bash|zsh|fish|ps1|sql|"
    "html|htm|css|scss|less|vue|svelte|md|mdx|rst|txt|log|json|jsonl|json5|yaml|yml|toml|ini|cfg|conf|env|xml|csv|tsv|parquet|lock|"
    "mod|sum|proto|graphql|tf|gradle|properties|dockerfile|makefile|mk|cmake|diff|patch|db|sqlite|gz|zip|tar|pem|key|crt|png|svg|"
    "jpg|jpeg|gif|pdf|docx|xlsx|lua|r|jl|ex|exs|erl|hs|ml|clj|dart|zig|nim|pl|pm|tex|bib|service|plist"
)
UNITS = (
    "ms|µs|us|ns|s|sec|secs|seconds?|m|mins?|minutes?|h|hours?|days?|weeks?|months?|years?|%|percent|bytes?|[kmgt]i?b|[kmgt]|"
    "tokens?|lines?|files?|px|rem|em|hz|khz|mhz|ghz|x|usd|eur|cny|rmb|dollars?|毫秒|秒钟?|分钟|小时|天|周|个月|年|元|美元|块|万|亿|"
    "人|个|次|条|行|份|位|家|台|倍|岁|公里|米|[万亿]"
)
_NUMBER = r"(?<![A-Za-z0-9_.#/-])[-+]?[$€¥£]?\d+(?:[,_]\d{3})*(?:\.\d+)?(?:[eE][-+]?\d+)?"

PATTERNS: dict[str, re.Pattern[str]] = {
    "url": re.compile(
        r"\b(?:https?|ssh|git|ftp|s3|gs|postgres(?:ql)?|redis|mysql|mongodb)://[^\s<>\"'`)\]}，。）]+[^\s<>\"'`)\]}.,;:，。）]"
    ),
    "path": re.compile(
        r"(?:(?<=[\s\"'`“「（(\uff1a:\u3001])|^)(?=[^\s\"'`，。]*[\u4e00-\u9fff])(?:[A-Za-z0-9_\u4e00-\u9fff.~@+-]*/)*[A-Za-z0-9_\u4e00-\u9fff@+-]"
        rf"[A-Za-z0-9_\u4e00-\u9fff.@+-]*\.(?:{_EXTENSIONS})(?![A-Za-z0-9_/-])|"
        rf"(?<![\w./@-])(?:(?:~|\.{{1,2}})?/)?(?:[\w.@+-]+/)*[\w@+-][\w.@+-]*\.(?:{_EXTENSIONS})(?![\w/-]|\.\w)"
        r"|(?<![\w.@:/-])(?:~|\.{1,2})?/(?:[\w.@+-]+/)+[\w.@+-]*[\w@+-]"
        r"|(?<![\w./@-])(?:[\w.@+-]+/){2,}[\w.@+-]*[\w@+-](?![\w/])"
        r"|(?<![\w./-])(?:Dockerfile|Makefile|README|LICENSE|Jenkinsfile|Procfile|CMakeLists)(?![\w-])",
        re.IGNORECASE | re.ASCII,
    ),
    "sha": re.compile(r"(?<![\w-])(?=[0-9a-f]*[0-9])(?=[0-9a-f]*[a-f])[0-9a-f]{7,64}(?![\w-])", re.ASCII),
    "version": re.compile(
        r"(?<![\w.])v?\d+\.\d+(?:\.\d+)+(?:[-+][\w.-]*\w)?(?![\w])|(?<![\w.])v\d+(?:\.\d+)*(?![\w.]*\w)", re.ASCII
    ),
    "date": re.compile(
        r"(?<!\d)\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?(?!\d)|(?<![\d:])\d{1,2}:\d{2}(?::\d{2})?(?![\d:])"
        r"|\b(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day(?: (?:morning|noon|afternoon|evening|night|\d{1,2}:\d{2}))?\b"
        r"|\b(?:mid|early|late|the end of|end of)[- ](?:January|February|March|April|May|June|July|August|September|October|November|December)\b"
        r"|\b(?:January|February|March|April|May|June|July|August|September|October|November|December) \d{4}\b"
        r"|\b\d{1,2} (?:January|February|March|April|May|June|July|August|September|October|November|December)\b"
        r"|\b(?:January|February|March|April|May|June|July|August|September|October|November|December) \d{1,2}(?:st|nd|rd|th)?\b"
        r"|(?:\d{4}年)?\d{1,2}月(?:\d{1,2}[日号])?|(?:下|上|这|本)?(?:周|星期)[一二三四五六日天]"
    ),
    "number": re.compile(rf"{_NUMBER}(?:\s?[万亿]?(?:{UNITS})(?![A-Za-z0-9]))?(?![\w]|\.\d|[/:-]\d)", re.IGNORECASE | re.ASCII),
    "code": re.compile(r"(?<![\w./-])(?!\d)[A-Za-z]{1,6}-?\d{1,8}[a-z]?(?![\w-]|\.\w|:\w)", re.ASCII),
    "ticket": re.compile(r"(?<![\w/-])(?:[A-Z][A-Z0-9]+-\d+|#\d+)(?![\w-])", re.ASCII),
    "test": re.compile(
        r"(?<![\w.])(?:[\w/.-]+\.py(?:::\w+)+(?:\[[^\]]*\])?|Test[A-Z_]\w*(?:/[\w.-]+)*|test_\w+)(?![\w])", re.ASCII
    ),
    "identifier": re.compile(
        r"(?<![\w./-])(?:[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+|[a-z]+[A-Z]\w*|[A-Z][a-z0-9]+[A-Z]\w*|[A-Za-z]\w*_\w+|[A-Z][A-Z0-9]{2,}(?:_[A-Z0-9]+)*)(?![\w/-])",
        re.ASCII,
    ),
    "quoted": re.compile(
        r"`([^`\n]{1,120})`|\"([^\"\n]{1,120})\"|“([^”\n]{1,120})”|「([^」\n]{1,120})」|(?<!\w)'([^'\n]{1,120})'(?!\w)"
    ),
    "branch": re.compile(r"(?<![\w./:-])(?:[\w.-]+/[\w./-]*[\w-]|main|master|develop|trunk|release|staging)(?![\w/:])", re.ASCII),
    "person": re.compile(r"(?<![\w@.])(?:@\w[\w-]+|[A-Z][a-z]+(?: [A-Z][a-z]+)?)(?![\w])", re.ASCII),
}
_KIND_ORDER = ("url", "sha", "version", "date", "test", "path", "ticket", "number", "identifier")


class Found(NamedTuple):
    """A value in a text, with its place."""

    start: int
    end: int
    value: str


def find(kind: str, text: str) -> Iterator[Found]:
    """All values of a kind in a text, in order; the quotes of a quoted value are left out."""
    for match in PATTERNS[kind].finditer(text):
        group = match.lastindex or 0
        yield Found(match.start(group), match.end(group), match.group(group))


def kind_of(value: str) -> str:
    """The kind of a value: the first of the kinds that matches it whole, else ``text``."""
    value = value.strip()
    for kind in _KIND_ORDER:
        match = PATTERNS[kind].fullmatch(value)
        if match:
            return kind
    return "text"


class Quantity(NamedTuple):
    """A number with its unit in lower case; the unit is empty when there is none. ``plain`` is the number as written."""

    value: float
    unit: str
    plain: float = 0.0


_QUANTITY = re.compile(
    rf"^[~≈<>]?\s*([-+]?)([$€¥£]?)(\d+(?:[,_]\d{{3}})*(?:\.\d+)?(?:[eE][-+]?\d+)?)\s?([万亿]?)({UNITS})?$", re.IGNORECASE
)
_UNIT_NAMES = {
    "sec": "s", "secs": "s", "second": "s", "seconds": "s", "秒": "s", "秒钟": "s", "毫秒": "ms", "us": "µs", "min": "m", "mins": "m",
    "minute": "m", "minutes": "m", "分钟": "m", "hour": "h", "hours": "h", "小时": "h", "day": "d", "days": "d", "天": "d",
    "percent": "%", "byte": "b", "bytes": "b", "token": "tokens", "line": "lines", "行": "lines", "file": "files", "$": "usd",
    "dollar": "usd", "dollars": "usd", "美元": "usd", "€": "eur", "¥": "cny", "rmb": "cny", "元": "cny", "块": "cny",
    "week": "weeks", "month": "months", "year": "years", "周": "weeks", "个月": "months", "年": "years",
}  # fmt: skip
_MYRIADS = {"": 1.0, "万": 1e4, "亿": 1e8}
_SCALES = {
    "µs": ("s", 1e-6),
    "ns": ("s", 1e-9),
    "ms": ("s", 1e-3),
    "s": ("s", 1.0),
    "m": ("s", 60.0),
    "h": ("s", 3600.0),
    "d": ("s", 86400.0),
}


def quantity(text: str) -> Quantity | None:
    """Parse a number with an optional unit or currency; times are brought to seconds. None when it is something else."""
    match = _QUANTITY.match(fold(text).strip().rstrip("."))
    if match is None:
        return None
    sign, currency, digits, myriad, unit = match.groups()
    value = float(digits.replace(",", "").replace("_", "")) * _MYRIADS[myriad] * (-1 if sign == "-" else 1)
    name = (unit or currency or "").lower()
    name = _UNIT_NAMES.get(name, name)
    base, scale = _SCALES.get(name, (name, 1.0))
    return Quantity(value * scale, base, value)

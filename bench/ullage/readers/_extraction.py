"""Taking a typed answer out of a line: by its shape, by its place beside the question's words, by the label before it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from ullage.lines import cells_of
from ullage.readers._query import Query
from ullage.readers._retrieval import Hit
from ullage.terms import fold, iter_terms, stem
from ullage.values import Found, find


class Extracted(NamedTuple):
    """A value with how surely it is the one asked for: 3 labelled, 2 of the right kind beside the words, 1 merely near."""

    value: str
    quality: int


_LITERAL = r"(?:\"[^\"]*\"|'[^']*'|`[^`]*`|[-+]?[$€¥£]?\d[\w.,%:/µ-]*(?: ?(?:%|ms|s|seconds?|minutes?|hours?|days?|tokens?|lines?|[kmgt]i?b)\b)?|[^\s,;|(){}\[\]\"'`]+)"
_LOCATED = re.compile(
    r"^(?:[-*•] )?(?:\S*?[\w.-]+\.\w+|\S+):\d+(?::\d+)?:\s*(?:(?:fatal )?error:\s*)?(?P<text>.+)$", re.IGNORECASE
)
_LABELLED_ERROR = re.compile(
    r"(?P<whole>(?:[\w.]*(?:Error|Exception|Warning)|[Ee]rror(?:\[\w+\])?|ERROR|[Ff]atal|FATAL|[Pp]anic|E{1,3}RR!?|错误|异常|报错)\s?[:：]\s*(?P<text>.+))$"
)
_EXIT = re.compile(
    r"\bexit(?:ed)?(?: with)?(?: code| status)?\s*[:=]?\s*(?:code |status )?(\d{1,3})\b|退出码(?:是|为|[:：])?\s*(\d{1,3})",
    re.IGNORECASE,
)
_REASON = re.compile(
    r"\b(?:because(?: of)?|since|due to|the reason (?:is|was)(?: that)?|so that|in order to|to avoid|to keep|to prevent|otherwise|caused by|as it|given that)\b\s*(.+)$"
    r"|(?:因为|由于|原因是|以免|为了|否则|是因为|导致)(.+?)(?:,所以.*|所以.*)?$",
    re.IGNORECASE,
)
_SUBJECT = re.compile(r"\b[0-9a-f]{7,40}\b[\])]?:?\s+(?:\([^)]*\)\s+)?(.+)$")
_LINE = re.compile(r"^(?:[^\s:]+:)?(\d+)[:\-](?!\d\d\b)|\bline[s]?\s+(\d+)|第\s*(\d+)\s*行|\.\w+:(\d+)\b", re.IGNORECASE)
_TRAILING = " \t,;.。、,;)]}>\"'`*"
_NOT_WORDS = r"(?:[^.;\n]{0,40}?)"


def extract(query: Query, hit: Hit) -> Extracted | None:
    """The answer that a line gives to a question; none when it holds nothing of the right kind."""
    made = _cell(query, hit) or _BY_KIND.get(query.kind, _typed)(query, hit)
    if made is None:
        return None
    value = made.value.strip()
    if not value or len(value) > 300 or _names(value, query.text):
        return None
    return Extracted(value, made.quality)


def _cell(query: Query, hit: Hit) -> Extracted | None:
    """The cell under the column that the question names, in a row that it names."""
    row, head = cells_of(hit.unit.text), cells_of(hit.heading)
    if not row or len(row) != len(head):
        return None
    named = [n for n, name in enumerate(head) if name and n and (name in query.quoted or _names(name, query.text))]
    if len(named) != 1 or not any(_names(cell, query.text) for n, cell in enumerate(row) if n != named[0] and cell):
        return None
    return Extracted(row[named[0]], 3)


def _names(name: str, text: str) -> bool:
    """Whether a text holds a name as a whole word."""
    return re.search(rf"(?<![A-Za-z0-9_]){re.escape(fold(name))}(?![A-Za-z0-9_])", text, re.IGNORECASE) is not None


def _labelled(query: Query, hit: Hit) -> Extracted | None:
    """What stands behind a label that the question quotes, up to the end of the field."""
    for name in query.quoted:
        match = re.search(
            rf"(?:^|[\s\u3000|*-]){re.escape(name)}\**\s*[:\uff1a]\**\s*(?P<v>[^\u3000]+?)(?=\u3000|\s{{2,}}|\s\||$)",
            hit.unit.text,
        )
        if match:
            return Extracted(match.group("v").strip(" *"), 3)
    return None


def _fresh(query: Query, found: Iterator[Found]) -> list[Found]:
    """Values that the question does not hold itself."""
    return [f for f in found if not _names(f.value, query.text)]


def _nearest(query: Query, text: str, found: list[Found]) -> Found | None:
    """The value that stands closest to the question's words, those after them first."""
    if not found:
        return None
    places = anchors(query, text)
    if not places:
        return found[0]
    return min(found, key=lambda f: (sum(_distance(f, place) for place in places) / len(places), f.start))


def _distance(value: Found, place: tuple[int, int]) -> int:
    """Characters between a value and a word; a value before the word counts twice as far."""
    if value.start >= place[1]:
        return value.start - place[1]
    return 2 * max(0, place[0] - value.end)


_TOKEN = re.compile(r"[A-Za-z0-9_]+(?:[./:@#+-][A-Za-z0-9_]+)*|[\u3400-\u9fff]{1,2}")


def anchors(query: Query, text: str) -> list[tuple[int, int]]:
    """Where the question's words stand in a text."""
    wanted = set(query.terms)
    return [m.span() for m in _TOKEN.finditer(text) if not wanted.isdisjoint(iter_terms(m.group(0)))]


_KIND_PATTERNS = {
    "sha": ("sha",), "branch": ("branch",), "url": ("url",), "version": ("version",), "ticket": ("ticket", "code"), "test": ("test",),
    "identifier": ("quoted", "identifier", "code"), "person": ("person",), "date": ("date",), "port": ("number",),
    "free": ("quoted", "code", "url", "path", "version", "identifier", "date", "number"),
}  # fmt: skip


def _typed(query: Query, hit: Hit) -> Extracted | None:
    text = hit.unit.text
    for kind in _KIND_PATTERNS.get(query.kind, ("quoted",)):
        best = _nearest(query, text, _fresh(query, find(kind, text)))
        if best is not None:
            return Extracted(best.value, 2)
    return None


def _person(query: Query, hit: Hit) -> Extracted | None:
    found = [f for f in _fresh(query, find("person", hit.unit.text)) if f.value.lower() not in _NOT_NAMES]
    best = _nearest(query, hit.unit.text, found)
    return Extracted(best.value, 2) if best else None


_NOT_NAMES = frozenset(
    [
        "the",
        "a",
        "an",
        "this",
        "that",
        "it",
        "we",
        "you",
        "they",
        "he",
        "she",
        "and",
        "but",
        "for",
        "with",
        "from",
        "when",
        "where",
        "why",
        "how",
        "what",
        "yes",
        "no",
        "ok",
        "not",
        "now",
        "then",
        "so",
        "if",
        "i",
        "in",
        "on",
        "at",
    ]
)


def _free(query: Query, hit: Hit) -> Extracted | None:
    labelled = _labelled(query, hit) or _value(query, hit)
    if labelled is not None and labelled.quality == 3:
        return labelled
    return _typed(query, hit) or labelled or _copula(query, hit)


def _copula(query: Query, hit: Hit) -> Extracted | None:
    """What a sentence says of the question's words: the clause behind "is", "to" or their like."""
    places = anchors(query, hit.unit.text)
    if not places:
        return None
    match = re.search(
        r"\b(?:is|are|was|were|be|means|called|named|to)\b\s+(.+)$|(?:是|为|叫|改成|改为)(.+)$", hit.unit.text[places[0][0] :]
    )
    return Extracted(_clause(match.group(1) or match.group(2)), 1) if match else None


def _clause(text: str) -> str:
    """A clause up to its end."""
    return re.split(r"(?<=\w)[.;](?:\s|$)|[。;!?](?:\s|$)|\s[-–—]\s", text, maxsplit=1)[0].strip(_TRAILING)


def _value(query: Query, hit: Hit) -> Extracted | None:
    """The value that a line assigns to the name in the question."""
    for name in query.quoted or query.terms[-1:]:
        key = re.escape(name)
        for quality, pattern in (
            (
                3,
                rf"(?<![\w-]){key}[\"'`*]*\]?(?:\s+[\w.\[\]<>*]+)?(?::\s*[\w\[\]<>., |]+(?=\s=))?\s*(?::=|=>|->|→|==?|[:：])\s*(?P<v>{_LITERAL})",
            ),
            (3, rf"\|\s*[`*\"]*{key}[`*\"]*\s*\|\s*(?P<v>[^|]+?)\s*\|"),
            (2, rf"(?<![\w-]){key}[\"'`*]*\s*(?:is now|is|was|equals|set to|defaults to|now)\s+(?:set to\s+)?(?P<v>{_LITERAL})"),
            (2, rf"(?<![\w-]){key}[\"'`*]*{_NOT_WORDS}\bto\s+(?P<v>{_LITERAL})"),
            (2, rf"{key}[\"'`*]*\s*(?:现在)?(?:的值)?(?:是|为|改为|改成|设为|设成|设置为|调到|调整为)\s*(?P<v>{_LITERAL})"),
            (1, rf"(?<![\w-]){key}[\"'`*]*\s+(?P<v>\d[\w.%]*)"),
        ):
            found = list(re.finditer(pattern, hit.unit.text))
            if found:
                return Extracted(found[-1].group("v").strip().rstrip(",;.。").strip("\"'`*"), quality)
    return None


def _path(query: Query, hit: Hit) -> Extracted | None:
    text = hit.unit.text
    found = _fresh(query, find("path", text))
    leading = re.match(r"^(\S+?\.\w+):\d+[:\-]", text)
    if leading and leading.group(1).lower() not in query.text.lower():
        return Extracted(leading.group(1), 3 if _defines(query, text[leading.end() :]) else 2)
    if hit.header.path and (not found or _defines(query, text)) and hit.header.path.lower() not in query.text.lower():
        return Extracted(hit.header.path, 3 if _defines(query, text) else 2)
    best = _nearest(query, text, found)
    if best is not None:
        return Extracted(best.value, 2)
    around = _fresh(query, find("path", hit.heading))
    return Extracted(around[-1].value, 1) if around else None


_DEFINITION = r"(?:^|\s)(?:export\s+|public\s+|private\s+|static\s+|async\s+|default\s+|pub\s+)*(?:func(?:\s*\([^)]*\))?|def|class|type|struct|interface|enum|fn|function|const|var|let|trait|impl)\s+"


def _defines(query: Query, text: str) -> bool:
    """Whether a line of code defines the name that the question quotes."""
    return any(re.search(_DEFINITION + re.escape(name) + r"\b", text) for name in query.quoted)


def _directory(query: Query, hit: Hit) -> Extracted | None:
    found = _path(query, hit)
    if found is None:
        return None
    value = found.value if "." not in found.value.rsplit("/", 1)[-1] else found.value.rsplit("/", 1)[0]
    return Extracted(value, found.quality)


def _line(query: Query, hit: Hit) -> Extracted | None:
    if hit.unit.line:
        return Extracted(hit.unit.line, 3 if _defines(query, hit.unit.text) else 2)
    match = _LINE.search(hit.unit.text)
    number = next(filter(None, match.groups()), "") if match else ""
    return Extracted(number, 3 if _defines(query, hit.unit.text) or _LOCATED.match(hit.unit.text) else 2) if number else None


def _count(query: Query, hit: Hit) -> Extracted | None:
    text = hit.unit.text
    onto = re.search(r"\bto (\d[\d,.]*)", text) if re.match(r"\s*to how (?:many|much)\b", query.text, re.IGNORECASE) else None
    if onto:
        return Extracted(onto.group(1).rstrip(".,"), 3)
    noun = re.escape(stem(query.noun.lower()))
    if noun:
        match = re.search(rf"(\d[\d,.]*)\s*(?:[\w-]+\s+){{0,2}}{noun}", text, re.IGNORECASE) or re.search(
            rf"{noun}\w*[\"'`*]*\s*(?:\([^)]*\))?\s*(?:[:=|]|is|are|was|were)\s*[*`]*(\d[\d,.]*)", text, re.IGNORECASE
        )
        if match:
            return Extracted(match.group(1).rstrip(".,"), 3)
    table = re.match(r"^(\d+)\s+\S+$|^\S+\s+\|\s+(\d+)\s", text)
    if table:
        return Extracted(table.group(1) or table.group(2), 2)
    best = _nearest(query, text, _fresh(query, find("number", text)))
    return Extracted(best.value, 1) if best else None


def _duration(query: Query, hit: Hit) -> Extracted | None:
    timed = re.compile(
        r"\d\s?(?:ms|µs|us|ns|s|secs?|seconds?|m|mins?|minutes?|h|hours?|days?|weeks?|毫秒|秒钟?|分钟|小时|天|周)$", re.IGNORECASE
    )
    best = _nearest(query, hit.unit.text, [f for f in _fresh(query, find("number", hit.unit.text)) if timed.search(f.value)])
    return Extracted(best.value, 2) if best else None


def _percent(query: Query, hit: Hit) -> Extracted | None:
    found = [f for f in _fresh(query, find("number", hit.unit.text)) if f.value.endswith(("%", "percent"))]
    best = _nearest(query, hit.unit.text, found)
    return Extracted(best.value, 2) if best else None


def _error(_query: Query, hit: Hit) -> Extracted | None:
    located = _LOCATED.match(hit.unit.text)
    if located:
        return Extracted(located.group("text").strip(), 3)
    labelled = _LABELLED_ERROR.search(hit.unit.text)
    if labelled is None:
        return None
    named = labelled.group("whole").split(":", 1)[0]
    return Extracted(
        labelled.group("whole") if re.fullmatch(r"[\w.]+(?:Error|Exception|Warning)", named) else labelled.group("text"), 3
    )


def _exit(_query: Query, hit: Hit) -> Extracted | None:
    match = _EXIT.search(hit.unit.text)
    return Extracted(match.group(1) or match.group(2), 3) if match else None


def _reason(_query: Query, hit: Hit) -> Extracted | None:
    match = _REASON.search(hit.unit.text)
    return Extracted(_clause(match.group(1) or match.group(2)), 3) if match else None


def _subject(_query: Query, hit: Hit) -> Extracted | None:
    match = _SUBJECT.search(hit.unit.text)
    return Extracted(match.group(1), 3) if match else None


_INSTEAD = re.compile(
    r"\b(?:us(?:e|es|ed|ing)|switch(?:ed|ing)? to|go(?:ing)? with|went with|chose|choose|chosen|prefer(?:red)?|keep|kept|with|to)\s+(?P<new>[^,;:]{2,60}?),?\s+(?:instead of|rather than|in place of)\b"
    r"|(?:改用|采用|选择|使用|换成|用)(?P<new2>[^,，。]{1,30}?)[,，]?(?:而不是|代替|替代|取代)|\breplaced (?:by|with) (?P<new3>[^,;:.]{2,60})",
    re.IGNORECASE,
)


def _instead(_query: Query, hit: Hit) -> Extracted | None:
    match = _INSTEAD.search(hit.unit.text)
    value = next(filter(None, match.groups()), "") if match else ""
    return Extracted(value.strip(" `*"), 3) if value else None


def _command(query: Query, hit: Hit) -> Extracted | None:
    if hit.unit.kind == "use" and hit.header.command:
        return Extracted(hit.header.command, 2)
    best = _nearest(query, hit.unit.text, _fresh(query, find("quoted", hit.unit.text)))
    return Extracted(best.value, 2) if best else None


_BY_KIND: dict[str, Callable[[Query, Hit], Extracted | None]] = {
    "value": _value, "path": _path, "directory": _directory, "line": _line, "count": _count, "duration": _duration,
    "percent": _percent, "error": _error, "exit": _exit, "reason": _reason, "subject": _subject, "command": _command,
    "person": _person, "instead": _instead, "free": _free,
}  # fmt: skip

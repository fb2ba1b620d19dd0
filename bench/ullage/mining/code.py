"""Facts of code and configuration: where a name is defined, what value a name has, and the two combined."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator

from ullage.lines import unnumbered
from ullage.mining.candidates import Candidate, Sighting, settle, tell, value_candidate
from ullage.mining.source import Line, Source
from ullage.values import find, kind_of

_DEFINITION = re.compile(
    r"^\s*(?:export\s+|default\s+|public\s+|private\s+|protected\s+|static\s+|async\s+|abstract\s+|final\s+|pub(?:\(\w+\))?\s+)*"
    r"(?P<word>func(?:\s*\([^)]*\))?|def|class|type|struct|interface|enum|fn|function|trait)\s+(?P<name>[A-Za-z_]\w{4,})\b(?!\s*=\s)"
)
_KIND_WORDS = {"func": ("function", "函数"), "def": ("function", "函数"), "fn": ("function", "函数"), "function": ("function", "函数"),
               "class": ("class", "类"), "type": ("type", "类型"), "struct": ("struct", "结构体"), "interface": ("interface", "接口"),
               "enum": ("enum", "枚举"), "trait": ("trait", "特质")}  # fmt: skip
_GREP = re.compile(r"^(?P<path>(?:[\w.@+~-]*/)*[\w.@+-]+\.\w+):(?P<line>\d+):(?P<code>.*)$")
_NUMBER = r"[-+]?\d[\d_,]*(?:\.\d+)?(?: ?(?:ms|s|m|h|[KMG]i?B|%|px))?"
_ASSIGNED = re.compile(
    rf"^\s*(?P<lead>(?:export|const|static|final|public|private|val|var|let|readonly|define)\s+)*[\"']?(?P<key>[A-Za-z_][\w.-]{{3,60}})[\"']?"
    rf"(?:\s*:\s*[A-Za-z_][\w\[\]., |]*(?=\s*=))?(?:\s+(?:u?int\d*|string|float\d*|bool|time\.Duration))?\s*(?P<sign>=|:)\s*"
    rf"(?:\"(?P<double>[^\"\\]{{2,80}})\"|'(?P<single>[^'\\]{{2,80}})'|(?P<number>{_NUMBER})|(?P<word>[A-Za-z][\w./@:-]{{2,80}}))\s*[,;]?\s*(?:(?://|#|/\*).*)?$"
)
_DATA_FILE = re.compile(
    r"\.(?:ya?ml|toml|ini|cfg|conf|env|properties|json5?|tf)$|(?:^|/)(?:\.env[\w.]*|Dockerfile)$", re.IGNORECASE
)
_NO_CODE = re.compile(r"\.(?:mdx?|rst|txt|log|html?|csv)$", re.IGNORECASE)
_DULL_KEYS = frozenset(
    """name type value file path text data item items key keys index title label description content message status state result error
    return default class style width height color role line lines code body size source target input output test tests name1 self this
    import from version url format mode kind level else true false none null next prev left right user users args kwargs want wants got
    expected actual timeout_ms file_path old_string new_string replace_all output_mode subject author date merge note
    modified deleted renamed commit parent tree ago minutes hours warning info debug""".split()  # noqa: SIM905 - a word list reads best as text
)
_DULL_VALUES = frozenset(
    [
        "true",
        "false",
        "none",
        "null",
        "nil",
        "undefined",
        "string",
        "int",
        "bool",
        "float",
        "number",
        "object",
        "any",
        "void",
        "self",
        "this",
        "error",
        "string.",
        "yes",
        "no",
    ]
)
MOST_SOURCES = 4
"""A key that has values in more places than this is a common field, and a question about it would need the place as its answer."""
DULL_NUMBERS = frozenset({"0", "1", "-1", "2", "0.0", "1.0", "10", "100"})
"""Values that anybody would guess."""


def definitions(source: Source) -> Iterator[Candidate]:
    """Where a function, class or type is defined: names that are defined in exactly one file."""
    found: dict[str, list[tuple[str, str, Sighting]]] = defaultdict(list)
    for line in source.lines:
        path, code, offset = located(source, line)
        match = _DEFINITION.match(code) if path else None
        if match and re.search(r"[a-z][A-Z]|\w_\w", match.group("name")):
            span = source.span(line, 0 if offset else match.start("word"), offset + match.end("name"))
            found[match.group("name")].append(
                (path, match.group("word").split("(")[0].strip(), Sighting(value=path, message=line.message, span=span))
            )
    for name, places in found.items():
        paths = {path for path, _, _ in places}
        stem = next(iter(paths)).rsplit("/", 1)[-1].rsplit(".", 1)[0]
        if len(paths) > 1 or _alike(name, stem) or _NO_CODE.search(next(iter(paths))):
            continue
        yield _definition(source, name, places)


def _definition(source: Source, name: str, places: list[tuple[str, str, Sighting]]) -> Candidate:
    path, word, _ = places[0]
    kind, kind_zh = _KIND_WORDS.get(word, ("function", "函数"))
    settled = settle([sighting for _, _, sighting in places])
    return Candidate(
        family="definition",
        type="recall",
        question=tell(
            source.language, f"In which file is the {kind} `{name}` defined?", f"{kind_zh} `{name}` 是在哪个文件里定义的？"
        ),
        accept=(path,),
        grader="path",
        evidence=(settled.first.span,),
        settled_at=settled.first.message,
        restated_at=settled.restated_at,
        speaker="tool",
        names=(name,),
        used=path.rsplit("/", 1)[-1],
    )


def located(source: Source, line: Line) -> tuple[str, str, int]:
    """The file that a line of code comes from, the code, and where it begins in the line; no file: empty."""
    if line.kind == "text" or line.action is None:
        return "", "", 0
    match = _GREP.match(line.text)
    if line.kind == "result" and match and line.action.kind in {"search", "shell"}:
        return source.relative(match.group("path")), unnumbered(match.group("code"))[0], match.start("code")
    if line.action.kind in {"read", "create", "edit"} and line.action.target and not line.action.failed:
        return source.relative(line.action.target), line.text, 0
    return "", "", 0


def _alike(name: str, stem: str) -> bool:
    """Whether a file's name gives away what it defines, or the other way round."""
    a, b = name.replace("_", "").lower(), re.sub(r"[_.-]|test", "", stem.lower())
    return len(b) > 2 and (b in a or a in b)


def assignments(source: Source) -> Iterator[Candidate]:
    """What value a constant, setting or reported key has; changed values make update probes."""
    chains = value_chains(source)
    places: dict[str, set[str]] = defaultdict(set)
    for key, place in chains:
        places[key].add(place)
    for (key, place), sightings in chains.items():
        if len(places[key]) <= MOST_SOURCES:
            yield _assignment(source, key, place, sightings)


def value_chains(source: Source) -> dict[tuple[str, str], list[Sighting]]:
    """Sightings of values by key and place: a file by its path, a command's output by the command in backticks."""
    chains: dict[tuple[str, str], list[Sighting]] = defaultdict(list)
    for line in source.lines:
        if line.text.startswith(("-", "+++", "@@", "*", "//", "#")):
            continue
        path, code, offset = located(source, line)
        place = "" if _NO_CODE.search(path) else path or _command_place(line)
        text = code or line.text
        match = _ASSIGNED.match(text) if place and len(text) < 200 else None
        if match and (value := _literal(match, place)):
            span = source.span(line, offset + match.start("key"), offset + match.end())
            chains[match.group("key"), place].append(Sighting(value=value, message=line.message, span=span))
    return chains


def _command_place(line: Line) -> str:
    if line.kind != "result" or line.action is None or line.action.kind != "shell":
        return ""
    name = command_name(line.action.command)
    plain = 3 <= len(name) <= 70 and not re.search(
        r"&&|\|\||;|<<|`|\$\(|\bgit (?:diff|log|status)\b|\bgit show [0-9a-f]+|\bgrep\b|\brg\b", name
    )
    shown = [f.value for f in find("path", name)]
    plain = plain and not any(not _DATA_FILE.search(path) for path in shown if "." in path.rsplit("/", 1)[-1])
    return f"`{name}`" if plain and "\n" not in line.action.command.strip() else ""


def command_name(command: str) -> str:
    """A command as a person would name it: without a leading ``cd``, redirections and paging."""
    text = re.sub(r"^(?:cd \S+ && |\w+=\S+ )+", "", command.strip())
    text = re.sub(r"\s*(?:2>&1|2>/dev/null|\|\s*(?:head|tail|less|cat)\b[^|]*|\|\| true)\s*", " ", text).strip()
    return " ".join(text.split())


def _literal(match: re.Match[str], place: str) -> str:
    """The value of an assignment if it is worth asking for: distinctive key, literal value."""
    key, lead = match.group("key"), match.group("lead")
    value = next(v for name in ("double", "single", "number", "word") if (v := match.group(name)) is not None).strip()
    data = place.startswith("`") or bool(_DATA_FILE.search(place))
    if key.lower() in _DULL_KEYS or value.lower() in _DULL_VALUES or value in DULL_NUMBERS or "REDACTED" in value:
        return ""
    distinctive = bool(re.search(r"[a-z][A-Z]|_|^[A-Z]{4,}$", key)) or (data and len(key) >= 5)
    if not distinctive or (match.group("word") is not None and not (data and _plain_word(value))):
        return ""
    declared = data or bool(lead) or key.isupper() or (match.group("sign") == "=" and len(key) >= 8)
    return (
        value if declared and "%" not in value.rstrip("%") and "\\" not in value and "$" not in value and "{" not in value else ""
    )


def _plain_word(value: str) -> bool:
    """Whether an unquoted value is data and not a piece of code."""
    kind = kind_of(value)
    return kind in {"path", "version", "url", "sha", "date"} or (kind == "text" and value.islower())


def _assignment(source: Source, key: str, place: str, sightings: list[Sighting]) -> Candidate:
    settled = settle(sightings)
    shown = place if place.startswith("`") else source.short(place)
    now, now_zh = (" now", "现在") if settled.stale else ("", "")
    where = f"the output of {shown}" if place.startswith("`") else shown
    where_zh = f"{shown} 的输出" if place.startswith("`") else shown
    question = tell(
        source.language, f"What is the value of `{key}` in {where}{now}?", f"{where_zh} 中 `{key}` {now_zh}的值是多少？"
    )
    return value_candidate("value", question, key, settled)


def hops(source: Source) -> Iterator[Candidate]:
    """The value of a constant in the file that defines something else: two places must both be known."""
    defined: dict[str, list[Candidate]] = defaultdict(list)
    for candidate in definitions(source):
        defined[candidate.accept[0]].append(candidate)
    for (key, place), sightings in value_chains(source).items():
        settled = settle(sightings)
        partners = [
            c for c in defined.get(place, ()) if c.names[0] != key and c.evidence[0].message != settled.first.span.message
        ]
        if not partners or settled.stale:
            continue
        partner = partners[len(key) % len(partners)]
        name = partner.names[0]
        yield Candidate(
            family="hop",
            type="multi-hop",
            question=tell(
                source.language,
                f"What is the value of `{key}` in the file that defines `{name}`?",
                f"定义 `{name}` 的那个文件中 `{key}` 的值是多少？",
            ),
            accept=(settled.value,),
            grader="numeric" if kind_of(settled.value) == "number" else "normalised",
            evidence=(*partner.evidence, settled.first.span),
            settled_at=max(partner.settled_at, settled.first.message),
            speaker="tool",
            names=(name,),
            used=settled.value,
        )

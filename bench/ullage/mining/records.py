"""Facts of records: fields of JSON results, labelled lines of documents, cells of tables."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from ullage.actions import kind_of_call
from ullage.lines import block_text, header_of
from ullage.mining.candidates import Candidate, Sighting, settle, tell, value_candidate
from ullage.mining.code import DULL_NUMBERS, MOST_SOURCES
from ullage.mining.source import Line, Source, usable
from ullage.types import Message, Span, ToolResult, ToolUse
from ullage.values import kind_of

LONGEST_RECORD = 40_000
"""Characters of a JSON result that is parsed: a longer one is a listing, not a record."""
MOST_FIELDS = 60
MOST_ROWS = 40
"""Rows of one table that are mined: the first and last ones would do, and a log is no table."""
_LABELLED = re.compile(
    r"^(?:[-*•]\s*)?\**(?P<label>[A-Z][A-Za-z]+(?: [A-Za-z]+){0,2}|[\u4e00-\u9fff]{2,8})\**\s*(?:[:\uff1a])\**\s*(?P<value>[^\s\uff1a:|`{(\[][^\u3000|{]{0,60}?)\s*(?:\u3000.*)?$"
)
_INLINE = re.compile(
    r"(?:^|\u3000|\s{2,})(?P<label>[\u4e00-\u9fff]{2,8})\uff1a(?P<value>[^\u3000\uff1a]{1,40}?)(?=\u3000|\s{2,}|$)"
)
_DOCUMENT = re.compile(r"\.(?:mdx?|txt|rst|csv|tsv|log|eml|html?)$", re.IGNORECASE)
_NAMING = re.compile(r"(?:id|name|title|path|query|number|key|email|phone|date|code|url|symbol)s?$", re.IGNORECASE)
_TYPED = frozenset({"number", "date", "version", "sha", "url", "ticket", "path"})


def fields(source: Source) -> Iterator[Candidate]:
    """Fields of the JSON objects that tools returned, asked for by the tool and what it was called with."""
    chains: dict[tuple[str, str], list[Sighting]] = defaultdict(list)
    for place, block, span_of in _json_results(source):
        if place and block is not None:
            flat = _flat(block)
            for key, value in list(flat.items())[:MOST_FIELDS]:
                message, span = span_of(key, value)
                if span is not None:
                    chains[key, place].append(Sighting(value=value, message=message, span=span))
    places: dict[str, set[str]] = defaultdict(set)
    for key, place in chains:
        places[key].add(place)
    for (key, place), sightings in chains.items():
        if len(places[key]) <= 3 * MOST_SOURCES:
            yield _field(source, key, place, sightings)


def _field(source: Source, key: str, place: str, sightings: list[Sighting]) -> Candidate:
    question = tell(
        source.language, f"What is the value of `{key}` in the result of {place}?", f"{place} 的结果里 `{key}` 的值是什么？"
    )
    return value_candidate("field", question, key, settle(sightings))


def _json_results(source: Source) -> Iterator[tuple[str, Any, Any]]:
    """JSON objects among the results of tools that are neither files nor commands, each with a way to make spans."""
    calls = {b.id: b for m in source.trace.messages for b in m.blocks if isinstance(b, ToolUse)}
    for position, message in enumerate(source.trace.messages):
        if not usable(message):
            continue
        for number, block in enumerate(message.blocks):
            if (
                not isinstance(block, ToolResult)
                or block.tool_use_id not in calls
                or kind_of_call(calls[block.tool_use_id]) == "shell"
            ):
                continue
            text = block_text(block)
            if not 2 < len(text) <= LONGEST_RECORD or text.lstrip()[0] not in "{[":
                continue
            try:
                value = json.loads(text)
            except (ValueError, RecursionError):
                continue
            yield _named_call(calls[block.tool_use_id]), value, _spans(message, position, number, text)


def _named_call(use: ToolUse) -> str:
    """A call as one would speak of it: the tool, and the argument that names what it was about."""
    arguments = header_of(use).arguments.items()
    named = [v for key, v in arguments if _NAMING.search(key) and 3 <= len(v) <= 40 and not re.search(r"[\n`]", v)]
    return f"`{use.name}`" + (f" for {named[0]}" if named else "")


def _spans(message: Message, position: int, number: int, text: str) -> Any:
    def span_of(key: str, value: str) -> tuple[int, Span | None]:
        match = re.search(rf'"{re.escape(key)}"\s*:\s*"?{re.escape(value)}', text)
        return position, Span(message=message.id, block=number, start=match.start(), end=match.end()) if match else None

    return span_of


def _flat(value: Any) -> dict[str, str]:
    """Scalars of a nested object by key; a key that stands in it twice is left out."""
    found: dict[str, str] = {}
    twice: set[str] = set()

    def walk(node: Any, key: str, depth: int) -> None:
        if isinstance(node, dict) and depth < 6:
            for name, inner in node.items():
                walk(inner, str(name), depth + 1)
        elif isinstance(node, list) and depth < 6 and len(node) <= MOST_FIELDS:
            for inner in node:
                walk(inner, key, depth + 1)
        elif isinstance(node, (str, int, float)) and not isinstance(node, bool):
            text = str(node).strip()
            if key in found and found[key] != text:
                twice.add(key)
            found[key] = text

    walk(value, "", 0)
    return {
        key: text
        for key, text in found.items()
        if key
        and key not in twice
        and re.fullmatch(r"[\w -]{3,40}", key)
        and 0 < len(text) <= 60
        and text not in DULL_NUMBERS
        and "\\" not in text
        and '"' not in text
    }


def labels(source: Source) -> Iterator[Candidate]:
    """Labelled lines of documents that were read or written: "Duration: 40 minutes"."""
    chains: dict[tuple[str, str], list[Sighting]] = defaultdict(list)
    seen: dict[tuple[str, str], int] = {}
    for line in source.lines:
        place = _document(source, line)
        if not place:
            continue
        for match in (*_INLINE.finditer(line.text), *filter(None, [_LABELLED.match(line.text)])):
            label, value = match.group("label"), match.group("value").strip(" *")
            if not _worth_asking(value) or len({label, value} & {""}):
                continue
            if seen.setdefault((label, place), line.message) != line.message or not chains[label, place]:
                chains[label, place].append(
                    Sighting(value=value, message=line.message, span=source.span(line, match.start("label"), match.end("value")))
                )
            elif chains[label, place][-1].value != value:
                chains[label, place].append(Sighting(value="", message=line.message, span=source.span(line)))
    for (label, place), sightings in chains.items():
        if all(s.value for s in sightings) and len({s.value for s in sightings}) == 1:
            yield _label(source, label, place, sightings)


def _worth_asking(value: str) -> bool:
    kind = kind_of(value)
    return (kind in _TYPED and value not in DULL_NUMBERS) or (
        kind == "text" and 2 <= len(value) <= 40 and not re.search(r"[,;。，；]|\s(?:and|is|are)\s", value)
    )


def _document(source: Source, line: Line) -> str:
    if line.action is None or line.action.kind not in {"read", "create", "edit"} or line.action.failed or line.kind == "text":
        return ""
    return source.relative(line.action.target) if _DOCUMENT.search(line.action.target) else ""


def _label(source: Source, label: str, place: str, sightings: list[Sighting]) -> Candidate:
    shown = source.short(place)
    question = tell(source.language, f'What does {shown} give as "{label}"?', f"{shown} 中的“{label}”是什么？")
    return value_candidate("label", question, label, settle(sightings))


def cells(source: Source) -> Iterator[Candidate]:
    """Cells of tables in files: the value under a column in the row of a key."""
    tables: dict[tuple[int, int], list[Line]] = defaultdict(list)
    for line in source.lines:
        if (
            line.kind == "result"
            and line.action is not None
            and line.action.kind == "read"
            and re.search(r"\.(?:csv|tsv)$", line.action.target)
        ):
            tables[line.message, line.block].append(line)
    by_file: dict[str, list[list[Line]]] = defaultdict(list)
    for rows in tables.values():
        action = rows[0].action
        if action is not None:
            by_file[source.relative(action.target)].append(rows)
    for path, reads in by_file.items():
        if len(reads) == 1:  # a file read again may have changed: which cell would be meant?
            yield from _cells(source, path, reads[0])


def _cells(source: Source, path: str, rows: list[Line]) -> Iterator[Candidate]:
    mark = "\t" if "\t" in rows[0].text else ","
    head = [name.strip() for name in rows[0].text.split(mark)]
    table = [(line, [cell.strip() for cell in line.text.split(mark)]) for line in rows[1 : MOST_ROWS + 1]]
    table = [(line, row) for line, row in table if len(row) == len(head) and '"' not in line.text]
    keys = [row[0] for _, row in table]
    if len(head) < 3 or len(set(keys)) != len(keys) or not all(re.fullmatch(r"[\w-]{2,20}", name) for name in head):
        return
    for n, (line, row) in enumerate(table):
        column = 1 + n % (len(head) - 1)
        key, value = row[0], row[column]
        if not value or value in DULL_NUMBERS or len(key) < 2:
            continue
        start = sum(len(cell) + 1 for cell in line.text.split(mark)[:column])
        yield Candidate(
            family="cell",
            type="multi-hop",
            question=tell(
                source.language,
                f"What is the {head[column]} of {key} in {source.short(path)}?",
                f"{source.short(path)} 里 {key} 的“{head[column]}”是什么？",
            ),
            accept=(value,),
            grader="numeric" if kind_of(value) == "number" else "normalised",
            evidence=(source.span(rows[0]), source.span(line, 0, start + len(line.text.split(mark)[column]))),
            settled_at=line.message,
            speaker="tool",
            names=(key,),
            used=value,
        )

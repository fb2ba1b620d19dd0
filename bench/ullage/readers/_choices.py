"""Questions with options, and questions for sets: what a context says for each option, in which order, how often."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ullage.actions import Action
from ullage.readers._options import answer_option
from ullage.readers._query import VERBS, Query, asks_negative, is_obligation, polar, scope_of, verb_of
from ullage.readers._retrieval import Corpus, Hit
from ullage.scoring import same_path
from ullage.terms import question_terms
from ullage.values import PATTERNS, find

NOTHING_FOUND = re.compile(
    r"\bno (?:matches|files|results|matching)\b|\bnot found\b|\bfound 0\b|\b0 (?:matches|results|hits)\b|未找到|没有找到|无匹配|没有结果",
    re.IGNORECASE,
)
_FORBIDS = re.compile(
    r"\b(?:don't|do not|never|must not|mustn't|should not|shouldn't|cannot|can't|may not|not allowed|no (?:need|longer|more)|avoid|without|stop|forbidden|"
    r"prohibited|off[- ]limits|refrain|leave .{1,40} alone|keep .{1,40} (?:out|untouched|as is)|not)\b|不要|别|不得|不能|不可|禁止|请勿|避免|不许|不准|无需|不用",
    re.IGNORECASE,
)
_NEGATES = re.compile(
    r"\b(?:not|no|never|none|without|isn't|wasn't|doesn't|didn't|don't|can't|cannot|won't|fail(?:s|ed)?|unable)\b|n't\b|不|没|未|无",
    re.IGNORECASE,
)
_OUTCOMES = {
    "pass": re.compile(r"\bpass(?:ed|es|ing)?\b|\bPASS\b|^ok\b|✓|通过", re.IGNORECASE),
    "fail": re.compile(r"\bfail(?:ed|s|ing|ure)?\b|\bFAIL\b|✗|失败|未通过", re.IGNORECASE),
}
_TESTING = re.compile(
    r"\b(?:go test|pytest|cargo test|npm (?:run )?test|yarn test|jest|vitest|mvn test|gradle test|make test|\w+ run test\S*|tox|ctest|rspec|unittest)\b|测试",
    re.IGNORECASE,
)
SURE = 0.8
"""Coverage from which a line may answer "which carrier" without calling it a carrier."""
NEARLY_ALL = 0.85
"""Share of a quoted title or list item that must be there: its neighbours resemble it, and half of one is another."""


def answer_choice(query: Query, corpus: Corpus, threshold: float) -> str | None:
    """The option that the context supports; none when it supports none, or two alike."""
    handler = {"rerun": _rerun, "search": _searched, "permission": _permission, "polar": _polar, "first": _first}.get(
        query.relation, _option
    )
    return handler(query, corpus, threshold)


def covering(query: Query, corpus: Corpus, threshold: float) -> list[Hit]:
    """Lines that cover enough of the question, everything spelled exactly included.

    A line of a result may hold none of the words itself when it bears a label of its own, like an exit code or an error.
    """
    focus = {corpus.resolved(term) for term in query.focus}
    phrase = {corpus.resolved(term): corpus.idf(corpus.resolved(term)) for term in query.phrase}
    labelled = query.kind in {"exit", "error", "url", "count", "duration"}
    return [
        hit
        for hit in corpus.rank(query.terms, query.light)
        if hit.coverage >= threshold
        and focus <= hit.near
        and (hit.inside or (labelled and hit.unit.kind == "result"))
        and (query.kind != "free" or hit.coverage >= SURE or query.type_nouns <= hit.near)
        and sum(w for term, w in phrase.items() if term in hit.near) >= NEARLY_ALL * sum(phrase.values())
    ]


def _permission(query: Query, corpus: Corpus, threshold: float) -> str | None:
    hits = [hit for hit in covering(query, corpus, threshold) if hit.unit.kind == "text" and not _asks(hit)]
    if not hits:
        return None
    forbidden = bool(_FORBIDS.search(hits[0].unit.text))
    if asks_negative(query.text):
        return polar(query.question.choices, positive=forbidden)
    if not forbidden and not is_obligation(query.text) and not hits[0].inside:
        return None
    return polar(query.question.choices, positive=not forbidden)


def _asks(hit: Hit) -> bool:
    """Whether a line is itself a question: it states nothing."""
    return hit.unit.text.rstrip(" *\"'`)").endswith(("?", "？"))


def _polar(query: Query, corpus: Corpus, threshold: float) -> str | None:
    hits = [hit for hit in covering(query, corpus, threshold) if not _asks(hit)]
    hits = [hit for hit in hits if hit.unit.kind == "text"] or hits
    if not hits:
        return None
    negated = bool(_NEGATES.search(hits[0].unit.text)) != asks_negative(query.text)
    return polar(query.question.choices, positive=not negated)


def _searched(query: Query, corpus: Corpus, threshold: float) -> str | None:
    """Whether a search found something: its result says nothing was found, or shows lines that hold what was sought."""
    sought = {corpus.resolved(term) for term in query.focus or query.terms}
    hits = [
        hit
        for hit in corpus.rank(query.terms, query.light)
        if hit.coverage >= threshold and (not query.focus or sought <= hit.near)
    ]
    named = [hit for hit in hits if any(name in hit.header.arguments.values() for name in query.quoted)]
    for hit in sorted(named or hits, key=lambda hit: -hit.message):
        if NOTHING_FOUND.search(hit.unit.text):
            return polar(query.question.choices, positive=False)
        if hit.unit.kind == "result" and hit.header.terms & sought and _is_match(query, hit):
            return polar(query.question.choices, positive=True)
        if hit.unit.kind == "text" and re.search(r"\bfound\b|找到", hit.unit.text):
            return polar(query.question.choices, positive=not _NEGATES.search(hit.unit.text))
    return None


def _is_match(query: Query, hit: Hit) -> bool:
    """Whether a line of a search's result is a hit: it holds the words sought, counts files, or is the path of one."""
    text = hit.unit.text
    shown = any(name.lower() in text.lower() for name in query.quoted) or bool(hit.inside)
    return shown or bool(re.match(r"^Found \d+", text)) or PATTERNS["path"].fullmatch(text) is not None


def _rerun(query: Query, corpus: Corpus, _threshold: float) -> str | None:
    """Whether tests ran after the last change of a file, read from the calls that are still there."""
    done = corpus.actions
    named = [f.value for f in find("path", query.text)]
    changed = [a for a in done if a.changes and any(same_path(a.target, path) for path in named)]
    if not changed:
        return None
    later = any(a.kind == "shell" and a.use > changed[-1].use and _is_test(a, query) for a in done)
    return polar(query.question.choices, positive=later)


def _is_test(action: Action, query: Query) -> bool:
    return any(name in action.command for name in query.quoted if "/" not in name and "." not in name) or bool(
        _TESTING.search(action.command)
    )


def _first(query: Query, corpus: Corpus, threshold: float) -> str | None:
    """The option whose event comes first; both must be found."""
    verb = verb_of(query.text)
    done = corpus.actions
    places = {}
    for option in query.question.choices:
        place = _place_of(option, verb, done, corpus, threshold)
        if place is None:
            return None
        places[option] = place
    best = min(places, key=lambda option: places[option])
    return best if sum(place == places[best] for place in places.values()) == 1 else None


def _place_of(option: str, verb: str, done: Sequence[Action], corpus: Corpus, threshold: float) -> tuple[int, int] | None:
    if verb:
        kinds = {"create", "edit"} if verb == "edit" else {verb}
        found = next((a.use for a in done if a.kind in kinds and not a.failed and same_path(a.target, option)), None)
        if found is not None:
            return found.message, found.block
    terms = question_terms(option)
    hits = [hit for hit in corpus.rank(terms) if hit.coverage >= threshold]
    texts = [hit for hit in hits if not verb or VERBS[verb].search(hit.unit.text + hit.heading)] if verb else hits
    return min(((hit.message, hit.number) for hit in texts), default=None)


def _option(query: Query, corpus: Corpus, threshold: float) -> str | None:
    """The option whose words stand together with the question's; a bare outcome is looked for in the latest line."""
    if set(query.question.choices) <= set(_OUTCOMES):
        return _outcome(query, corpus, threshold)
    return answer_option(query, corpus, threshold)


def _outcome(query: Query, corpus: Corpus, threshold: float) -> str | None:
    for hit in sorted(covering(query, corpus, threshold), key=lambda hit: (-hit.message, -hit.number)):
        said = [name for name, pattern in _OUTCOMES.items() if pattern.search(hit.unit.text)]
        if len(said) == 1:
            return said[0]
    return None


def answer_set(query: Query, corpus: Corpus, threshold: float) -> str | None:
    """All items that the context gives for a set question; none when it gives none."""
    verb, scope = verb_of(query.text), scope_of(query.text)
    found = _touched(corpus.actions, verb, scope) if verb else {}
    if verb:
        found |= _listed(corpus, verb, scope, found)
    else:
        kind = query.kind if query.kind in {"test", "branch", "sha", "url", "version", "ticket"} else "quoted"
        for hit in covering(query, corpus, threshold):
            found |= dict.fromkeys(f.value for f in find(kind, hit.unit.text) if f.value.lower() not in query.text.lower())
    return ", ".join(sorted(found)) or None


def _touched(done: Sequence[Action], verb: str, scope: str) -> dict[str, None]:
    kinds = {"create", "edit"} if verb == "edit" else {verb}
    paths = [a.target for a in done if a.kind in kinds and not a.failed and in_scope(a.target, scope)]
    unique: dict[str, None] = {}
    for path in paths:
        if not any(same_path(path, known) for known in unique):
            unique[path] = None
    return unique


def _listed(corpus: Corpus, verb: str, scope: str, known: dict[str, None]) -> dict[str, None]:
    """Files that a summary says were so treated: in a line, or under a heading, with the verb."""
    found: dict[str, None] = {}
    for position, message in enumerate(corpus.messages):
        if not message.synthetic:
            continue
        for unit in corpus.indices[position].units:
            heading = corpus.indices[position].units[unit.heading].text if unit.heading >= 0 else ""
            if unit.kind == "text" and (VERBS[verb].search(unit.text) or VERBS[verb].search(heading)):
                paths = [f.value for f in find("path", unit.text) if in_scope(f.value, scope)]
                found |= dict.fromkeys(p for p in paths if not any(same_path(p, k) for k in (*known, *found)))
    return found


def in_scope(path: str, scope: str) -> bool:
    """Whether a file lies under a directory, given in full or by its tail."""
    folder = path.rsplit("/", 1)[0] if "/" in path else ""
    return not scope or f"/{scope}/" in f"/{folder}/"

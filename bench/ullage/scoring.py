"""Graders: from what a reader said to one of four outcomes, without a model.

A short answer counts when it names an accepted value as whole words, denies it nowhere, asserts no rejected value and
offers no second value of the same kind. Text that merely contains the gold somewhere does not count.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from ullage.terms import STOP_WORDS, fold, is_cjk, iter_terms
from ullage.types import Outcome, Probe
from ullage.values import PATTERNS, Quantity, find, kind_of, quantity

Graded = tuple[Outcome, str]
"""An outcome with its reason; the reason of a correct answer is empty."""

SUPERSEDED = "asserted a superseded or ruled-out value"
"""Reason of an answer that holds a value of the reject list."""
SET_F1 = 0.8
"""A set answer counts from this F1 on: one item of four missing, or one too many, is still right (F1 0.86), two are not."""
NUMERIC_TOLERANCE = 0.005
"""Relative distance that still counts as the same number: half a per cent, the rounding of two significant figures."""
MOST_WORDS = 30
"""An answer may hold this many words beyond twice those of the gold; anything longer quotes instead of answering."""

_ABSTAIN = re.compile(
    r"^(?:i (?:do not|don't|cannot|can't) (?:know|tell|say|find|determine)\b.*|(?:i have )?no (?:idea|information)\b.*|i am not sure\b.*|"
    r"i'm not sure\b.*|(?:(?:it|this|that) )?(?:(?:is|was) )?(?:unknown|not (?:mentioned|stated|given|specified|known|available|recorded|found|"
    r"provided))(?:\W*$|\W+(?:in|by|from|anywhere|here|at all|explicitly|or)\b.*)|not in the (?:context|session|conversation)\b.*|"
    r"no (?:information|mention|answer)\b.*|n/?a|none given|"
    r"(?:the )?(?:context|session|conversation|history|log) (?:does not|doesn't) \w+.*|"
    r"(?:我)?(?:不知道|不清楚|不确定|无法(?:确定|判断|回答|得知)|没有(?:提到|提及|说明|找到|相关|记录)|未(?:提及|提到|说明|知|记录|找到)).*)$",
    re.IGNORECASE | re.DOTALL,
)
_TOOL_SYNTAX = re.compile(
    r"<(?:tool_call|function_calls?|invoke|tool_use|antml|\|)|^\s*\{\s*\"(?:name|tool|function|arguments|type)\"\s*:|```(?:tool|json)\b"
)
_REFUSAL = re.compile(
    r"^(?:i(?:'m| am) sorry|sorry,|i (?:cannot|can't|won't|am unable to|'m unable to) (?:help|assist|comply|answer|do)|as an ai|"
    r"抱歉|对不起|我不能(?:帮|协助|回答))",
    re.IGNORECASE,
)
_NEGATION = re.compile(
    r"(?:\b(?:not|no|never|isn't|wasn't|aren't|weren't|don't|doesn't|didn't|neither|nor|without|except|instead of|rather than|no longer|"
    r"anything but|other than|used to be)\b|n't\b|不(?:是|为|等于|再|在)|并非|没有|没|非|而不是|除了|以外)\s*(?:\S+\s+){0,2}\S{0,3}$",
    re.IGNORECASE,
)
_NEGATION_AFTER = re.compile(
    r"^\S{0,2}\s*(?:(?:is|was|are|were|does|did)(?: not\b|n't\b)|is (?:wrong|false|incorrect|outdated)|不是|不对|是错的)",
    re.IGNORECASE,
)
_HEDGE = re.compile(r"\s*(?:,|;|/|\||\n|、|;|\bor\b|\band\b|\beither\b|或者|或|和|以及|还是)\s*", re.IGNORECASE)
_EDGE = " \t\r\n\"'`*_.,;:!?。，；：！？()[]<>"


def grade(probe: Probe, text: str | None) -> Graded:
    """Grade what a reader said; none means that it declined. Never raises, never ``unscorable``."""
    if probe.grader == "abstain":
        return _grade_decoy(text)
    if text is None:
        return "abstained", ""
    answer = fold(text).strip()
    if not answer:
        return "wrong", "empty reply"
    if _ABSTAIN.match(answer):
        return "abstained", "said so"
    invalid = _invalid(answer)
    if invalid:
        return "wrong", invalid
    return _GRADERS[probe.grader](probe, answer)


def _grade_decoy(text: str | None) -> Graded:
    """A decoy is answered rightly by declining alone."""
    if text is None:
        return "correct", ""
    answer = fold(text).strip()
    if answer and _ABSTAIN.match(answer):
        return "correct", ""
    return "wrong", (_invalid(answer) or "asserted something that never occurred") if answer else "empty reply"


def _invalid(answer: str) -> str:
    if _TOOL_SYNTAX.search(answer):
        return "tool syntax"
    return "refusal" if _REFUSAL.match(answer) else ""


def normalise(text: str) -> str:
    """One width, one case, one space, no quotes around it and no full stop behind it."""
    return " ".join(fold(text).lower().split()).strip(_EDGE)


def canonical_path(text: str) -> str:
    """A path with forward slashes, without quotes, ``./``, line suffix or closing slash."""
    path = fold(text).strip(_EDGE.replace(".", "")).replace("\\", "/")
    path = re.sub(r":\d+(?::\d+)?$", "", path).rstrip("/.,")
    while path.startswith("./"):
        path = path[2:]
    return re.sub(r"/{2,}", "/", path)


def same_path(one: str, other: str) -> bool:
    """Whether two spellings name one file: equal, or one is the other's tail from a folder on (at least the file's name)."""
    a, b = canonical_path(one), canonical_path(other)
    return bool(a) and bool(b) and (a == b or a.endswith("/" + b) or b.endswith("/" + a))


def _grade_text(probe: Probe, answer: str, clean: Callable[[str], str]) -> Graded:
    """Whole-word match of an accepted value in a short answer."""
    spoken = clean(answer)
    golds = [clean(gold) for gold in probe.accept]
    if spoken in golds:
        return "correct", ""
    if any(_whole(clean(bad), spoken) is not None for bad in probe.reject if clean(bad) not in golds):
        return "wrong", SUPERSEDED
    for gold in golds:
        found = _whole(gold, spoken)
        if found is not None:
            problem = _spoiled(probe, gold, spoken, found)
            return ("wrong", problem) if problem else ("correct", "")
    return "wrong", "another value"


def _spoiled(probe: Probe, gold: str, spoken: str, place: tuple[int, int]) -> str:
    """Why an answer that names the gold is not right after all; empty when it is."""
    if _denied(spoken, place):
        return "denied the right value"
    if _words(spoken) > 2 * _words(gold) + MOST_WORDS:
        return "too long to be an answer"
    return "offered several values" if _other_candidates(probe, gold, spoken, place) else ""


def _denied(spoken: str, place: tuple[int, int]) -> bool:
    return bool(_NEGATION.search(spoken[: place[0]])) or bool(_NEGATION_AFTER.match(spoken[place[1] :]))


def _other_candidates(probe: Probe, gold: str, spoken: str, place: tuple[int, int]) -> bool:
    """Whether the answer holds a further value of the gold's kind, or is a list with the gold as one item."""
    rest = spoken[: place[0]] + " § " + spoken[place[1] :]
    asked = normalise(probe.question)
    kind = kind_of(gold)
    if kind in PATTERNS and any(_whole(f.value.lower(), asked) is None for f in find(kind, rest)):
        return True
    items = [item.strip(_EDGE) for item in _HEDGE.split(rest) if item.strip(_EDGE)]
    if len(items) < 2 or not any(item == "§" for item in items):
        return False
    return any(item != "§" and not _is_framing(item, asked) for item in items)


def _is_framing(item: str, asked: str) -> bool:
    """Whether words around a value only repeat the question or carry no content."""
    known = set(iter_terms(asked))
    return all(term in known or term in STOP_WORDS for term in iter_terms(item))


def _words(text: str) -> int:
    return sum(2 if is_cjk(word) else 1 for word in text.split()) + sum(is_cjk(c) for c in text) // 2


_JOINED = "A-Za-z0-9_"


def _whole(gold: str, text: str) -> tuple[int, int] | None:
    """Place of the gold in the text as whole words: no letter, digit or path part may touch it; none when absent."""
    if not gold:
        return None
    start = text.find(gold)
    while start >= 0:
        end = start + len(gold)
        if _free(text[:start][-2:], gold[0], left=True) and _free(text[end : end + 2], gold[-1], left=False):
            return start, end
        start = text.find(gold, start + 1)
    return None


def _free(edge: str, inside: str, *, left: bool) -> bool:
    """Whether the characters next to a match belong to another word."""
    if not edge or (is_cjk(inside) and is_cjk(edge)):
        return True
    near = edge[-1] if left else edge[0]
    if re.match(rf"[{_JOINED}]", near):
        return is_cjk(inside) or not re.match(rf"[{_JOINED}]", inside)
    far = edge[0] if left else edge[-1]
    return not (len(edge) == 2 and near in "./-:@#+" and re.match(rf"[{_JOINED}]", far) and not (near == ":" and left))


def _grade_exact(probe: Probe, answer: str) -> Graded:
    return _grade_text(probe, answer, lambda text: " ".join(fold(text).split()).strip(_EDGE))


def _grade_normalised(probe: Probe, answer: str) -> Graded:
    return _grade_text(probe, answer, normalise)


def _grade_path(probe: Probe, answer: str) -> Graded:
    """The one path that the answer names must be an accepted one."""
    named = _paths_in(answer)
    if not named:
        return "wrong", "no path"
    if any(
        same_path(path, bad) for path in named for bad in probe.reject if not any(same_path(bad, good) for good in probe.accept)
    ):
        return "wrong", SUPERSEDED
    asked = _paths_in(fold(probe.question))
    right = [path for path in named if any(same_path(path, good) for good in probe.accept)]
    others = [path for path in named if path not in right and not any(same_path(path, known) for known in asked)]
    if not right:
        return "wrong", "another value"
    if others:
        return "wrong", "offered several values"
    place = _whole(right[0], answer)
    if place is not None and _denied(answer, place):
        return "wrong", "denied the right value"
    return ("wrong", "too long to be an answer") if _words(answer) > MOST_WORDS else ("correct", "")


def _paths_in(text: str) -> list[str]:
    """Paths of a text without repeats; a bare word that is the whole text counts as one."""
    alone = text.strip(_EDGE.replace(".", ""))
    if alone and not any(c.isspace() for c in alone):
        return [canonical_path(alone)]
    found = dict.fromkeys(canonical_path(f.value) for f in find("path", text))
    return [path for path in found if path]


def _grade_numeric(probe: Probe, answer: str) -> Graded:
    """The one number of the answer must be an accepted one, in the same unit where both name one; dates are text."""
    if not any(quantity(gold) for gold in probe.accept):
        return _grade_normalised(probe, answer)
    asked = [q for f in find("number", fold(probe.question)) if (q := quantity(f.value))]
    said = [(f, q) for f in find("number", answer) if (q := quantity(f.value))]
    whole = quantity(answer)
    golds = [q for gold in probe.accept if (q := quantity(gold))]
    if whole is not None:
        return _judge_number(probe, whole, golds)
    told = [
        (f, q) for f, q in said if not any(_same_number(q, known) for known in asked) or any(_same_number(q, g) for g in golds)
    ]
    if not told:
        return "wrong", "no number"
    place, number = told[0]
    faults = {
        "offered several values": any(not _same_number(number, other) for _, other in told[1:]),
        "denied the right value": _denied(answer, (place.start, place.end)),
        "too long to be an answer": _words(answer) > MOST_WORDS,
    }
    fault = next((reason for reason, found in faults.items() if found), "")
    return ("wrong", fault) if fault else _judge_number(probe, number, golds)


def _judge_number(probe: Probe, said: Quantity, golds: Sequence[Quantity]) -> Graded:
    if any(_same_number(said, gold) for gold in golds):
        return "correct", ""
    stale = any((q := quantity(bad)) is not None and _same_number(said, q) for bad in probe.reject)
    return "wrong", SUPERSEDED if stale else "another value"


def _same_number(said: Quantity, gold: Quantity) -> bool:
    """Equal within tolerance (whole numbers: exactly); units must agree where both have one."""
    if not (said.unit and gold.unit):
        said, gold = Quantity(said.plain, ""), Quantity(gold.plain, "")
    if said.unit != gold.unit:
        return False
    if float(gold.value).is_integer() and float(said.value).is_integer():
        return said.value == gold.value
    return abs(said.value - gold.value) <= NUMERIC_TOLERANCE * abs(gold.value)


def _grade_set(probe: Probe, answer: str) -> Graded:
    """F1 of the items named against the accepted ones; correct from ``SET_F1`` on."""
    said = set_items(answer)
    if not said:
        return "wrong", "no item"
    bad = [
        item
        for item in said
        if any(_same_item(item, r) for r in probe.reject) and not any(_same_item(item, g) for g in probe.accept)
    ]
    hit = {gold for gold in probe.accept if any(_same_item(item, gold) for item in said)}
    used = [item for item in said if any(_same_item(item, gold) for gold in probe.accept)]
    precision, recall = len(used) / len(said), len(hit) / len(probe.accept)
    f1 = 2 * precision * recall / (precision + recall) if used else 0.0
    if bad and f1 >= SET_F1:
        return "wrong", SUPERSEDED
    return ("correct", "") if f1 >= SET_F1 else ("wrong", f"F1 {f1:.2f} below {SET_F1}")


def set_items(answer: str) -> list[str]:
    """Items of a list in prose or lines: by commas, semicolons, line breaks, bullets and "and"."""
    items = re.split(r"\n|,|;|、|\s\band\b\s|以及|和(?=[^\s]*[./])", fold(answer))
    cleaned = (re.sub(r"^\s*(?:[-*•]|\d+[.)])\s+", "", item).strip(_EDGE.replace(".", "")).rstrip(".。") for item in items)
    return list(dict.fromkeys(item for item in cleaned if item))


def _same_item(item: str, gold: str) -> bool:
    return normalise(item) == normalise(gold) or (("/" in gold or "." in gold) and same_path(item, gold))


_LETTER = re.compile(r"^\(?([A-Ha-h])(?:[.):](?!\w)|$)")
_YES = {
    "yes": "yes",
    "true": "yes",
    "yeah": "yes",
    "是": "yes",
    "是的": "yes",
    "对": "yes",
    "可以": "yes",
    "能": "yes",
    "有": "yes",
}
_NO = {"no": "no", "false": "no", "nope": "no", "否": "no", "不": "no", "不是": "no", "不可以": "no", "不能": "no", "没有": "no"}


def _grade_choice(probe: Probe, answer: str) -> Graded:
    """The one option that the answer names, by letter or by its words, must be an accepted one."""
    named = options_named(answer, probe.choices)
    if len(named) != 1:
        return "wrong", "named several options" if named else "named no option"
    right = {normalise(gold) for gold in probe.accept}
    if normalise(probe.choices[named[0]]) in right:
        return "correct", ""
    stale = normalise(probe.choices[named[0]]) in {normalise(bad) for bad in probe.reject}
    return "wrong", SUPERSEDED if stale else "another option"


def options_named(answer: str, choices: Sequence[str]) -> list[int]:
    """Indices of the options that an answer names without denying them."""
    spoken = normalise(answer)
    options = [normalise(choice) for choice in choices]
    if spoken in options:
        return [options.index(spoken)]
    first = re.split(r"[\s,.;:!，。]", spoken)[0]
    polarity = _YES.get(first) or _NO.get(first)
    if polarity is not None:
        polar = [n for n, option in enumerate(options) if (_YES.get(option) or _NO.get(option)) == polarity]
        polar += [n for n, option in enumerate(options) if n not in polar and _whole(option, spoken) is not None]
        if polar and _words(spoken) <= MOST_WORDS:
            return polar
    letter = _LETTER.match(answer)
    if letter and (index := ord(letter.group(1).lower()) - ord("a")) < len(options):
        others = any(n != index and _whole(option, spoken) is not None for n, option in enumerate(options))
        return [] if others else [index]
    places = {n: found for n, option in enumerate(options) if (found := _whole(option, spoken)) is not None}
    outer = [
        n for n, p in places.items() if not any(m != n and q[0] <= p[0] and p[1] <= q[1] and q != p for m, q in places.items())
    ]
    if _words(spoken) > MOST_WORDS + 2 * max((_words(option) for option in options), default=0):
        return []
    return [n for n in outer if not _denied(spoken, places[n])] if len(outer) == 1 else outer


_GRADERS: dict[str, Callable[[Probe, str], Graded]] = {
    "exact": _grade_exact,
    "normalised": _grade_normalised,
    "path": _grade_path,
    "numeric": _grade_numeric,
    "set": _grade_set,
    "choice": _grade_choice,
}

"""Graders: what counts as a right answer. A reject list beats an accept list, and nothing is matched inside a word.

An answer must be the value, or a short sentence around it. A paste of the context, a list of candidates, a negated or a
superseded value is wrong, whatever else it holds.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal, InvalidOperation

from ullage.types import Grader, Outcome, Probe

Graded = tuple[Outcome, str]

LONGEST_CARRIER = 160
"""Characters that may stand around a value: a sentence, not a paste."""
SET_F1 = 0.8
"""A set is right from this F1 on: one item in five may be missing or too much."""
TOLERANCE = Decimal("0.000001")
"""Relative difference of numbers that print differently and mean the same."""

_DECLINES = re.compile(
    r"^\W*(?:unknown|n/?a|none|(?:i (?:do not|don't|cannot|can't) (?:know|tell|say|find|recall))|not (?:stated|mentioned|known|specified|given)"
    r"|no (?:information|mention)|it (?:does not|doesn't) say|不知道|未提及|没有提到|无法确定|不清楚)\b.*$",
    re.IGNORECASE | re.DOTALL,
)
_TOOL_SYNTAX = re.compile(r"^\s*(?:<(?:tool|function|invoke)|\{\s*\"(?:name|tool|function|tool_calls)\"|```)", re.IGNORECASE)
_NEGATED = re.compile(r"(?:\bnot|\bnever|\bno longer|\bisn't|\bwasn't|\baren't|\bwithout|\brather than|\binstead of|不是|并非|不再是|没有)\W{0,3}(?:\w+\W+){0,2}$", re.IGNORECASE)
_NUMBER = re.compile(r"[-+]?\d[\d,_]*(?:\.\d+)?(?:[eE][-+]?\d+)?")
_UNIT = re.compile(r"\s*(%|[A-Za-zµ°]+|[\u4e00-\u9fff]{1,3})?")
_VALUE_SHAPES = (
    re.compile(r"(?<![\w/.])(?:[\w.-]+)?(?:/[\w.@+-]+)+"),
    re.compile(r"(?<![\w.])\d[\d.,:_-]*"),
    re.compile(r"\b[0-9a-f]{7,40}\b"),
)
_QUOTES = str.maketrans({"“": '"', "”": '"', "‘": "'", "’": "'", "「": '"', "」": '"', "『": '"', "』": '"'})
_EDGES = " \t\n\r.,;:!?\"'`()[]{}<>。，；：！？、（）【】《》"
_WORD = re.compile(r"\w", re.UNICODE)


def grade(probe: Probe, text: str | None) -> Graded:
    """Grade one answer (none: the reader declined); gives the outcome and, when it is not plain, why."""
    declined = text is None or bool(_DECLINES.match(text.strip()))
    if probe.grader == "abstain":
        return ("correct", "") if declined else ("wrong", "answered a decoy")
    if declined or text is None:
        return "abstained", ""
    answer = text.strip()
    if not answer:
        return "wrong", "empty"
    if _TOOL_SYNTAX.match(answer):
        return "wrong", "tool syntax"
    stale = next((value for value in probe.reject if holds(answer, value)), None)
    if stale is not None:
        return "wrong", f"holds the rejected value {stale[:60]!r}"
    return _GRADERS[probe.grader](probe, answer)


def normalise(text: str) -> str:
    """One case, width, kind of quotes and single spaces, without punctuation at the ends."""
    return " ".join(unicodedata.normalize("NFKC", text).translate(_QUOTES).casefold().split()).strip(_EDGES)


def holds(text: str, value: str) -> bool:
    """Tell whether a text holds a value as whole words, in any case and width."""
    return _find(normalise(text), normalise(value)) >= 0


def _find(text: str, value: str) -> int:
    """Where ``value`` stands in ``text`` bounded by no word character of its own kind; -1 when nowhere."""
    if not value:
        return -1
    at = text.find(value)
    while at >= 0:
        before, after = text[at - 1 : at], text[at + len(value) : at + len(value) + 1]
        if not (_joins(before, value[0]) or _joins(value[-1], after)):
            return at
        at = text.find(value, at + 1)
    return -1


def _joins(left: str, right: str) -> bool:
    """Two neighbouring characters that make one word: letters, digits, underscores; a Chinese one joins nothing."""
    if not left or not right:
        return False
    return bool(_WORD.match(left) and _WORD.match(right)) and not (_wide(left) or _wide(right))


def _wide(char: str) -> bool:
    return "\u2e80" <= char <= "\u9fff"


def _carried(answer: str, gold: str) -> Graded | None:
    """Judge what stands around a value that was found: too much, a negation, or other values of the same shape."""
    text, value = normalise(answer), normalise(gold)
    at = _find(text, value)
    if at < 0:
        return None
    around = text[:at] + " " + text[at + len(value) :]
    if len(around) > LONGEST_CARRIER:
        return "wrong", "more than a sentence around the value"
    if _NEGATED.search(text[:at]):
        return "wrong", "negated"
    for shape in _VALUE_SHAPES:
        if shape.fullmatch(value) and shape.search(around):
            return "wrong", "several values"
    if around.count(",") + around.count("、") + around.count(";") + around.count(" or ") + around.count("|") > 2:
        return "wrong", "several values"
    return "correct", ""


def _exact(probe: Probe, answer: str) -> Graded:
    """The value as it is written, but for quotes and punctuation at its ends."""
    for gold in probe.accept:
        if answer.strip(_EDGES) == gold.strip(_EDGES):
            return "correct", ""
        if _find(answer.translate(_QUOTES), gold.translate(_QUOTES)) >= 0:
            found = _carried(answer, gold)
            if found is not None:
                return found
    return "wrong", ""


def _normalised(probe: Probe, answer: str) -> Graded:
    """The value in any case, width and kind of quotes."""
    found = [_carried(answer, gold) for gold in probe.accept]
    return _best(found)


def _path(probe: Probe, answer: str) -> Graded:
    """The path, or the end of it from a folder boundary on when the answer names at least file and folder."""
    found: list[Graded | None] = []
    for gold in probe.accept:
        given = [part for part in re.split(r"[\s,;'\"`]+", answer) if part.strip(_EDGES)]
        same = [part for part in given if _same_path(part, gold)]
        others = [part for part in given if not _same_path(part, gold) and ("/" in part.strip(_EDGES) or "\\" in part)]
        if same and others:
            found.append(("wrong", "several values"))
        elif same:
            found.append(_carried(answer, same[0]) or ("correct", ""))
    return _best(found)


def _same_path(given: str, gold: str) -> bool:
    left, right = (_parts(path) for path in (given, gold))
    if not left or not right:
        return False
    shorter = min(len(left), len(right))
    return left[-shorter:] == right[-shorter:] and (len(left) == len(right) or shorter >= 2)


def _parts(path: str) -> list[str]:
    clean = path.strip(_EDGES + "*").replace("\\", "/").removeprefix("./")
    return [part for part in re.sub(r":\d+(?::\d+)?$", "", clean).split("/") if part not in ("", ".")]


def _numeric(probe: Probe, answer: str) -> Graded:
    """One number, equal within rounding, with the same unit where both name one."""
    numbers = list(_numbers(answer))
    found: list[Graded | None] = []
    for gold in probe.accept:
        wanted = next(_numbers(gold), None)
        if wanted is None:
            found.append(_carried(answer, gold))
            continue
        if any(_same_number(number, wanted) for number in numbers):
            different = {value for value, unit in numbers if not _same_number((value, unit), wanted)}
            found.append(("wrong", "several values") if different else _sentence(answer, gold))
    return _best(found)


def _sentence(answer: str, gold: str) -> Graded:
    """Bound what stands around a number, and refuse a negated one."""
    if len(answer) > LONGEST_CARRIER + len(gold):
        return "wrong", "more than a sentence around the value"
    first = _NUMBER.search(answer)
    if first and _NEGATED.search(answer[: first.start()]):
        return "wrong", "negated"
    return "correct", ""


def _numbers(text: str) -> Iterator[tuple[Decimal, str]]:
    for match in _NUMBER.finditer(text):
        try:
            value = Decimal(match.group().replace(",", "").replace("_", ""))
        except InvalidOperation:
            continue
        unit = _UNIT.match(text, match.end())
        yield value, normalise(unit.group(1) or "") if unit else ""


def _same_number(left: tuple[Decimal, str], right: tuple[Decimal, str]) -> bool:
    close = abs(left[0] - right[0]) <= TOLERANCE * max(abs(left[0]), abs(right[0]))
    units = left[1] == right[1] or not left[1] or not right[1] or not _known_unit(left[1]) or not _known_unit(right[1])
    return close and units


_UNITS = frozenset(
    "% s ms us ns min h d kb mb gb tb b kib mib gib px usd eur cny tokens rows lines files tests 秒 分钟 小时 天 次 个 行 元".split()  # noqa: SIM905 - a list of words
)


def _known_unit(unit: str) -> bool:
    return unit in _UNITS


def _set(probe: Probe, answer: str) -> Graded:
    """Items separated by commas, semicolons, newlines or 'and': right from an F1 of 0.8 on."""
    items = {normalise(item) for item in re.split(r"[,;\n、，；]|\band\b|和", answer) if normalise(item)}
    gold = {normalise(item) for item in probe.accept}
    if not items or not gold:
        return "wrong", ""
    matched = sum(any(item == g or _same_path(item, g) for g in gold) for item in items)
    covered = sum(any(item == g or _same_path(item, g) for item in items) for g in gold)
    precision, recall = matched / len(items), covered / len(gold)
    score = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    return ("correct", "") if score >= SET_F1 else ("wrong", f"F1 {score:.2f}")


def _choice(probe: Probe, answer: str) -> Graded:
    """Exactly one option, by its letter or its text."""
    letter = re.fullmatch(r"\W*([A-Za-z])\W*", answer)
    if letter:
        index = ord(letter.group(1).upper()) - ord("A")
        chosen = [probe.choices[index]] if index < len(probe.choices) else []
    else:
        chosen = [choice for choice in probe.choices if normalise(choice) == normalise(answer)]
        chosen = chosen or [choice for choice in probe.choices if _carried(answer, choice) == ("correct", "")]
        held = [choice for choice in probe.choices if holds(answer, choice)]
        longest = max(held, key=len, default="")
        if any(not holds(longest, choice) for choice in held):
            return "wrong", "several options"
        chosen = [longest] if longest in chosen else chosen
    if not chosen:
        return "wrong", "no option"
    right = {normalise(gold) for gold in probe.accept}
    return ("correct", "") if normalise(chosen[0]) in right else ("wrong", "")


def _best(found: Iterable[Graded | None]) -> Graded:
    known = [one for one in found if one is not None]
    if any(outcome == "correct" for outcome, _ in known):
        return "correct", ""
    return known[0] if known else ("wrong", "")


_GRADERS: dict[Grader, Callable[[Probe, str], Graded]] = {
    "exact": _exact,
    "normalised": _normalised,
    "path": _path,
    "numeric": _numeric,
    "set": _set,
    "choice": _choice,
}

"""Facts in plain sentences: what the user forbade or demanded, why something is so, what was chosen instead of what, what is not so."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator

from ullage.mining.candidates import Candidate, Sighting, settle, tell, unique
from ullage.mining.source import Line, Source
from ullage.terms import is_cjk, terms
from ullage.values import find

_FORBIDDEN = re.compile(
    r"(?:^|[,;:.!]\s+|\b(?:please|but|and|so|also|then|just)\s+)(?:please\s+|also\s+)?(?:don't|do not|never|you must not|you should not|you shouldn't|avoid)\s+(?P<vp>[a-z][^.;!?\n]{6,90})",
    re.IGNORECASE,
)
_DEMANDED = re.compile(
    r"(?:^|[,;:.!]\s+|\b(?:please|but|and|so|also|then|just)\s+)(?:please\s+)?(?:always|you must|you have to|make sure to|be sure to|remember to|it must|must)\s+(?P<vp>[a-z][^.;!?\n]{6,90})",
    re.IGNORECASE,
)
_IMPERATIVE = re.compile(r"^(?:please\s+)?(?P<vp>(?:keep|leave|only use|use only|stay|stick)\s[^.;!?\n]{8,90})", re.IGNORECASE)
_FORBIDDEN_ZH = re.compile(
    r"(?:不要|(?:^|[,，。；;!！]|请|千万|但|也)别(?![的人处家墅名说是样])|禁止|不得|不许|不准|请勿)(?P<vp>(?!的|了|再)[\u4e00-\u9fffA-Za-z0-9_`./ -]{3,40})"
)
_DEMANDED_ZH = re.compile(r"(?:必须|务必|一定要)(?P<vp>(?!的|了|是)[\u4e00-\u9fffA-Za-z0-9_`./ -]{3,40})")
_CONDITION = re.compile(
    r"\b(?:unless|until|except|only if|if you|otherwise|worry|forget|think|know|care|mind|need to|want|see|get)\b|除非|直到|如果",
    re.IGNORECASE,
)
_PRONOUN = re.compile(
    r"\b(?:you|me|it|this|that|these|those|them|there|he|she|we|us|i|here|one|same|above|below|following)\b|(?:这|那|它|他|她|我|你|们)",
    re.IGNORECASE,
)
_BECAUSE = re.compile(
    r"^(?:[-*•\d.)\s]*)(?P<claim>[^,;:()\n]{15,110}?),?\s+(?:because|since|due to the fact that)\s+(?P<reason>[^;:\n]{15,140}?)(?:[.;]|$)|"
    r"^(?P<claim2>[^,，。:：\n]{5,50}?)[,，]?(?:是因为|因为|由于)(?P<reason2>[^，。;；\n]{5,60})"
)
_INSTEAD = re.compile(
    r"\b(?:us(?:e|es|ed|ing)|switch(?:ed|ing)? to|go(?:ing)? with|chose|choose|prefer(?:red)?|keep|kept|with)\s+(?P<new>[`\w./()@ -]{2,50}?)\s+(?:instead of|rather than|in place of)\s+(?P<old>[`\w./()@ -]{2,50}?)(?=[.,;:)](?:\s|$)|\s+(?:to|for|in|because|so|when|and|which|since|as)\b|$)",
    re.IGNORECASE,
)
_AUXILIARY = {
    "isn't": "Is",
    "is not": "Is",
    "wasn't": "Was",
    "was not": "Was",
    "aren't": "Are",
    "are not": "Are",
    "doesn't": "Does",
    "does not": "Does",
    "didn't": "Did",
    "did not": "Did",
    "can't": "Can",
    "cannot": "Can",
    "won't": "Will",
    "will not": "Will",
    "hasn't": "Has",
    "has not": "Has",
}
"""How a question begins whose answer was stated with each of these."""
_NOT_SO = re.compile(
    r"^(?:[-*•\d.)\s]*)(?P<subject>(?:The |the |A |An |(?!(?:If|When|While|Since|Because|But|And|So|That|There|What|Which|How|Why|Where|Once|After|Before|Although|Though|Yes|No|Note|As)\b)[`A-Z])[^,;:()\n]{2,60}?)\s+(?P<verb>"
    + "|".join(_AUXILIARY)
    + r")\s+"
    r"(?P<rest>[^,;:()\n]{6,80}?)(?:[.,;]|\s+(?:because|so|but|and|since)\b|$)"
)
REASONS, FEWEST_REASONS = 4, 3
"""Options of a question for a reason, most and fewest: the chance of guessing is a quarter to a third."""


_RULES = ((True, _FORBIDDEN), (False, _DEMANDED), (False, _IMPERATIVE), (True, _FORBIDDEN_ZH), (False, _DEMANDED_ZH))


def constraints(source: Source) -> Iterator[Candidate]:
    """What the user forbids or demands, asked as a question of permission or duty."""
    for line in source.lines:
        if line.speaker != "user" or len(line.text) > 300 or line.text.startswith((">", "|", "+", "-", "#", "//")):
            continue
        for forbidden, pattern in _RULES:
            match = pattern.search(line.text)
            if match and not _CONDITION.search(match.group(0)):
                vp = _verb_phrase(match.group("vp"))
                if vp:
                    yield _constraint(source, line, vp, match, forbidden=forbidden)
                    break


def _verb_phrase(text: str) -> str:
    """The thing forbidden or demanded, up to the end of its clause; empty when it cannot stand alone."""
    clause = re.split(
        r",|\s+(?:because|but|since|as(?! (?:it|they) (?:is|are)\b| is\b)|so|when|while|or else)\b|\s-\s", text, maxsplit=1
    )[0].strip(" `*\"'")
    words = len(clause.split())
    if (
        _PRONOUN.search(re.sub(r"\bas (?:it|they) (?:is|are)\b|\bas is\b", "", clause))
        or (words < 2 and not is_cjk(clause))
        or words > 14
    ):
        return ""
    return re.sub(r"\bmy\b", "the user's", clause)


def _constraint(source: Source, line: Line, vp: str, match: re.Match[str], *, forbidden: bool) -> Candidate:
    chinese = is_cjk(vp)
    yes, no = ("是", "否") if chinese else ("yes", "no")
    if chinese:
        question = f"用户允许{vp}吗？" if forbidden else f"用户要求必须{vp}吗？"
    else:
        question = f"May the agent {_bare(vp, match)}?" if forbidden else f"Must the agent {vp[0].lower()}{vp[1:]}?"
    return Candidate(
        family="constraint",
        type="constraint",
        question=question,
        accept=(no if forbidden else yes,),
        reject=(yes if forbidden else no,),
        grader="choice",
        form="prose",
        choices=(yes, no),
        evidence=(source.span(line, match.start(), match.end()),),
        settled_at=line.message,
        speaker="user",
    )


def _bare(vp: str, match: re.Match[str]) -> str:
    """The verb phrase after "avoid" in its plain form."""
    first, _, rest = vp.partition(" ")
    if "avoid" in match.group(0).lower() and first.endswith("ing"):
        first = first[:-3]
    return f"{first} {rest}".strip()


def reasons(source: Source) -> Iterator[Candidate]:
    """Why something is so, with the reasons given for other things as the wrong options."""
    found: list[tuple[Line, str, str]] = []
    for line in source.lines:
        match = _BECAUSE.match(line.text) if line.kind == "text" else None
        if not match:
            continue
        claim, reason = match.group("claim") or match.group("claim2"), match.group("reason") or match.group("reason2")
        if _standalone(claim) and len(terms(reason)) >= 3 and reason.count("`") % 2 == 0 and "*" not in reason:
            found.append((line, claim.strip(" *-"), reason.strip(" *")))
    for n, (line, claim, reason) in enumerate(found):
        others = [found[(n + step) % len(found)][2] for step in range(1, len(found))]
        wrong = [other for other in dict.fromkeys(others) if other != reason and not terms(other) & terms(claim) > terms(reason)][
            : REASONS - 1
        ]
        if len(wrong) >= FEWEST_REASONS - 1:
            yield _reason(source, line, claim, reason, wrong)


def _standalone(claim: str) -> bool:
    """Whether a claim can be asked about alone: no pronoun, enough words, balanced quotes."""
    return not _PRONOUN.search(claim) and len(terms(claim)) >= 3 and claim.count("`") % 2 == 0 and "*" not in claim


def _reason(source: Source, line: Line, claim: str, reason: str, wrong: list[str]) -> Candidate:
    first = _mid_sentence(source, claim)
    return Candidate(
        family="reason",
        type="decision",
        question=tell("zh" if is_cjk(claim) else "en", f"Why is it that {first}?", f"为什么{claim}？"),
        accept=(reason,),
        reject=tuple(wrong),
        grader="choice",
        form="prose",
        choices=tuple(sorted((reason, *wrong))),
        evidence=(source.span(line),),
        settled_at=line.message,
        speaker=line.speaker,
    )


def replacements(source: Source) -> Iterator[Candidate]:
    """What was chosen instead of what."""
    found: dict[str, list[tuple[str, Line, re.Match[str]]]] = defaultdict(list)
    for line in source.lines:
        match = _INSTEAD.search(line.text) if line.kind == "text" else None
        if match and not _PRONOUN.search(match.group("new") + " " + match.group("old")) and len(terms(match.group("old"))) >= 1:
            if "(" in match.group("new").replace("()", "") or _vague(match.group("old")) or _vague(match.group("new")):
                continue
            found[match.group("old").strip(" `").lower()].append((match.group("new").strip(" `"), line, match))
    for seen in found.values():
        if len({new.lower() for new, _, _ in seen}) > 1:
            continue
        new, line, match = seen[0]
        old = match.group("old").strip(" `")
        yield Candidate(
            family="instead",
            type="decision",
            question=tell(source.language, f"What is used instead of {_ticked(old)}?", f"用什么代替了 {_ticked(old)}？"),
            accept=unique((new, re.sub(r"^(?:the|a|an) ", "", new))),
            reject=(old,),
            grader="normalised",
            form="prose",
            evidence=(source.span(line),),
            settled_at=line.message,
            restated_at=seen[-1][1].message if len(seen) > 1 else None,
            speaker=line.speaker,
        )


def _vague(name: str) -> bool:
    """Whether a name says too little to be asked for: one plain word."""
    return len(name.split()) < 2 and not re.search(r"[a-z][A-Z]|[_./(]|\d", name.strip("` "))


def _ticked(name: str) -> str:
    """A name in backticks when it is spelled like code."""
    return f"`{name}`" if " " not in name and any(True for _ in find("identifier", name)) else name


def _mid_sentence(source: Source, text: str) -> str:
    """A clause as it reads inside a sentence: its first word in lower case unless it is a name."""
    first = re.match(r"[A-Z][a-z]+(?=[\s-])", text)
    return text[0].lower() + text[1:] if first and first.group(0) not in source.names else text


def denials(source: Source) -> Iterator[Candidate]:
    """What is stated not to be so, turned into a yes-no question."""
    found: dict[str, list[Sighting]] = defaultdict(list)
    for line in source.lines:
        match = _NOT_SO.match(line.text) if line.kind == "text" else None
        if match is None or _PRONOUN.search(match.group("subject") + " " + match.group("rest")):
            continue
        subject, rest = match.group("subject").strip("*"), match.group("rest").strip("* ")
        if len(terms(f"{subject} {rest}")) < 3 or re.search(r"\b(?:not|no|yet|just|only|any\w*|always|necessarily)\b", rest):
            continue
        subject = _mid_sentence(source, subject)
        question = f"{_AUXILIARY[match.group('verb')]} {subject} {rest}?"
        found[question].append(Sighting(value="no", message=line.message, span=source.span(line), speaker=line.speaker))
    for question, sightings in found.items():
        settled = settle(sightings)
        yield Candidate(
            family="denial",
            type="negative",
            question=question,
            accept=("no",),
            reject=("yes",),
            grader="choice",
            form="prose",
            choices=("yes", "no"),
            evidence=(settled.first.span,),
            settled_at=settled.first.message,
            restated_at=settled.restated_at,
            speaker=settled.first.speaker,
        )

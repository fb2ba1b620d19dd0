"""Words of a text as a search engine sees them: whole identifiers and their parts, stems, Chinese pairs of characters."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache

CJK = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_TOKEN = re.compile(rf"[{CJK}]+|[A-Za-z0-9_\u00c0-\u024f]+(?:[./:@#+-][A-Za-z0-9_\u00c0-\u024f]+)*")
_CJK = re.compile(rf"[{CJK}]")
_PART = re.compile(r"[./:@#+-]")
_QUOTES = str.maketrans(
    {"“": '"', "”": '"', "‘": "'", "’": "'", "「": '"', "」": '"', "『": '"', "』": '"', "，": ",", "。": "."}
)

STOP_WORDS = frozenset(
    """a an the this that these those of in on at to for from by with as is are was were be been being do does did doing done has have
    had having will would can could shall should may might must it its they them their there here he she his her we our you your i my
    me us and or but if then else so than not no nor only just also very too into out up down over under again further once about
    after before during while when where which what who whom whose why how all any both each few more most other some such same own
    s t don now s' let lets got get gets ok okay yes please""".split()  # noqa: SIM905 - a word list reads best as text
)
CJK_STOP = frozenset("的了是在有和与及或也都就这那一个上下中对为以把被将要会能可我你他她它们吗呢吧啊哪什么怎谁几多少请问并而但")


def fold(text: str) -> str:
    """Text in one width and one set of quotes, otherwise unchanged (NFKC)."""
    return unicodedata.normalize("NFKC", text).translate(_QUOTES)


def is_cjk(text: str) -> bool:
    """Tell whether the text holds a Chinese character."""
    return _CJK.search(text) is not None


def cjk_share(text: str) -> float:
    """Chinese characters over all letters and digits of the text; 0 for a text without any."""
    cjk = len(_CJK.findall(text))
    whole = cjk + sum(1 for c in text if c.isalnum() and c.isascii())
    return cjk / whole if whole else 0.0


_IRREGULAR = {
    form: base
    for line in """go goes went gone|run ran|take took taken|write wrote written|choose chose chosen|shrink shrank shrunk|grow grew grown
    break broke broken|fall fell fallen|rise rose risen|become became|hold held|keep kept|leave left|lose lost|make made|meet met
    pay paid|send sent|sell sold|say said|see saw seen|spend spent|stand stood|tell told|think thought|win won|begin began begun
    come came|drive drove driven|give gave given|know knew known|lead led|find found|buy bought|build built|catch caught|bring brought
    draw drew drawn|speak spoke spoken|throw threw thrown|hide hid hidden|forget forgot forgotten|mean meant|feel felt|get got gotten
    hear heard|sleep slept|teach taught|understand understood|wear wore worn|fly flew flown|eat ate eaten|use used uses using""".replace(
        "\n", "|"
    ).split("|")
    for base, *forms in [line.split()]
    for form in forms
}
"""English verbs whose forms share no stem: the ones that working logs and notes use."""


@lru_cache(maxsize=1 << 16)
def stem(word: str) -> str:
    """A word in lower case without a common English ending; identifiers stay whole."""
    word = _IRREGULAR.get(word, word)
    if not word.isalpha() or len(word) < 4:
        return word
    for ending in ("ings", "ing", "ied", "ies", "ed", "es", "s", "e"):
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not word.endswith("ss"):
            root = word[: -len(ending)]
            doubled = len(root) > 3 and root[-1] == root[-2] and root[-1] not in "lsz" and ending in {"ing", "ed", "ings"}
            return root[:-1] if doubled else root
    return word


@lru_cache(maxsize=1 << 17)
def _terms_of_token(token: str) -> tuple[str, ...]:
    if _CJK.match(token):
        pairs = [token[n : n + 2] for n in range(len(token) - 1)] or [token]
        return tuple(pair for pair in pairs if not (pair[0] in CJK_STOP and pair[-1] in CJK_STOP))
    whole = token.lower()
    parts = _PART.split(whole)
    if len(parts) == 1:
        return () if whole in STOP_WORDS else (stem(whole),)
    found = [whole, *path_tails(whole), *(stem(part) for part in parts if part and part not in STOP_WORDS)]
    if ":" in whole or "#" in whole or "@" in whole:
        found += [part for part in re.split("[:@#]", whole) if _PART.search(part)]
    if "/" in whole or "." in whole:
        found.append(ALONE + re.split("[:@#]", whole, maxsplit=1)[0])
    return tuple(dict.fromkeys(found))


ALONE = "^"
"""Mark of the term that stands for a path as it was written, so that it is not mistaken for the end of a longer one."""


def path_tails(path: str) -> list[str]:
    """A path's ends from a folder on, longest first, without line numbers: ``a/b/c.py:3`` gives ``b/c.py`` and ``c.py``."""
    if "/" not in path:
        return []
    parts = path.split(":", 1)[0].split("/")
    return ["/".join(parts[n:]) for n in range(len(parts)) if parts[n:] != [""]]


def iter_terms(text: str) -> Iterator[str]:
    """Terms of a text in order, with repeats; stop words are left out."""
    for token in _TOKEN.findall(text):
        yield from _terms_of_token(token)


def terms(text: str) -> frozenset[str]:
    """The set of terms of a text."""
    return frozenset(iter_terms(text))


def question_terms(text: str) -> tuple[str, ...]:
    """Terms to look for: a compound counts once, as its whole."""
    found: dict[str, None] = {}
    for token in _TOKEN.findall(text):
        made = _terms_of_token(token)
        if _CJK.match(token) or len(made) <= 1:
            found.update(dict.fromkeys(made))
        else:
            found[made[0]] = None
    return tuple(found)

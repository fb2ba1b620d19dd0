"""Decoys: questions about things that never occurred, made by changing a real name until the trace does not hold it."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from hashlib import blake2b
from typing import Any

from ullage.mining.candidates import Candidate
from ullage.mining.source import Source

_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[\u4e00-\u9fff]+")
ATTEMPTS = 12
"""Changes tried on one name before it is given up: most succeed at the first."""
_SUITABLE = frozenset(
    {
        "definition",
        "value",
        "commit",
        "test",
        "error",
        "failure",
        "search",
        "duration",
        "lines",
        "branch",
        "url",
        "hop",
        "field",
        "cell",
        "label",
    }
)


def decoys(source: Source, candidates: Sequence[Candidate], present: frozenset[str], most: int) -> Iterator[Candidate]:
    """At most ``most`` decoys of real questions. ``present`` are the words of the whole trace in lower case."""
    models = [c for c in candidates if c.family in _SUITABLE and c.names]
    models = interleaved(models, lambda c: seeded(source.trace.id, c.question))
    words = sorted({part for c in models for name in c.names for part in _PART.findall(name) if len(part) > 3})
    made = 0
    for model in models:
        if made >= most:
            return
        name = model.names[0]
        fresh = next((new for n in range(ATTEMPTS) if (new := mutated(name, words, n)) and _absent(new, present)), "")
        if not fresh or name not in model.question:
            continue
        made += 1
        yield Candidate(
            family=f"decoy {model.family}",
            type="abstention",
            question=model.question.replace(name, fresh),
            accept=(),
            grader="abstain",
            form=model.form,
            choices=model.choices,
            evidence=(),
            settled_at=0,
            speaker=model.speaker,
        )


def mutated(name: str, words: Sequence[str], attempt: int) -> str:
    """A name of the same shape: digits and hashes redrawn, else the last or a middle part replaced by another name's part."""
    if re.fullmatch(r"[0-9a-f]{7,40}", name):
        return blake2b(f"{name}/{attempt}".encode(), digest_size=32).hexdigest()[: len(name)]
    if re.fullmatch(r"[A-Za-z_#-]{0,6}\d{1,12}", name):
        return re.sub(r"\d", lambda digit: str((int(digit.group(0)) + 3 + 2 * attempt) % 10), name)
    parts = list(_PART.finditer(name))
    longest = [m for m in parts if len(m.group(0)) > 3] or parts
    if not longest or not words:
        return ""
    old = longest[-1 - attempt % len(longest)]
    new = words[(seeded(name, str(attempt)) % len(words))]
    if new.lower() == old.group(0).lower():
        return ""
    new = new.capitalize() if old.group(0)[0].isupper() else new.lower()
    return name[: old.start()] + new + name[old.end() :]


def _absent(name: str, present: frozenset[str]) -> bool:
    """Whether at least one word of the name's whole spellings is nowhere in the trace."""
    tokens = re.findall(r"[A-Za-z0-9_]+|[\u4e00-\u9fff]+", name.lower())
    return any((len(token) > 3 or re.search(r"\d", token)) and token not in present for token in tokens)


def interleaved(candidates: Sequence[Candidate], order: Callable[[Candidate], Any]) -> list[Candidate]:
    """Candidates in order, the rules that found them taking turns."""
    families: dict[str, list[Candidate]] = defaultdict(list)
    for candidate in sorted(candidates, key=order):
        families[candidate.family].append(candidate)
    ranked = [(n, family, candidate) for family, found in families.items() for n, candidate in enumerate(found)]
    return [candidate for _, _, candidate in sorted(ranked, key=lambda item: item[:2])]


def seeded(*parts: str) -> int:
    """A number that depends on the parts alone."""
    return int.from_bytes(blake2b("\0".join(parts).encode(), digest_size=8).digest(), "big")

"""Value swap: every probed identifier becomes a fresh value of the same shape, through the whole trace and its bank.

Nothing can then be known by heart: what a reader answers right it has read. A fresh value has the length of the old one,
so evidence offsets stay true. Only identifiers are swapped (hashes, long numbers, versions, names with digits, underscores or
inner capitals, file stems of that kind): words and small numbers mean something else elsewhere.
"""

from __future__ import annotations

import random
import re
import string
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import msgspec

from ullage.types import Block, Message, Opaque, Probe, ProbeBank, Span, Text, Thinking, ToolResult, ToolUse, Trace

_IDENTIFIER = re.compile(r"[A-Za-z0-9_]+(?:[.\-][A-Za-z0-9_]+)*")
_HASH = re.compile(r"[0-9a-f]{7,64}|[0-9A-F]{7,64}")
_TRIES = 1000
_VOWELS = frozenset("aeiouAEIOU")
_CONSONANTS = "".join(c for c in string.ascii_lowercase if c not in _VOWELS)


class Swapped(NamedTuple):
    """A trace and bank with fresh values, the mapping, and the probes none of whose values could be swapped."""

    trace: Trace
    bank: ProbeBank
    mapping: dict[str, str]
    unswapped: tuple[str, ...]


def swap(trace: Trace, bank: ProbeBank, seed: int) -> Swapped:
    """Swap every probed identifier; equal arguments give equal results."""
    wanted = {probe.id: identifiers(probe) for probe in bank.probes}
    mapping = fresh_values(sorted({value for values in wanted.values() for value in values}), _everything(trace), seed)
    rewrite = _rewriter(mapping)
    new = _rewritten_trace(trace, rewrite)
    probes = tuple(_rewritten_probe(probe, rewrite) for probe in bank.probes)
    fresh = msgspec.structs.replace(bank, trace_digest=new.digest, probes=probes)
    return Swapped(new, fresh, mapping, tuple(p.id for p in bank.probes if not any(v in mapping for v in wanted[p.id])))


def identifiers(probe: Probe) -> set[str]:
    """The identifiers in a probe's answers, rejected values and decoy question."""
    texts = [*probe.accept, *probe.reject, *([probe.question] if probe.grader == "abstain" else [])]
    return {part for text in texts for match in _IDENTIFIER.findall(text) for part in _swappable(match)}


def _swappable(token: str) -> list[str]:
    """The token itself when it is an identifier, else its parts that are (a file's stem, without the extension)."""
    if is_identifier(token):
        return [token]
    return [part for part in re.split(r"[.\-]", token) if is_identifier(part)]


def is_identifier(token: str) -> bool:
    """Tell a value that stands for one thing from a word or a small number."""
    if len(token) < 4:
        return False
    if token.isdigit():
        return len(token) >= 4
    if _HASH.fullmatch(token) and any(c.isdigit() for c in token):
        return True
    if re.fullmatch(r"v?\d+(?:\.\d+){2,}", token):
        return True
    if "." in token or "-" in token:
        return False
    inner = "_" in token.strip("_") or (any(c.isupper() for c in token[1:]) and any(c.islower() for c in token))
    return inner or (any(c.isdigit() for c in token) and any(c.isalpha() for c in token))


def fresh_values(values: Iterable[str], text: str, seed: int) -> dict[str, str]:
    """A fresh value for each, of the same shape, that occurs nowhere in ``text`` and is given once."""
    rng = random.Random(seed)
    known = set(_IDENTIFIER.findall(text)) | set(re.findall(r"[A-Za-z0-9_]+", text))
    mapping: dict[str, str] = {}
    for value in values:
        for _ in range(_TRIES):
            new = _same_shape(value, rng)
            if new != value and new not in known:
                mapping[value] = new
                known.add(new)
                break
    return mapping


def _same_shape(value: str, rng: random.Random) -> str:
    hexadecimal = _HASH.fullmatch(value) is not None and not value.isdigit()
    return "".join(_same_kind(c, n, value, rng, hexadecimal=hexadecimal) for n, c in enumerate(value))


def _same_kind(char: str, at: int, value: str, rng: random.Random, *, hexadecimal: bool) -> str:
    """A digit for a digit, a vowel for a vowel, a consonant for a consonant; a leading zero and punctuation stay."""
    if hexadecimal and char.isalnum():
        made = rng.choice("0123456789" if char.isdigit() else "abcdef")
    elif char.isdigit():
        first = at == 0 or not value[at - 1].isdigit()
        made = char if char == "0" and first else rng.choice("123456789" if first else "0123456789")
    elif char in _VOWELS:
        made = rng.choice("aeiou")
    elif char.isascii() and char.isalpha():
        made = rng.choice(_CONSONANTS)
    else:
        return char
    return made.upper() if char.isupper() else made


def _rewriter(mapping: dict[str, str]) -> Callable[[str], str]:
    """Replace every mapped value where it stands as a whole identifier, longest first."""
    if not mapping:
        return lambda text: text
    options = "|".join(re.escape(value) for value in sorted(mapping, key=len, reverse=True))
    pattern = re.compile(rf"(?<![A-Za-z0-9_])(?:{options})(?![A-Za-z0-9_])")
    return lambda text: pattern.sub(lambda match: mapping[match.group()], text)


def _rewritten_trace(trace: Trace, rewrite: Callable[[str], str]) -> Trace:
    return msgspec.structs.replace(
        trace,
        system=rewrite(trace.system),
        tools=tuple(
            msgspec.structs.replace(t, description=rewrite(t.description), schema=rewrite(t.schema)) for t in trace.tools
        ),
        messages=tuple(_rewritten_message(message, rewrite) for message in trace.messages),
        compactions=tuple(
            msgspec.structs.replace(
                e, summary=rewrite(e.summary), attached=tuple(_rewritten_message(m, rewrite) for m in e.attached)
            )
            for e in trace.compactions
        ),
        children=tuple(_rewritten_trace(child, rewrite) for child in trace.children),
    )


def _rewritten_message(message: Message, rewrite: Callable[[str], str]) -> Message:
    return msgspec.structs.replace(message, blocks=tuple(_rewritten_block(block, rewrite) for block in message.blocks))


def _rewritten_block(block: Block, rewrite: Callable[[str], str]) -> Any:
    if isinstance(block, (Text, Thinking)):
        return msgspec.structs.replace(block, text=rewrite(block.text))
    if isinstance(block, ToolUse):
        return msgspec.structs.replace(block, arguments=rewrite(block.arguments))
    if isinstance(block, ToolResult):
        return msgspec.structs.replace(block, content=tuple(_rewritten_block(item, rewrite) for item in block.content))
    return msgspec.structs.replace(block, data=rewrite(block.data)) if isinstance(block, Opaque) else block


def _rewritten_probe(probe: Probe, rewrite: Callable[[str], str]) -> Probe:
    def all_of(texts: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(rewrite(text) for text in texts)

    spans: tuple[Span, ...] = probe.evidence
    return msgspec.structs.replace(
        probe,
        question=rewrite(probe.question),
        accept=all_of(probe.accept),
        reject=all_of(probe.reject),
        choices=all_of(probe.choices),
        evidence=spans,
    )


def _everything(trace: Trace) -> str:
    """All text of a trace, so that a fresh value can be checked against it."""
    return msgspec.json.encode(trace).decode()

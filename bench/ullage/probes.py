"""Probes: questions about a trace with known answers, mined by rules from any recording, and whether their evidence is still there.

Mining sees the recording alone: no model, no reader, no compacted context. Which of the probes may be asked is decided
apart, by floor and ceiling.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate

from ullage.lines import block_text, index_of
from ullage.mining import code, ledger, outputs, prose, records
from ullage.mining.candidates import Candidate, Rejections, holds
from ullage.mining.decoys import decoys
from ullage.mining.sampling import stratified
from ullage.mining.source import Source, usable
from ullage.terms import terms
from ullage.types import Message, Probe, ProbeBank, Span, Thinking, ToolUse, Trace, digest_of

__all__ = ["asked_as", "block_text", "evidence_text", "mine", "returns_at", "survives"]

LIMIT = 60
"""Default number of probes a trace: with 20 to 40 the intra-trace correlation already limits what more would tell."""
DECOY_SHARE = 0.15
LONGEST_ANSWER = 200
MOST_USES = 50
_NEXT_ARGUMENT = re.compile(r'(?<!\\)"\s*,\s*"\w+"\s*:\s*"')
"""What stands between two arguments of a call that are both text."""
FAMILIES: tuple[Callable[[Source], Iterator[Candidate]], ...] = (
    code.definitions, code.assignments, code.hops,
    outputs.commits, outputs.changes, outputs.tests, outputs.errors, outputs.exits, outputs.fixes, outputs.counts, outputs.links, outputs.searches,
    records.fields,
    records.labels,
    records.cells,
    ledger.file_sets, ledger.edit_order, ledger.freshness, ledger.to_dos,
    prose.constraints, prose.reasons, prose.replacements, prose.denials,
)  # fmt: skip


def mine(trace: Trace, *, limit: int = LIMIT, seed: int = 0) -> ProbeBank:
    """Find up to ``limit`` probes in a trace, a share of them decoys; work is linear in the size of the trace."""
    source = Source(trace)
    rejections = Rejections()
    sound = [c for family in FAMILIES for c in family(source) if _is_sound(c, rejections)]
    candidates = _one_answer_each(sound, rejections)
    zones = _zones(trace)
    room = round(limit * DECOY_SHARE)
    chosen = stratified(candidates, [zones[c.settled_at] for c in candidates], limit - room, seed)
    for candidate in candidates:
        if candidate not in chosen:
            rejections.add(candidate.question, candidate.type, "not sampled")
    chosen += decoys(source, candidates, _words(trace), min(room, len(chosen)))
    uses = _Uses(trace)
    probes = tuple(_probe(candidate, source.language, uses) for candidate in chosen)
    return ProbeBank(trace=trace.id, trace_digest=trace.digest, probes=probes, rejected=rejections.rows())


def asked_as(probe: Probe) -> str:
    """The answer type that a reader is told: a decoy's is that of a real question worded like it."""
    if probe.grader != "abstain":
        return probe.grader
    if probe.choices:
        return "choice"
    if re.search(r"\bhow (?:many|long|much)\b|多少|多长", probe.question, re.IGNORECASE):
        return "numeric"
    return "path" if re.search(r"\bwhich file\b|哪个文件", probe.question, re.IGNORECASE) else "normalised"


def _is_sound(candidate: Candidate, rejections: Rejections) -> bool:
    reason = _fault(candidate)
    if reason:
        rejections.add(candidate.question, candidate.type, reason)
    return not reason


def _fault(candidate: Candidate) -> str:
    """Why a candidate cannot be asked; empty when it can."""
    if any("REDACTED" in text for text in (candidate.question, *candidate.accept)):
        return "redacted in the recording"
    if any(len(gold) > LONGEST_ANSWER or not gold.strip() or not gold.isprintable() for gold in candidate.accept):
        return "answer empty, unprintable or too long"
    if not candidate.question.replace("\n", "").isprintable() or len(candidate.question) > 300:
        return "question unprintable or too long"
    if candidate.grader != "choice" and any(holds(candidate.question, gold) for gold in candidate.accept):
        return "the question holds the answer"
    return ""


def _one_answer_each(candidates: Iterable[Candidate], rejections: Rejections) -> list[Candidate]:
    """Drop questions that were found with different answers, and repeats."""
    by_question: dict[str, list[Candidate]] = {}
    for candidate in candidates:
        by_question.setdefault(candidate.question, []).append(candidate)
    kept = []
    for question, found in by_question.items():
        if len({c.accept for c in found}) > 1:
            rejections.add(question, found[0].type, "more than one answer in the trace")
        else:
            kept.append(found[0])
    return kept


def _zones(trace: Trace) -> list[str]:
    """For each message: the first, middle or last third of the trace's text."""
    sizes = [sum(len(block_text(block)) for block in message.blocks) for message in trace.messages]
    whole = max(sum(sizes), 1)
    return [
        ("head", "middle", "tail")[min(2, 3 * max(0, held - size) // whole)]
        for size, held in zip(sizes, accumulate(sizes), strict=True)
    ]


def _words(trace: Trace) -> frozenset[str]:
    """All words of a trace in lower case, whatever part of a message they stand in."""
    found: set[str] = set()
    for message in trace.messages:
        for block in message.blocks:
            text = block.text if isinstance(block, Thinking) else block_text(block)
            found.update(re.findall(r"[a-z0-9_]+|[\u4e00-\u9fff]+", text.lower()))
    return frozenset(found)


class _Uses:
    """Which calls' recorded replies used a value: the value stands as a word in the reply's text or arguments."""

    def __init__(self, trace: Trace) -> None:
        self._replies: dict[str, list[int]] = {}
        self._call_of: dict[int, int] = {}
        for number, call in enumerate(trace.calls):
            if call.reply is not None and call.reply < len(trace.messages) and usable(trace.messages[call.reply]):
                self._call_of[call.reply] = number
                for term in index_of(trace.messages[call.reply]).postings:
                    self._replies.setdefault(term, []).append(call.reply)

    def after(self, value: str, settled_at: int) -> tuple[int, ...]:
        """Calls after a message whose reply used the value; none for values too short to be told from chance."""
        wanted = terms(value)
        if len(value) < 4 or not wanted:
            return ()
        rarest = min(wanted, key=lambda term: len(self._replies.get(term, ())))
        found = [reply for reply in self._replies.get(rarest, ()) if reply > settled_at]
        if len(wanted) > 1:
            found = [reply for reply in found if all(reply in self._replies.get(term, ()) for term in wanted)]
        return tuple(self._call_of[reply] for reply in found[:MOST_USES])


def _probe(candidate: Candidate, language: str, uses: _Uses) -> Probe:
    return Probe(
        id=digest_of((candidate.question, candidate.accept, candidate.choices))[:12],
        question=candidate.question,
        accept=candidate.accept,
        reject=candidate.reject,
        grader=candidate.grader,
        type=candidate.type,
        form=candidate.form,
        choices=candidate.choices,
        evidence=candidate.evidence,
        settled_at=candidate.settled_at,
        restated_at=candidate.restated_at,
        uses=uses.after(candidate.used, candidate.settled_at),
        provenance=f"mined: {candidate.family}",
        language=language,
        speaker=candidate.speaker,
    )


def evidence_text(message: Message, span: Span) -> str:
    """The text that a span marks; inside a call's arguments with the escapes of JSON undone, one line an argument at least."""
    block = message.blocks[span.block]
    text = block_text(block)[span.start : span.end]
    if not isinstance(block, ToolUse):
        return text
    lines = _NEXT_ARGUMENT.sub(r"\\n", text)
    cut = re.search(r"\\(?:u[0-9a-fA-F]{0,3})?$", lines)
    whole = (
        lines[: cut.start()] if cut and (len(lines[: cut.start()]) - len(lines[: cut.start()].rstrip("\\"))) % 2 == 0 else lines
    )
    try:
        return str(json.loads(f'"{whole}"'))
    except ValueError:
        return text


def survives(probes: Sequence[Probe], transcript: Sequence[Message], context: Sequence[Message]) -> Mapping[str, bool | None]:
    """For each probe whether its evidence is still in the context; none for a probe without evidence.

    A span survives where its message is unchanged, or where all words of its text stand together in one line of some
    other message (of a tool call: in one message). All spans of a probe must survive.
    """
    by_id = {message.id: message for message in transcript}
    kept = {message.id: message.key for message in context}
    found: dict[str, bool | None] = {}
    for probe in probes:
        states = (_span_survives(span, by_id, kept, context) for span in probe.evidence)
        found[probe.id] = all(states) if probe.evidence else None
    return found


def returns_at(probe: Probe, by_id: Mapping[str, Message], later: Sequence[Message]) -> int | None:
    """Index in ``later`` of the message with which all evidence of a probe stands again; none when some of it never does.

    ``by_id`` holds the messages of the transcript.
    """
    places = [
        next((n for n, message in enumerate(later) if _span_survives(span, by_id, {message.id: message.key}, [message])), None)
        for span in probe.evidence
    ]
    return None if None in places or not places else max(place for place in places if place is not None)


def _span_survives(span: Span, by_id: Mapping[str, Message], kept: Mapping[str, int], context: Sequence[Message]) -> bool:
    message = by_id.get(span.message)
    if message is None:
        return False
    if kept.get(message.id) == message.key:
        return True
    # What a reader never sees is not asked for: quoted old text, words cut in half at the end of the span.
    wanted = terms(evidence_text(message, span)) & index_of(message).postings.keys()
    whole = isinstance(message.blocks[span.block], ToolUse)
    return bool(wanted) and any(_stands_in(wanted, other, whole=whole) for other in context)


def _stands_in(wanted: frozenset[str], message: Message, *, whole: bool) -> bool:
    """Whether one line of the message holds all the words; with ``whole`` the message does."""
    index = index_of(message)
    postings = [index.postings.get(term) for term in wanted]
    if any(numbers is None for numbers in postings):
        return False
    if whole:
        return True
    shortest = min((numbers for numbers in postings if numbers is not None), key=len)
    return any(wanted <= index.units[number].terms for number in shortest)

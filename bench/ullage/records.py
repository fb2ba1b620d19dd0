"""The record of one replay: one JSON line that holds all that reports, comparisons, the gate and rescoring need.

Pure text ↔ value; reading and writing folders is ``runfolder``'s. A record holds no time of day and no duration, so
equal inputs give equal bytes.
"""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Iterable, Iterator
from typing import Literal

import msgspec
from msgspec import Struct

from ullage.calibration import Calibration
from ullage.errors import UserError
from ullage.pricing import ModelPrices, Money
from ullage.types import SCHEMA, Answer, Compaction, Exam, Fault, Lookup, Probe, Row, SideRequest, Usage, Violation

EVIDENCE_CHARACTERS = 300
"""Longest evidence text that a record may quote: enough to recognise a fact, too little to republish a recording."""
Label = Literal["MODELLED", "OBSERVED"]
"""Where a money figure comes from: usage that the cache simulator computed, or usage that a provider billed."""


class Inputs(Struct, frozen=True, kw_only=True):
    """Everything that decides what a record holds: digests of what is large, spellings of what is small.

    ``trace``, ``bank`` and ``code`` (of the strategy's source files) are digests; ``policy``, ``reader``,
    ``summarizer`` and ``decider`` spec texts; ``counter`` names the encoding, ``prices`` the sheet and its date or digest, ``options``
    is the digest of the run's options.
    """

    trace: str
    bank: str = ""
    code: str = ""
    policy: str = ""
    counter: str = ""
    prices: str = ""
    reader: str = ""
    summarizer: str = ""
    decider: str = ""
    options: str = ""
    seeds: tuple[int, ...] = ()


class TraceNote(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a table says about a trace without reading it. ``tokens`` is the uncompacted history, true tokens."""

    id: str
    format: str = ""
    model: str = ""
    calls: int = 0
    messages: int = 0
    tokens: int = 0
    licence: str = ""
    split: str = ""
    group: str = ""
    starts_midway: bool = False


class Evidence(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One evidence span with the text around it, and the message that it stands in.

    ``position`` is the message's index in the trace, ``kind`` the block's (``text``, ``tool_use``, ``tool_result`` …),
    ``tool`` the tool's name where one is involved. ``at`` is where the span begins in ``text``, ``length`` its characters.
    """

    message: str
    block: int
    role: str = ""
    kind: str = ""
    tool: str = ""
    position: int = 0
    text: str
    at: int = 0
    length: int = 0


class AskedProbe(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A probe that was asked, with its evidence quoted and the zone of the trace that it lies in."""

    probe: Probe
    evidence: tuple[Evidence, ...] = ()
    zone: str = ""
    demand: int = 0


class Loss(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What removed a probe's last evidence: the compaction, the edit in it and the message that the edit changed."""

    probe: str
    compaction: int
    edit: int | None = None
    message: str = ""


class Bill(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a trace cost, in pico-dollars: the recorded calls by kind of token, and apart what compaction asked for besides.

    That is the agent's turns in which it called context tools (``deciding``), the summariser's requests, and cache storage.

    ``notes`` are the rules that stood in for gaps in the price sheet, ``prices`` those that were used (so that part of a
    replay can be priced again without the sheet). ``model`` priced every call and ``summariser_model`` every summary; empty:
    each call's own model did.
    """

    label: Label = "MODELLED"
    agent: Money = Money()
    summariser: Money = Money()
    deciding: Money = Money()
    storage: int = 0
    notes: tuple[str, ...] = ()
    prices: tuple[ModelPrices, ...] = ()
    model: str = ""
    summariser_model: str = ""

    @property
    def total(self) -> int:
        """Pico-dollars of the whole trace: calls, context turns, summaries and storage."""
        return self.agent.total + self.deciding.total + self.summariser.total + self.storage


class Skipped(Struct, frozen=True, kw_only=True):
    """Something that was not measured, how often, and why."""

    what: str
    reason: str
    count: int = 1


class RunRecord(Struct, frozen=True, kw_only=True, omit_defaults=True, dict=True):
    """One strategy on one trace.

    ``kind`` tells a replayed strategy from a bound (no rows, no bill). ``floors`` are the reader's answers to the
    question alone, ``ceilings`` its answers on the full context (``exam`` as in ``answers``). ``open_book`` is how many stored
    entries it could open for a question, ``lookups`` what it said then. ``api`` is by whose message rules ``violations`` were
    looked for. ``losses`` name what
    removed a probe's evidence. ``requests`` are those to a model that no compaction answers for; ``summarizer`` is what all
    summaries used, those among them included. ``bill`` is none with a reason under ``unpriced``; ``recorded_bill`` is the OBSERVED one.
    ``died_at`` is the call that could not be made; ``unexamined`` counts compactions after which nothing was asked.
    """

    schema: int
    spec: str
    kind: Literal["strategy", "bound"] = "strategy"
    trace: TraceNote
    inputs: Inputs
    mode: Literal["deployed", "forced"] = "deployed"
    budget: int | None = None
    window: int
    window_source: str = ""
    reserve: int = 0
    model: str = ""
    model_source: str = ""
    checkpoints: tuple[float, ...] = ()
    calibration: Calibration | None = None
    rows: tuple[Row, ...] = ()
    compactions: tuple[Compaction, ...] = ()
    requests: tuple[SideRequest, ...] = ()
    summarizer: Usage = Usage()
    summarizer_calls: int = 0
    bill: Bill | None = None
    unpriced: str = ""
    recorded_usage: Usage | None = None
    recorded_bill: Bill | None = None
    probes: tuple[AskedProbe, ...] = ()
    exams: tuple[Exam, ...] = ()
    answers: tuple[Answer, ...] = ()
    floors: tuple[Answer, ...] = ()
    ceilings: tuple[Answer, ...] = ()
    open_book: int = 0
    api: str = ""
    lookups: tuple[Lookup, ...] = ()
    losses: tuple[Loss, ...] = ()
    unexamined: int = 0
    violations: tuple[Violation, ...] = ()
    faults: tuple[Fault, ...] = ()
    died_at: int | None = None
    died: str = ""
    skipped: tuple[Skipped, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def key(self) -> tuple[str, str]:
        """Spec and trace digest: unique in a run."""
        return self.spec, self.inputs.trace

    @property
    def cluster(self) -> str:
        """What is independent of other records: the trace, or all traces that tell the same story."""
        return self.trace.group or self.inputs.trace

    @property
    def usage(self) -> Usage:
        """Simulated usage of all calls, the summariser's apart."""
        return sum((row.usage for row in self.rows), Usage())

    @property
    def deciding(self) -> Usage:
        """Simulated usage of the turns in which the agent's model called context tools."""
        return sum((request.usage for request in self.requests if request.kind == "decision"), Usage())

    @property
    def survived(self) -> int:
        """Calls that could be made."""
        return len(self.rows)


class _Versioned(Struct):
    """The one field that every version has."""

    schema: int


_ENCODER = msgspec.json.Encoder(order="deterministic")
_DECODER = msgspec.json.Decoder(RunRecord)
_VERSION = msgspec.json.Decoder(_Versioned)


def encode(record: RunRecord) -> bytes:
    """One line of canonical JSON, newline included."""
    return _ENCODER.encode(record) + b"\n"


def encode_all(records: Iterable[RunRecord]) -> bytes:
    """All records in one order, whatever order they were made in: by spec, then trace id, then trace digest."""
    return b"".join(encode(record) for record in sorted(records, key=_order))


def decode(line: bytes | str, *, where: str = "record") -> RunRecord:
    """The record on one line; raises ``UserError`` for another schema or a line that is no record."""
    try:
        found = _VERSION.decode(line).schema
        if found != SCHEMA:
            raise UserError(f"{where}: found record schema {found}; expected {SCHEMA}; run it again with this version")
        return _DECODER.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UserError(f"{where}: found a line that is no record ({error}); expected one RunRecord of schema {SCHEMA}") from None


def decode_lines(lines: Iterable[bytes], *, where: str = "records.jsonl") -> Iterator[RunRecord]:
    """Records of a stream, one a line; blank lines are passed over, anything else that is no record is refused."""
    for number, line in enumerate(lines, 1):
        if line.strip():
            yield decode(line, where=f"{where}:{number}")


def check_unique(records: Iterable[RunRecord], *, where: str = "records.jsonl") -> None:
    """Raise ``UserError`` when a spec and trace come twice: a run holds each pair once."""
    for (spec, trace), count in Tally(record.key for record in records).items():
        if count > 1:
            raise UserError(f"{where}: found {spec} on trace {trace} {count} times; expected each pair once")


def quote(text: str, start: int, end: int, limit: int = EVIDENCE_CHARACTERS) -> tuple[str, int, int]:
    """Cut ``limit`` characters around a span: the text, where the span begins in it, and how long it is there."""
    start, end = max(0, start), min(max(start, end), len(text))
    length = min(end - start, limit)
    first = max(0, min(start - (limit - length) // 2, len(text) - limit))
    return text[first : first + limit], start - first, length


def _order(record: RunRecord) -> tuple[str, str, str]:
    return record.spec, record.trace.id, record.inputs.trace

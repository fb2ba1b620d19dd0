"""The nouns: frozen values that mean the same in memory and on disk.

Every struct is keyword-only, holds tuples and is encoded as canonical JSON by ``msgspec``. Times are integer
milliseconds since the Unix epoch, sizes are integer tokens unless a name says characters or bytes, and free-form
JSON is kept as canonical JSON text (``JsonText``) so that a value stays hashable and nothing unknown is dropped.
"""

from __future__ import annotations

import enum
from functools import cached_property
from typing import Any, Literal

import msgspec
from msgspec import Struct

from ullage.messages import Block as Block
from ullage.messages import Image as Image
from ullage.messages import JsonText as JsonText
from ullage.messages import Message as Message
from ullage.messages import Opaque as Opaque
from ullage.messages import ResultItem as ResultItem
from ullage.messages import Role as Role
from ullage.messages import Shape as Shape
from ullage.messages import Text as Text
from ullage.messages import Thinking as Thinking
from ullage.messages import ToolResult as ToolResult
from ullage.messages import ToolUse as ToolUse
from ullage.messages import canonical_json as canonical_json
from ullage.messages import digest_of as digest_of

SCHEMA = 1
"""Version of the record and trace schema; a change that breaks a reader raises it."""

Grader = Literal["exact", "normalised", "path", "numeric", "set", "choice", "abstain"]
Outcome = Literal["correct", "wrong", "abstained", "unscorable"]
Severity = Literal["error", "warning"]


class Usage(Struct, frozen=True, kw_only=True):
    """Billed tokens of one call. The first four are disjoint and sum to the whole prompt."""

    uncached: int = 0
    cache_read: int = 0
    cache_write_5m: int = 0
    cache_write_1h: int = 0
    output: int = 0

    @property
    def cache_write(self) -> int:
        """Tokens written to the cache, of both lifetimes."""
        return self.cache_write_5m + self.cache_write_1h

    @property
    def prompt(self) -> int:
        """Tokens of the whole prompt."""
        return self.uncached + self.cache_read + self.cache_write_5m + self.cache_write_1h

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            uncached=self.uncached + other.uncached,
            cache_read=self.cache_read + other.cache_read,
            cache_write_5m=self.cache_write_5m + other.cache_write_5m,
            cache_write_1h=self.cache_write_1h + other.cache_write_1h,
            output=self.output + other.output,
        )


class Call(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One recorded model request.

    ``upto`` is how many messages of ``Trace.messages`` went in; ``reply`` is the index of the message that came out
    (``upto <= reply``), or none for a request that left no message. ``usage`` is what was billed, if recorded.
    ``ttl`` is the cache lifetime that the request's writes had. A read-only recording has its writes in ``uncached``.
    """

    id: str
    upto: int
    reply: int | None = None
    at: int | None = None
    model: str = ""
    usage: Usage | None = None
    output_reliable: bool = True
    ttl: Literal["", "5m", "1h"] = ""
    extra: JsonText = ""


class RecordedCompaction(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A compaction that the recorded client made.

    ``call`` is the index of the first call after it, ``position`` how many messages of the trace came before it.
    ``kind`` is ``summary`` or ``clearing`` (results replaced by a stub; ``cleared`` holds their tool-use ids).
    ``attached`` is what the client put back beside the summary: neither it nor the summary is in the messages.
    """

    kind: Literal["summary", "clearing"] = "summary"
    call: int
    position: int
    trigger: str = ""
    at: int | None = None
    tokens_before: int | None = None
    tokens_after: int | None = None
    tokens_saved: int | None = None
    summary: str = ""
    attached: tuple[Message, ...] = ()
    cleared: tuple[str, ...] = ()
    kept_from: int | None = None


class RecordedEvent(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Something recorded between calls that may explain a bill: an API error, a model or setting change, a side request."""

    kind: str
    call: int
    at: int | None = None
    detail: str = ""


class Provenance(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How much of the truth the recording holds."""

    usage: Literal["none", "total", "per_call"] = "none"
    cache: Literal["none", "read", "read_write"] = "none"
    prompt_complete: bool = False
    output_reliable: bool = False


class TraceMeta(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Where a trace comes from and what its client assumed. ``reserve`` is the output room kept free, in tokens.

    ``group`` names the story that a trace tells where others tell it too (seeds of one playbook, trials of one task): such
    traces are not independent, and intervals count them as one.
    """

    format: str = ""
    source: str = ""
    licence: str = ""
    model: str = ""
    client: str = ""
    cwd: str = ""
    language: str = ""
    window: int | None = None
    reserve: int | None = None
    split: str = ""
    group: str = ""
    extra: JsonText = ""


class ToolSpec(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A tool that the model was offered; ``schema`` is JSON text."""

    name: str
    description: str = ""
    schema: JsonText = "{}"


class Trace(Struct, frozen=True, kw_only=True, omit_defaults=True, dict=True):
    """A recorded session with its history restored to what an uncompacted agent would hold.

    ``messages`` is the whole history in order; ``calls`` walk through it. ``overhead_tokens`` is what every request
    carries and the file does not hold; ``unrecorded_tokens`` is what the first prompt held beyond that and the text.
    ``children`` are sub-agents; ``parent`` is the tool call that started this trace, if it is one.
    """

    id: str
    system: str = ""
    tools: tuple[ToolSpec, ...] = ()
    messages: tuple[Message, ...] = ()
    calls: tuple[Call, ...] = ()
    compactions: tuple[RecordedCompaction, ...] = ()
    events: tuple[RecordedEvent, ...] = ()
    children: tuple[Trace, ...] = ()
    parent: str = ""
    meta: TraceMeta = TraceMeta()
    provenance: Provenance = Provenance()
    starts_midway: bool = False
    overhead_tokens: int | None = None
    overhead_method: str = ""
    unrecorded_tokens: int = 0
    total_usage: Usage | None = None

    @cached_property
    def digest(self) -> str:
        """Content digest of the whole trace."""
        return digest_of(self)


class Moment(enum.StrEnum):
    """When a strategy is asked."""

    ARRIVAL = "arrival"
    BEFORE_CALL = "before_call"
    OVERFLOW = "overflow"
    AFTER_CALL = "after_call"
    TURN_END = "turn_end"
    RESTORE = "restore"


class Drop(Struct, frozen=True, kw_only=True, tag="drop"):
    """Remove these messages."""

    ids: tuple[str, ...]


class Rewrite(Struct, frozen=True, kw_only=True, tag="rewrite"):
    """Replace the blocks of one message, keeping its id and place."""

    id: str
    blocks: tuple[Block, ...]


class Insert(Struct, frozen=True, kw_only=True, tag="insert"):
    """Put a new message after ``after`` (none: at the start). ``sources`` are the ids that it stands for."""

    after: str | None
    message: Message
    sources: tuple[str, ...] = ()


class Inject(Struct, frozen=True, kw_only=True, tag="inject"):
    """Add blocks to this request only; they never enter the history."""

    blocks: tuple[Block, ...]


class Erase(Struct, frozen=True, kw_only=True, tag="erase"):
    """Have the server delete the tool results of a message: the client's bytes, and so the prefix, do not change."""

    id: str


class Stash(Struct, frozen=True, kw_only=True, tag="stash"):
    """Put text into the store under ``ref``: the only way for a strategy to write there."""

    ref: str
    content: str


Edit = Drop | Rewrite | Insert | Inject | Erase | Stash


class Decision(Struct, frozen=True, kw_only=True):
    """What a strategy proposes: edits, and its new JSON ``state`` (unset: unchanged).

    ``tier`` names the step of a ladder that acted, ``reason`` is one short line, ``estimate`` the size in tokens
    that the strategy believed in when it decided (none when it did not count).
    """

    edits: tuple[Edit, ...] = ()
    state: Any = msgspec.UNSET
    tier: str = ""
    reason: str = ""
    estimate: int | None = None


class Compaction(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An applied decision that changed the context. Sizes are true tokens of the whole prompt.

    ``stage`` is the index of the strategy in a composition, ``first_changed`` the first position of the old context
    that differs, ``summarizer`` what its summary requests were billed (``warm``: they rode the agent's cached prefix).
    ``first_message`` is the message at that position (empty: behind the last), ``first_edit`` what was done there, and
    ``first_block`` its first block that differs.
    """

    call: int
    moment: Moment
    stage: int = 0
    edits: tuple[Edit, ...]
    tier: str = ""
    reason: str = ""
    estimate: int | None = None
    tokens_before: int
    tokens_after: int
    first_changed: int | None = None
    first_message: str = ""
    first_edit: str = ""
    first_block: int | None = None
    summarizer: Usage = Usage()
    summarizer_calls: int = 0
    forced: bool = False


class SideRequest(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A request to a model beside the recorded calls that no compaction answers for.

    ``decision``: the agent's model spent a turn on calls of context tools, before the recorded call could be made.
    ``summary``: a summary was paid for, but the decision that asked for it failed or changed nothing.
    """

    call: int
    moment: Moment
    stage: int = 0
    kind: Literal["decision", "summary"]
    usage: Usage


class Row(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One simulated call. ``prompt_tokens`` is the true prompt, ``usage`` its simulated split with the output.

    ``storage`` is what the cache charged, in pico-dollars, for keeping content since the call before (Gemini's objects).
    """

    call: int
    at: int | None = None
    model: str = ""
    prompt_tokens: int
    usage: Usage
    messages: int
    stubs: int = 0
    last_stub: int | None = None
    first_changed: int | None = None
    compactions: tuple[int, ...] = ()
    overflows: int = 0
    estimate: int | None = None
    injected: int = 0
    retrieved: int = 0
    gap: int | None = None
    break_tokens: int = 0
    break_cause: str = ""
    alarm: bool = False
    storage: int = 0


class Fault(Struct, frozen=True, kw_only=True):
    """An exception of a strategy: the call went on with context and state unchanged."""

    call: int
    moment: Moment
    stage: int = 0
    kind: str
    text: str


class Span(Struct, frozen=True, kw_only=True):
    """A place in the trace: message id, index of the block, character offsets in the block's text."""

    message: str
    block: int
    start: int
    end: int


class Probe(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A question about the trace with a known answer.

    ``accept`` are right answers, ``reject`` values whose assertion makes an answer wrong, ``choices`` the options of
    a choice probe. ``settled_at`` is the index of the message after which the answer no longer changes,
    ``restated_at`` the last message that states it again, ``uses`` the calls whose recorded reply used the fact.
    ``form`` tells typed values from prose (``typed`` or ``prose``); ``tier`` is ``lexical`` or ``paraphrase``.
    """

    id: str
    question: str
    accept: tuple[str, ...] = ()
    reject: tuple[str, ...] = ()
    grader: Grader = "exact"
    type: str
    form: Literal["typed", "prose"] = "typed"
    tier: Literal["lexical", "paraphrase"] = "lexical"
    choices: tuple[str, ...] = ()
    evidence: tuple[Span, ...] = ()
    settled_at: int = 0
    restated_at: int | None = None
    uses: tuple[int, ...] = ()
    provenance: str = "mined"
    language: str = "en"
    speaker: str = ""


class RejectedProbe(Struct, frozen=True, kw_only=True):
    """A candidate that did not become a probe, and why."""

    question: str
    type: str
    reason: str


class ProbeBank(Struct, frozen=True, kw_only=True, omit_defaults=True, dict=True):
    """The frozen questions about one trace."""

    trace: str
    trace_digest: str
    version: int = 1
    probes: tuple[Probe, ...] = ()
    rejected: tuple[RejectedProbe, ...] = ()

    @cached_property
    def digest(self) -> str:
        """Content digest of the probes alone."""
        return digest_of(self.probes)


class Answer(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a reader said at one examination. ``text`` is none when it declined; ``survives``: evidence still present."""

    probe: str
    exam: int
    draw: int = 0
    text: str | None = None
    outcome: Outcome
    reason: str = ""
    survives: bool | None = None
    age: int = 0
    lost_to: int | None = None


class Lookup(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a reader that had declined said after it opened stored entries which its context points to.

    ``answer`` replaces the closed-book one in open-book figures. ``opened`` counts the tool calls, ``gone`` those of them
    that found nothing (the entry had been evicted); ``usage`` is what they cost with the examined prompt still in the cache.
    """

    answer: Answer
    opened: int
    gone: int = 0
    usage: Usage = Usage()


class Exam(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One examination: before which call, at which kind of point, with how many probes asked and left out."""

    call: int
    kind: Literal["checkpoint", "compaction", "final"]
    share: float | None = None
    compactions_before: int = 0
    tokens: int = 0
    asked: int = 0
    dead: bool = False


class Violation(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A broken rule at one call, with one line of evidence."""

    invariant: str
    severity: Severity
    call: int
    messages: tuple[str, ...] = ()
    evidence: str = ""

"""A session that a published article describes by six rows of a table, rebuilt as a trace.

The article (on MUR AI, section 3.x, 13 May 2026) prints six of the session's 177 steps and its totals: 4 turns, 59
minutes, 77.3 dollars, 64.8 of them for cache writes. Where its figures leave one choice it is taken; the rest follows
one rule with three parameters (``Rule``), so rows are exact and totals are fitted.

What the rows determine. Step s has 178 + 2s messages, the system prompt being number 0, so it is the session's call
89 + s: the first call has two messages, each later one two more, and the last of 177 calls has 354. The stub border
stands still at steps 5 and 6 and then follows ten results behind, until step 58: so ten results are kept, and the
newest messages of steps 5 and 6 are not results, but the user's: two of the three turns after the first begin there.
What is read at every broken step, 102,795 tokens, is what stands before the conversation. What step 5 reads is the
prompt of step 4. Between steps 9 and 58 the border passes 49 results and 23 stubs are added: 26 results were left
whole, as that system does with the results of protected tools.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from ullage.tokens import Counter
from ullage.types import Call, Message, Provenance, Text, ToolResult, ToolUse, Trace, TraceMeta

START = 1_778_630_400_000
"""13 May 2026, the day of the article, in milliseconds since the epoch."""
MODEL = "claude-opus-4-5"
"""The price class that fits the printed dollars: 5 / 25 / 6.25 / 0.5 dollars a million tokens."""
OVERHEAD = 102_795
KEEP = 10
CALLS = 177
MINUTES = 59
FIRST = 89
"""Calls before the table's step 1."""
USD, USD_WRITES = 77.3, 64.8


class Printed(NamedTuple):
    """One printed row. ``messages`` and ``last_stub`` count the system prompt as message 0."""

    step: int
    messages: int
    stubs: int
    last_stub: int
    read: int
    write: int

    @property
    def call(self) -> int:
        """Index of the call in the trace."""
        return FIRST + self.step - 1


ROWS = (
    Printed(5, 188, 75, 165, 175_958, 295),
    Printed(6, 190, 75, 165, 176_253, 232),
    Printed(7, 192, 76, 167, 102_795, 74_555),
    Printed(8, 194, 77, 169, 102_795, 77_238),
    Printed(9, 196, 78, 171, 102_795, 77_634),
    Printed(58, 294, 101, 273, 102_795, 117_088),
)


STUB = "[tool result cleared]"
"""What a cleared result becomes; its size enters the sizes that the rows leave for replies."""
HUMAN = (1, 187, 189, 295)
"""Messages of the user. The fourth turn begins after the last printed row, which ends the third."""
PASSED = {5: 165, 9: 171, 58: 273}
"""Where the stub border stands at these steps."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """The sizes, in tokens, that the rows leave open: of a clearable result, of a protected one, of a user's message.

    Replies have the mean size that rows 9 and 58 leave for them, the task what row 5 leaves for it. Protected results
    lie evenly between printed rows, as many as their counts of stubs say; after step 58 there are none.
    """

    result: int = 1_800
    protected: int = 100
    human: int = 60


def rebuild(counter: Counter, rule: Rule = Rule()) -> Trace:
    """The session as a trace whose messages have their sizes under ``counter``; step s of the article is call 88 + s."""
    kinds, stub = _kinds(), counter(_result(3, STUB))
    sizes = _Sizes(kinds, stub, rule).all
    messages = tuple(_message(at, kinds, sizes[at], counter) for at in range(1, 2 * CALLS + 1))
    step_ms = MINUTES * 60_000 // (CALLS - 1)
    calls = tuple(
        Call(id=f"call-{n + 1}", upto=2 * n + 1, reply=2 * n + 1, at=START + n * step_ms, model=MODEL, ttl="5m")
        for n in range(CALLS)
    )
    return Trace(
        id="seventyseven",
        messages=messages,
        calls=calls,
        meta=TraceMeta(
            format="rebuilt", source="MUR AI, six published rows", licence="Apache-2.0", model=MODEL, window=1_000_000
        ),
        provenance=Provenance(prompt_complete=False),
        overhead_tokens=OVERHEAD,
        overhead_method="printed",
    )


def _kinds() -> dict[int, str]:
    """What each message is, by its number in the table: ``task``, ``human``, ``result``, ``protected`` or ``reply``."""
    kinds = {at: "reply" if at % 2 == 0 else "result" for at in range(1, 2 * CALLS + 1)}
    kinds |= dict.fromkeys(HUMAN, "human") | {1: "task"}
    stubs, start = 0, 3
    for row in ROWS:
        border = PASSED.get(row.step)
        if border is None:
            continue
        results = [at for at in range(start, border + 1, 2) if kinds[at] == "result"]
        cleared = row.stubs - stubs
        for n, at in enumerate(results):
            if (n + 1) * cleared // len(results) == n * cleared // len(results):
                kinds[at] = "protected"
        stubs, start = row.stubs, border + 2
    return kinds


class _Sizes:
    """Solves the rows for the sizes of all messages, by their number in the table."""

    def __init__(self, kinds: dict[int, str], stub: int, rule: Rule) -> None:
        self.kinds, self.stub = kinds, stub
        given = {"result": rule.result, "protected": rule.protected, "human": rule.human, "task": 0, "reply": 0}
        self.all = {at: given[kind] for at, kind in kinds.items()}
        self.results = [at for at, kind in kinds.items() if kind in {"result", "protected"}]
        total = {row.call + 1: row.read + row.write for row in ROWS} | {FIRST + 4: ROWS[0].read}
        mean = self._mean(total)
        for at in range(2, 2 * CALLS + 1, 2):
            self.all[at] = mean
        self._pin(total, mean)
        left = total[147] - total[98] - self._growth(98, 147)
        for n, at in enumerate(range(196, 294, 2)):
            self.all[at] += (n + 1) * left // 49 - n * left // 49
        self.all[1] = total[93] - OVERHEAD - self._growth(0, 93)

    def _mean(self, total: dict[int, int]) -> int:
        """The mean reply between rows 9 and 58; a larger one makes the results pinned by rows 7 to 9 smaller."""
        self._pin(total, 0)
        pinned = sum(self.kinds[at] == "result" for at in (191, 193, 195))
        return (total[147] - total[98] - self._growth(98, 147)) // (49 + pinned)

    def _pin(self, total: dict[int, int], mean: int) -> None:
        """Sizes that two neighbouring rows determine: two replies before the user's messages, three results."""
        for call in (94, 95):
            at = 2 * call - 2
            self.all[at] = total[call] - total[call - 1] - self.all[at + 1]
        for call in (96, 97, 98):
            at = 2 * call - 1
            self.all[at - 1] = mean
            self.all[at] = 0
            self.all[at] = total[call] - total[call - 1] - self._growth(call - 1, call)

    def _growth(self, after: int, upto: int) -> int:
        """Tokens by which the history grows between two calls: what arrives less what is cleared."""
        arrived = sum(self.all[at] for at in range(max(2 * after, 1), 2 * upto))
        return arrived - sum(self._cleared(call) for call in range(after + 1, upto + 1))

    def _cleared(self, call: int) -> int:
        """Tokens freed before a call: of the result that has just left the newest ten, unless it is protected."""
        newest = 2 * call - 1
        if newest not in self.results:
            return 0
        place = self.results.index(newest) - KEEP
        left = self.results[place] if place >= 0 else 0
        return self.all[left] - self.stub if self.kinds.get(left) == "result" else 0


def _message(at: int, kinds: dict[int, str], size: int, counter: Counter) -> Message:
    """A message of exactly ``size`` tokens."""
    empty = _built(at, kinds, "")
    words = size - counter(empty)
    if words < 0:
        raise ValueError(f"message {at} of {size} tokens: its structure alone has {counter(empty)}")
    return _built(at, kinds, " ".join(["a"] * words))


def _built(at: int, kinds: dict[int, str], text: str) -> Message:
    kind = kinds[at]
    if kind in {"result", "protected"}:
        return _result(at, text, protected=kind == "protected")
    blocks: tuple[Text | ToolUse, ...] = (Text(text=text),)
    if kind == "reply" and at + 1 in kinds and kinds[at + 1] != "human":
        blocks += (ToolUse(id=f"call-{at + 1}", name="skill" if kinds[at + 1] == "protected" else "bash"),)
    return Message(id=f"m{at}", role="assistant" if kind == "reply" else "user", blocks=blocks, human=kind in {"human", "task"})


def _result(at: int, text: str, *, protected: bool = False) -> Message:
    content = (Text(text=text),)
    return Message(id=f"m{at}", role="user", blocks=(ToolResult(tool_use_id=f"call-{at}", content=content),), protected=protected)

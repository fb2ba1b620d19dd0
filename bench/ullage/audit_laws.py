"""Laws of billed caches: what a call will read, told from the size of its prompt and from everything before it.

A law is asked with an ``Ask``, which holds nothing of the call's own bill, and learns the bill afterwards. What a
session's bills have already shown (its stable prefix, side requests, skills that change the request) is used for its
later calls; nothing is carried from one session to another, and no constant is fitted to a recording.
"""

from __future__ import annotations

from math import gcd
from typing import NamedTuple, Protocol

from ullage.breaks import COMPACTION_SHARE
from ullage.cache import TTL_MS, CacheRules
from ullage.caches._marks import LOOKBACK
from ullage.types import Usage

TOLERANCE_MS = 10_000
"""A lifetime ends a little late for the client: its clock differs and a side request starts some seconds after the reply."""
TOKENS_A_SECOND = 60
"""Speed of a reply, to tell when it ended; models of the recordings' time wrote 50 to 80 tokens a second."""
UNKNOWN_PREFIX = 0.8
"""Share of a first prompt that is system prompt and tools where nothing tells: the rest is reminders and project files.

The sessions of the format survey that show both lie between 0.70 and 0.84.
"""


class Ask(NamedTuple):
    """All that may be known before a call is billed. Sizes in true tokens, times in milliseconds (none: not recorded).

    ``prompt`` is the size of the whole prompt, ``arrived`` a count of the messages that are new in it, ``started`` when
    the request was sent. ``turn`` says that a finished reply is followed by something that is no tool result. ``spoken``
    counts the reply before, ``summary`` the summaries of compactions since. ``launches`` names skills and commands that
    this request starts, ``positions`` the cache positions of the history; ``thinking`` says that the thinking level is
    another than at the call before.
    """

    call: int
    prompt: int
    model: str
    started: int | None
    arrived: int = 0
    human: bool = False
    turn: bool = False
    spoken: int = 0
    compacted: bool = False
    summary: int = 0
    restarted: bool = False
    launches: tuple[str, ...] = ()
    positions: int = 0
    thinking: bool = False


class Billed(NamedTuple):
    """What a call turned out to be: its usage, the lifetime it wrote with, and when its response began."""

    usage: Usage
    ttl: str
    at: int | None


class Guess(NamedTuple):
    """A predicted read, and the rule behind it."""

    read: int
    rule: str


class Law(Protocol):
    """Predicts reads, one call after another."""

    def predict(self, ask: Ask) -> Guess:
        """The read of a call that has not been billed yet."""
        ...

    def learn(self, ask: Ask, billed: Billed) -> None:
        """Take in the bill of the call that was asked about."""
        ...


class MarksLaw:
    """Anthropic's caches, by whatever client: what one call read and wrote, the next one reads, unless something came between.

    Between may come: another model, a pause longer than the lifetime, a compaction, a restart of the client, a skill
    that is known to change the request, a prompt that shrank. Then the last stable prefix is read. A client that warms
    the cache by side requests after each turn reads all but the new words.

    A first call that reads nearly all of its prompt goes on from an earlier session: then the size of the first prompt
    says nothing about the stable prefix. ``text`` counts what the first prompt's recorded messages hold; a prefix shorter
    than its model's minimum in ``rules`` is never cached. Another thinking level loses the messages (Anthropic's table of
    what invalidates).
    """

    def __init__(self, *, text: int, rules: CacheRules = CacheRules(minimum=0)) -> None:  # noqa: B008 - frozen
        self._rules = rules
        self._shared = 0
        self._shared_survives = False
        self._first_text = text
        self._first: int | None = None
        self._stable: int | None = None
        self._side = False
        self._models: dict[str, tuple[int, int | None, str]] = {}
        self._model = ""
        self._left = self._prompt = self._positions = 0
        self._skills = _Skills()
        self._rule = ""

    def predict(self, ask: Ask) -> Guess:
        """The rules in order of strength."""
        guess = self._guess(ask)
        self._rule = guess.rule
        read = max(0, min(guess.read, ask.prompt))
        return Guess(read if read >= self._rules.minimum_of(ask.model) else 0, guess.rule)

    def _guess(self, ask: Ask) -> Guess:
        left, last, ttl = self._models.get(ask.model, (0, None, ""))
        if self._lapsed(ask, last, ttl):
            return Guess(self._shared if self._shared_survives else 0, "idle past TTL")
        if ask.model != self._model:
            return Guess(left if left <= ask.prompt else 0, "model change")
        event = "compaction" if ask.compacted else "client restart" if ask.restarted else "setting change" if ask.thinking else ""
        if event:
            return Guess(self._stable_prefix(ask), event)
        skill = self._skills.foresee(ask)
        if skill is not None:
            return Guess(skill or self._stable_prefix(ask), "changed request")
        return self._undisturbed(ask, left)

    def _undisturbed(self, ask: Ask, left: int) -> Guess:
        if ask.turn and self._side:
            return Guess(ask.prompt - ask.arrived, "side request")
        if (self._prompt - ask.prompt) * COMPACTION_SHARE > self._prompt:
            return Guess(self._stable_prefix(ask), "prompt shrank")
        return Guess(left, "growth")

    def _lapsed(self, ask: Ask, last: int | None, ttl: str) -> bool:
        if last is None or ask.started is None:
            return False
        if ask.turn and self._side:
            last += ask.spoken * 1000 // TOKENS_A_SECOND
        return ask.started - last > TTL_MS[ttl or "5m"] + TOLERANCE_MS

    def _stable_prefix(self, ask: Ask) -> int:
        """What is read when the conversation is lost: as seen before, else what another session left, else a share."""
        known = self._stable if self._stable is not None else self._shared
        if known:
            return known
        bound = ask.prompt - ask.arrived - ask.summary
        if self._first is not None:
            bound = min(bound, self._first - self._first_text)
        return int(UNKNOWN_PREFIX * max(bound, 0))

    def learn(self, ask: Ask, billed: Billed) -> None:
        """Take the bill in: what is left in the cache, and what it says about this client."""
        usage, read = billed.usage, billed.usage.cache_read
        if not self._models:
            resumed = read * 20 > ask.prompt * 19
            self._shared, self._first = (0, None) if resumed else (read, ask.prompt)
        else:
            self._observe(ask, read)
        self._left = read + usage.cache_write
        _, _, ttl = self._models.get(ask.model, (0, None, ""))
        self._models[ask.model] = (self._left, billed.at if billed.at is not None else ask.started, billed.ttl or ttl)
        self._model, self._prompt, self._positions = ask.model, ask.prompt, ask.positions

    def _observe(self, ask: Ask, read: int) -> None:
        lost = read * 10 < self._left * 9
        if self._rule == "idle past TTL":
            self._shared_survives = read > 0 and lost
        elif lost and 0 < read * 20 < ask.prompt * 19:
            self._stable = read
        steady = self._rule in {"growth", "side request", "changed request"}
        self._skills.learn(ask, lost=lost and steady, fell=read < self._left and steady, left=self._left, at=self._positions)
        room = ask.prompt - ask.arrived - self._left
        if ask.turn and steady and not lost and abs(room) > 20:  # below that the two cases look alike
            self._side = abs(ask.prompt - ask.arrived - read) < abs(read - self._left)


class _Skills:
    """Skills and commands whose launch changes the request, until the next human turn changes it back."""

    def __init__(self) -> None:
        self.broke: set[str] = set()
        self.reverts = False
        self.launched = False
        self.before: tuple[int, int] | None = None

    def foresee(self, ask: Ask) -> int | None:
        """Tokens that the changed request will read (0: the stable prefix), or none if no change is foreseen."""
        if self.broke.intersection(ask.launches):
            return 0
        if not (ask.human and self.launched) or ask.launches:
            return None
        if self.before is not None:
            left, positions = self.before
            return left if ask.positions - positions < LOOKBACK else 0
        return 0 if self.reverts else None

    def learn(self, ask: Ask, *, lost: bool, fell: bool, left: int, at: int) -> None:
        """Note whether a launch, or the return from one, lost the cache; ``left`` and ``at`` are those of the call before."""
        if ask.human and self.launched and not ask.launches:
            self.reverts = self.reverts or fell
            self.launched, self.before = False, None
        if ask.launches:
            if lost:
                self.broke.update(ask.launches)
                self.before = (left, at)
            self.launched = True


class UnitsLaw:
    """DeepSeek: a call reads the last prompt and its reply, in steps of 64 tokens, when its own prompt went on from them."""

    STEP = 64

    def __init__(self) -> None:
        self._sum = self._prompt = 0

    def predict(self, ask: Ask) -> Guess:
        """The last prompt and reply, rounded down."""
        if ask.prompt < self._prompt:
            return Guess(0, "prompt shrank")
        return Guess(min(self._sum, ask.prompt) // self.STEP * self.STEP, "growth")

    def learn(self, ask: Ask, billed: Billed) -> None:
        """Remember prompt and reply."""
        self._sum, self._prompt = ask.prompt + billed.usage.output, ask.prompt


class IntervalsLaw:
    """OpenAI before GPT-5.6: a call reads the last prompt in whole intervals, and all but the shared start after an hour.

    At the first call of a turn the reasoning of the turn before is dropped: when the prompt shrank, what is shared ends
    where that turn began. Intervals are of 128 tokens until the session's own reads show a coarser grid: hidden text
    before the prompt moves it, and newer models keep fewer entries.
    """

    STEP, MINIMUM, SAMPLES, LIFE_MS = 128, 1024, 4, 3_600_000

    def __init__(self) -> None:
        self._prompt = self._turn = 0
        self._start: int | None = None
        self._reads: set[int] = set()
        self._last: int | None = None

    def predict(self, ask: Ask) -> Guess:
        """The last prompt, or the start of the last turn, rounded down to the grid."""
        idle = ask.started is not None and self._last is not None and ask.started - self._last > self.LIFE_MS
        if idle or ask.compacted:
            return Guess(min(self._start or 0, ask.prompt), "idle past TTL" if idle else "compaction")
        shrank = ask.prompt < self._prompt
        return Guess(
            self._on_grid(min(self._turn if shrank else self._prompt, ask.prompt)), "prompt shrank" if shrank else "growth"
        )

    def _on_grid(self, shared: int) -> int:
        if shared < self.MINIMUM:
            return 0
        anchor, step = 0, self.STEP
        if len(self._reads) >= self.SAMPLES:
            anchor = min(self._reads)
            step = max(gcd(*(read - anchor for read in self._reads)), 1)
        return max(shared - (shared - anchor) % step, 0)

    def learn(self, ask: Ask, billed: Billed) -> None:
        """Remember the prompt, where turns begin, and the grid that reads lie on."""
        read = billed.usage.cache_read
        if ask.turn or self._start is None:
            self._turn = ask.prompt
        if ask.compacted or self._start is None:
            self._start = read
        if read:
            self._reads.add(read)
        self._prompt = ask.prompt
        self._last = billed.at if billed.at is not None else ask.started

"""Caches that write at marks: the documentation's vectors as exact tables, and laws over any edited history."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ullage import registry
from ullage.cache import CachePolicy, CacheRules, Prompt, Ttl
from ullage.caches._marks import Mark, MarksPolicy, MarksSession, checked
from ullage.context import Context
from ullage.errors import UserError
from ullage.testing import assistant, count_words, tool_call, tool_result, user
from ullage.types import Drop, Edit, Erase, Message, Rewrite, Text, Thinking, Usage

MINUTE = 60_000
PLACEMENTS = ("none", "system_only", "auto", "claude_code", "sliding4", "every_15")
EVERY = (*PLACEMENTS, "ideal")


def policy(text: str) -> CachePolicy:
    """A policy by its spec."""
    loaded: CachePolicy = registry.load("caches", text)
    return loaded


def blocks(count: int) -> list[Message]:
    """Messages of one text block and 100 tokens each."""
    return [user(f"{n} " * 100, f"m{n}") for n in range(count)]


def prompt(
    messages: list[Message] | Context, *, at: int = 0, ttl: Ttl = "5m", injected: int = 0, model: str = "m", overhead: int = 1000
) -> Prompt:
    """A request over these messages."""
    context = messages if isinstance(messages, Context) else Context.of(messages, count_words)
    return Prompt(overhead, context, injected, at, ttl, model)


class At(MarksPolicy):
    """Marks at given lengths, for vectors."""

    __slots__ = ("places",)
    places: tuple[int, ...]

    def marks(self, context: Context, ttl: Ttl) -> tuple[Mark, ...]:
        return tuple(Mark(place, ttl) for place in self.places if place <= len(context))


def at_marks(*places: int) -> MarksPolicy:
    """A placement that marks these lengths."""
    made = At()
    object.__setattr__(made, "places", places)
    return made


def run(session: MarksSession, placement: MarksPolicy, request: Prompt) -> Usage:
    """One request with a placement of its own."""
    session._policy = placement
    return session.step(request)


def test_documented_three_turns() -> None:
    """Ten blocks, fifteen, thirty-five: the mark at 35 looks at 35 to 16 and misses the entry at 15."""
    session = at_marks(10).open(CacheRules(minimum=512))
    assert run(session, at_marks(10), prompt(blocks(10))) == Usage(cache_write_5m=2000)
    assert run(session, at_marks(15), prompt(blocks(15))) == Usage(cache_read=2000, cache_write_5m=500)
    assert run(session, at_marks(35), prompt(blocks(35))) == Usage(cache_write_5m=4500)


def test_second_mark_saves_the_documented_third_turn() -> None:
    """The same third turn with another mark at 15 reads the entry there."""
    session = at_marks(10).open(CacheRules(minimum=512))
    run(session, at_marks(10), prompt(blocks(10)))
    run(session, at_marks(15), prompt(blocks(15)))
    assert run(session, at_marks(15, 35), prompt(blocks(35))) == Usage(cache_read=2500, cache_write_5m=2000)


def test_lookback_counts_the_mark_itself_as_the_first_of_twenty() -> None:
    """An entry nineteen positions before the mark is read, one twenty positions before is not."""
    for length, read in ((29, 2000), (30, 0)):
        session = at_marks(10).open(CacheRules(minimum=512))
        run(session, at_marks(10), prompt(blocks(10)))
        assert run(session, at_marks(length), prompt(blocks(length))).cache_read == read


def test_runs_of_tool_blocks_are_one_position() -> None:
    """Thirty parallel calls and their results take two positions, so the entry before them is in reach."""
    ids = [f"t{n}" for n in range(30)]
    history = [user("task " * 600, "a"), tool_call("b", *ids), tool_result("c", **dict.fromkeys(ids, "done"))]
    for name, read in (("auto", 1600), ("bedrock", 1000)):
        session = policy(name).open(CacheRules(minimum=512))
        session.step(prompt(history[:1]))
        assert session.step(prompt(history)).cache_read == read, name


def test_nothing_is_read_that_was_not_marked() -> None:
    """A system mark leaves the history unread, though it did not change."""
    session = policy("system_only").open(CacheRules(minimum=512))
    assert session.step(prompt(blocks(3))) == Usage(uncached=300, cache_write_5m=1000)
    assert session.step(prompt(blocks(4))) == Usage(uncached=400, cache_read=1000)


@pytest.mark.parametrize(("gap", "read"), [(5 * MINUTE, 1100), (5 * MINUTE + 1, 0)])
def test_five_minutes_end_sharply(gap: int, read: int) -> None:
    """An entry is alive through its last millisecond and dead in the next."""
    session = policy("auto").open(CacheRules())
    session.step(prompt(blocks(1), at=0))
    assert session.step(prompt(blocks(2), at=gap)).cache_read == read


def test_a_hit_refreshes_the_entry() -> None:
    """Two pauses of four minutes do not add up when the entry is read between them."""
    session = policy("auto").open(CacheRules())
    for at in (0, 4 * MINUTE, 8 * MINUTE):
        used = session.step(prompt(blocks(1), at=at))
    assert used == Usage(cache_read=1100)


def test_lifetimes_mix_by_the_a_b_c_rule() -> None:
    """Read up to the hit, one-hour writes up to the last one-hour mark, five-minute writes up to the last mark."""
    session = policy("claude_code(system_ttl='1h')").open(CacheRules(minimum=512))
    assert session.step(prompt(blocks(2), injected=7)) == Usage(uncached=7, cache_write_1h=1000, cache_write_5m=200)
    assert session.step(prompt(blocks(3), at=6 * MINUTE)) == Usage(cache_read=1000, cache_write_5m=300)


def test_a_long_mark_after_a_short_one_is_refused() -> None:
    """The provider answers such a request with an error, and so does the simulator."""
    session = policy("claude_code(system_ttl='5m')").open(CacheRules())
    with pytest.raises(UserError, match="1h mark after a 5m mark"):
        session.step(prompt(blocks(1), ttl="1h"))


def test_a_fifth_mark_is_refused() -> None:
    """Four marks are the limit."""
    assert len(checked(tuple(Mark(n, "5m") for n in range(4)))) == 4
    with pytest.raises(UserError, match="found 5"):
        checked(tuple(Mark(n, "5m") for n in range(5)))


def test_short_prefixes_are_skipped_silently() -> None:
    """Below the model's minimum nothing is written, and the next request finds nothing."""
    session = policy("claude_code").open(CacheRules(minimum=1150))
    assert session.step(prompt(blocks(1))) == Usage(uncached=1100)
    assert session.step(prompt(blocks(2))) == Usage(cache_write_5m=1200)
    assert session.step(prompt(blocks(2))) == Usage(cache_read=1200)


def test_each_model_has_its_own_minimum_and_entries() -> None:
    """A switch of the model loses the cache; switching back in time finds it again."""
    session = policy("auto").open(CacheRules(minimum=512, by_model=(("big", 4096),)))
    assert session.step(prompt(blocks(1))).cache_write_5m == 1100
    assert session.step(prompt(blocks(2), model="big")) == Usage(uncached=1200)
    assert session.step(prompt(blocks(2))).cache_read == 1100


def test_an_entry_is_readable_only_once_its_response_began() -> None:
    """Requests sent before the first answer begins each pay for the same write."""
    session = policy("auto(visible_after_ms=3000)").open(CacheRules())
    used = [session.step(prompt(blocks(1), at=at)) for at in (0, 2999, 3000)]
    assert [u.cache_write_5m for u in used] == [1100, 1100, 0]


def test_erased_results_keep_the_prefix_and_cost_less_to_read() -> None:
    """After a server-side deletion the entry is still found and read at its present size."""
    context = Context.of([user("task", "a"), tool_call("b", "t1"), tool_result("c", t1="word " * 400)], count_words)
    session = policy("auto").open(CacheRules())
    whole = session.step(prompt(context)).cache_write_5m
    shrunk = context.apply((Erase(id="c"),)).context
    used = session.step(prompt(shrunk))
    assert used.cache_write == 0
    assert used.cache_read == whole - 400 + 1


def test_thinking_and_empty_text_cannot_carry_the_mark() -> None:
    """The mark moves back to the nearest message that ends in a block that can carry one."""
    odd = Message(id="t", role="assistant", blocks=(Text(text="x"), Thinking(text="hm hm hm")))
    empty = Message(id="e", role="user", blocks=(Text(text=""),))
    session = policy("auto").open(CacheRules())
    assert session.step(prompt([*blocks(1), odd, empty])) == Usage(uncached=5, cache_write_5m=1100)


def test_primed_prefix_is_read_wherever_it_ends() -> None:
    """A cache that starts warm reads whole messages within the given tokens, also out of the lookback's reach."""
    for name in ("auto", "claude_code", "ideal"):
        for tokens, read in ((1250, 1200), (1000, 1000), (4999, 4900), (640, 640), (0, 0)):
            session = policy(name).open(CacheRules(minimum=512))
            request = prompt(blocks(40))
            session.prime(request, tokens)
            assert session.step(request).cache_read == read, (name, tokens)


def test_ideal_reads_up_to_the_first_changed_message_and_returns_to_old_branches() -> None:
    """An edit keeps what stands before it; a branch that was left can be taken up again while it lives."""
    session = policy("ideal").open(CacheRules())
    old = blocks(10)
    session.step(prompt(old))
    new = [*old[:4], user("other", "x"), *old[5:]]
    assert session.step(prompt(new, at=MINUTE)).cache_read == 1400
    assert session.step(prompt(old, at=2 * MINUTE)).cache_read == 2000
    assert session.step(prompt(new, at=6 * MINUTE)).cache_read == 1400 + 501
    assert session.step(prompt(old[:3], at=12 * MINUTE)).cache_read == 0


# ----------------------------------------------------------------------------------------------------- any history

Request = tuple[Context, int, int, Ttl, str]


@st.composite
def requests(
    draw: st.DrawFn, *, edits: bool = True, gaps: bool = True, models: bool = True, growth: int = 12
) -> list[tuple[str, tuple[object, ...]]]:
    """A plan: how many messages each request appends, what it edits, how long it waits, which model it asks."""
    steps: list[tuple[str, tuple[object, ...]]] = []
    for _ in range(draw(st.integers(1, 14))):
        kind = draw(st.sampled_from(["grow", "grow", "grow", "drop", "rewrite", "erase"] if edits else ["grow"]))
        wait = draw(st.sampled_from([0, MINUTE, 4 * MINUTE, 6 * MINUTE, 61 * MINUTE] if gaps else [0, MINUTE]))
        model = draw(st.sampled_from(["m", "m", "m", "n"] if models else ["m"]))
        place = draw(st.floats(0, 1, exclude_max=True))
        grown = draw(st.lists(st.sampled_from(["user", "assistant", "use", "result", "thinking"]), min_size=0, max_size=growth))
        injected = draw(st.sampled_from([0, 0, 5]))
        steps.append((kind, (wait, model, place, tuple(grown), injected)))
    return steps


def message(kind: str, number: int) -> Message:
    """A message of a kind, with a size that depends on its number."""
    name, words = f"i{number}", "w " * (1 + 37 * number % 300)
    if kind == "use":
        return tool_call(name, f"t{number}", text=words if number % 3 == 0 else "")
    if kind == "result":
        return tool_result(name, **{f"t{number}": words})
    if kind == "thinking":
        return Message(id=name, role="assistant", blocks=(Thinking(text=words),))
    return user(words, name) if kind == "user" else assistant(words, name)


def unroll(plan: list[tuple[str, tuple[object, ...]]], ttl: Ttl = "5m") -> Iterator[Prompt]:
    """Play the plan on one growing context, as a replay would."""
    context, now, number = Context.of([user("start " * 50, "first")], count_words), 0, 0
    for kind, (wait, model, place, grown, injected) in plan:
        at = int(float(str(place)) * len(context))
        target = context[at]
        edit: Edit | None = {
            "drop": Drop(ids=(target.id,)) if len(context) > 1 else None,
            "rewrite": Rewrite(id=target.id, blocks=(Text(text=f"new {number}"),)),
            "erase": Erase(id=target.id),
        }.get(kind)
        if edit is not None:
            context = context.apply((edit,)).context
        for one in grown if isinstance(grown, tuple) else ():
            number += 1
            context = context.append(message(one, number))
        now += int(str(wait))
        yield Prompt(600, context, int(str(injected)), now, ttl, str(model))


@settings(deadline=None)
@given(plan=requests(), name=st.sampled_from(EVERY), ttl=st.sampled_from(["5m", "1h"]))
def test_parts_are_disjoint_and_sum_to_the_prompt(plan: list[tuple[str, tuple[object, ...]]], name: str, ttl: Ttl) -> None:
    """Uncached, read and both kinds of writes are each at least 0 and add up to the whole prompt."""
    session = policy(name).open(CacheRules(minimum=700))
    for request in unroll(plan, ttl):
        used = session.step(request)
        assert used.prompt == request.tokens
        assert min(used.uncached, used.cache_read, used.cache_write_5m, used.cache_write_1h) >= 0
        assert used.cache_write_1h == 0 or ttl == "1h"


@settings(deadline=None)
@given(plan=requests(edits=False, gaps=False, models=False, growth=4))
def test_an_unedited_growing_history_is_written_once(plan: list[tuple[str, tuple[object, ...]]]) -> None:
    """Without edits and pauses all that `auto` writes is the last marked prompt, as long as it grows within the lookback."""
    session, written, last = policy("auto").open(CacheRules(minimum=1)), 0, 0
    for request in unroll(plan):
        used = session.step(request)
        written += used.cache_write
        last = request.tokens - used.uncached
    assert written == last


@settings(deadline=None)
@given(plan=requests(), name=st.sampled_from(EVERY))
def test_a_longer_life_never_costs_reads(plan: list[tuple[str, tuple[object, ...]]], name: str) -> None:
    """The one-hour lifetime reads at least as much as five minutes, over the whole run."""
    totals = []
    for ttl in ("5m", "1h"):
        session = policy(name).open(CacheRules(minimum=700))
        totals.append(sum(session.step(request).cache_read for request in unroll(plan, "5m" if ttl == "5m" else "1h")))
    assert totals[1] >= totals[0]


@settings(deadline=None)
@given(plan=requests(), name=st.sampled_from(PLACEMENTS))
def test_the_ideal_cache_reads_at_least_as_much_as_marks_at_every_call(
    plan: list[tuple[str, tuple[object, ...]]], name: str
) -> None:
    """Every entry at a mark is a prefix that an earlier request had, so the bound is above it call by call."""
    marks, ideal = policy(name).open(CacheRules(minimum=1)), policy("ideal").open(CacheRules())
    for request in unroll(plan):
        assert marks.step(request).cache_read <= ideal.step(request).cache_read


@settings(deadline=None)
@given(plan=requests(), name=st.sampled_from(EVERY))
def test_the_engine_agrees_with_a_plain_reading_of_the_rules(plan: list[tuple[str, tuple[object, ...]]], name: str) -> None:
    """A direct transcription that keeps whole prefixes as tuples gives the same usage at every call."""
    chosen = policy(name)
    session, plain = chosen.open(CacheRules(minimum=700)), Plain(chosen, 700)
    for request in unroll(plan):
        assert session.step(request) == plain.step(request)


class Plain:
    """The rules without any shortcut: entries are tuples of content keys, every lookup walks block by block."""

    def __init__(self, chosen: CachePolicy, minimum: int) -> None:
        self.chosen, self.minimum = chosen, minimum
        self.entries: dict[tuple[object, ...], int] = {}

    def step(self, request: Prompt) -> Usage:
        """Price one five-minute request."""
        context = request.context
        sent = tuple(context.sent_key(i) for i in range(len(context)))
        marks = self._marks(context)
        hit = self._hit(request, sent, marks)
        read = 0 if hit is None else request.overhead + context.tokens(0, hit)
        last = read
        for length in self._written(context, marks):
            tokens = request.overhead + context.tokens(0, length)
            if tokens >= self.minimum or not isinstance(self.chosen, MarksPolicy):
                last = max(last, tokens)
                self.entries[request.model, sent[:length]] = (request.at or 0) + 5 * MINUTE
        return Usage(uncached=request.tokens - last, cache_read=read, cache_write_5m=last - read)

    def _marks(self, context: Context) -> list[int]:
        if not isinstance(self.chosen, MarksPolicy):
            return [len(context)]
        return [mark.length for mark in self.chosen.marks(context, "5m")]

    def _written(self, context: Context, marks: list[int]) -> list[int]:
        return marks if isinstance(self.chosen, MarksPolicy) else list(range(len(context) + 1))

    def _hit(self, request: Prompt, sent: tuple[int, ...], marks: list[int]) -> int | None:
        for mark in reversed(marks):
            for length in self._reach(request.context, mark):
                key = (request.model, sent[:length])
                if self.entries.get(key, -1) >= (request.at or 0):
                    self.entries[key] = (request.at or 0) + 5 * MINUTE
                    return length
        return None

    def _reach(self, context: Context, mark: int) -> Iterator[int]:
        """Lengths from the mark down, while at most twenty positions have been looked at."""
        kinds = [(length, kind) for length in range(mark) for kind in kinds_of(context[length])]
        yield mark
        looked, length = 0, mark
        while length > 0:
            length -= 1
            rest = [kind for at, kind in kinds if at >= length]
            looked = sum(1 for i, kind in enumerate(rest) if not (kind and i and rest[i - 1] == kind))
            before = [kind for at, kind in kinds if at < length]
            joined = bool(before and rest and before[-1] and before[-1] == rest[0])
            if isinstance(self.chosen, MarksPolicy) and looked - joined > 19:
                return
            yield length


def kinds_of(one: Message) -> list[str]:
    """Kinds of a message's blocks that share a position with their like."""
    names = {"ToolUse": "use", "ToolResult": "result"}
    return [names.get(type(block).__name__, "") for block in one.blocks]

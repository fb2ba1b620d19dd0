"""The plot of a playbook: facts planted with their evidence, turned into probes whose answers are known by construction."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from itertools import chain

from msgspec import Struct, structs

from ullage.errors import UllageError
from ullage.terms import is_cjk, question_terms, terms
from ullage.types import Block, Call, Grader, Message, Probe, Span, Text, ToolResult, ToolUse

TYPES = (
    "recall", "artifact", "continuation", "decision", "constraint", "negative", "abstention", "update", "temporal", "multi-hop",
)  # fmt: skip
"""The ten kinds of question of the bank."""
SHORTEST_NAME = 4
"""Characters below which a value is too common for its next occurrence to count as a restatement or a use."""
MOST_SHARED = 0.34
"""Share of a paraphrase's content words that may stand in its evidence; above it the question quotes."""
LEAST_SHARED = 0.65
"""Share of a lexical question's terms that must stand in the line of its evidence: it asks in the words of the session."""
LEAST_SHARED_CJK = 0.5
"""The same for Chinese, whose pairs of characters also straddle words."""
OPTIONS = 4
"""Options of a lexical question whose answer is no typed value: the wrong ones are answers to other questions of the trace."""
TYPED = re.compile(r"[0-9a-f]{8,40}|v?\d+(\.\d+)+|[\w./-]+\.(py|md|csv|json|sql|toml|ini)")
"""Values that a reader without a model can tell by their shape: hashes, versions, files."""


class PlotError(UllageError):
    """A playbook whose plot does not hold together: a bug of the playbook."""


class Fact(Struct, frozen=True, kw_only=True):
    """One planted fact: what to ask, what is right, and where the evidence stands.

    ``ask`` becomes the lexical probe, ``again`` the paraphrase; either may be empty. ``absent`` are texts that must
    occur nowhere in the trace (decoys). ``settled`` is the index of the message after which nothing changes.
    """

    key: str
    type: str
    ask: str = ""
    again: str = ""
    accept: tuple[str, ...] = ()
    reject: tuple[str, ...] = ()
    choices: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    grader: Grader = "exact"
    prose: bool = False
    evidence: tuple[Span, ...] = ()
    quotes: tuple[str, ...] = ()
    settled: int = 0
    speaker: str = ""


def text_of(block: Block) -> str:
    """The text that spans of a block point into: a result's texts joined, a tool call's arguments."""
    if isinstance(block, Text):
        return block.text
    if isinstance(block, ToolResult):
        return "\n".join(item.text for item in block.content if isinstance(item, Text))
    return block.arguments if isinstance(block, ToolUse) else ""


def locate(messages: Sequence[Message], quote: str) -> tuple[int, Span]:
    """The newest place where a quote stands: index of the message and span; raises ``PlotError``."""
    for index in range(len(messages) - 1, -1, -1):
        for number, block in enumerate(messages[index].blocks):
            start = text_of(block).find(quote)
            if start >= 0:
                return index, Span(message=messages[index].id, block=number, start=start, end=start + len(quote))
    raise PlotError(f"nothing said so far contains {quote!r}")


def speaker_of(message: Message, block: int) -> str:
    """Who brings the evidence: ``user``, ``assistant`` or ``tool``."""
    return "tool" if isinstance(message.blocks[block], ToolResult) else message.role


def infer_grader(accept: Sequence[str], choices: Sequence[str], *, prose: bool) -> Grader:
    """The grader that fits the shape of an answer."""
    if choices:
        return "choice"
    if not accept:
        return "abstain"
    answer = accept[0]
    if not prose and re.fullmatch(r"[-+]?[\d,]*\.?\d+\s?(%|[a-zA-Z]{1,4})?", answer):
        return "numeric"
    if not prose and re.fullmatch(r"[\w.@-]*(/[\w.@-]+)+/?", answer):
        return "path"
    return "normalised" if prose or " " in answer else "exact"


def probes_of(facts: Sequence[Fact], messages: Sequence[Message], calls: Sequence[Call], language: str) -> tuple[Probe, ...]:
    """All probes of the plot, checked against the whole trace; raises ``PlotError`` with every problem, one a line."""
    texts = ["\n".join(text_of(block) for block in message.blocks) for message in messages]
    near = _Surroundings(messages)
    problems = [problem for fact in facts for problem in problems_of(fact, "\n".join(texts), near.of(fact))]
    ids = [fact.key for fact in facts]
    problems += [f"{key}: named twice" for key in sorted(set(ids)) if ids.count(key) > 1]
    if problems:
        raise PlotError("\n".join(problems))
    probes: list[Probe] = []
    for fact in facts:
        for tier, question in (("lexical", fact.ask), ("paraphrase", fact.again)):
            if question:
                told = with_options(fact, facts, near.whole(fact)) if tier == "lexical" else fact
                probes.append(_probe(told, tier, question, texts, calls, language))
    return tuple(probes)


def with_options(fact: Fact, facts: Sequence[Fact], around: str) -> Fact:
    """A fact as it is asked in the lexical tier: an answer that has no shape of its own is chosen among answers to other facts.

    A wrong option never stands in a message of the evidence (``around``), where nothing but sense would tell it from the right one.
    """
    answer = fact.accept[0] if fact.accept else ""
    if fact.grader not in ("exact", "normalised") or (not fact.prose and TYPED.fullmatch(answer)):
        return fact
    taken = {a.lower() for a in (*fact.accept, *fact.reject)}
    others = [
        o
        for o in facts
        if o.accept and o.grader == fact.grader and o.prose == fact.prose and not taken & {a.lower() for a in o.accept}
    ]
    others.sort(
        key=lambda o: (_shape(o.accept[0]) != _shape(answer), o.type != fact.type, abs(len(o.accept[0]) - len(answer)), o.key)
    )
    named = [*fact.reject[:1], *(o.accept[0] for o in others)]
    wrong = list(dict.fromkeys(n for n in named if not mentions(fact.ask, n) and not mentions(around, n)))
    choices = [answer, *wrong[: OPTIONS - 1]]
    if len(choices) < OPTIONS:
        return fact
    random.Random(fact.key).shuffle(choices)
    return structs.replace(fact, grader="choice", accept=(answer,), reject=(), choices=tuple(choices))


def _shape(value: str) -> str:
    """Letters and digits told apart and nothing else, so that a wrong option looks like the right one."""
    return re.sub(r"\d+", "9", re.sub(r"[a-z]+", "a", re.sub(r"[A-Z]+", "A", value)))


class _Surroundings:
    """What stands around evidence: its whole lines, and the call that a result answers."""

    def __init__(self, messages: Sequence[Message]) -> None:
        self.blocks = {(m.id, n): block for m in messages for n, block in enumerate(m.blocks)}
        self.uses = {block.id: block.arguments for block in self.blocks.values() if isinstance(block, ToolUse)}

    def whole(self, fact: Fact) -> str:
        """The messages of all evidence of a fact."""
        names = {span.message for span in fact.evidence}
        return "\n".join(text_of(block) for (name, _), block in self.blocks.items() if name in names)

    def of(self, fact: Fact) -> str:
        """The lines of all evidence of a fact, with the arguments of the calls behind them."""
        parts = []
        for span in fact.evidence:
            block = self.blocks[span.message, span.block]
            text = text_of(block)
            end = text.find("\n", span.end)
            parts.append(text[text.rfind("\n", 0, span.start) + 1 : len(text) if end < 0 else end])
            if isinstance(block, ToolResult):
                parts.append(self.uses.get(block.tool_use_id, ""))
        return "\n".join(parts)


def _probe(fact: Fact, tier: str, question: str, texts: Sequence[str], calls: Sequence[Call], language: str) -> Probe:
    return Probe(
        id=f"plot-{fact.key}-{tier[:3]}",
        question=question,
        accept=fact.accept,
        reject=fact.reject,
        grader=fact.grader,
        type=fact.type,
        form="prose" if fact.prose else "typed",
        tier="lexical" if tier == "lexical" else "paraphrase",
        choices=fact.choices,
        evidence=fact.evidence,
        settled_at=fact.settled,
        restated_at=_restated(fact, texts),
        uses=_uses(fact, texts, calls),
        provenance="plot",
        language=language,
        speaker=fact.speaker,
    )


def problems_of(fact: Fact, whole: str, near: str) -> list[str]:
    """What keeps a fact from being answerable from its quotes and only from them; ``near`` are the lines around them."""
    found = []
    if fact.type not in TYPES:
        found.append(f"type {fact.type!r} is none of {', '.join(TYPES)}")
    if not (fact.ask or fact.again):
        found.append("nothing is asked")
    found += [f"the decoy {text!r} occurs in the trace" for text in fact.absent if text.lower() in whole.lower()]
    if fact.type == "abstention":
        found += [] if fact.absent and not fact.accept else ["a decoy names what is absent and accepts nothing"]
    elif not fact.evidence or not fact.accept:
        found.append("evidence or answer is missing")
    else:
        found += [*_answer_problems(fact), *_question_problems(fact, near)]
    return [f"{fact.key}: {problem}" for problem in found]


def _answer_problems(fact: Fact) -> list[str]:
    quoted = "\n".join(fact.quotes).lower()
    derived = fact.type == "multi-hop" and not fact.ask
    if fact.grader == "choice":
        return [] if set(fact.accept) <= set(fact.choices) else ["the answer is not among the choices"]
    if fact.grader == "set" or derived or any(a.lower() in quoted for a in fact.accept):
        return []
    return [f"no accepted answer stands in the evidence {fact.quotes}"]


def _question_problems(fact: Fact, near: str) -> list[str]:
    found = [
        f"the question gives its answer away: {question!r}"
        for question in (fact.ask, fact.again)
        if fact.grader != "choice" and any(mentions(question, a) for a in fact.accept)
    ]
    if fact.again and shared(fact.again, "\n".join(fact.quotes)) > MOST_SHARED:
        found.append(f"the paraphrase shares {shared(fact.again, ' '.join(fact.quotes)):.2f} of its words: {fact.again!r}")
    there = terms(near)
    wanted = [term for term in question_terms(_ASKING_CJK.sub(" ", fact.ask)) if term not in _ASKING]
    least = LEAST_SHARED_CJK if is_cjk(fact.ask) else LEAST_SHARED
    if wanted and sum(term in there for term in wanted) < least * len(wanted):
        missing = ", ".join(term for term in wanted if term not in there)
        found.append(f"the lexical question is not in the words of its evidence: {fact.ask!r} lacks {missing}")
    return found


def mentions(text: str, value: str) -> bool:
    """Tell whether a value stands in a text as a whole word or number."""
    edge = r"[A-Za-z0-9_]"
    left = rf"(?<!{edge})" if re.match(edge, value) else ""
    right = rf"(?!{edge})" if re.search(edge + r"\Z", value) else ""
    return re.search(left + re.escape(value) + right, text, re.IGNORECASE) is not None


def shared(question: str, evidence: str) -> float:
    """Share of a question's content words that stand in its evidence; pairs of characters are the words of Chinese."""
    wanted = content_words(question)
    return len(wanted & content_words(evidence)) / len(wanted) if wanted else 0.0


def content_words(text: str) -> set[str]:
    """Words that carry meaning: no function words, crude stems; overlapping pairs of Chinese characters."""
    plain = {w for w in re.findall(r"[a-z0-9][a-z0-9_]+", text.lower()) if w not in _FUNCTION_WORDS}
    stems = {re.sub(r"(ing|ed|es|s)$", "", w) if len(w) > 4 else w for w in plain}
    runs = re.findall(r"[\u4e00-\u9fff]+", text)
    pairs = {run[k : k + 2] for run in runs for k in range(len(run) - 1)}
    return stems | {p for p in pairs if not set(p) & _FUNCTION_CHARACTERS}


_ASKING = frozenset(
    "many much long fil lin version branch commit day dat tim sinc given happen ask used end start nam really becaus reason person percentag".split()
)
_ASKING_CJK = re.compile(
    "什么时候|为什么|什么|多少个|多少条|多少|哪[个位里份种条些]|几[条人个点]|是谁|由谁|谁|怎样|有没有|是不是|吗|呢"
)
"""Terms that ask and do not name: no evidence holds them."""
_FUNCTION_WORDS = frozenset(
    "the an of to in on at by for from with and or not is are was were be been do does did has have had it its this that these "
    "those which what who whom whose when where why how many much long they them their we us our you your he she his her one any "
    "as if than then into out up down over under after before while during about should must may can could would will there no "
    "only first last now still yet also all each every some other".split()
)
_FUNCTION_CHARACTERS = frozenset(
    "的了是在和与或把被从到对为什么哪个几多少谁怎样么吗呢吧这那有没不要应该必须可以后前时里上下中我们你他她它"
)


def _restated(fact: Fact, texts: Sequence[str]) -> int | None:
    """The last message after the evidence that names the answer again; unknown for short and prose answers."""
    values = _names(fact)
    later = [n for n in range(fact.settled + 1, len(texts)) if any(mentions(texts[n], v) for v in values)]
    return later[-1] if later else None


def _uses(fact: Fact, texts: Sequence[str], calls: Sequence[Call]) -> tuple[int, ...]:
    values = _names(fact)
    found = []
    for number, call in enumerate(calls):
        if call.reply is not None and call.reply > fact.settled and any(mentions(texts[call.reply], v) for v in values):
            found.append(number)
    return tuple(found)


def _names(fact: Fact) -> list[str]:
    return [v for v in fact.accept if len(v) >= SHORTEST_NAME and not fact.prose]


def repeated_paragraphs(messages: Sequence[Message]) -> list[str]:
    """Paragraphs of assistant text that occur more than once."""
    paragraphs = chain.from_iterable(m.text.split("\n\n") for m in messages if m.role == "assistant")
    seen: set[str] = set()
    again = []
    for paragraph in filter(None, (p.strip() for p in paragraphs)):
        if paragraph in seen:
            again.append(paragraph)
        seen.add(paragraph)
    return again

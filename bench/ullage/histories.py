"""Generated histories in Converse shape, valid and broken, for parity runs and property tests.

Each is drawn from one seed. They hold what managers trip over: parallel calls answered in one message or in several,
pins of all kinds, tool-only stretches, images and documents, results just below and above every limit, empty texts,
reasoning, cited text, missing statuses, usage metadata, and pairs that were broken on purpose.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Callable
from typing import Any

Dict = dict[str, Any]

WORDS = "alpha build cache delta error field graph handler index join key list 缓存 module node option parse query résumé 🚀 ü".split()  # noqa: SIM905 - a list of words reads best as a sentence
LENGTHS = (0, 1, 20, 60, 199, 200, 399, 400, 401, 450, 900, 3_000, 7_000, 12_000)
"""Lengths of result texts in characters: around the 400 that a sliding window cuts at, and above the offloaders' limits."""
MARKERS = (
    "... [truncated: 9 chars removed] ...",
    "[Truncated: 1 block, ~9 tokens]",
    "[Offloaded: 1 blocks, ~9 tokens]",
    "[Dropped]",
    "[Summarized: 2 messages, ~9 tokens]",
    " ",
)
"""Texts that managers leave themselves, and a blank one."""


def make_history(seed: int, *, turns: int | None = None, broken: float = 0.35) -> list[Dict]:
    """A history of up to ``turns`` user turns; with the probability ``broken`` a few of its messages are disarranged."""
    rng = random.Random(seed)
    builder = _Builder(rng)
    for _ in range(rng.randint(0, 6) if turns is None else turns):
        builder.turn()
    messages = builder.messages
    if rng.random() < broken:
        for _ in range(rng.randint(1, 3)):
            _break(messages, rng, builder)
    if rng.random() < 0.4:
        _pin(messages, rng)
    return messages


class _Builder:
    """Appends turns to one history."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.messages: list[Dict] = []
        self.calls = 0
        self.tracked = rng.random() < 0.5
        self.billed = rng.random() < 0.4
        self.large = rng.random() < 0.4
        self.tool_only = rng.random() < 0.15

    def turn(self) -> None:
        """A user message, a few tool steps, and usually a closing answer."""
        if not self.tool_only or not self.messages:
            self.add("user", self._user_content())
        for _ in range(self.rng.choice((0, 0, 1, 1, 2, 3, 5))):
            self.step()
        if not self.tool_only and self.rng.random() < 0.85:
            self.add("assistant", self._answer())

    def step(self) -> None:
        """A call of one to three tools and the results, in one message or, rarely, in several."""
        ids = [f"t{self.calls + k}" for k in range(self.rng.choice((1, 1, 1, 2, 3)))]
        self.calls += len(ids)
        lead: list[Dict] = [{"text": self.words(3)}] if self.rng.random() < 0.3 else []
        if self.rng.random() < 0.15:
            lead.insert(0, self._reasoning())
        self.add("assistant", [*lead, *[self._use(i) for i in ids]])
        if len(ids) > 1 and self.rng.random() < 0.3:
            for i in ids:
                self.add("user", [self.result(i)])
        else:
            tail = [{"text": self.words(4)}] if self.rng.random() < 0.1 else []
            self.add("user", [*[self.result(i) for i in ids], *tail])

    def add(self, role: str, content: list[Dict]) -> None:
        """Append a message, with an id and usage where this history has them."""
        message: Dict = {"role": role, "content": content}
        if self.tracked:
            message["tracking_id"] = f"track-{len(self.messages)}"
        if self.billed and role == "assistant":
            message["metadata"] = {"usage": self._usage()}
        self.messages.append(message)

    def result(self, tool_use_id: str) -> Dict:
        """A tool result of any kind and size; a few come without a status."""
        result: Dict = {"toolUseId": tool_use_id, "status": "error" if self.rng.random() < 0.15 else "success"}
        if self.rng.random() < 0.03:
            del result["status"]
        if self.rng.random() < 0.02:
            result["type"] = self.words(1)
        result["content"] = [self._item() for _ in range(self.rng.choice((0, *[1] * 12, 2, 2, 2, 2, 3, 3, 3, 3)))]
        return {"toolResult": result}

    def words(self, count: int) -> str:
        """Some words."""
        return " ".join(self.rng.choice(WORDS) for _ in range(count))

    def _text(self) -> str:
        if self.rng.random() < 0.03:
            return self.rng.choice(MARKERS) + self.words(self.rng.choice((0, 3, 150)))
        length = self.rng.choice(LENGTHS if self.large else LENGTHS[:9])
        return (self.words(length // 5 + 1) + "\n" + self.words(length // 5 + 1))[:length]

    def _item(self) -> Dict:
        kind = self.rng.random()
        if kind < 0.68:
            return {"text": self._text()}
        if kind < 0.8:
            return {"json": {"rows": [self.words(2) for _ in range(self.rng.randint(0, 60))], "n": self.rng.randint(0, 9)}}
        if kind < 0.9:
            return {"image": {"format": self.rng.choice(("png", "jpeg")), "source": {"bytes": bytes(self.rng.randint(0, 40))}}}
        if kind < 0.96:
            return {"document": {"format": "pdf", "name": self.words(1), "source": {"bytes": b"%PDF" * self.rng.randint(0, 9)}}}
        rare: tuple[Dict, ...] = (
            {"video": {"format": "mp4", "source": {"s3Location": {"uri": "s3://bucket/clip"}}}},
            {"image": {"format": "png", "source": {"s3Location": {"uri": "s3://bucket/shot"}}}},
            {"json": [1, 2.5, None, "缓存"]},
            {"json": self.words(9)},
            {"document": {"source": {"bytes": b"bare"}}},
            {"image": {"format": "gif", "source": {"bytes": "aW1hZ2U="}}},
            {"image": {"source": {}}},
            {"json": None},
            {"searchResult": {"title": self.words(2)}},
        )
        return self.rng.choice(rare)

    def _user_content(self) -> list[Dict]:
        content: list[Dict] = [{"text": self.words(self.rng.randint(1, 40)) if self.rng.random() < 0.95 else self._text()}]
        if self.rng.random() < 0.08:
            content.append({"image": {"format": "png", "source": {"bytes": b"\x89PNG" * 3}}})
        if self.rng.random() < 0.05:
            content.append({"cachePoint": {"type": "default", **({"ttl": "1h"} if self.rng.random() < 0.3 else {})}})
        return content

    def _answer(self) -> list[Dict]:
        kind = self.rng.random()
        if kind < 0.06:
            return [{"citationsContent": {"content": [{"text": self.words(5)}], "citations": []}}]
        if kind < 0.12:
            return [self._reasoning(), {"text": self.words(8)}]
        if kind < 0.15:
            return [{"text": "  "}] if self.rng.random() < 0.5 else []
        if kind < 0.18:
            rare: tuple[Dict, ...] = (
                {"guardContent": {"text": {"text": self.words(3)}}},
                {"reasoningContent": {"redactedContent": b"\x01\x02"}},
                {"audio": {"format": "mp3", "source": {"bytes": b"ID3"}}},
                {"reasoningContent": {"reasoningText": {"text": self.words(9), "signature": ""}}},
                {"citationsContent": {"content": [{"text": self.words(2)}, {"text": ""}, {"text": "b"}], "citations": []}},
            )
            return [self.rng.choice(rare), {"text": self.words(2)}]
        return [{"text": self.words(self.rng.randint(1, 60))}]

    def _use(self, tool_use_id: str) -> Dict:
        names = (
            ("shell", "read_file", "search", "retrieve_context") if self.rng.random() < 0.1 else ("shell", "read_file", "search")
        )
        arguments: Dict = {"path": self.words(1), "n": self.calls} if self.rng.random() < 0.8 else {}
        extra = {"reasoningSignature": "sig"} if self.rng.random() < 0.03 else {}
        return {"toolUse": {"toolUseId": tool_use_id, "name": self.rng.choice(names), "input": arguments, **extra}}

    def _reasoning(self) -> Dict:
        return {"reasoningContent": {"reasoningText": {"text": self.words(6), "signature": "sig"}}}

    def _usage(self) -> Dict:
        if self.rng.random() < 0.1:
            return {"inputTokens": 0, "outputTokens": 0, "totalTokens": 0}
        fresh, out = self.rng.randint(1, 900), self.rng.randint(1, 90)
        usage = {"inputTokens": fresh, "outputTokens": out, "totalTokens": fresh + out}
        if self.rng.random() < 0.5:
            read = self.rng.randint(1, 2_000)
            usage |= {"cacheReadInputTokens": read, "totalTokens": fresh + out + read}
        return usage


def _break(messages: list[Dict], rng: random.Random, builder: _Builder) -> None:
    """Disarrange a history in one way."""
    if not messages:
        return
    at = rng.randrange(len(messages))
    ways: tuple[Callable[[], Any], ...] = (
        lambda: messages.pop(at),
        lambda: messages.insert(at, {"role": "user", "content": [{"text": builder.words(3)}]}),
        lambda: messages.insert(at, {"role": "assistant", "content": [{"text": builder.words(3)}]}),
        lambda: messages.insert(at, {"role": "user", "content": [builder.result("stray")]}),
        lambda: messages.insert(at, {"role": "user", "content": []}),
        lambda: messages.__setitem__(slice(0, at), []),
        lambda: messages.__setitem__(slice(at + 1, None), []),
        lambda: _rename_ids(messages[at]),
        lambda: messages[at].update(role="user" if messages[at]["role"] == "assistant" else "assistant"),
        lambda: messages.insert(at, copy.deepcopy(messages[at])),
        lambda: _repeat_block(messages[at], rng),
    )
    rng.choice(ways)()


def _rename_ids(message: Dict) -> None:
    for block in message["content"]:
        for kind in ("toolUse", "toolResult"):
            if kind in block:
                block[kind]["toolUseId"] += "-other"


def _repeat_block(message: Dict, rng: random.Random) -> None:
    """A block twice in one message, so that two calls or results share an id; one of two such results has no status."""
    if not message["content"]:
        return
    block = copy.deepcopy(rng.choice(message["content"]))
    if "toolResult" in block and rng.random() < 0.5:
        block["toolResult"].pop("status", None)
    message["content"].append(block)


def make_malformed(seed: int) -> list[Dict]:
    """A history in which a few tool blocks lack a key, or metadata are no mappings: what a hand-written log may hold."""
    rng = random.Random(seed)
    messages = make_history(rng.randrange(10**9))
    for message in messages:
        for block in message["content"]:
            inner = block.get("toolUse") or block.get("toolResult")
            if inner and rng.random() < 0.1:
                inner.pop(rng.choice(("toolUseId", "name", "input", "status", "content", "absent")), None)
        if rng.random() < 0.05:
            message["metadata"] = rng.choice((None, {}, {"custom": "note"}, {"custom": []}, {"custom": None}))
    return messages


def _pin(messages: list[Dict], rng: random.Random) -> None:
    """Pin some messages, and leave flags that are not pins on others."""
    for message in messages:
        draw = rng.random()
        if draw < 0.2:
            message.setdefault("metadata", {}).setdefault("custom", {})["pinned"] = True
        elif draw < 0.26:
            message.setdefault("metadata", {})["custom"] = rng.choice(({"pinned": False}, {"pinned": "yes"}, {"note": 1}, {}))
        elif draw < 0.265:
            message.setdefault("metadata", {})["custom"] = None

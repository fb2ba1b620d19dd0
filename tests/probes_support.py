"""A short session with known facts, in English and in Chinese, for the tests of probes and readers."""

from __future__ import annotations

from collections.abc import Sequence

from ullage.probes import asked_as
from ullage.readers import Question
from ullage.readers.lexical import Lexical
from ullage.scoring import grade
from ullage.testing import assistant, tool_call, tool_result, user
from ullage.types import Call, Message, Outcome, Probe, Trace, TraceMeta

STORE = """package store

// Capacity of the ring before writers block.
const maxPendingWrites = 64

func OpenLedger(path string) (*Ledger, error) {
\treturn nil, errNotFound
}
"""
SETTINGS = "pool_size: 12\nqueue_name: invoices-eu\nretry_after: 45s\n"


def session(messages: Sequence[Message], *, cwd: str = "/home/dev/ledger", trace_id: str = "story") -> Trace:
    """A trace of these messages, one call for each assistant message."""
    calls = tuple(
        Call(id=f"c{n}", upto=n, reply=n, at=1_760_000_000_000 + n * 1000)
        for n, m in enumerate(messages)
        if m.role == "assistant"
    )
    return Trace(id=trace_id, messages=tuple(messages), calls=calls, meta=TraceMeta(format="made", cwd=cwd))


def story() -> Trace:
    """An engineer's session: files read and edited, tests failed and cured, a commit, a rule of the user, a search in vain."""
    return session(
        [
            user("The ledger loses writes. Never delete the fixtures folder. Keep the interface as it is.", "u0", human=True),
            tool_call("a1", "t1", name="Read", file_path="/home/dev/ledger/store/ring.go"),
            tool_result("r1", t1="".join(f"{n:6}→{line}\n" for n, line in enumerate(STORE.split("\n"), 1))),
            tool_call("a2", "t2", name="Read", file_path="/home/dev/ledger/conf/workers.yaml"),
            tool_result("r2", t2=SETTINGS),
            tool_call("a3", "t3", name="Grep", pattern="flushBarrier"),
            tool_result("r3", t3="No matches found"),
            assistant("The ring drops entries because writers overtake the reader when the buffer is full.", "a4"),
            user("Go on.", "u4", human=True),
            tool_call("a5", "t5", name="Bash", command="go test ./store/..."),
            tool_result("r5", t5="Exit code 1\nstore/ring.go:41:9: undefined: drainQueue\nFAIL\tledger/store [build failed]"),
            tool_call("a6", "t6", name="Edit", file_path="/home/dev/ledger/store/ring.go", old_string="const maxPendingWrites = 64",
                      new_string="const maxPendingWrites = 256"),
            tool_result("r6", t6="The file /home/dev/ledger/store/ring.go has been updated successfully."),
            tool_call("a7", "t7", name="Write", file_path="/home/dev/ledger/store/drain.go", content="package store\n\nfunc drainQueue() {}\n"),
            tool_result("r7", t7="File created successfully at: /home/dev/ledger/store/drain.go"),
            tool_call("a8", "t8", name="Write", file_path="/home/dev/ledger/store/drain_test.go", content="package store\n"),
            tool_result("r8", t8="File created successfully at: /home/dev/ledger/store/drain_test.go"),
            tool_call("a9", "t9", name="Bash", command="go test ./store/..."),
            tool_result("r9", t9="--- PASS: TestRingKeepsOrder (0.02s)\nok  \tledger/store\t0.411s"),
            tool_call("a10", "t10", name="Bash", command="git commit -am 'Let the ring block its writers'"),
            tool_result(
                "r10", t10="[fix/ring-writers 4be91c7] Let the ring block its writers\n 3 files changed, 31 insertions(+), 4 deletions(-)"
            ),
            assistant("The migration script doesn't touch the archive tables. We use WriteBarrier instead of FlushBarrier.", "a11"),
        ]
    )  # fmt: skip


def chinese_story() -> Trace:
    """A short session in Chinese: a table, labelled lines, a rule and a decision."""
    return session(
        [
            user("请整理受访者资料。不要修改原始转写文件。", "u0", human=True),
            tool_call("a1", "t1", name="read", path="people.csv"),
            tool_result("r1", t1="编号,年龄,城市,职业\nP01,61,绵阳,退休会计\nP02,62,长沙,物业管家\nP03,72,厦门,退休教师"),
            tool_call("a2", "t2", name="read", path="raw/P01.md"),
            tool_result("r2", t2="# 访谈 P01\n日期：2026 年 1 月 3 日　地点：线上　时长：40 分钟"),
            assistant("第一位受访者住在绵阳。转写由机器完成，人工校对了一遍，先读完再按主题整理，不边读边数。", "a3"),
        ],
        cwd="/home/dev/fangtan",
        trace_id="chinese",
    )


def ask(context: Sequence[Message], probes: Sequence[Probe]) -> list[tuple[Outcome, str | None]]:
    """What the default reader says to each probe from a context: the outcome and the text."""
    questions = [Question(text=p.question, grader=asked_as(p), choices=p.choices, language=p.language) for p in probes]
    replies = Lexical().read(context, questions)
    return [(grade(probe, reply.text)[0], reply.text) for probe, reply in zip(probes, replies, strict=True)]

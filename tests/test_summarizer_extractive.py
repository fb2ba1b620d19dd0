"""The default summariser: within its budget, deterministic, in two languages, and no copy of what it reads."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ullage.errors import SpecError
from ullage.registry import load
from ullage.strategy import SummaryRequest
from ullage.summarizers.extractive import Extractive, estimate
from ullage.testing import assistant, make_trace, tool_call, tool_result, user
from ullage.types import Message

STORY = (
    user("Move the ledger to integer cents. The public interface must not change. Never touch the migrations folder.", "u0"),
    assistant("I chose Decimal at the edges because floats drift when invoices are summed.", "a1"),
    tool_call("a2", "t1", name="read", file_path="src/ledger.py"),
    tool_result("r3", t1="\n".join(f"{n:4} def helper_{n}(value): return value" for n in range(300))),
    tool_call("a4", "t2", name="shell", command="pytest tests/test_ledger.py"),
    tool_result("r5", t2="tests/test_ledger.py::test_rounding FAILED\nE   AssertionError: 1099 != 1100"),
    assistant("The rounding test fails since tax is rounded twice. I will round once, at the end.", "a6"),
)
CHINESE = (
    user("请整理八位受访者的访谈记录，不要出现真实姓名。每条结论必须附上原话。", "u0"),
    assistant("我决定按使用场景分组，而不是按年龄，因为年龄在访谈里没有带来差别。", "a1"),
    tool_call("a2", "t1", name="read", path="访谈/第三位.md"),
    tool_result("r3", t1="受访者三：我每天早上七点用它记账，周末几乎不打开。\n受访者三：导出失败过两次，提示超时。"),
    tool_result("r4", t1="\n".join(f"受访者四：第 {n} 天我记了 {n * 3} 笔，没有特别的事情发生。" for n in range(40))),
)
TEXT = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=300)


@settings(max_examples=60, deadline=None)
@given(texts=st.lists(TEXT, max_size=12), limit=st.integers(1, 400), previous=TEXT)
def test_a_summary_never_exceeds_its_budget(texts: list[str], limit: int, previous: str) -> None:
    """Whatever the text and the limit."""
    messages = tuple(user(t, f"u{n}") if n % 2 else assistant(t, f"a{n}") for n, t in enumerate(texts))
    request = SummaryRequest(messages=messages, max_tokens=limit, previous=previous)
    assert estimate(Extractive()(request).text) <= limit


@pytest.mark.parametrize("messages", [STORY, CHINESE], ids=["english", "chinese"])
def test_the_same_history_gives_the_same_summary(messages: tuple[Message, ...]) -> None:
    """Twice the same, and a fresh plug-in object says it too."""
    request = SummaryRequest(messages=messages, max_tokens=300)
    assert Extractive()(request) == load("summarizers", "extractive")(request)


def test_requests_constraints_and_reasons_in_prose_are_kept() -> None:
    """A log of 300 lines does not push out what the user forbade or why a choice was made."""
    text = Extractive(share=1.0)(SummaryRequest(messages=STORY, max_tokens=400)).text
    assert "must not change" in text
    assert "because floats drift" in text
    assert "test_rounding FAILED" in text
    assert "src/ledger.py" in text


def test_chinese_is_summarised_in_chinese() -> None:
    """Titles and sentences are those of the history's language."""
    text = Extractive(share=1.0)(SummaryRequest(messages=CHINESE, max_tokens=400)).text
    assert "约束:" in text
    assert "不要出现真实姓名" in text
    assert "因为年龄在访谈里没有带来差别" in text


def test_most_of_a_long_history_is_left_out() -> None:
    """A summary that kept everything would measure nothing."""
    messages = make_trace(calls=200, result_words=200).messages
    read = sum(len(str(m.blocks)) for m in messages)
    assert len(Extractive()(SummaryRequest(messages=messages)).text) < read / 20


def test_an_earlier_summary_is_merged_and_not_nested() -> None:
    """What it said can come again, under one set of titles."""
    first = Extractive(share=1.0)(SummaryRequest(messages=STORY, max_tokens=300)).text
    second = Extractive(share=1.0)(SummaryRequest(messages=CHINESE[1:2], previous=first, max_tokens=600)).text
    assert "must not change" in second
    assert second.count("Constraints:") + second.count("约束:") == 1


def test_parameters_out_of_range_are_refused() -> None:
    """One line says what was expected."""
    with pytest.raises(SpecError, match="expected a share above 0 and up to 1"):
        load("summarizers", "extractive(share=7)")

"""JSON nested deeper than any reader goes, in a call's arguments and in a result, is text like any other."""

from __future__ import annotations

import pytest

from ullage import registry
from ullage.converse import loaded
from ullage.lines import arguments_of
from ullage.options import RunOptions
from ullage.testing import assistant, tool_result, user
from ullage.types import Call, Message, ToolUse, Trace
from ullage.worker import run_trace

DEEP = '{"a":' * 5000 + "1" + "}" * 5000
USE = ToolUse(id="t1", name="look", arguments=DEEP)
TRACE = Trace(
    id="deep",
    messages=(
        user("look it up", "u0"),
        Message(id="a1", role="assistant", blocks=(USE,)),
        tool_result("r2", t1=DEEP),
        assistant("found", "a3"),
        user("again", "u4"),
        assistant("done", "a5"),
    ),
    calls=(Call(id="c0", upto=1, reply=1), Call(id="c1", upto=3, reply=3), Call(id="c2", upto=5, reply=5)),
)


def test_deep_arguments_are_taken_as_text() -> None:
    """No mapping can be made of them; nothing is lost."""
    assert arguments_of(USE) == {"input": DEEP}
    assert loaded(DEEP) == DEEP


@pytest.mark.parametrize("name", [name for name in registry.names("strategies") if name != "strands_real"])
def test_a_deep_result_is_replayed_and_examined(name: str) -> None:
    """Every strategy walks the trace without a fault; a window that is too small ends it as a fact."""
    for window in (100_000, 12_000):
        (finished,) = run_trace(TRACE, RunOptions(strategies=(name,), window=window), [name])
        assert finished.record.faults == ()
        assert finished.record.survived == 3 or finished.record.died

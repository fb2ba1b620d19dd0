"""Deciders: a written policy and a live model behind one port."""

from __future__ import annotations

from pathlib import Path

import pytest

from ullage import registry
from ullage.cassette import Cassette
from ullage.deciders.llm import Llm, calls_in
from ullage.deciders.policy import WrittenPolicy
from ullage.errors import SpecError, UserError
from ullage.strategies.shared.agentic_tools import TOOLS, status_line
from ullage.strategy import DeciderRequest, ToolRequest
from ullage.testing import user

NAMES = {tool.name for tool in TOOLS}


def request(used: int) -> DeciderRequest:
    """What a model sees at this size of a window of 1,000."""
    return DeciderRequest(messages=(user("task", "u"),), status=status_line(used, 1000), used=used, limit=1000, tools=TOOLS)


@pytest.mark.parametrize(
    ("answer", "calls"),
    [
        ('Sure: [{"name": "truncate_context", "arguments": {"keep_recent": 4}}]', ("truncate_context",)),
        ('{"name": "pin_context", "arguments": {"select": "last_turn"}}', ("pin_context",)),
        ("[]", ()),
        ("nothing to do", ()),
        ('[{"name": "rm", "arguments": {}}, {"name": "pin_context"}, 3]', ()),
    ],
)
def test_a_models_answer_is_read_as_calls_of_its_own_tools_only(answer: str, calls: tuple[str, ...]) -> None:
    """Anything else calls nothing."""
    assert tuple(call.name for call in calls_in(answer, NAMES)) == calls


def test_a_model_is_not_asked_while_the_window_is_calm(tmp_path: Path) -> None:
    """Below its share nothing is sent; above it, a replay without a recording says so in one line."""
    decider = Llm(model="openai/none", cassette=str(tmp_path), mode="replay", at=0.5)
    assert decider(request(499)) == ()
    with pytest.raises(UserError) as error:
        decider(request(500))
    assert "\n" not in str(error.value)
    assert Cassette(folder=tmp_path).folder.exists()


def test_deciders_are_named_like_everything_else() -> None:
    """``policy`` and ``llm(…)``; others list what is near."""
    assert registry.load("deciders", "policy(pin_at=0.9)") == WrittenPolicy(pin_at=0.9)
    assert registry.load("deciders", "llm(model='a/b')") == Llm(model="a/b")
    with pytest.raises(SpecError, match="nearest: policy"):
        registry.load("deciders", "polizy")


def test_the_policy_offers_nothing_without_tools() -> None:
    """It calls only what it is offered."""
    bare = DeciderRequest(messages=(user("task", "u"),), status="", used=999, limit=1000, tools=())
    assert WrittenPolicy()(bare) == ()
    assert WrittenPolicy()(request(299)) == ()
    assert WrittenPolicy()(request(300)) == (ToolRequest(name="pin_context", arguments='{"select":[0]}'),)

"""Live models through one gateway: recorded once, replayed for nothing, capped, retried, and never with a key on disk."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ullage.cassette import Cassette, LlmReply, LlmRequest
from ullage.errors import UserError
from ullage.llm import RETRIES, Gateway, open_gateway
from ullage.types import Usage

ASK = [{"role": "user", "content": "Which port?"}]


class Passing(Exception):  # noqa: N818 - stands for litellm's error of the name below
    """A failure that passes."""


Passing.__name__ = "RateLimitError"


class Model:
    """Answers like litellm's ``completion``: numbers its calls, fails the first ``failures`` of them."""

    def __init__(self, failures: int = 0, error: Exception | None = None) -> None:
        self.calls: list[dict[str, Any]] = []
        self.failures, self.error = failures, error

    def __call__(self, **request: Any) -> Any:
        self.calls.append(request)
        if len(self.calls) <= self.failures:
            raise self.error or Passing("slow down")
        usage = SimpleNamespace(
            prompt_tokens=1000,
            completion_tokens=5,
            cache_creation_input_tokens=100,
            prompt_tokens_details=SimpleNamespace(cached_tokens=600),
        )
        message = SimpleNamespace(content=f"answer {len(self.calls)}")
        choice = SimpleNamespace(message=message, finish_reason="stop")
        return SimpleNamespace(choices=[choice], usage=usage, model="m")


def gateway(folder: Path, model: Model, mode: Any = "record", **fields: Any) -> Gateway:
    """A gateway with the fake model and no pauses."""
    return Gateway(
        model="claude-sonnet-4-5", cassette=Cassette(folder=folder, mode=mode), complete=model, pause=lambda _: None, **fields
    )


def test_the_second_asking_is_free_and_identical(tmp_path: Path) -> None:
    """A new gateway on the same folder answers without a call."""
    model = Model()
    first = gateway(tmp_path, model).ask(ASK)
    assert gateway(tmp_path, model).ask(ASK) == first
    assert len(model.calls) == 1
    assert first.usage == Usage(uncached=300, cache_read=600, cache_write_5m=100, output=5)


def test_draws_are_distinct_recordings(tmp_path: Path) -> None:
    """K draws of one request are K answers, each the same when asked again."""
    model = Model()
    asked = gateway(tmp_path, model)
    texts = [asked.ask(ASK, draw=draw).text for draw in (0, 1, 0, 1)]
    assert texts == ["answer 1", "answer 2", "answer 1", "answer 2"]


def test_replay_makes_no_call_and_says_what_is_missing(tmp_path: Path) -> None:
    """A request that was not recorded is one line."""
    model = Model()
    with pytest.raises(UserError, match="no answer recorded for a request to claude-sonnet-4-5"):
        gateway(tmp_path, model, "replay").ask(ASK)
    assert model.calls == []


def test_a_passing_failure_is_tried_again_and_a_lasting_one_is_one_line(tmp_path: Path) -> None:
    """Rate limits pass; a wrong key does not."""
    model = Model(failures=2)
    assert gateway(tmp_path, model).ask(ASK).text == "answer 3"
    with pytest.raises(UserError, match="ValueError: bad key"):
        gateway(tmp_path, Model(failures=1, error=ValueError("bad key\nmore")), "live").ask(ASK)
    endless = Model(failures=99)
    with pytest.raises(UserError, match="RateLimitError"):
        gateway(tmp_path, endless, "live").ask(ASK)
    assert len(endless.calls) == RETRIES + 1


def test_a_budget_stops_before_the_next_call(tmp_path: Path) -> None:
    """The first answer costs more than the cap; the second is refused."""
    asked = gateway(tmp_path, Model(), "live", budget_usd=0.0001)
    asked.ask(ASK)
    with pytest.raises(UserError, match=r"the budget of \$0.00 is spent"):
        asked.ask(ASK, draw=1)


def test_a_budget_without_a_price_is_refused(tmp_path: Path) -> None:
    """An unknown model cannot be kept within dollars."""
    asked = Gateway(model="house/none", cassette=Cassette(folder=tmp_path, mode="live"), complete=Model(), budget_usd=1.0)
    with pytest.raises(UserError, match="a budget cannot be kept"):
        asked.ask(ASK)


def test_keys_never_reach_the_cassette(tmp_path: Path) -> None:
    """Neither in the key of a recording nor in its file."""
    asked = gateway(tmp_path, Model(), parameters={"api_key": "sk-secret-123", "temperature": 0})
    asked.ask(ASK)
    (path,) = tmp_path.rglob("*.json")
    assert "secret" not in path.read_text()
    plain = gateway(tmp_path, Model(), parameters={"temperature": 0})
    assert plain.ask(ASK).text == "answer 1"


def test_a_damaged_recording_is_one_line(tmp_path: Path) -> None:
    """It names the file."""
    cassette = Cassette(folder=tmp_path)
    request = LlmRequest(model="m", messages="[]")
    cassette.put(request, LlmReply(text="x"))
    (path,) = tmp_path.rglob("*.json")
    path.write_text('{"request"')
    with pytest.raises(UserError, match="found a damaged recording"):
        cassette.get(request)


def test_an_unknown_mode_is_one_line() -> None:
    """The modes are named."""
    with pytest.raises(UserError, match="expected one of live, record, replay, refresh"):
        open_gateway("m", mode="tape")


def test_reader_and_summariser_answer_through_a_cassette(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One request a question, declined when the model says so; the summary carries its bill."""
    import ullage.llm
    from ullage.readers import Question
    from ullage.readers.llm import Llm as LlmReader
    from ullage.strategy import SummaryRequest
    from ullage.summarizers.llm import Llm as LlmSummarizer
    from ullage.testing import user

    model = Model()
    monkeypatch.setattr(ullage.llm, "_litellm_completion", lambda: model)
    reader = LlmReader(model="claude-sonnet-4-5", cassette=str(tmp_path))
    questions = [Question(text="Which port?", grader="numeric"), Question(text="Which?", grader="choice", choices=("a", "b"))]
    assert [reply.text for reply in reader.read([user("port 8443", "u")], questions)] == ["answer 1", "answer 2"]
    assert "- a" in model.calls[1]["messages"][1]["content"]
    summary = LlmSummarizer(model="claude-sonnet-4-5", cassette=str(tmp_path))(
        SummaryRequest(messages=(user("hello", "u"),), max_tokens=50)
    )
    assert summary.usage == Usage(uncached=300, cache_read=600, cache_write_5m=100, output=5)
    assert model.calls[-1]["max_tokens"] == 50

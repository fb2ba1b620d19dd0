"""What a strategy's own time is: its decisions, without the models that it waits for."""

from __future__ import annotations

import time

from ullage.strategy import UNCHANGED, Strategy, Summary, SummaryRequest, View
from ullage.testing import user, view_of
from ullage.types import Decision
from ullage.worker import Stopwatch

WAIT_S = 0.05


def slowly(request: SummaryRequest) -> Summary:
    """Answer after a while."""
    time.sleep(WAIT_S)
    return Summary(text=request.instructions)


class Asks(Strategy):
    """Asks for one summary and is done."""

    def decide(self, view: View) -> Decision:
        """Ask."""
        view.summarize(SummaryRequest(messages=view.context[:1]))
        return UNCHANGED


def test_waiting_for_a_summary_is_not_the_strategys_time() -> None:
    """With the port timed apart the rest is a small part of the wait; untimed it is all of it."""
    apart, together = Stopwatch(), Stopwatch()
    apart.decide(Asks(), view_of([user("task", "u")], summarize=apart.waits_for(slowly)))
    together.decide(Asks(), view_of([user("task", "u")], summarize=slowly))
    assert apart.decisions == together.decisions == 1
    assert 0 <= apart.total_ns < together.total_ns / 2

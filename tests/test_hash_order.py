"""Nothing depends on the order of sets: processes with other hash seeds say the same."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

PROGRAM = """
from ullage import registry
from ullage.probes import asked_as, mine
from ullage.readers import Question
from ullage.strategy import SummaryRequest
from ullage.traces import load_bundled
from ullage.types import digest_of

trace = load_bundled().traces[{number}]
half = trace.messages[: len(trace.messages) // 2]
bank = mine(trace)
questions = [Question(text=p.question, grader=asked_as(p), choices=p.choices, language=p.language) for p in bank.probes]
answers = registry.load("readers", "lexical").read(half, questions)
summary = registry.load("summarizers", "extractive")(SummaryRequest(messages=half))
print(digest_of(bank), digest_of([reply.text for reply in answers]), digest_of(summary.text))
"""


@pytest.mark.parametrize("number", [0, 3])
def test_mining_reading_and_summarising_are_the_same_under_any_hash_seed(number: int) -> None:
    """Bank, answers and summary of a bundled trace have one digest in three processes."""
    seen = set()
    for seed in ("0", "1", "4242"):
        environment = os.environ | {"PYTHONHASHSEED": seed}
        command = [sys.executable, "-c", PROGRAM.format(number=number)]
        result = subprocess.run(command, capture_output=True, text=True, check=True, env=environment, timeout=120)
        seen.add(result.stdout)
    assert len(seen) == 1

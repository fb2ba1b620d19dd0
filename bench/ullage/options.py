"""What a run is asked to do: one frozen value that the command line makes, workers receive and digests cover."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from ullage.errors import UserError
from ullage.types import digest_of

Mode = Literal["deployed", "forced"]
DEFAULT_CHECKPOINTS = (0.4, 0.7, 1.0)
"""Shares of the uncompacted trace's true tokens at which every strategy is examined (methodology: 40, 70, 100 %)."""
EXAMS_AFTER_COMPACTIONS = 8
COMPACTION_SHARE = 0.02
"""A decision that frees at least this share of the window from what was already sent is a compaction."""


class RunOptions(Struct, frozen=True, kw_only=True):
    """Everything that decides what the records of a run hold; paths, jobs and places are not part of it.

    ``strategies`` are canonical spec texts, ``window`` in tokens (none: the card's, else the model's), ``model`` and
    ``cache`` override what the trace says, ``budget`` is the forced mode's in tokens, ``swap`` a seed for fresh values. Behind a pause
    of more than ``restart_after`` minutes the session is resumed by a new process (none: never). ``open_book`` stored entries
    may be opened for a question that the context alone leaves open (0: closed book only). ``api`` overrides by whose message
    rules the requests are judged.
    """

    strategies: tuple[str, ...]
    window: int | None = None
    model: str = ""
    cache: str = ""
    reader: str = "lexical"
    summarizer: str = "extractive"
    decider: str = "policy"
    mode: Mode = "deployed"
    budget: int | None = None
    swap: int | None = None
    restart_after: int | None = None
    open_book: int = 0
    api: str = ""
    checkpoints: tuple[float, ...] = DEFAULT_CHECKPOINTS
    encoding: str = "o200k_base"
    prices: str = ""
    draws: int = 1
    seed: int = 0
    audits: int = 3
    tier: str = "lexical"

    @property
    def digest(self) -> str:
        """Digest over every option."""
        return digest_of(self)

    def check(self) -> RunOptions:
        """Return the options, or raise ``UserError`` for a value that cannot be meant."""
        if not self.strategies:
            raise UserError("run: no strategy given; expected --strategy SPEC at least once")
        if self.window is not None and self.window < 1000:
            raise UserError(f"run: found --window {self.window}; expected at least 1,000 tokens")
        if self.mode == "forced" and self.budget is None:
            raise UserError("run: --mode forced needs --budget TOKENS")
        if self.mode == "deployed" and self.budget is not None:
            raise UserError("run: --budget is for --mode forced")
        if self.budget is not None and self.budget < 500:
            raise UserError(f"run: found --budget {self.budget}; expected at least 500 tokens")
        if self.restart_after is not None and self.restart_after < 1:
            raise UserError(f"run: found --restart-after {self.restart_after}; expected at least 1 minute")
        if self.open_book < 0:
            raise UserError(f"run: found --open-book {self.open_book}; expected 0 or more entries a question")
        if self.draws < 1:
            raise UserError(f"run: found --draws {self.draws}; expected at least 1 answer a probe")
        bad = [share for share in self.checkpoints if not 0 < share <= 1]
        if bad or not self.checkpoints or tuple(sorted(set(self.checkpoints))) != self.checkpoints:
            raise UserError(f"run: found --checkpoints {self.checkpoints}; expected ascending shares above 0 and up to 1")
        return self

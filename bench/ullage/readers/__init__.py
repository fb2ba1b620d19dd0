"""Readers: they answer probes from a context and never see the gold."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from ullage.types import Message


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What a reader is asked: the question, its answer type, the options of a choice, and its language."""

    text: str
    grader: str
    choices: tuple[str, ...] = ()
    language: str = "en"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What a reader said: ``text`` is none when it declined; ``failure`` says why it could not be asked at all."""

    text: str | None = None
    failure: str = ""


class Opening(NamedTuple):
    """A stored entry that a reader would open: its reference, and a regular expression for the lines it is after.

    ``call`` is the tool call in whose result the context shows the reference; empty where it stands elsewhere.
    """

    ref: str
    pattern: str
    call: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """Base of all readers: subclasses are frozen dataclasses whose fields are their parameters."""

    declares: ClassVar[tuple[str, ...]] = ("deterministic", "needs_key")
    summary: ClassVar[str] = ""
    deterministic: ClassVar[bool] = True
    needs_key: ClassVar[bool] = False

    def read(self, context: Sequence[Message], questions: Sequence[Question], *, system: str = "", draw: int = 0) -> list[Reply]:
        """Answer each question from the messages alone (no messages: closed book); one reply a question, in order."""
        raise NotImplementedError

    def openings(
        self, context: Sequence[Message], questions: Sequence[Question], refs: AbstractSet[str]
    ) -> list[tuple[Opening, ...]]:
        """For each question the stored entries that the reader would open, the likeliest first: those that the context points to.

        ``refs`` are the references of everything stored. By words alone, unless a reader knows better.
        """
        from ullage.readers._openings import likely_openings  # noqa: PLC0415 - the searcher builds on the values above

        return likely_openings(context, questions, refs)

"""Recorded answers of models: the second run of the same request is free, identical and makes no call.

One file an answer, named by the digest of everything that the answer depends on, so that several processes can write
at once and a half-written file never counts. K draws are K distinct answers.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

from ullage.errors import UserError
from ullage.types import SCHEMA, JsonText, Usage, digest_of

Mode = Literal["live", "record", "replay", "refresh"]
"""``live`` never reads or writes; ``record`` reads and fills what is missing; ``replay`` only reads; ``refresh`` writes anew."""


class LlmRequest(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Everything that an answer depends on: model, chat messages and parameters as JSON text, and the draw."""

    model: str
    messages: JsonText
    parameters: JsonText = "{}"
    draw: int = 0

    @property
    def key(self) -> str:
        """Digest over the request and the schema version."""
        return digest_of((SCHEMA, self))


class LlmReply(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An answer as it came: text, billed usage, the model's own name for itself, and why it stopped."""

    text: str
    usage: Usage | None = None
    model: str = ""
    finish: str = ""


class _Entry(Struct, frozen=True, kw_only=True):
    request: LlmRequest
    reply: LlmReply


@dataclass(frozen=True, slots=True, kw_only=True)
class Cassette:
    """A folder of recorded answers."""

    folder: Path
    mode: Mode = "record"

    def get(self, request: LlmRequest) -> LlmReply | None:
        """The recorded answer, or none; in ``replay`` a missing one is a ``UserError``."""
        if self.mode in ("live", "refresh"):
            return None
        path = self._path(request)
        if not path.is_file():
            if self.mode == "replay":
                raise UserError(
                    f"cassette {self.folder}: no answer recorded for a request to {request.model} ({request.key[:12]})"
                )
            return None
        try:
            entry = msgspec.json.decode(path.read_bytes(), type=_Entry)
        except msgspec.DecodeError as error:
            raise UserError(f"{path}: found a damaged recording ({error}); expected one recorded answer") from error
        return entry.reply

    def put(self, request: LlmRequest, reply: LlmReply) -> None:
        """Record an answer; the file appears whole or not at all."""
        if self.mode not in ("record", "refresh"):
            return
        path = self._path(request)
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(f".{os.getpid()}.part")
        part.write_bytes(msgspec.json.encode(_Entry(request=request, reply=reply)))
        part.replace(path)

    def _path(self, request: LlmRequest) -> Path:
        return self.folder / request.key[:2] / f"{request.key}.json"

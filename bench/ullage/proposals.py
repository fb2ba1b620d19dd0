"""A strategy's answer, held to the types of its nouns before anything of it is applied.

Constructing a noun checks nothing, so that an ill-typed edit would otherwise be met half-way through applying it, or
only when the record is written.
"""

from __future__ import annotations

from typing import Any

import msgspec

from ullage.types import Decision

_ENCODER = msgspec.msgpack.Encoder()
_DECODER = msgspec.msgpack.Decoder(Decision)
"""MessagePack and not JSON: it tells bytes from text and has no NaN in an integer's place."""


def checked(answer: Any) -> Decision:
    """The decision, rebuilt from its own encoding; ``state`` is taken as it is.

    Raises ``TypeError`` for an answer that is no decision, and whatever the encoding raises for values that a record
    cannot hold: other types, lone surrogates, integers of more than 64 bits, sizes below 0.
    """
    if not isinstance(answer, Decision):
        raise TypeError(f"decide returned {type(answer).__name__}; expected a Decision")
    encoded = _ENCODER.encode(msgspec.structs.replace(answer, state=None))
    return msgspec.structs.replace(_DECODER.decode(encoded), state=answer.state)

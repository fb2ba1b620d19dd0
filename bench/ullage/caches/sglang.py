"""SGLang, served by oneself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ullage.caches._intervals import WITHIN_MESSAGE, PrefixPolicy


@dataclass(frozen=True, slots=True, kw_only=True)
class Sglang(PrefixPolicy):
    """The longest prefix by the token, generated tokens included, until it is evicted."""

    provider: ClassVar[str] = "sglang"
    sources: ClassVar[tuple[str, ...]] = ("RadixAttention; general knowledge, not re-read",)
    unsure: ClassVar[tuple[str, ...]] = (
        "room in the cache is taken as unlimited: nothing is evicted",
        "page size 1, the default",
        "a read costs compute only; price sheets do not know it",
        WITHIN_MESSAGE,
    )

    caches_replies: ClassVar[bool] = True

    minutes: int | None = None
    minimum: int = 1

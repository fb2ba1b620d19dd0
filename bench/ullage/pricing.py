"""Money: exact prices of a model, and what a usage costs by them.

Prices come from the sheet that ships inside litellm, read as a file. All amounts are integers in pico-dollars
(10⁻¹² USD), so that sums never drift; ``usd`` turns them into dollars for the last table only. A price that the sheet
does not give is never guessed: what stands in for it is a rule below, and ``notes`` name each rule that was used.
"""

from __future__ import annotations

import hashlib
import importlib.util
import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import ROUND_HALF_EVEN, Decimal
from difflib import get_close_matches
from importlib.metadata import PackageNotFoundError, version
from operator import itemgetter
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec

from ullage.cache import CacheRules
from ullage.errors import UserError
from ullage.types import Usage

PICO = 10**12
"""Pico-dollars in a dollar: all but a handful of the sheet's prices per token are whole numbers of them."""
SHEET = "model_prices_and_context_window_backup.json"
Service = Literal["", "batches", "flex", "priority"]

_ABOVE = re.compile(r"_above_(\d+)(k?)_tokens$")
_DATED = re.compile(r"(-\d{8}|@\d{8}|-\d{4}-\d{2}-\d{2}|-latest|\[1m\])$")
_MAKERS = {"kimi": "moonshot", "glm": "zai", "grok": "xai", "qwen": "dashscope", "mistral": "mistral", "gemini": "gemini"}
"""Where the maker of a model family sells it: a bare name of the family is priced there."""
_INCLUSIVE = frozenset({"xai"})
"""Providers whose higher tier begins at the threshold, not above it (litellm's cost calculator, 1.110)."""
_FIELDS = {
    "input": "input_cost_per_token",
    "output": "output_cost_per_token",
    "read": "cache_read_input_token_cost",
    "write_5m": "cache_creation_input_token_cost",
    "write_1h": "cache_creation_input_token_cost_above_1hr",
}


_RATE = {"uncached": "input", "read": "read", "write_5m": "write_5m", "write_1h": "write_1h", "output": "output"}


class Rates(NamedTuple):
    """Pico-dollars per token for prompts of more than ``above`` tokens."""

    above: int
    input: int
    output: int
    read: int
    write_5m: int
    write_1h: int


class Money(NamedTuple):
    """What a usage costs, in pico-dollars, split as the usage is."""

    uncached: int = 0
    read: int = 0
    write_5m: int = 0
    write_1h: int = 0
    output: int = 0

    @property
    def total(self) -> int:
        """All of it, in pico-dollars."""
        return sum(self)

    @property
    def write(self) -> int:
        """Both kinds of cache writes, in pico-dollars."""
        return self.write_5m + self.write_1h

    def plus(self, other: Money) -> Money:
        """The sum of both, part by part."""
        return Money(*(a + b for a, b in zip(self, other, strict=True)))

    def split(self) -> dict[str, float]:
        """Dollars by part, for a table or JSON."""
        return {name: usd(amount) for name, amount in self._asdict().items()}


def usd(pico: int) -> float:
    """Dollars of an amount in pico-dollars, rounded once."""
    return pico / PICO


class Unpriced(NamedTuple):
    """A model without a price, and why: its figures are null with this reason."""

    model: str
    reason: str


class ModelPrices(msgspec.Struct, frozen=True, kw_only=True):
    """The prices of one model. ``name`` is the sheet's entry, ``notes`` are the rules that filled gaps in it.

    ``minimum`` is the shortest cacheable prefix in tokens; limits are in tokens; each is none when the sheet is silent.
    """

    model: str
    name: str
    provider: str
    tiers: tuple[Rates, ...]
    minimum: int | None = None
    input_limit: int | None = None
    output_limit: int | None = None
    notes: tuple[str, ...] = ()

    @property
    def rates(self) -> Rates:
        """The rates of the lowest tier."""
        return self.tiers[0]

    @property
    def charges_writes(self) -> bool:
        """Whether a token that enters the cache costs more than one that does not."""
        return self.rates.write_5m > self.rates.input

    def rates_for(self, prompt_tokens: int) -> Rates:
        """The rates that a prompt of this size pays, for all its tokens and its output."""
        if len(self.tiers) == 1:
            return self.tiers[0]
        at = bisect_left(self.tiers, prompt_tokens, key=lambda rates: rates.above) - 1
        return self.tiers[max(at, 0)]

    def price(self, usage: Usage, calls: int = 1) -> Money:
        """What one call costs; or the sum of several, at the tier of their mean size: tiers hold for each call."""
        rates = self.rates_for(usage.prompt // max(calls, 1))
        return Money(
            usage.uncached * rates.input,
            usage.cache_read * rates.read,
            usage.cache_write_5m * rates.write_5m,
            usage.cache_write_1h * rates.write_1h,
            usage.output * rates.output,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceSheet:
    """All prices, by model name. ``dated`` tells which sheet it is: package version and digest of the file."""

    entries: Mapping[str, Mapping[str, Any]]
    dated: str
    _memo: dict[tuple[str, str], ModelPrices | Unpriced] = field(default_factory=dict)

    @classmethod
    def load(cls, path: Path | None = None) -> PriceSheet:
        """Read litellm's sheet; the entries of the JSON file ``path`` override it field by field.

        Raises ``UserError`` when a file is missing or is not a sheet.
        """
        base = _bundled()
        data = base.read_bytes()
        entries = _decoded(base, data)
        dated = f"litellm {_version()}, sha256 {hashlib.sha256(data).hexdigest()[:12]}"
        if path is not None:
            given = _read(path)
            for name, entry in _decoded(path, given).items():
                entries[name] = {**entries.get(name, {}), **entry}
            dated += f", overridden by {path.name}, sha256 {hashlib.sha256(given).hexdigest()[:12]}"
        return cls(entries=entries, dated=dated)

    def prices(self, model: str, service: Service = "") -> ModelPrices | Unpriced:
        """The prices of a model id as recordings and users write it, or the reason why there are none.

        ``service`` chooses the rates of another service tier; where the sheet has none, the standard ones hold.
        """
        known = self._memo.get((model, service))
        if known is None:
            known = self._memo[model, service] = self._find(model, service)
        return known

    def price(self, usage: Usage, model: str) -> Money | Unpriced:
        """What one call of a model costs."""
        prices = self.prices(model)
        return prices if isinstance(prices, Unpriced) else prices.price(usage)

    def rules(self, models: tuple[str, ...]) -> CacheRules:
        """Cache rules of the models that a session calls; the first one's minimum is the default.

        Only published minima are used; a model without one has the rules' own default.
        """
        found = [(model, prices.minimum) for model in models if isinstance(prices := self.prices(model), ModelPrices)]
        minima = tuple((model, minimum) for model, minimum in found if minimum is not None)
        default = dict(minima).get(models[0]) if models else None
        return CacheRules(by_model=minima) if default is None else CacheRules(minimum=default, by_model=minima)

    def _find(self, model: str, service: Service) -> ModelPrices | Unpriced:
        if not model:
            return Unpriced(model, "no model is recorded or given")
        for name in spellings(model):
            entry = self.entries.get(name)
            if entry is not None:
                return _model_prices(model, name, entry, service)
        close = get_close_matches(model, list(self.entries), n=3, cutoff=0.6)
        near = f"nearest: {', '.join(close)}" if close else f"none of its {len(self.entries):,} names is near"
        return Unpriced(model, f"model {model!r} is not in the price sheet; {near}")


def price_columns(usage: Mapping[str, Any], prices: ModelPrices) -> dict[str, Any]:
    """Price whole columns of calls of one model: arrays of the five fields of ``Usage`` in, int64 pico-dollars out.

    Takes a pandas frame or a mapping of arrays; each call pays the rates of the tier that its own prompt falls into.
    """
    import numpy as np  # noqa: PLC0415 - 0.2 s, only for tables

    parts = {name: np.asarray(usage[name], dtype=np.int64) for name in Usage.__struct_fields__}
    prompt = parts["uncached"] + parts["cache_read"] + parts["cache_write_5m"] + parts["cache_write_1h"]
    at = np.searchsorted(np.array([rates.above for rates in prices.tiers[1:]]), prompt, side="left")
    columns = dict(zip(Money._fields, parts, strict=True))
    rate = {part: np.array([getattr(rates, _RATE[part]) for rates in prices.tiers], dtype=np.int64) for part in columns}
    return {part: parts[name] * rate[part][at] for part, name in columns.items()}


def spellings(model: str) -> Iterator[str]:
    """Names under which the sheet may hold a model, most exact first: as given, without path, without date, at its maker."""
    seen: set[str] = set()
    names = [model, *(model.split("/", n)[-1] for n in range(1, model.count("/") + 1))]
    names += [_DATED.sub("", name) for name in names]
    names += [f"{maker}/{name}" for name in names for family, maker in _MAKERS.items() if name.startswith(family)]
    for name in names:
        if name and name not in seen:
            seen.add(name)
            yield name


def _model_prices(model: str, name: str, entry: Mapping[str, Any], service: Service) -> ModelPrices | Unpriced:
    provider = str(entry.get("litellm_provider") or "")
    if "input_cost_per_token" not in entry and not any(_FIELDS["input"] in row for row in entry.get("tiered_pricing") or ()):
        return Unpriced(model, f"model {model!r} is not priced by the token (mode {entry.get('mode') or 'unknown'})")
    notes: list[str] = [] if name == model else [f"priced as {name}"]
    if "off_peak_pricing" in entry:
        notes.append("standard rates at all hours: off-peak rates are left out")
    return ModelPrices(
        model=model,
        name=name,
        provider=provider,
        tiers=_tiers(name, entry, service, notes),
        minimum=_whole(entry.get("prompt_cache_min_tokens")),
        input_limit=_whole(entry.get("max_input_tokens")),
        output_limit=_whole(entry.get("max_output_tokens")),
        notes=tuple(dict.fromkeys(notes)),
    )


def _tiers(name: str, entry: Mapping[str, Any], service: Service, notes: list[str]) -> tuple[Rates, ...]:
    claude = "claude" in name
    if entry.get("tiered_pricing"):
        return tuple(_rates(above, given, notes, claude=claude) for above, given in _listed(entry))
    given = {key: _served(entry, at, service) for key, at in _FIELDS.items()}
    tiers = [_rates(0, given, notes, claude=claude)]
    for size, suffix in _thresholds(entry):
        given = {key: _first(_served(entry, at + suffix, service), given[key]) for key, at in _FIELDS.items()}
        above = size - 1 if entry.get("litellm_provider") in _INCLUSIVE else size
        tiers.append(_rates(above, given, notes, claude=claude))
    return tuple(tiers)


def _listed(entry: Mapping[str, Any]) -> list[tuple[int, dict[str, Any]]]:
    """Tiers of an entry that lists them as ranges (start, end]; the entry's output price stands in for a missing one."""
    rows = [(int(row["range"][0]), {key: row.get(at) for key, at in _FIELDS.items()}) for row in entry["tiered_pricing"]]
    rows.sort(key=itemgetter(0))
    return [(start, {**given, "output": _first(given["output"], entry.get(_FIELDS["output"]))}) for start, given in rows]


def _thresholds(entry: Mapping[str, Any]) -> list[tuple[int, str]]:
    """Sizes above which other rates hold, with the suffix of their keys, ascending."""
    keys = (key for key in entry if key.startswith(tuple(_FIELDS.values())))
    found = {match.group(0): match for key in keys if (match := _ABOVE.search(key))}
    return sorted((int(match.group(1)) * (1000 if match.group(2) else 1), suffix) for suffix, match in found.items())


def _rates(above: int, given: Mapping[str, Any], notes: list[str], *, claude: bool) -> Rates:
    """One tier with its gaps filled: a missing read price, and a write price below the input's, mean the input price.

    No provider sells written tokens for less than uncached ones: the sheet's zeros mean "no fee on top", and its few
    prices in between are read or storage prices in the wrong place.
    """
    price = {key: _pico(value) for key, value in given.items()}
    base = price["input"] or 0
    write = max(price["write_5m"] or 0, base)
    long = price["write_1h"]
    if price["read"] is None:
        notes.append("no read price in the sheet: cached tokens cost as input")
    if write == base:
        notes.append("no write fee in the sheet: written tokens cost as input")
    elif long is None and claude:
        long = 2 * base
        notes.append("no 1h write price in the sheet: twice the input price")
    return Rates(above, base, price["output"] or 0, _first(price["read"], base), write, max(long or 0, write))


def _first(value: Any, other: Any) -> Any:
    return other if value is None else value


def _served(entry: Mapping[str, Any], key: str, service: Service) -> Any:
    return _first(entry.get(f"{key}_{service}") if service else None, entry.get(key))


def _pico(value: Any) -> int | None:
    """Pico-dollars of a price per token; a price's decimal text decides, not its binary fraction."""
    if value is None:
        return None
    return int((Decimal(repr(value)) * PICO).quantize(Decimal(1), rounding=ROUND_HALF_EVEN))


def _whole(value: Any) -> int | None:
    return int(value) if isinstance(value, (int, float)) else None


def _bundled() -> Path:
    spec = importlib.util.find_spec("litellm")
    if spec is None or not spec.submodule_search_locations:
        raise UserError("the package litellm is not installed: its price file is needed; install it or give --prices FILE")
    return Path(spec.submodule_search_locations[0]) / SHEET


def _version() -> str:
    try:
        return version("litellm")
    except PackageNotFoundError:
        return "of unknown version"


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise UserError(f"{path}: found no readable file ({error.strerror}); expected a JSON price sheet") from error


def _decoded(path: Path, data: bytes) -> dict[str, Mapping[str, Any]]:
    try:
        entries: dict[str, dict[str, Any]] = msgspec.json.decode(data, type=dict[str, dict[str, Any]])
    except msgspec.DecodeError as error:
        raise UserError(f"{path}: found {error}; expected a JSON object of model name to prices") from error
    for name, entry in entries.items():
        for key in _FIELDS.values():
            value = entry.get(key)
            if value is not None and not (isinstance(value, (int, float)) and value >= 0):
                raise UserError(f"{path}: {name}.{key}: found {value!r}; expected dollars per token, at least 0")
    return dict(entries)


_POLICIES = {
    "anthropic": "auto",
    "bedrock": "bedrock",
    "bedrock_converse": "bedrock",
    "vertex_ai-anthropic_models": "vertex",
    "gemini": "gemini_implicit",
    "vertex_ai-language-models": "gemini_implicit",
    "deepseek": "deepseek",
    "xai": "xai",
    "mistral": "mistral",
    "dashscope": "qwen_implicit",
    "moonshot": "moonshot",
    "zai": "glm",
    "minimax": "minimax",
    "hosted_vllm": "vllm",
}


def policy_for(prices: ModelPrices | Unpriced, trace_format: str = "") -> str:
    """The cache policy that a replay uses unless one is chosen: the client's own marks, else those of the provider.

    A Claude Code trace has that client's marks whatever its model; a model of an unknown provider has ``auto``.
    """
    if trace_format == "claude_code":
        return "claude_code"
    if isinstance(prices, Unpriced):
        return "auto"
    if prices.provider in {"openai", "azure"}:
        return _openai_policy(prices)
    if "nova" in prices.name and prices.provider.startswith("bedrock"):
        return "bedrock_nova"
    return _POLICIES.get(prices.provider, "auto")


def _openai_policy(prices: ModelPrices) -> str:
    """A write fee marks the models from GPT-5.6 on; GPT-5.5 keeps prefixes for a day, on a coarser grid."""
    if prices.provider == "azure":
        return "azure(marks=True)" if prices.charges_writes else "azure"
    if "gpt-5.5" in prices.name:
        return "openai(interval=512, minutes=1440)"
    return "openai_marks" if prices.charges_writes else "openai"

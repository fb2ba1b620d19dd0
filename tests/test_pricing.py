"""Prices: exact against the calculator of the package that the sheet comes from, with each exception stated."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ullage import registry
from ullage.errors import UserError
from ullage.pricing import PICO, ModelPrices, Money, PriceSheet, Rates, Unpriced, policy_for, price_columns, usd
from ullage.types import Usage

MODELS = (
    "claude-sonnet-4-5",
    "claude-opus-4-5-20251101",
    "claude-opus-5-5",
    "claude-fable-5-1",
    "claude-haiku-4-5",
    "us.anthropic.claude-opus-4-5-20251101-v1:0",
    "gpt-4o",
    "gpt-5",
    "gpt-5.6",
    "gpt-6.1-sol",
    "gemini-2.5-pro",
    "gemini-3.1-pro-preview",
    "deepseek/deepseek-chat",
    "xai/grok-4.5",
    "moonshot/kimi-k3",
    "dashscope/qwen-flash",
)
ASK_LITELLM = """
import json, sys
import litellm
from litellm.types.utils import CacheCreationTokenDetails, PromptTokensDetailsWrapper, Usage
answers = []
for model, uncached, read, short, long, output in json.load(sys.stdin):
    details = PromptTokensDetailsWrapper(cached_tokens=read, cache_creation_tokens=short + long)
    details.cache_creation_token_details = CacheCreationTokenDetails(ephemeral_5m_input_tokens=short, ephemeral_1h_input_tokens=long)
    prompt = uncached + read + short + long
    usage = Usage(prompt_tokens=prompt, completion_tokens=output, total_tokens=prompt + output, prompt_tokens_details=details)
    answers.append(litellm.cost_per_token(model=model, usage_object=usage))
json.dump(answers, sys.stdout)
"""


@pytest.fixture(scope="module")
def sheet() -> PriceSheet:
    """The bundled sheet."""
    return PriceSheet.load()


def known(sheet: PriceSheet, model: str) -> ModelPrices:
    """Prices of a model that the sheet holds."""
    prices = sheet.prices(model)
    assert isinstance(prices, ModelPrices), prices
    return prices


def usages(sheet: PriceSheet, each: int) -> list[tuple[str, int, int, int, int, int]]:
    """Generated calls on both sides of every tier; writes only where the provider charges for them."""
    rng = random.Random(7)
    rows: list[tuple[str, int, int, int, int, int]] = []
    for model in MODELS:
        prices = known(sheet, model)
        edges = [rates.above + 1 for rates in prices.tiers] + [rates.above for rates in prices.tiers[1:]]
        for n in range(each):
            writes, long = prices.charges_writes, prices.rates.write_1h > prices.rates.write_5m
            size = rng.choice([3_000, 90_000, 150_000, 400_000])
            parts = [rng.randrange(size) for _ in range(4)]
            parts[2] *= writes
            parts[3] *= long
            if n < len(edges):
                parts = [edges[n], 0, 0, 0]
            rows.append((model, parts[0], parts[1], parts[2], parts[3], rng.randrange(20_000)))
    return rows


def test_every_cent_agrees_with_litellm(sheet: PriceSheet) -> None:
    """At least 200 generated usages over at least twelve models give the same dollars to the last binary digit or two."""
    rows = usages(sheet, 16)
    assert len(rows) >= 200
    environment = os.environ | {"LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    done = subprocess.run(
        [sys.executable, "-c", ASK_LITELLM], input=json.dumps(rows), capture_output=True, text=True, check=False, env=environment
    )
    assert done.returncode == 0, done.stderr[-2000:]
    for (model, uncached, read, short, long, output), (prompt, completion) in zip(rows, json.loads(done.stdout), strict=True):
        money = known(sheet, model).price(
            Usage(uncached=uncached, cache_read=read, cache_write_5m=short, cache_write_1h=long, output=output)
        )
        assert usd(money.total - money.output) == pytest.approx(prompt, rel=1e-13), (model, uncached, read, short, long)
        assert usd(money.output) == pytest.approx(completion, rel=1e-13)


@pytest.mark.parametrize(
    ("model", "dollars_a_million", "minimum"),
    [
        ("claude-fable-5-1", (10, 50, 0.25, 12.5, 20), 512),
        ("claude-opus-5-5", (4, 20, 0.2, 5, 8), 512),
        ("claude-opus-4-5", (5, 25, 0.5, 6.25, 10), 4096),
        ("claude-sonnet-4-5", (3, 15, 0.3, 3.75, 6), 1024),
        ("claude-haiku-5-5", (0.1, 0.5, 0.01, 0.125, 0.2), 512),
        ("deepseek-chat", (0.28, 0.42, 0.028, 0.28, 0.28), None),
        ("gpt-4.1", (2, 8, 0.5, 2, 2), None),
    ],
)
def test_published_prices(sheet: PriceSheet, model: str, dollars_a_million: tuple[float, ...], minimum: int | None) -> None:
    """Input, output, read and both writes as published, and the shortest cacheable prefix."""
    prices = known(sheet, model)
    assert prices.rates[1:] == tuple(round(price * 1_000_000) for price in dollars_a_million)
    assert prices.minimum == minimum


def test_money_is_whole_pico_dollars(sheet: PriceSheet) -> None:
    """A million calls of one token each cost exactly a million times one call."""
    prices = known(sheet, "claude-opus-4-5")
    one = prices.price(Usage(uncached=1, cache_read=1, cache_write_5m=1, cache_write_1h=1, output=1))
    assert one == Money(5_000_000, 500_000, 6_250_000, 10_000_000, 25_000_000)
    assert one.total * 1_000_000 == 46_750_000 * 1_000_000
    assert usd(PICO) == 1.0
    assert one.split() == {"uncached": 5e-06, "read": 5e-07, "write_5m": 6.25e-06, "write_1h": 1e-05, "output": 2.5e-05}


@pytest.mark.parametrize(
    ("entry", "expected", "note"),
    [
        ({"input_cost_per_token": 2e-6}, Rates(0, 2_000_000, 0, 2_000_000, 2_000_000, 2_000_000), "no read price"),
        (
            {"input_cost_per_token": 2e-6, "cache_creation_input_token_cost": 0},
            Rates(0, 2_000_000, 0, 2_000_000, 2_000_000, 2_000_000),
            "no write fee",
        ),
        (
            {"input_cost_per_token": 2e-6, "cache_creation_input_token_cost": 2.5e-6},
            Rates(0, 2_000_000, 0, 2_000_000, 2_500_000, 4_000_000),
            "twice the input",
        ),
    ],
)
def test_gaps_are_filled_by_stated_rules(tmp_path: Path, entry: dict[str, float], expected: Rates, note: str) -> None:
    """A missing read price, a free write and a missing one-hour price each become the documented stand-in, with a note."""
    path = tmp_path / "prices.json"
    path.write_text(json.dumps({"claude-made-up": entry}))
    prices = known(PriceSheet.load(path), "claude-made-up")
    assert prices.rates == expected
    assert any(note in line for line in prices.notes)


def test_overrides_change_single_fields_and_are_dated(tmp_path: Path, sheet: PriceSheet) -> None:
    """A file given by the user overrides field by field, and the sheet says so."""
    path = tmp_path / "mine.json"
    path.write_text(json.dumps({"claude-opus-4-5": {"cache_read_input_token_cost": 1e-7}}))
    mine = PriceSheet.load(path)
    assert known(mine, "claude-opus-4-5").rates == known(sheet, "claude-opus-4-5").rates._replace(read=100_000)
    assert mine.dated.startswith(sheet.dated)
    assert "mine.json" in mine.dated


@pytest.mark.parametrize("text", ["[1]", "{", '{"m": {"input_cost_per_token": -1}}', '{"m": {"input_cost_per_token": "much"}}'])
def test_a_broken_sheet_is_one_line(tmp_path: Path, text: str) -> None:
    """What is not a sheet is refused with the file's name."""
    path = tmp_path / "bad.json"
    path.write_text(text)
    with pytest.raises(UserError, match=r"bad\.json") as caught:
        PriceSheet.load(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("asked", "name"),
    [
        ("anthropic/claude-sonnet-4-5", "claude-sonnet-4-5"),
        ("claude-opus-4-6[1m]", "claude-opus-4-6"),
        ("openrouter-like/anthropic/claude-opus-4-5", "claude-opus-4-5"),
        ("claude-opus-5-5-20261001", "claude-opus-5-5"),
        ("kimi-k3", "moonshot/kimi-k3"),
        ("glm-4.7", "zai/glm-4.7"),
    ],
)
def test_spellings_of_a_model_are_found_and_noted(sheet: PriceSheet, asked: str, name: str) -> None:
    """Path, date and window suffixes do not hide a model; what it was priced as is said."""
    prices = known(sheet, asked)
    assert prices.name == name
    assert f"priced as {name}" in prices.notes


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        ("claude-opus-4-55", "nearest: claude-opus-4-5"),
        ("zzzz", "names is near"),
        ("", "no model"),
        ("whisper-1", "not priced by the token"),
        ("firecrawl/search", "not priced by the token"),
    ],
)
def test_an_unknown_model_has_a_reason_and_no_price(sheet: PriceSheet, model: str, reason: str) -> None:
    """No price is guessed: the value says why there is none and what is near."""
    found = sheet.prices(model)
    assert isinstance(found, Unpriced)
    assert reason in found.reason
    assert sheet.price(Usage(), model) == found


def test_rules_hold_published_minima(sheet: PriceSheet) -> None:
    """The shortest cacheable prefix comes from the sheet, model by model; without one the default stays."""
    rules = sheet.rules(("claude-opus-4-5", "claude-sonnet-4-5", "gpt-5"))
    assert [rules.minimum_of(m) for m in ("claude-opus-4-5", "claude-sonnet-4-5", "gpt-5")] == [4096, 1024, 4096]
    assert sheet.rules(("gpt-5",)).minimum == 1024


@pytest.mark.parametrize(
    ("model", "form", "policy"),
    [
        ("claude-opus-4-5", "claude_code", "claude_code"),
        ("claude-opus-4-5", "openai_messages", "auto"),
        ("unheard-of", "", "auto"),
        ("gpt-5", "codex", "openai"),
        ("gpt-5.6", "codex", "openai_marks"),
        ("gpt-5.5", "codex", "openai(interval=512, minutes=1440)"),
        ("azure/gpt-5.6", "", "azure(marks=True)"),
        ("azure/gpt-5", "", "azure"),
        ("amazon.nova-pro-v1:0", "", "bedrock_nova"),
        ("deepseek-chat", "", "deepseek"),
        ("gemini-2.5-pro", "", "gemini_implicit"),
        ("us.anthropic.claude-opus-4-5-20251101-v1:0", "", "bedrock"),
    ],
)
def test_default_policies(sheet: PriceSheet, model: str, form: str, policy: str) -> None:
    """A Claude Code trace has its client's marks, every other one the rules of its model's provider."""
    assert policy_for(sheet.prices(model), form) == policy
    assert registry.load("caches", policy)


@given(st.lists(st.tuples(*[st.integers(0, 600_000)] * 5), min_size=1, max_size=20), st.sampled_from(MODELS))
def test_columns_and_single_calls_agree(rows: list[tuple[int, ...]], model: str) -> None:
    """The vectorised form gives the same pico-dollars as call after call."""
    prices = known(SHEET, model)
    columns = {name: np.array([row[i] for row in rows]) for i, name in enumerate(Usage.__struct_fields__)}
    priced = price_columns(columns, prices)
    for i, row in enumerate(rows):
        money = prices.price(Usage(**dict(zip(Usage.__struct_fields__, row, strict=True))))
        assert tuple(int(priced[part][i]) for part in Money._fields) == tuple(money)


SHEET = PriceSheet.load()

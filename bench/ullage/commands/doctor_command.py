"""``ullage doctor``: can the results of this installation be trusted, and what is missing?"""

from __future__ import annotations

import importlib.util
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from ullage.commands._output import show_json, show_table

OPTIONAL = {
    "redis": "store on a Redis server; pip install 'ullage[redis]'",
    "distributed": "runs on a Dask cluster; pip install 'ullage[dask]'",
    "ray": "runs on a Ray cluster; pip install 'ullage[ray]'",
    "strands": "the real Strands package as a strategy; pip install 'ullage[strands]'",
}
OLD_DAYS = 120
"""A price sheet older than this is worth a warning: providers change prices every few months."""


@click.command("doctor", short_help="Self-test of the scorers, and what is installed, found or missing.")
@click.option("--json", "as_json", is_flag=True, help="All checks as JSON.")
def command(*, as_json: bool) -> int:
    """Run the scorers against answers that must fail and pass, and look at price sheet, tokenizers and optional parts."""
    checks = [*_scorer(), *_prices(), *_tokenizers(), *_bundled(), *_optional()]
    failed = sum(check["state"] == "failed" for check in checks)
    if as_json:
        show_json({"checks": checks, "failed": failed})
    else:
        show_table(("state", "check", "found"), [(c["state"], c["check"], c["found"]) for c in checks])
    return 1 if failed else 0


def _check(name: str, state: str, found: str) -> dict[str, Any]:
    return {"check": name, "state": state, "found": found}


def _scorer() -> list[dict[str, Any]]:
    from ullage.scoring_self_test import self_test

    results = list(self_test())
    wrong = [case for case, expected, got in results if expected != got]
    if wrong:
        return [_check("scorer self-test", "failed", f"{len(wrong)} of {len(results)} cases: {', '.join(map(str, wrong[:5]))}")]
    return [
        _check(
            "scorer self-test",
            "ok",
            f"{len(results)} cases: empty, echoed, listed, stale and negated answers score 0, gold scores 1",
        )
    ]


def _prices() -> list[dict[str, Any]]:
    from ullage.pricing import PriceSheet

    sheet = PriceSheet.load()
    spec = importlib.util.find_spec("litellm")
    where = Path(str(spec.origin)).parent / "model_prices_and_context_window_backup.json" if spec and spec.origin else None
    days = None
    if where is not None and where.is_file():
        days = (datetime.now(UTC) - datetime.fromtimestamp(where.stat().st_mtime, UTC)).days
    state = "warning" if days is not None and days > OLD_DAYS else "ok"
    age = "of unknown age" if days is None else f"{days} days on this disk"
    return [_check("price sheet", state, f"{sheet.dated}, {len(sheet.entries):,} models, {age}")]


def _tokenizers() -> list[dict[str, Any]]:
    from ullage.errors import UserError
    from ullage.tokens import tiktoken_counter

    found = []
    for name in ("o200k_base", "cl100k_base"):
        try:
            count = tiktoken_counter(name)("Ullage measures what leaked.")
        except (UserError, OSError) as error:
            found.append(_check(f"tokenizer {name}", "failed", str(error)))
        else:
            found.append(_check(f"tokenizer {name}", "ok", f"offline, {count} tokens for a test sentence"))
    return found


def _bundled() -> list[dict[str, Any]]:
    from ullage.errors import UserError
    from ullage.traces import bank_for, load_bundled

    try:
        loaded = load_bundled()
    except UserError as error:
        return [_check("bundled traces", "failed", str(error))]
    banks = sum(bank_for(trace) is not None for trace in loaded.traces)
    return [
        _check(
            "bundled traces",
            "ok" if loaded.traces else "failed",
            f"{len(loaded.traces)} traces, {banks} with a frozen probe bank",
        )
    ]


def _optional() -> list[dict[str, Any]]:
    found = [_check("python", "ok", sys.version.split()[0])]
    for name, what in OPTIONAL.items():
        there = importlib.util.find_spec(name) is not None
        found.append(_check(f"optional {name}", "ok" if there else "missing", "installed" if there else what))
    return found

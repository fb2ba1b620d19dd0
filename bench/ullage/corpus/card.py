"""The data set's card: figures that are computed go between markers, prose stays as it is written."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from ullage.corpus.pressure import pressure
from ullage.corpus.stats import QUANTILES, TraceStatistics, probe_counts, quantile, result_sizes, statistics_of
from ullage.errors import UserError
from ullage.tokens import TextCounter, tiktoken_counter
from ullage.types import ProbeBank, Trace

_PART = re.compile(r"(<!-- (?P<name>[a-z]+): computed -->\n).*?(<!-- end -->)", re.DOTALL)
HEAD = (
    "| trace | split | language | calls | tokens | silent | median words | human | thinking | parallel | images | pauses > 5 min | > 1 h "
    "| children | lexical (prose) | paraphrase |"
)


def tables(shelf: Sequence[tuple[Trace, ProbeBank]], real: Sequence[Trace] = ()) -> dict[str, str]:
    """The computed parts of the card by name; ``real`` are sessions to compare the sizes of tool results with."""
    count = tiktoken_counter()
    figures = [statistics_of(trace, count) for trace, _ in shelf]
    return {
        "traces": _traces(shelf, figures),
        "summary": _summary(figures),
        "window": pressure(trace for trace, _ in shelf),
        "sizes": _sizes(shelf, figures, real, count),
    }


def fill(path: Path, parts: dict[str, str]) -> None:
    """Put computed parts into the card; one that the card does not name is a ``UserError``."""
    text = path.read_text(encoding="utf-8")
    missing = parts.keys() - {match["name"] for match in _PART.finditer(text)}
    if missing:
        raise UserError(f"{path}: found no place for {', '.join(sorted(missing))}; expected a line <!-- NAME: computed -->")
    filled = _PART.sub(lambda m: f"{m[1]}{parts[m['name']]}\n{m[3]}" if m["name"] in parts else m[0], text)
    path.write_text(filled, encoding="utf-8")


def _traces(shelf: Sequence[tuple[Trace, ProbeBank]], figures: Sequence[TraceStatistics]) -> str:
    rows = [HEAD, "|" + "---|" * (HEAD.count("|") - 1)]
    for (trace, bank), one in zip(shelf, figures, strict=True):
        probes = probe_counts(bank.probes)
        rows.append(
            f"| {one.id} | {trace.meta.split} | {trace.meta.language} | {one.calls} | {one.tokens:,} | {one.silent:.0%} | {one.median_words:g} "
            f"| {one.human} | {one.thinking} | {one.parallel} | {one.images} | {one.pauses} | {one.long_pauses} | {one.children} "
            f"| {probes['lexical']} ({probes['prose']}) | {probes['paraphrase']} |"
        )
    return "\n".join(rows)


def _summary(figures: Sequence[TraceStatistics]) -> str:
    tokens = sorted(one.tokens for one in figures)
    above = {limit: sum(size > limit for size in tokens) for limit in (150_000, 400_000)}
    return (
        f"{len(figures)} traces, {sum(one.calls for one in figures):,} calls, {sum(tokens):,} tokens (o200k_base); sizes from "
        f"{tokens[0]:,} to {tokens[-1]:,}, median {round(median(tokens)):,}; {above[150_000]} above 150,000 and {above[400_000]} above 400,000."
    )


def _sizes(
    shelf: Sequence[tuple[Trace, ProbeBank]], figures: Sequence[TraceStatistics], real: Sequence[Trace], count: TextCounter
) -> str:
    head = "| tool results, tokens | n | " + " | ".join(f"{q:.0%}" for q in QUANTILES) + " |"
    rows = [head, "|" + "---|" * (len(QUANTILES) + 2)]
    groups = {"this corpus": [trace for trace, _ in shelf], "Claude Code sessions": list(real)}
    for name, traces in groups.items():
        sizes = sorted(size for trace in traces for size in result_sizes(trace, count))
        if sizes:
            rows.append(f"| {name} | {len(sizes):,} | " + " | ".join(f"{quantile(sizes, q):,}" for q in QUANTILES) + " |")
    silent = sum(one.silent * one.calls for one in figures) / max(1, sum(one.calls for one in figures))
    return "\n".join(rows) + f"\n\nCalls without text: {silent:.0%} of all."

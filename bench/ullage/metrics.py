"""Every figure by name: what it means, its unit, its formula and where it comes from. ``docs/metrics.md`` is written from this."""

from __future__ import annotations

from typing import Any

from msgspec import Struct


class Metric(Struct, frozen=True, kw_only=True):
    """One figure. ``family`` groups the page; ``source`` names who defined it first."""

    name: str
    family: str
    unit: str
    summary: str
    formula: str
    source: str

    def entry(self) -> dict[str, Any]:
        """The form that ``list metrics --json`` prints."""
        return {
            "name": self.name,
            "spec": self.name,
            "summary": self.summary,
            "parameters": [],
            "family": self.family,
            "unit": self.unit,
            "formula": self.formula,
            "source": self.source,
        }


def _metric(family: str, name: str, unit: str, summary: str, formula: str, source: str) -> Metric:
    return Metric(name=name, family=family, unit=unit, summary=summary, formula=formula, source=source)


_RETENTION = (
    (
        "retention",
        "share",
        "facts still answered right from what the strategy would send, macro over traces",
        "R = mean over traces of (mean over eligible probes of the mean over draws of y), y = 1 for a correct answer",
        "Hermes evals/compaction (recall), made trace-macro",
    ),
    (
        "retention_normalised",
        "share",
        "retention between closed book and full context; may exceed 1",
        "NR = (R − F) / (C − F); not defined where C − F < 0.2; interval by bootstrap over traces",
        "COMPINT's Effect Retention, generalised",
    ),
    (
        "floor",
        "share",
        "the same probes answered from the question alone",
        "F = R with an empty context",
        "COMPINT; CompactBench lacks it",
    ),
    (
        "ceiling",
        "share",
        "the same probes answered from the whole uncompacted context",
        "C = R with the full context",
        "lost-in-compaction",
    ),
    (
        "survival",
        "share",
        "facts whose evidence text is still present; deterministic, never called retention",
        "V = mean over traces of the share of probes whose evidence tokens are all in the context",
        "lost-in-compaction's grep gap",
    ),
    (
        "demand_weighted_retention",
        "share",
        "retention over the facts that the recorded future really used",
        "as retention, over probes with uses, each weighted with min(uses, 3)",
        "this project",
    ),
    (
        "stale_rate",
        "share",
        "update probes answered with a superseded value",
        "share of update probes whose answer holds a reject value",
        "CCK; MemoryAgentBench",
    ),
    (
        "false_memory_rate",
        "share",
        "decoys answered instead of declined",
        "share of abstention probes with an answer",
        "LongMemEval; context-bench",
    ),
    (
        "retention_by_age",
        "share",
        "retention by how many compactions the evidence has been out of its raw form",
        "R within each age; age 0: raw evidence still there",
        "methodology of multi-cycle tests (CCK, Hermes)",
    ),
)
_TOKENS = (
    (
        "tokens.input",
        "tokens",
        "cumulative input of all calls, the summariser's included",
        "Σ prompt + Σ summariser prompt",
        "ACON",
    ),
    ("tokens.output", "tokens", "billed output as recorded where reliable, else counted from the reply", "Σ output", "recording"),
    ("tokens.peak", "tokens", "largest prompt", "max prompt", "ACON"),
    (
        "tokens.summariser",
        "tokens",
        "what summary requests read and wrote",
        "Σ summariser (prompt + output)",
        "Reasonix cost arm",
    ),
    (
        "compactions",
        "count",
        "decisions that free at least 2 % of the window from what was already sent",
        "count",
        "this project",
    ),
    ("survived", "calls", "calls that could be made before the replay ended or died at the window", "count", "this project"),
)
_MONEY = (
    (
        "usage",
        "tokens",
        "uncached, cache read, cache write 5 m and 1 h, output; the first four sum to the prompt",
        "simulated per call",
        "provider documents",
    ),
    (
        "usd",
        "dollars",
        "price of all calls and summaries; MODELLED",
        "Σ tokens × rate of the call's tier",
        "litellm's price sheet, dated in the manifest",
    ),
    ("usd_split", "dollars", "the same by kind of token", "per kind", "same"),
    (
        "cache_read_ratio",
        "share",
        "share of the input that was read from the cache",
        "Σ read / Σ prompt",
        "Manus; Don't Break the Cache",
    ),
    (
        "cache_breaks",
        "count",
        "calls that read less than the one before left, by more than 5 % and 2,000 tokens, less what a compaction announced",
        "read(n) < read(n−1) + written(n−1) − max(5 %, 2,000)",
        "this project",
    ),
    (
        "cache_alarms",
        "count",
        "falls of the read against the previous read: what a client can see",
        "read(n) < 0.95 read(n−1) and 2,000 less",
        "Claude Code's own detector",
    ),
    (
        "break_even",
        "calls",
        "calls after which a compaction has paid for itself",
        "N* = (B + I (p_w − p_r)) / (q_full − q_s)",
        "future-os; yoagent",
    ),
)
_RULES = (
    (
        "violations",
        "count",
        "new findings of an invariant that the recording itself does not have, by id",
        "count",
        "provider documents; this project",
    ),
    ("faults", "count", "exceptions of the strategy; the call goes on unchanged", "count", "this project"),
    ("overhead_ms", "milliseconds", "wall time of the strategy's own decisions", "Σ time in decide", "Bencher"),
)
METRICS: tuple[Metric, ...] = tuple(
    _metric(family, *row)
    for family, rows in (("retention", _RETENTION), ("tokens", _TOKENS), ("cache and money", _MONEY), ("rules", _RULES))
    for row in rows
)

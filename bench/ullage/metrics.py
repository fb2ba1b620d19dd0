"""Every figure by name: what it means, its unit, its formula and where it comes from.

The tables of ``docs/metrics.md`` are made from this: ``python -m ullage.metrics docs/metrics.md`` writes them between
their marks, and a test holds the page to it.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

from msgspec import Struct

from ullage.metrics_money import AUDIT, AUTOPSY, MONEY, SENSITIVITY


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
        "constraint_violation_delta",
        "share",
        "rules of the user of which something else is asserted; of declined ones it says nothing",
        "P(wrong | context) − P(wrong | full context) over constraints that the full context answers right, where the second is 0",
        "ConstraintRot; rule of three",
    ),
    (
        "usability_gap",
        "share",
        "what is still present and yet not answered; negative where facts live on in other words",
        "V − R over probes with evidence",
        "lost-in-compaction's grep gap",
    ),
    (
        "interval",
        "share",
        "95 % interval of retention, the trace as the unit: probes of one trace share its fate",
        "t interval over trace means; none for one trace",
        "Miller 2024 (clustered errors)",
    ),
    (
        "interval_normalised",
        "share",
        "95 % interval of normalised retention",
        "bootstrap over traces of the ratio of means",
        "this project",
    ),
    (
        "rank",
        "rank",
        "95 % interval of the rank by retention; overlapping ranks are no order",
        "bootstrap over the traces on which every strategy was scored",
        "evaluatellm",
    ),
    ("questions", "count", "probes asked at the common checkpoints, decoys apart", "count", "this project"),
    ("unscorable", "count", "answers that could not be graded; they are in no mean", "count", "this project"),
    ("traces_scored", "count", "traces on which retention is known", "count", "this project"),
    (
        "groups_scored",
        "count",
        "independent groups among them: a trace alone, or all that tell one story (seeds of a playbook, trials of a task)",
        "count; means and intervals are over groups",
        "Miller 2024, clustered errors",
    ),
    (
        "mde_planned",
        "share",
        "smallest difference that a paired comparison on these traces is planned to see, before any result",
        "(t₀.₉₅ + t₀.₈₀) √(d (1 + (m − 1) ρ) / (J m)), d = 0.20, ρ = 0.05, J groups of m probes",
        "methodology 5.8",
    ),
    (
        "retention_by_age",
        "share",
        "retention by how many compactions the evidence has been out of its raw form",
        "R within each age; age 0: raw evidence still there",
        "methodology of multi-cycle tests (CCK, Hermes)",
    ),
    (
        "half_life",
        "compactions",
        "age at which retention is half of that after one compaction, interpolated; only ages of at least 10 questions",
        "first k with R(k) ≤ R(1) / 2",
        "methodology, metric 8",
    ),
    (
        "cliff",
        "age",
        "first age whose retention lies at least 30 points below that of the age before; only ages of at least 10 questions",
        "first k with R(k − 1) − R(k) ≥ 0.3",
        "CCK's cliff round",
    ),
    (
        "open_book",
        "share",
        "retention when a reader that declined may open N stored entries which its context points to; what that costs beside it",
        "R with y after looking up; k calls read the examined prompt k times from the cache and pay in full for what they fetch",
        "future-os' open book, Hermes' recovery arm",
    ),
)
_TOKENS = (
    (
        "tokens.input",
        "tokens",
        "cumulative input of the recorded calls; context turns and summaries apart",
        "Σ prompt",
        "ACON",
    ),
    ("tokens.output", "tokens", "billed output as recorded where reliable, else counted from the reply", "Σ output", "recording"),
    ("tokens.peak", "tokens", "largest prompt", "max prompt", "ACON"),
    (
        "tokens.context_turns",
        "tokens",
        "what the requests read and wrote in which the agent's model called context tools before the recorded call",
        "Σ context turns (prompt + output)",
        "this project",
    ),
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
    ("tokens.mean_held", "tokens", "mean prompt", "mean over traces of mean prompt", "ACON"),
    ("tokens.injected", "tokens", "added to requests and never to the history", "Σ injected", "Strands' injector"),
    (
        "tokens.retrieved",
        "tokens",
        "fetched back from the store by the strategy's own tools, in open-book questions",
        "Σ retrieved",
        "future-os' open book",
    ),
    (
        "edits",
        "count",
        "decisions that changed the context, the small ones included",
        "count",
        "this project",
    ),
    ("unexamined", "count", "compactions after which nothing was asked: at most 8 a trace are examined", "count", "this project"),
    (
        "died",
        "traces",
        "traces whose replay ended early: a request did not fit and the strategy could do no more",
        "count",
        "this project",
    ),
    (
        "over_budget",
        "examinations",
        "in forced mode: examinations whose context was larger than the budget, of all that were held",
        "count",
        "methodology 5.6, structural violations",
    ),
    ("survived", "calls", "calls that could be made before the replay ended or died at the window", "count", "this project"),
)
_RULES = (
    (
        "violations",
        "count",
        "new findings of an invariant that the recording itself does not have, by id",
        "count",
        "provider documents; this project",
    ),
    (
        "apis",
        "traces",
        "by whose message rules violations were looked for, and in how many traces",
        "count by API",
        "provider documents",
    ),
    ("faults", "count", "exceptions of the strategy; the call goes on unchanged", "count", "this project"),
    (
        "overhead_ms",
        "milliseconds",
        "wall time of the strategy's own decisions, its waiting for models left out",
        "Σ time in decide",
        "Bencher",
    ),
)
_COMPARISON = (
    (
        "compare.difference",
        "as the metric",
        "b minus a, paired by probe and clustered by trace",
        "mean over traces of the trace's mean difference; dollars over the calls that both made",
        "Miller 2024",
    ),
    ("compare.interval", "as the metric", "95 % interval of the difference", "t interval over trace differences", "same"),
    (
        "compare.p",
        "probability",
        "two-sided; `p_adjusted` is Holm's over all pairs of a metric",
        "t test over trace differences",
        "same",
    ),
    (
        "compare.mde",
        "as the metric",
        "smallest difference that these traces could have shown with a power of 80 %",
        "(t₀.₉₅ + t₀.₈₀) × standard error, one-sided",
        "CompactBench lacks it; Miller 2024",
    ),
    (
        "gate.verdict",
        "verdict",
        "pass, fail or inconclusive: not worse by more than the margin",
        "non-inferiority on paired retention; see `ullage gate --help`",
        "clinical non-inferiority tests",
    ),
)
FAMILIES: dict[str, tuple[tuple[str, ...], ...]] = {
    "retention": _RETENTION,
    "tokens": _TOKENS,
    "cache and money": MONEY,
    "rules": _RULES,
    "comparison": _COMPARISON,
    "audit": AUDIT,
    "autopsy": AUTOPSY,
    "sensitivity": SENSITIVITY,
}
"""Figures by family, each as name, unit, meaning, formula and source."""
METRICS: tuple[Metric, ...] = tuple(_metric(family, *row) for family, rows in FAMILIES.items() for row in rows)
_MARKED = re.compile(r"(<!-- table: ([a-z ]+) -->\n).*?(<!-- end -->)", re.DOTALL)


def page_with_tables(text: str) -> str:
    """A page with the table of each family between its marks ``<!-- table: … -->`` and ``<!-- end -->``."""
    return _MARKED.sub(lambda found: f"{found[1]}{family_table(found[2])}\n{found[3]}", text)


def family_table(family: str) -> str:
    """The figures of a family as a Markdown table."""
    rows = [
        f"| `{name}` | {unit} | {meaning} | {_cell(formula)} | {source} |"
        for name, unit, meaning, formula, source in FAMILIES[family]
    ]
    return "\n".join(["| figure | unit | what it is | formula | source |", "|---|---|---|---|---|", *rows])


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    page = Path(sys.argv[1])
    page.write_text(page_with_tables(page.read_text(encoding="utf-8")), encoding="utf-8")

"""Records of a run → one summary a strategy: the object of ``run --json`` and the rows of its table."""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any

from ullage.books import breaks_by_cause, build_carry
from ullage.exams import is_compaction
from ullage.intervals import Interval, bootstrap, cluster_means, planned_effect, rank_intervals, t_interval
from ullage.measures import memory_figures
from ullage.open_book import open_book_figures, retrieved_tokens
from ullage.pricing import Money, usd
from ullage.records import RunRecord
from ullage.scored import Scored, headline, mean, scored
from ullage.types import Usage

SMALLEST_SPAN = 0.2
"""Least distance of ceiling and floor at which a normalised figure means anything (methodology, metric 2)."""
DIGITS = 6
"""Decimals that JSON shows: beyond what any figure here resolves, short of where platforms differ."""
SPLIT = ("uncached", "cache_read", "cache_write_5m", "cache_write_1h", "output")


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceScores:
    """The retention figures of one trace: means over its questions at the common checkpoints."""

    trace: str
    cluster: str
    probes: int
    questions: int
    unscorable: int
    retention: float | None
    survival: float | None
    floor: float | None
    ceiling: float | None


@dataclass(slots=True)
class Figures:
    """A summary in the making: values by key, and a reason for each that is not known."""

    values: dict[str, Any] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)

    def put(self, key: str, value: Any, reason: str = "") -> None:
        """Set a figure; an unknown one keeps its reason."""
        self.values[key] = rounded(value)
        if value is None:
            self.reasons[key] = reason or "nothing was measured"


def run_summary(
    records: Iterable[RunRecord], *, run: str = "", order: Sequence[str] = (), overhead_ms: Mapping[str, float] | None = None
) -> dict[str, Any]:
    """The object of ``run --json``: strategies in ``order``, then the rest by name with the bounds last.

    ``overhead_ms`` holds the wall time that each strategy's own decisions took, by spec; it is no part of a record.
    """
    groups = by_spec(records)
    specs = [spec for spec in order if spec in groups]
    specs += sorted((spec for spec in groups if spec not in specs), key=lambda spec: (groups[spec][0].kind == "bound", spec))
    times = overhead_ms or {}
    entries = [strategy_summary(groups[spec], times.get(spec)) for spec in specs]
    _put_ranks(entries, groups)
    return {"run": run, "strategies": entries}


def by_spec(records: Iterable[RunRecord]) -> dict[str, list[RunRecord]]:
    """Records grouped by strategy, each group in the order of trace ids."""
    groups: dict[str, list[RunRecord]] = {}
    for record in sorted(records, key=lambda r: (r.spec, r.trace.id, r.inputs.trace)):
        groups.setdefault(record.spec, []).append(record)
    return groups


def strategy_summary(records: Sequence[RunRecord], overhead_ms: float | None = None) -> dict[str, Any]:
    """One entry of ``strategies``: the records of one spec, one a trace."""
    figures = Figures()
    figures.put("spec", records[0].spec)
    figures.put("kind", records[0].kind)
    figures.put("traces", len(records))
    figures.put("calls", sum(record.trace.calls for record in records))
    _put_retention(figures, [trace_scores(record) for record in records])
    _put_memory(figures, records)
    if records[0].kind == "bound":
        _put_no_bill(figures, records[0].unpriced or "a bound makes no calls, so it has no bill")
    else:
        figures.put("survived", sum(record.survived for record in records))
        figures.put("died", sum(record.died_at is not None for record in records))
        _put_tokens(figures, records)
        _put_money(figures, records)
        _put_events(figures, records)
        _put_budget(figures, records)
        _put_books(figures, records)
        figures.put("overhead_ms", overhead_ms, "wall times are in timings.parquet, which was not read")
    return figures.values | {"reasons": figures.reasons}


def trace_scores(record: RunRecord) -> TraceScores:
    """The retention figures of one record."""
    items = scored(record)
    counted = headline(items)
    return TraceScores(
        trace=record.inputs.trace,
        cluster=record.cluster,
        probes=len({item.asked.probe.id for item in counted}),
        questions=len(counted),
        unscorable=sum(item.score is None for item in items if item.exam.kind != "compaction"),
        retention=mean(item.score for item in counted),
        survival=survival(counted),
        floor=mean(item.floor for item in counted),
        ceiling=mean(item.ceiling for item in counted),
    )


def survival(items: Iterable[Scored]) -> float | None:
    """Share of questions whose evidence text is still in the context; those without evidence do not count."""
    return mean(None if item.survives is None else float(item.survives) for item in items)


def normalised(retention: float, floor: float, ceiling: float) -> float | None:
    """Where retention lies between floor (0) and ceiling (1), never clipped; none when the two are too close."""
    span = ceiling - floor
    return (retention - floor) / span if span >= SMALLEST_SPAN else None


def label_of(records: Iterable[RunRecord]) -> str:
    """MODELLED or OBSERVED, as the bills say; MODELLED when there is none, for the usage is simulated anyway."""
    labels = {record.bill.label for record in records if record.bill is not None}
    return "OBSERVED" if labels == {"OBSERVED"} else "MODELLED"


def _put_retention(figures: Figures, traces: Sequence[TraceScores]) -> None:
    held = [(t.cluster, t.retention) for t in traces if t.retention is not None]
    raw = cluster_means(held)
    nothing = "no probe was eligible and asked at a common checkpoint"
    figures.put("questions", sum(t.questions for t in traces))
    figures.put("unscorable", sum(t.unscorable for t in traces))
    figures.put("traces_scored", len(held))
    figures.put("groups_scored", len(raw))
    figures.put("mde_planned", planned_effect(len(raw), sum(t.probes for t in traces)), "it needs two independent traces")
    figures.put("retention", fmean(raw) if raw else None, nothing)
    found = t_interval(raw)
    figures.put(
        "interval", _within_shares(pair_of(found)), nothing if not raw else "an interval needs at least two independent traces"
    )
    for key in ("survival", "floor", "ceiling"):
        known = [(t.cluster, value) for t in traces if (value := getattr(t, key)) is not None]
        figures.put(key, mean(cluster_means(known)), nothing if not raw else f"no answer gave a {key}")
    _put_normalised(figures, traces)


def _put_normalised(figures: Figures, traces: Sequence[TraceScores]) -> None:
    known = [
        (t.cluster, (t.retention, t.floor, t.ceiling))
        for t in traces
        if t.retention is not None and t.floor is not None and t.ceiling is not None
    ]
    if not known:
        for key in ("retention_normalised", "interval_normalised"):
            figures.put(key, None, "no trace has retention, floor and ceiling")
        return
    columns = tuple(cluster_means((cluster, values[n]) for cluster, values in known) for n in range(3))
    raw, floor, ceiling = map(fmean, columns)
    value = normalised(raw, floor, ceiling)
    reason = f"ceiling {ceiling:.2f} and floor {floor:.2f} are less than {SMALLEST_SPAN} apart"
    figures.put("retention_normalised", value, reason)
    found = None if value is None else bootstrap(columns, lambda r, f, c: (r - f) / (c - f))
    figures.put(
        "interval_normalised", pair_of(found), reason if value is None else "an interval needs at least two independent traces"
    )


def _put_ranks(entries: Sequence[dict[str, Any]], groups: Mapping[str, Sequence[RunRecord]]) -> None:
    """Rank intervals of the strategies by retention, over the traces on which every one of them was scored."""
    for entry in entries:
        entry["rank"] = None
        entry["reasons"]["rank"] = "a rank needs two strategies scored on the same two traces"
    ranked = [entry for entry in entries if entry["kind"] == "strategy" and entry["retention"] is not None]
    scores = [{r.inputs.trace: trace_scores(r) for r in groups[entry["spec"]]} for entry in ranked]
    shared = [t for t in scores[0] if all(t in row and row[t].retention is not None for row in scores)] if len(scores) > 1 else []
    rows = [cluster_means((row[trace].cluster, row[trace].retention or 0.0) for trace in shared) for row in scores]
    found = rank_intervals(rows) if shared else None
    for entry, pair in zip(ranked, found or (), strict=False):
        entry["rank"] = list(pair)
        del entry["reasons"]["rank"]


def _put_tokens(figures: Figures, records: Sequence[RunRecord]) -> None:
    usage = sum((record.usage for record in records), Usage())
    summaries = sum((record.summarizer for record in records), Usage())
    deciding = sum((record.deciding for record in records), Usage())
    peaks = [row.prompt_tokens for record in records for row in record.rows]
    held = [fmean(row.prompt_tokens for row in record.rows) for record in records if record.rows]
    tokens = {
        "input": usage.prompt,
        "output": usage.output,
        "peak": max(peaks, default=None),
        "mean_held": round(fmean(held)) if held else None,
        "context_turns": deciding.prompt + deciding.output,
        "summariser": summaries.prompt + summaries.output,
        "summariser_input": summaries.prompt,
        "summariser_output": summaries.output,
        "injected": sum(row.injected for record in records for row in record.rows),
        "retrieved": retrieved_tokens(records),
    }
    figures.put("tokens", tokens)
    figures.put("usage", {name: getattr(usage, name) for name in Usage.__struct_fields__})
    figures.put("cache_read_ratio", usage.cache_read / usage.prompt if usage.prompt else None, "no call was made")


def _put_money(figures: Figures, records: Sequence[RunRecord]) -> None:
    bills = [record.bill for record in records if record.bill is not None]
    unpriced = Tally(record.unpriced or "no price was asked for" for record in records if record.bill is None)
    reason = "; ".join(f"{count} of {len(records)} traces: {text}" for text, count in sorted(unpriced.items()))
    total = sum(bill.total for bill in bills)
    agent = Money(*map(sum, zip(*(bill.agent for bill in bills), strict=True))) if bills else Money()
    split = dict(zip(SPLIT, map(usd, agent), strict=True)) | {
        "context_turns": usd(sum(bill.deciding.total for bill in bills)),
        "summariser": usd(sum(bill.summariser.total for bill in bills)),
        "storage": usd(sum(bill.storage for bill in bills)),
    }
    figures.put("usd", None if unpriced else usd(total), reason)
    figures.put("usd_split", None if unpriced else {key: round(value, DIGITS) for key, value in split.items()}, reason)
    figures.put("usd_label", label_of(records))
    figures.put("usd_priced", {"traces": len(bills), "usd": round(usd(total), DIGITS)})
    figures.put("price_notes", sorted({note for bill in bills for note in bill.notes}))
    observed = [record.recorded_bill.total for record in records if record.recorded_bill is not None]
    whole = len(observed) == len(records)
    missing = f"{len(records) - len(observed)} of {len(records)} recordings hold no usage that can be priced"
    figures.put("usd_recorded", usd(sum(observed)) if whole else None, missing)


def _put_events(figures: Figures, records: Sequence[RunRecord]) -> None:
    rows = [row for record in records for row in record.rows]
    figures.put("cache_breaks", sum(row.break_tokens > 0 for row in rows))
    figures.put("cache_alarms", sum(row.alarm for row in rows))
    figures.put("compactions", sum(compactions_of(record) for record in records))
    figures.put("edits", sum(len(record.compactions) for record in records))
    found = Tally(violation.invariant for record in records for violation in record.violations)
    figures.put("violations", dict(sorted(found.items())))
    figures.put("apis", dict(sorted(Tally(record.api for record in records if record.api).items())))
    figures.put("faults", sum(len(record.faults) for record in records))
    figures.put("unexamined", sum(record.unexamined for record in records))


def _put_memory(figures: Figures, records: Sequence[RunRecord]) -> None:
    """What retention alone does not tell: demand, present but not used, superseded and invented answers."""
    for name, figure in memory_figures(records).items():
        figures.put(name, figure.value, figure.reason)
    found = open_book_figures(records)
    figures.put("open_book", *((None, found) if isinstance(found, str) else (found,)))


def _put_budget(figures: Figures, records: Sequence[RunRecord]) -> None:
    """Forced mode: at how many examinations the context was over the budget, so that such an arm is no fair comparison."""
    exams = [(record.budget, exam) for record in records if record.budget is not None for exam in record.exams if not exam.dead]
    over = sum(budget is not None and exam.tokens > budget for budget, exam in exams)
    figures.put("over_budget", {"exams": len(exams), "over": over} if exams else None, "not in forced mode")


def _put_books(figures: Figures, records: Sequence[RunRecord]) -> None:
    """Breaks by cause, and what compactions cost and saved."""
    causes = breaks_by_cause(records)
    entries = [
        {"cause": cause, "count": count, "tokens": tokens, "usd": None if cost is None else round(usd(cost), DIGITS)}
        for cause, (count, tokens, cost) in causes.items()
    ]
    figures.put("breaks_by_cause", entries)
    figures.put("build_carry", build_carry(records), figures.reasons.get("usd", "not every trace has a price"))


def compactions_of(record: RunRecord) -> int:
    """Decisions that freed at least 2 % of the window from what was already sent; smaller ones are edits."""
    return sum(is_compaction(event, record.window) for event in record.compactions)


def _put_no_bill(figures: Figures, reason: str) -> None:
    tokens = ("input", "output", "peak", "context_turns", "summariser")
    figures.put("tokens", dict.fromkeys(tokens))
    figures.reasons["tokens"] = reason
    keys = ("survived", "died", "usage", "usd", "usd_split", "usd_recorded", "cache_read_ratio", "cache_breaks", "cache_alarms")
    for key in (*keys, "compactions", "edits", "breaks_by_cause", "build_carry", "overhead_ms"):
        figures.put(key, None, reason)
    figures.put("violations", {})
    figures.put("apis", {})
    figures.put("faults", 0)
    figures.put("usd_label", "MODELLED")


def rounded(value: Any) -> Any:
    """The same with every float at ``DIGITS`` decimals, in lists and objects too."""
    if isinstance(value, float):
        return round(value, DIGITS)
    if isinstance(value, list):
        return [rounded(item) for item in value]
    return {key: rounded(item) for key, item in value.items()} if isinstance(value, dict) else value


def pair_of(interval: Interval | None) -> list[float] | None:
    """The two limits of an interval for JSON."""
    return None if interval is None else [round(interval.low, DIGITS), round(interval.high, DIGITS)]


def _within_shares(pair: list[float] | None) -> list[float] | None:
    """A t interval of a share, cut where no share can lie."""
    return None if pair is None else [min(1.0, max(0.0, limit)) for limit in pair]


HEADER = (
    "strategy",
    "retention",
    "95 % interval",
    "normalised",
    "survival",
    "tokens in",
    "peak",
    "cache read",
    "cache write",
    "dollars",
    "compactions",
    "violations",
    "faults",
    "calls survived",
)
UNKNOWN = "–"


def table_rows(summary: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """Cells of the terminal table, in the order of ``HEADER``; what is not known is a dash, its reason in ``table_notes``."""
    return [_cells(entry) for entry in summary["strategies"]]


def table_notes(summary: Mapping[str, Any]) -> list[str]:
    """One line for each reason behind a dash, with the strategies it concerns; and what the money is."""
    concerned: dict[tuple[str, str], list[str]] = {}
    shown = ("retention", "retention_normalised", "interval", "survival", "tokens", "usd", "cache_read_ratio")
    for entry in summary["strategies"]:
        for key in shown:
            if key in entry["reasons"]:
                concerned.setdefault((key, entry["reasons"][key]), []).append(entry["spec"])
    grouped: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for (key, reason), specs in concerned.items():
        grouped.setdefault((reason, tuple(specs)), []).append(key.replace("_", " "))
    everyone = tuple(entry["spec"] for entry in summary["strategies"])
    notes = [
        f"no {', '.join(keys)} for {'any strategy' if specs == everyone and len(specs) > 1 else ', '.join(specs)}: {reason}"
        for (reason, specs), keys in grouped.items()
    ]
    labels = sorted({entry["usd_label"] for entry in summary["strategies"]})
    over = [(entry["spec"], entry["over_budget"]) for entry in summary["strategies"] if entry.get("over_budget")]
    notes += [f"{spec} was over the budget at {at['over']} of {at['exams']} examinations" for spec, at in over if at["over"]]
    notes += [note for entry in summary["strategies"] if (note := open_book_note(entry))]
    notes += _api_notes(summary)
    notes += _power_notes(summary)
    return [*notes, f"dollars are {' and '.join(labels)}; retention is the mean over traces of the share of questions answered"]


def open_book_note(entry: Mapping[str, Any]) -> str:
    """What looking things up brought a strategy, and what it cost; empty where the book stayed closed."""
    book = entry["open_book"]
    if not book:
        return ""
    return (
        f"{entry['spec']} with open book: {percent(book['retention'])} instead of {percent(entry['retention'])}; "
        f"{whole(book['looked_up'])} of {whole(book['asked'])} questions were looked up with {whole(book['opened'])} tool calls, "
        f"{whole(book['gone'])} of them in vain, for {dollars(book['usd'])}"
    )


def _api_notes(summary: Mapping[str, Any]) -> list[str]:
    """By whose message rules violations were looked for, where that is not the Messages API everywhere."""
    used = sorted({name for entry in summary["strategies"] for name in entry["apis"]})
    return [f"violations are those of the message rules of {' and '.join(used)}"] if used and used != ["anthropic"] else []


def _power_notes(summary: Mapping[str, Any]) -> list[str]:
    """How many independent traces the intervals rest on, and what a paired comparison on them is planned to see."""
    scored_on = {(e["traces_scored"], e["groups_scored"], e["mde_planned"]) for e in summary["strategies"] if e["groups_scored"]}
    return [
        (f"{traces} traces tell {groups} stories: intervals count a story once; " if groups < traces else "")
        + (f"a paired comparison is planned to see differences from {percent(effect)}" if effect else "one story: no interval")
        for traces, groups, effect in sorted(scored_on, key=repr)
    ]


def _cells(entry: Mapping[str, Any]) -> tuple[str, ...]:
    usage, tokens = entry["usage"] or {}, entry["tokens"]
    write = usage["cache_write_5m"] + usage["cache_write_1h"] if usage else None
    survived = UNKNOWN if entry["survived"] is None else f"{entry['survived']:,}/{entry['calls']:,}"
    return (
        entry["spec"],
        percent(entry["retention"]),
        percent_range(entry["interval"]),
        percent(entry["retention_normalised"]),
        percent(entry["survival"]),
        thousands(tokens["input"]),
        thousands(tokens["peak"]),
        thousands(usage.get("cache_read")),
        thousands(write),
        dollars(entry["usd"]),
        whole(entry["compactions"]),
        whole(sum(entry["violations"].values())),
        whole(entry["faults"]),
        survived,
    )


def percent(value: float | None) -> str:
    """A share in percent with one decimal."""
    return UNKNOWN if value is None else f"{100 * value:.1f} %"


def percent_range(limits: Sequence[float] | None) -> str:
    """An interval of shares in percent."""
    return UNKNOWN if limits is None else f"{100 * limits[0]:.1f}–{100 * limits[1]:.1f} %"


def thousands(value: float | None) -> str:
    """Tokens, shortened from ten thousand on: 9,876 · 98.8k · 9.88M."""
    if value is None:
        return UNKNOWN
    if value < 10_000:
        return f"{value:,.0f}"
    size, unit = (value / 1e6, "M") if value >= 999_500 else (value / 1e3, "k")
    return f"{size:.{max(0, 3 - len(str(int(size))))}f}{unit}"


def dollars(value: float | None) -> str:
    """Dollars with cents, or with four decimals below ten cents."""
    if value is None:
        return UNKNOWN
    return f"${value:,.2f}" if value >= 0.1 or value == 0 else f"${value:.4f}"


def whole(value: int | None) -> str:
    """A count."""
    return UNKNOWN if value is None else f"{value:,}"

"""The sentences and cells of a report, shared by the page and the Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ullage.plain import one_line
from ullage.records import RunRecord
from ullage.report.figures import Shown
from ullage.report.findings import Losses, Lost
from ullage.tables import UNKNOWN, dollars, percent, percent_range, thousands, whole

GLOSSARY = (
    (
        "Retention",
        (
            "Share of questions about the trace that the reader answers from the context that the next call would "
            "send: the mean over traces of the mean over questions, at checkpoints that are the same for every "
            "strategy. A trace that ended early counts what it could not answer as lost."
        ),
    ),
    (
        "Normalised",
        (
            "(retention − floor) ÷ (ceiling − floor): 0 knows no more than the question alone tells (floor), 1 as much"
            " as the whole uncompacted context (ceiling). Not clipped; unknown where the two are less than 20 points "
            "apart. Interval by bootstrap over traces."
        ),
    ),
    (
        "Survival",
        (
            "Share of questions whose evidence text is still in the context, word for word. Needs no reader. Below "
            "retention it shows what was kept in other words; above it, what is there and was not found."
        ),
    ),
    (
        "Rank",
        ("95 % interval of the rank by retention over resampled traces; overlapping ranks are no order."),
    ),
    (
        "Intervals",
        ("95 % t intervals with the trace as the unit, for questions of one trace are not independent."),
    ),
    (
        "Compactions, edits",
        (
            "A compaction is a decision that frees at least 2 % of the window from what was already sent; edits are "
            "all decisions that changed the context."
        ),
    ),
    (
        "Cache breaks",
        (
            "Calls that read at least 5 % and 2,000 tokens less than the call before left in the cache, less what a "
            "compaction announced."
        ),
    ),
    (
        "Break-even",
        (
            "Calls after which a compaction has paid for itself: its requests and what it made to be sent again, over what each later "
            "call saves by not carrying the freed tokens while the cache is warm."
        ),
    ),
    (
        "MODELLED, OBSERVED",
        (
            "MODELLED: tokens as a simulated provider cache would bill them, at the dated price sheet. OBSERVED: what "
            "the recording says was billed. The two are never added."
        ),
    ),
    (
        "What a replay cannot show",
        (
            "The recorded agent's actions are fixed: a real agent that forgot something might have taken more calls "
            "than the recording did. Retention says what could still be known, not how the task would have ended."
        ),
    ),
)


def lead(shown: Shown) -> str:
    """One sentence: what was replayed, how, and what was asked."""
    first = next(iter(shown.groups.values()))[0]
    entry = next(iter(shown.summaries.values()))
    mode = f"forced to {thousands(first.budget)} tokens" if first.mode == "forced" else "each at its own trigger"
    strategies, traces = len(shown.strategies), entry["traces"]
    return (
        f"{strategies} strateg{'ies' if strategies != 1 else 'y'} replayed over {traces} recorded session{'s' if traces != 1 else ''} "
        f"({whole(entry['calls'])} model calls), {mode}, and asked {whole(entry['questions'])} questions each at the common checkpoints."
    )


def facts(shown: Shown) -> list[tuple[str, str]]:
    """Settings of the run as pairs of name and value; several values are listed."""
    records = [record for group in shown.groups.values() for record in group]

    def values(found: Sequence[Any]) -> str:
        return ", ".join(dict.fromkeys(str(value) for value in found if value not in {None, ""})) or UNKNOWN

    pairs = [
        ("window", values([thousands(record.window) for record in records])),
        ("mode", values([record.mode for record in records])),
        ("checkpoints", values([f"{100 * share:g} %" for share in records[0].checkpoints])),
        ("reader", values([record.inputs.reader for record in records])),
        ("summariser", values([record.inputs.summarizer for record in records])),
        ("decider", values([record.inputs.decider for record in records])),
        ("cache policy", values([record.inputs.policy for record in records])),
        ("token counter", values([record.inputs.counter for record in records])),
        ("prices", values([record.inputs.prices for record in records])),
    ]
    return [(name, value) for name, value in pairs if value != UNKNOWN]


def cards(shown: Shown) -> list[dict[str, str]]:
    """The figures that a reader looks for first."""
    found = [shown.summaries[spec] for spec in shown.strategies]
    best = max((e for e in found if e["retention"] is not None), key=lambda e: (e["retention"], -(e["usd"] or 0)), default=None)
    whole_runs = [e for e in found if e["usd"] is not None and not e["died"]]
    cheapest = min(whole_runs, key=lambda e: e["usd"], default=None)
    ends = sum(e["died"] for e in found)
    broken = sum(sum(e["violations"].values()) for e in found)
    rows = []
    if best is not None:
        rows.append(
            {
                "what": "highest retention",
                "figure": percent(best["retention"]),
                "who": f"{best['spec']} ({percent_range(best['interval'])})",
            }
        )
    if cheapest is not None:
        kept = percent(cheapest["retention"])
        rows.append({
            "what": f"lowest bill of those that made every call, {cheapest['usd_label']}",
            "figure": dollars(cheapest["usd"]),
            "who": f"{cheapest['spec']}, retention {kept}",
        })  # fmt: skip
    rows.append({"what": "broken rules", "figure": whole(broken), "who": _who(found, lambda e: sum(e["violations"].values()))})
    rows.append({"what": "traces that ended early", "figure": whole(ends), "who": _who(found, lambda e: e["died"])})
    return rows


def _who(entries: Sequence[Mapping[str, Any]], count: Any) -> str:
    guilty = [f"{entry['spec']} ({count(entry)})" for entry in entries if count(entry)]
    return ", ".join(guilty) or "no strategy"


def summary_cells(entry: Mapping[str, Any]) -> dict[str, str]:
    """The cells of one row of the summary table."""
    usage, tokens = entry["usage"] or {}, entry["tokens"]
    write = usage["cache_write_5m"] + usage["cache_write_1h"] if usage else None
    rank = entry["rank"]
    died = entry["died"]
    return {
        "spec": entry["spec"],
        "retention": percent(entry["retention"]),
        "interval": percent_range(entry["interval"]),
        "rank": UNKNOWN if rank is None else str(rank[0]) if rank[0] == rank[1] else f"{rank[0]}–{rank[1]}",
        "normalised": percent(entry["retention_normalised"]),
        "interval_normalised": percent_range(entry["interval_normalised"]),
        "survival": percent(entry["survival"]),
        "questions": whole(entry["questions"]),
        "traces": whole(entry["traces"]),
        "input": thousands(tokens["input"]),
        "peak": thousands(tokens["peak"]),
        "read": thousands(usage.get("cache_read")),
        "ratio": percent(entry["cache_read_ratio"]),
        "write": thousands(write),
        "usd": dollars(entry["usd"]),
        "compactions": whole(entry["compactions"]),
        "edits": whole(entry["edits"]),
        "breaks": whole(entry["cache_breaks"]),
        "violations": whole(sum(entry["violations"].values())),
        "faults": whole(entry["faults"]),
        "survived": UNKNOWN if entry["survived"] is None else f"{entry['survived']:,}/{entry['calls']:,}",
        "dead": f"{died} of {entry['traces']}" if died else "",
    }


def choice_text(shown: int, of: int, most: int) -> str:
    """Which traces have charts of their own."""
    if shown >= of:
        return f"All {of} trace{'s' if of != 1 else ''}." if of else ""
    return (
        f"{shown} of {of} traces: those with the most compactions over all strategies, then with the most calls (at most {most}, fewer with "
        "many strategies). Every call of every trace is in rows.parquet."
    )


def removed_headline(found: Losses) -> str:
    """How many facts were removed and how many are listed."""
    rest = f", {len(found.shown)} listed" if found.facts > len(found.shown) else ""
    return f"{found.facts:,} fact{'s' if found.facts != 1 else ''} removed{rest}"


def lost_item(lost: Lost) -> dict[str, Any]:
    """The cells of one lost fact."""
    probe, item, evidence, removal = lost.item.asked.probe, lost.item, lost.evidence, lost.removal
    text = evidence.text if evidence is not None else ""
    start, end = (evidence.at, evidence.at + evidence.length) if evidence is not None else (0, 0)
    tier = f", {removal.tier}" if removal.tier else ""
    why = f": {one_line(removal.reason)}" if removal.reason else ""
    return {
        "type": probe.type,
        "question": probe.question,
        "where": _where(lost),
        "before": text[:start],
        "span": text[start:end],
        "after": text[end:],
        "expected": " · ".join(one_line(value, 80) for value in probe.accept[:3]),
        "answer": one_line(item.text or "", 120),
        "outcome": item.outcome,
        "exam": f"{100 * item.exam.share:g} % of the trace" if item.exam.share is not None else f"call {item.exam.call}",
        "demand": {0: "", 1: "once", 2: "twice"}.get(item.asked.demand, f"{item.asked.demand} times"),
        "action": removal.action,
        "removed": (
            f"decision {removal.compaction}, call {removal.call}{tier}{why}; "
            f"{thousands(removal.tokens_before)} → {thousands(removal.tokens_after)} tokens"
        ),
        "instead": removal.instead,
    }


def _where(lost: Lost) -> str:
    evidence = lost.evidence
    if evidence is None:
        return f"{lost.trace}: evidence not quoted"
    tool = f" of {evidence.tool}" if evidence.tool else ""
    kind = evidence.kind.replace("_", " ") or "text"
    return f"{lost.trace}, message {evidence.message} (number {evidence.position}, {evidence.role}, {kind}{tool})"


def inputs_text(records: Sequence[RunRecord]) -> str:
    """Digests of what the figures rest on."""
    seen = [
        f"{record.trace.id}: trace {record.inputs.trace[:12]}, bank {record.inputs.bank[:12] or 'none'}"
        for record in records[:12]
    ]
    more = f" and {len(records) - 12} more in records.jsonl" if len(records) > 12 else ""
    return f"Inputs: {'; '.join(seen)}{more}. Options {records[0].inputs.options[:12] or UNKNOWN}; seeds {list(records[0].inputs.seeds)}."


def wear_notes(summary: Mapping[str, Any]) -> list[str]:
    """How facts wear off over compactions, a line for each strategy whose curve says something."""
    lines = []
    for entry in summary["strategies"]:
        half, fall = entry["half_life"], entry["cliff"]
        if half is None and fall is None:
            continue
        parts = [
            "retention stays above half of its value at age 1" if half is None else f"half-life {half:.1f} compactions",
            "no cliff" if fall is None else f"cliff at age {fall}",
        ]
        lines.append(f"{entry['spec']}: {', '.join(parts)}")
    return lines

"""What a gate leaves behind: JSON for machines, JUnit for a CI's test view, a comment for the pull request."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from xml.etree import ElementTree as ET

from ullage.compare import IDENTICAL
from ullage.comparison_table import shown_traces
from ullage.gate import Broken, Judgement, exit_code, overall
from ullage.intervals import PLANNED_CORRELATION, PLANNED_DISCORDANCE
from ullage.markdown import code, inline, table
from ullage.plain import plain
from ullage.tables import DIGITS, UNKNOWN

LISTED = 20
"""Most probes that a comment lists; the rest are counted."""
MARKS = {"pass": "✅ pass", "fail": "❌ fail", "inconclusive": "⚠️ inconclusive"}


def gate_json(judgements: Sequence[Judgement], margin: float) -> dict[str, Any]:
    """The object of ``gate --json``: the figures are those of the judgement that decided; all stand under ``strategies``."""
    verdict = overall(judgements)
    deciding = [judgement for judgement in judgements if judgement.verdict == verdict]
    worst = min(deciding, key=lambda j: (not j.zero_tolerance, j.difference if j.difference is not None else 0.0))
    broken = [_broken_json(item) | {"strategy": j.candidate} for j in judgements for item in j.zero_tolerance]
    changed = [{"candidate": j.candidate, **probe} for j in judgements for probe in j.changed]
    return _judgement_json(worst) | {
        "verdict": verdict,
        "reasons": reasons_of(judgements),
        "margin": margin,
        "zero_tolerance": broken,
        "strategies": [_judgement_json(j) for j in judgements],
        "changed_probes": changed,
    }


def reasons_of(judgements: Sequence[Judgement]) -> list[str]:
    """The reasons behind the overall verdict; each names its strategy where there are several."""
    if all(judgement.reasons == (IDENTICAL,) for judgement in judgements):
        return [IDENTICAL]
    deciding = [judgement for judgement in judgements if judgement.verdict == overall(judgements)]
    several = len(judgements) > 1
    return [f"{j.candidate}: {reason}" if several else reason for j in deciding for reason in j.reasons]


def junit(judgements: Sequence[Judgement], margin: float, on_inconclusive: str = "") -> str:
    """A JUnit document: for each strategy one case for retention, and one for what is not tolerated."""
    cases = [case for judgement in judgements for case in _cases(judgement, margin, on_inconclusive)]
    suite = ET.Element("testsuite", name="ullage gate", tests=str(len(cases)), errors="0")
    suite.set("failures", str(sum(case.find("failure") is not None for case in cases)))
    suite.set("skipped", str(sum(case.find("skipped") is not None for case in cases)))
    suite.extend(cases)
    root = ET.Element("testsuites")
    root.append(suite)
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def comment(judgements: Sequence[Judgement], margin: float) -> str:
    """A Markdown comment: verdict, figures, what is not tolerated and the probes that changed; trace text only as code."""
    verdict = overall(judgements)
    header = ("strategy", "verdict", "retention", "95 % bounds", "MDE", "MDE planned", "traces", "probes")
    rows = [
        (
            code(j.candidate if j.baseline == j.candidate else f"{j.candidate} against {j.baseline}"),
            MARKS[j.verdict],
            _points(j.difference),
            UNKNOWN if j.interval is None else f"{_points(j.interval[0])} to {_points(j.interval[1])}",
            _points(j.mde, sign=False),
            _points(j.mde_planned, sign=False),
            shown_traces(j.traces, j.groups),
            str(j.probes),
        )
        for j in judgements
    ]
    parts = [
        f"### Ullage gate: {MARKS[verdict]}",
        "\n".join(f"- {inline(reason)}" for reason in reasons_of(judgements)),
        table(header, rows),
        _explanation(margin),
        _broken_section([item for j in judgements for item in j.zero_tolerance]),
        _changed_section([probe for j in judgements for probe in j.changed]),
        "\n".join(f"- {inline(note)}" for note in dict.fromkeys(note for j in judgements for note in j.notes)),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _explanation(margin: float) -> str:
    return (
        "Retention is candidate minus baseline, in percentage points, paired by probe and clustered by trace; "
        f"margin {100 * margin:g} points. The planned effect assumes {100 * PLANNED_DISCORDANCE:g} % discordant pairs "
        f"and a correlation of {PLANNED_CORRELATION:g} within a trace."
    )


def lines(judgements: Sequence[Judgement], margin: float) -> list[str]:
    """The verdict for a terminal, with the minimum detectable effect always said."""
    found = []
    for j in judgements:
        arms = j.candidate if j.baseline == j.candidate else f"{j.candidate} against {j.baseline}"
        found.append(f"{j.verdict.upper()}  {arms}: {'; '.join(j.reasons)}")
        bounds = UNKNOWN if j.interval is None else f"{_points(j.interval[0])} to {_points(j.interval[1])}"
        found.append(
            f"  retention {_points(j.difference)} points (95 % bounds {bounds}), margin {100 * margin:g}; minimum detectable effect "
            f"{_points(j.mde, sign=False)} observed, {_points(j.mde_planned, sign=False)} planned; {shown_traces(j.traces, j.groups)} traces, {j.probes} probes"
        )
        found += [f"  {item.kind} {item.name} on {item.trace}: {item.detail}" for item in j.zero_tolerance[:LISTED]]
        found += [f"  note: {note}" for note in j.notes]
    return found


def _cases(judgement: Judgement, margin: float, on_inconclusive: str) -> list[ET.Element]:
    retention = _case(judgement, "retention")
    text = "; ".join(judgement.reasons)
    doubt = judgement.retention == "inconclusive"
    if judgement.retention == "fail" or (doubt and exit_code("inconclusive", on_inconclusive) == 1):
        _child(retention, "failure", text, judgement.retention)
    elif doubt and on_inconclusive != "pass":
        _child(retention, "skipped", text)
    figures = (
        f"difference {_points(judgement.difference)} points, MDE {_points(judgement.mde, sign=False)}, "
        f"planned {_points(judgement.mde_planned, sign=False)}, margin {100 * margin:g}, traces {shown_traces(judgement.traces, judgement.groups)}, probes {judgement.probes}"
    )
    ET.SubElement(retention, "system-out").text = figures
    tolerance = _case(judgement, "zero tolerance")
    if judgement.zero_tolerance:
        failure = _child(tolerance, "failure", f"{len(judgement.zero_tolerance)} not tolerated", "zero tolerance")
        failure.text = "\n".join(_xml_safe(f"{b.kind} {b.name} on {b.trace}: {b.detail}") for b in judgement.zero_tolerance)
    return [retention, tolerance]


def _case(judgement: Judgement, name: str) -> ET.Element:
    return ET.Element("testcase", classname=_xml_safe(f"ullage.gate.{judgement.candidate}"), name=name, time="0")


def _child(case: ET.Element, tag: str, message: str, kind: str = "") -> ET.Element:
    found = ET.SubElement(case, tag, message=_xml_safe(message))
    if kind:
        found.set("type", kind)
    return found


def _xml_safe(text: str) -> str:
    """Without the control characters that XML 1.0 forbids even when escaped."""
    return plain(text).replace("￾", "\N{REPLACEMENT CHARACTER}").replace("￿", "\N{REPLACEMENT CHARACTER}")


def _broken_section(broken: Sequence[Broken]) -> str:
    if not broken:
        return ""
    rows = [(item.kind, code(item.name), code(item.trace), code(item.detail)) for item in broken[:LISTED]]
    rest = f"\n\n… and {len(broken) - LISTED:,} more." if len(broken) > LISTED else ""
    return "#### Not tolerated\n\n" + table(("kind", "name", "trace", "evidence"), rows) + rest


def _changed_section(changed: Sequence[dict[str, Any]]) -> str:
    lost = [entry for entry in changed if entry["change"] in {"lost", "evidence lost"}]
    gained = sum(entry["change"] == "gained" for entry in changed)
    if not changed:
        return ""
    rows = [
        (
            entry["change"],
            code(entry["trace"]),
            entry["at"],
            code(entry["question"], 120),
            code(_evidence(entry), 160),
            code(_removed(entry)),
        )
        for entry in lost[:LISTED]
    ]
    rest = f"\n\n… and {len(lost) - LISTED:,} more." if len(lost) > LISTED else ""
    shown = "\n\n" + table(("change", "trace", "at", "question", "evidence", "removed by"), rows) + rest if rows else ""
    return f"#### Probes that changed: {len(lost):,} lost, {gained:,} gained, {len(changed):,} in all{shown}"


def _evidence(entry: dict[str, Any]) -> str:
    return " … ".join(item["text"] for item in entry["evidence"])


def _removed(entry: dict[str, Any]) -> str:
    removed = entry["removed_by"]
    return "" if removed is None else f"call {removed['call']}: {removed['message']} {removed['action']}"


def _points(value: float | None, *, sign: bool = True) -> str:
    if value is None:
        return UNKNOWN
    return f"{100 * value:+.1f}" if sign else f"{100 * value:.1f}"


def _judgement_json(judgement: Judgement) -> dict[str, Any]:
    def rounded(value: float | None) -> float | None:
        return None if value is None else round(value, DIGITS)

    return {
        "verdict": judgement.verdict,
        "reasons": list(judgement.reasons),
        "baseline": judgement.baseline,
        "candidate": judgement.candidate,
        "difference": rounded(judgement.difference),
        "interval": None if judgement.interval is None else [round(limit, DIGITS) for limit in judgement.interval],
        "interval_is": "two one-sided 95 % bounds",
        "mde": rounded(judgement.mde),
        "mde_planned": rounded(judgement.mde_planned),
        "zero_tolerance": [_broken_json(item) for item in judgement.zero_tolerance],
        "traces": judgement.traces,
        "groups": judgement.groups,
        "probes": judgement.probes,
        "questions": judgement.questions,
        "notes": list(judgement.notes),
    }


def _broken_json(item: Broken) -> dict[str, str]:
    return {"kind": item.kind, "trace": item.trace, "name": item.name, "detail": item.detail}

"""The report: equal bytes for equal records, nothing from outside, nothing from a recording alive, readable at any size."""

from __future__ import annotations

import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ullage.errors import UserError
from ullage.records import Bill, RunRecord
from ullage.report import render
from ullage.report.charts import scale
from ullage.testing import make_record
from ullage.types import Fault, Moment, Row, Usage, Violation

HOSTILE = (
    "\"'><script>alert(1)</script><img src=x onerror=alert(2)>{{ 7*7 }}$x^2$ \x1b[31m\x00\u202e&lt;|`@all` ](http://evil.example)"
)
SPECS = (
    "null",
    "auto(threshold=0.7)",
    "auto",
    "sliding_window(keep=40)",
    "sliding_stub",
    "monotone_stub",
    "a | b",
    "summarizing",
)
VOID = {"meta", "br", "wbr", "link", "img", "hr", "input", "circle", "rect", "line", "path", "polyline"}


def run_of(strategies: int = 3, traces: int = 3, **fields: Any) -> list[RunRecord]:
    """A made run."""
    return [
        make_record(
            spec=spec, trace=f"t{n}", threshold=3 if spec == "null" else 0.5 + 0.05 * place, keep=0.3 + 0.08 * place, **fields
        )
        for place, spec in enumerate(SPECS[:strategies])
        for n in range(traces)
    ]


def page_of(records: list[RunRecord], **given: Any) -> str:
    """The HTML page alone."""
    return render(records, png=False, **given)["report.html"].decode()


class Tree(HTMLParser):
    """Collects tags and attributes, and checks that every element is closed where it should be."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element."""
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element without content."""
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        """Close the innermost element."""
        if tag not in VOID:
            assert self.open.pop() == tag


def hostile_run() -> list[RunRecord]:
    """A run in which every text that can come from a recording or a strategy is hostile."""
    violation = Violation(invariant="A01" + HOSTILE, severity="error", call=1, evidence=HOSTILE)
    fault = Fault(call=1, moment=Moment.BEFORE_CALL, kind="E" + HOSTILE, text=HOSTILE)
    records = []
    for spec in ("auto" + HOSTILE, "null"):
        made = make_record(spec=spec, trace="t" + HOSTILE, text=HOSTILE, keep=0, violations=[violation], faults=[fault])
        note = msgspec.structs.replace(made.trace, format=HOSTILE, model=HOSTILE)
        inputs = msgspec.structs.replace(made.inputs, reader=HOSTILE, policy=HOSTILE, prices=HOSTILE)
        answers = tuple(msgspec.structs.replace(a, text=HOSTILE) for a in made.answers)
        records.append(
            msgspec.structs.replace(
                made, trace=note, model=HOSTILE, inputs=inputs, answers=answers, notes=(HOSTILE,), died=HOSTILE, died_at=59
            )
        )
    return records  # fmt: skip


def test_equal_records_give_equal_bytes_in_any_order() -> None:
    """Page, Markdown and every picture, twice and from reversed records."""
    records = run_of(2, 2)
    first, second = render(records, run="r"), render(records[::-1], run="r")
    assert first.keys() == second.keys()
    assert {"report.html", "report.md", "charts/context-1.png", "charts/cost-retention.png"} <= first.keys()
    assert all(first[name] == second[name] for name in first)
    assert all(data.startswith(b"\x89PNG") for name, data in first.items() if name.endswith(".png"))


def test_the_page_needs_nothing_from_outside_and_runs_nothing() -> None:
    """The page needs nothing from outside and runs nothing."""
    tree = Tree(page_of(run_of()))
    assert not tree.open
    assert not {"script", "link", "iframe", "object", "embed", "img", "form"} & {tag for tag, _ in tree.tags}
    for _, attributes in tree.tags:
        assert not any(name.startswith("on") for name in attributes)
        assert (attributes.get("href") or "#").startswith("#")
        assert "src" not in attributes
    assert not re.search(r"@import|url\(", page_of(run_of()))


def test_hostile_text_stays_text() -> None:
    """No element, attribute, entity or template of a recording comes alive in page or pictures."""
    text = page_of(hostile_run())
    tree = Tree(text)
    assert not tree.open
    assert not {"script", "img"} & {tag for tag, _ in tree.tags}
    assert not any(name.startswith("on") for _, attributes in tree.tags for name in attributes)
    assert "{{ 7*7 }}" in text
    assert "49$x" not in text
    assert "&amp;lt;" in text


def test_no_control_character_reaches_page_or_markdown() -> None:
    """No control character reaches page or markdown."""
    files = render(hostile_run(), png=False)
    for name in ("report.html", "report.md"):
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", files[name].decode())


def test_hostile_markdown_stays_in_code_spans() -> None:
    """Hostile markdown stays in code spans."""
    text = render(hostile_run(), png=False)["report.md"].decode()
    outside = "".join(part for part in text.split("`")[::2])
    for planted in ("<script", "<img", "@all", "](http"):
        assert planted not in outside


def test_hostile_names_can_be_painted() -> None:
    """Hostile names can be painted."""
    assert all(data.startswith(b"\x89PNG") for name, data in render(hostile_run()).items() if name.endswith(".png"))


@pytest.mark.parametrize(("strategies", "traces"), [(1, 1), (8, 1), (2, 60)])
def test_a_report_of_any_size_is_whole_and_bounded(strategies: int, traces: int) -> None:
    """Well formed, below two megabytes, with every strategy in its table."""
    text = page_of(run_of(strategies, traces))
    assert not Tree(text).open
    assert len(text) < 2_000_000
    for spec in SPECS[:strategies]:
        assert spec.split("(")[0].split(" ")[0] in text


def test_a_long_trace_is_binned_and_says_so() -> None:
    """Two thousand calls are drawn with bounded marks, and the captions tell how."""
    text = page_of([make_record(calls=2_000, probes=7, window=400_000)])
    assert "Each point is the largest of 5 calls." in text
    assert "Each bar is the mean of 10 calls." in text
    assert len(text) < 400_000


def test_which_traces_are_drawn_is_said() -> None:
    """Which traces are drawn is said."""
    assert "4 of 6 traces: those with the most compactions" in page_of(run_of(2, 6))
    assert "All 2 traces." in page_of(run_of(2, 2))


def test_each_lost_fact_shows_its_evidence_place_and_edit() -> None:
    """Each lost fact shows its evidence place and edit."""
    record = make_record(keep=0, probes=7)
    text = page_of([record])
    loss = record.losses[0]
    asked = next(a for a in record.probes if a.probe.id == loss.probe)
    assert f"<mark>{asked.probe.accept[0]}</mark>" in text
    assert f"message {loss.message} (number" in text
    assert "a summary put in its place" in text
    assert "what happened so far" in text


def test_the_causes_of_missed_questions_sum_up() -> None:
    """The causes of missed questions sum up."""
    from ullage.report.findings import losses_of

    for record in (make_record(keep=0.3, noise=0.2), make_record(threshold=3)):
        found = losses_of("auto", [record])
        assert found.removed + found.died + found.standing + found.other == found.missed <= found.questions
        assert found.other >= 0


def test_money_is_always_labelled() -> None:
    """Every dollar figure of the page stands in a place that says MODELLED or OBSERVED."""
    text = page_of(run_of())
    assert "dollars<br>MODELLED" in text
    assert "recorded bill<br>OBSERVED" in text
    observed = [
        msgspec.structs.replace(r, bill=msgspec.structs.replace(r.bill or Bill(), label="OBSERVED")) for r in run_of(1, 2)
    ]
    assert "dollars<br>OBSERVED" in page_of(observed)


def test_denominators_are_printed() -> None:
    """Denominators are printed."""
    text = page_of(run_of(2, 3))
    assert re.search(r"n = [\d,]+ questions", text)
    assert re.search(r"n = 60 calls", text)
    assert re.search(r"artifact \(n \d+\)", text)


def test_a_run_without_prices_probes_or_calls_still_has_a_page() -> None:
    """Unpriced, unasked, dead at the first call, a bound alone: each is whole, with dashes and reasons."""
    plain = make_record(priced=False)
    unasked = make_record(probes=0)
    dead = msgspec.structs.replace(
        make_record(), rows=(), compactions=(), losses=(), died_at=0, died="too long", answers=(), exams=()
    )
    bound = msgspec.structs.replace(
        make_record(), spec="oracle", kind="bound", rows=(), compactions=(), bill=None, unpriced="no bill"
    )
    for records in ([plain], [unasked], [dead], [bound], [plain, bound]):
        files = render(records)
        assert not Tree(files["report.html"].decode()).open
        assert "NaN" not in files["report.html"].decode()
    assert "not in the price sheet" in page_of([plain])


def test_rows_of_zero_tokens_are_drawn() -> None:
    """Rows of zero tokens are drawn."""
    record = make_record(calls=3, probes=0)
    rows = tuple(Row(call=n, prompt_tokens=0, usage=Usage(), messages=0) for n in range(3))
    assert render([msgspec.structs.replace(record, rows=rows)])


def test_names_in_any_script_are_shown() -> None:
    """A trace named in Chinese is whole on the page and does not disturb the pictures."""
    files = render([make_record(trace="会话 一")])
    assert "会话 一" in files["report.html"].decode()
    assert files["charts/context-1.png"].startswith(b"\x89PNG")


def test_no_record_is_refused() -> None:
    """No record is refused."""
    with pytest.raises(UserError, match="no record"):
        render([])


@pytest.mark.parametrize("high", [1e-9, 0.004, 0.3, 1, 7, 99, 101, 12_345, 2e6, 3.7e9])
def test_axes_end_at_a_round_number_above_the_data(high: float) -> None:
    """Axes end at a round number above the data."""
    axis = scale("x", "usd", high)
    assert axis.high >= high * 0.9999
    assert 3 <= len(axis.ticks) <= 12
    assert axis.ticks[-1] == pytest.approx(axis.high)


@pytest.mark.browser
def test_a_browser_shows_the_hostile_page_without_running_it(tmp_path: Path) -> None:
    """Chromium's own reading of the page holds no script, image or handler, and the text of the probe."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("no Chromium on this machine")
    path = tmp_path / "report.html"
    path.write_bytes(render(hostile_run(), png=False)["report.html"])
    arguments = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        f"--user-data-dir={tmp_path / 'profile'}",
        "--dump-dom",
        f"file://{path}",
    ]
    dom = subprocess.run([browser, *arguments], capture_output=True, text=True, timeout=120, check=True).stdout
    assert "What did compaction keep" in dom
    assert not {"script", "img"} & {tag for tag, _ in Tree(dom).tags}

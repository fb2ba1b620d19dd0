"""``ullage autopsy`` end to end: the summary, the JSON and the page, from small recordings and from real ones."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import msgspec
import pytest
from autopsy_support import WORDS, Book
from formats_support import ClaudeLines, claude_usage, text, use, written
from tests_support import real_traces

from ullage.autopsy import autopsy
from ullage.cli import main
from ullage.pricing import PriceSheet
from ullage.report.autopsy_page import autopsy_page
from ullage.types import Message, Text, Trace

SHEET = PriceSheet.load()
HOSTILE = "\"'><script>alert(1)</script><img src=x onerror=alert(2)>{{ 7*7 }}\x1b[31m\x00\u202e&lt;"
VOID = {"meta", "br", "wbr", "hr", "img", "link", "input", "circle", "rect", "line", "path", "polyline"}


class Tags(HTMLParser):
    """Collects tags with their attributes, and checks that every element is closed where it should be."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element."""
        self.found.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element without content."""
        self.found.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        """Close the innermost element."""
        if tag not in VOID:
            assert self.open.pop() == tag


def session_file(folder: Path, name: str = "session.jsonl", session: str = "s1") -> Path:
    """A Claude Code session: two calls, a compaction, a call that lost its cache."""
    lines = ClaudeLines(session).user("Port the parser.")
    lines.reply("a1", text("I look."), use("t1"), usage=claude_usage(0, 60_000)).result("t1", text="port is 48213")
    lines.reply("a2", text("Found."), usage=claude_usage(60_000, 500)).boundary(60_500).summary("We looked.")
    lines.user("Go on.").reply("a3", text("Again."), use("t2"), usage=claude_usage(20_000, 9_000)).result("t2")
    lines.reply("a4", text("Done."), usage=claude_usage(0, 29_100))
    return written(folder, lines.rows, name)


def run(*arguments: str, code: int = 0) -> None:
    """Run the command line and expect its exit code."""
    with pytest.raises(SystemExit) as stop:
        main(["autopsy", *arguments])
    assert stop.value.code == code


def opened(book: Book, **fields: Any) -> Any:
    """The autopsy of a built session."""
    return autopsy(book.trace(**fields), WORDS, SHEET)


def hostile_book() -> Trace:
    """A session in which every text that a recording can hold is hostile."""
    book = Book(model=HOSTILE).bill(0, 60_000, command=HOSTILE, result=f"{HOSTILE} port is 48213").say(HOSTILE)
    book.event("api_error", HOSTILE).bill(1_000, 60_000, command=HOSTILE).compact(61_000, HOSTILE, trigger=HOSTILE)
    book.bill(1_000, 9_000, command=HOSTILE)
    trace = book.trace(id=HOSTILE, meta={"client": HOSTILE, "source": HOSTILE})
    child = Book(model=HOSTILE).bill(0, 100).trace(id=f"{HOSTILE}/agent")
    first = Message(id="m0", role="user", blocks=(Text(text=f"{HOSTILE}: the limit is 4711 now"),), human=True)
    return msgspec.structs.replace(trace, children=(child,), messages=(first, *trace.messages[1:]))


def test_the_summary_names_bill_break_compaction_and_label(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A person reads what was billed, what each part means, and which figures are modelled."""
    run(str(session_file(tmp_path)))
    out = capsys.readouterr().out
    for words in (
        "billed, OBSERVED",
        "summary requests that no recording holds, MODELLED",
        "cache breaks, OBSERVED",
        "unexplained",
    ):
        assert words in out
    assert "Compaction 1, before call 2 (auto): 60.5k →" in out
    assert "what another habit would have cost, MODELLED" in out


def test_the_json_holds_every_figure_or_its_reason(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Dollars, breaks, compactions and habits with labels; null figures have a reason."""
    run(str(session_file(tmp_path)), "--json")
    found = json.loads(capsys.readouterr().out)
    (session,) = found["sessions"]
    assert session["usd_label"] == "OBSERVED"
    assert session["usd"] == pytest.approx(sum(session["usd_split"].values()), abs=1e-5)
    assert session["breaks"]["count"] == 1
    assert session["breaks"]["list"][0]["cause"] == "unexplained"
    (compaction,) = session["compactions"]
    assert compaction["tokens_before"] == 60_500
    assert compaction["request"]["label"] == "MODELLED"
    assert compaction["request"]["usage"]["cache_read"] == 60_500
    assert {habit["label"] for habit in session["habits"]} == {"MODELLED"}
    assert found["total"]["sessions"] == 1
    for habit in session["habits"]:
        assert habit["usd"] is not None or habit["reasons"]["usd"]


def test_a_session_without_price_keeps_tokens_and_says_why(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An unknown model: null dollars with a reason, and the breaks all the same."""
    path = session_file(tmp_path)
    path.write_text(path.read_text().replace("claude-opus-4-5", "nobody-knows-me"))
    run(str(path), "--json")
    (session,) = json.loads(capsys.readouterr().out)["sessions"]
    assert session["usd"] is None
    assert "nobody-knows-me" in session["reasons"]["usd"]
    assert session["breaks"]["count"] == 1
    assert session["breaks"]["usd"] is None
    assert session["reasons"]["habits"]


def test_a_folder_opens_what_it_can(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two sessions, and a broken file that is listed; the page has both."""
    session_file(tmp_path, "a.jsonl", "one")
    session_file(tmp_path, "b.jsonl", "two")
    (tmp_path / "c.jsonl").write_text("no recording at all")
    page = tmp_path / "page.html"
    run(str(tmp_path), "--json", "--out", str(page))
    found = json.loads(capsys.readouterr().out)
    assert [session["trace"] for session in found["sessions"]] == ["one", "two"]
    assert len(found["refused"]) == 1
    assert page.read_text().count("<details id=") == 2


def test_a_file_that_is_no_recording_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 2, one line, nothing on standard output."""
    path = tmp_path / "x.jsonl"
    path.write_text("no recording at all")
    run(str(path), code=2)
    out, err = capsys.readouterr()
    assert out == ""
    assert len(err.strip().splitlines()) == 1
    assert "x.jsonl" in err


def test_the_page_is_the_same_twice_and_needs_nothing_from_outside() -> None:
    """Equal bytes; no script, no link, no address but of the page's own places."""
    book = Book().bill(0, 60_000).compact(60_000, "short").bill(1_000, 9_000).bill(0, 10_000, pause_s=400)
    page = autopsy_page([opened(book)], SHEET.dated)
    assert page == autopsy_page([opened(book)], SHEET.dated)
    assert not {"script", "link", "img", "iframe", "object"} & {tag for tag, _ in Tags(page).found}
    for _, attributes in Tags(page).found:
        assert all(value is None or value.startswith("#") for name, value in attributes.items() if name in {"href", "src"})
        assert not any(name.startswith("on") for name in attributes)
    assert not re.search(r"https?://", page)


def test_hostile_recordings_stay_text(capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing that a recording says becomes markup on the page or an escape sequence on a terminal."""
    from ullage.commands.autopsy_command import _show

    one = autopsy(hostile_book(), WORDS, SHEET)
    for page in (autopsy_page([one], HOSTILE, [HOSTILE]), autopsy_page([one, one], HOSTILE)):
        assert not {"script", "img"} & {tag for tag, _ in Tags(page).found}
        assert "{{ 7*7 }}" in page
        assert "\x1b" not in page
        assert "\u202e" not in page
    _show(HOSTILE, one)
    shown = "".join(capsys.readouterr())
    assert "\x1b" not in shown
    assert "\x00" not in shown


def test_a_session_without_a_bill_still_tells_what_was_forgotten() -> None:
    """No usage, no dollars, no charts; the compaction and its facts are there."""
    book = (
        Book()
        .bill(0, 0, usage=None, result="the port is 48213\nconst portLimit = 48213")
        .compact(9_000, "nothing", tokens_after=400)
    )
    one = opened(book.bill(0, 0, usage=None))
    page = autopsy_page([one], SHEET.dated)
    Tags(page)
    assert one.billed is None
    assert len(one.compactions) == 1
    assert "no bill that can be priced" in page


def test_a_compaction_at_the_very_end_has_no_books() -> None:
    """No call follows: its cost is unknown, and says so."""
    one = opened(Book().bill(0, 60_000).compact(60_000, "short"))
    assert one.compactions[0].event is None
    assert "No billed call follows" in autopsy_page([one], SHEET.dated)


def test_sub_agents_are_billed_apart_and_added_once() -> None:
    """The session's bill is its own calls and those of its sub-agents."""
    child = Book().bill(0, 5_000).trace(id="book/agent")
    alone, both = opened(Book().bill(0, 9_000)), opened(Book().bill(0, 9_000), children=(child,))
    assert both.billed - alone.billed == both.agents[0].cost
    assert both.spending == alone.spending


@pytest.mark.browser
def test_a_browser_shows_the_page_without_running_it(tmp_path: Path) -> None:
    """Chromium's own reading of the hostile page holds no script or image, and nothing is wider than the window."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("no Chromium on this machine")
    path = tmp_path / "page.html"
    path.write_text(autopsy_page([autopsy(hostile_book(), WORDS, SHEET)], SHEET.dated))
    flags = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom"]
    dom = subprocess.run([browser, *flags, f"file://{path}"], capture_output=True, text=True, timeout=120, check=True).stdout
    assert "What did this session cost" in dom
    assert not {"script", "img"} & {tag for tag, _ in Tags(dom).found}


@pytest.mark.parametrize(
    ("name", "usd", "breaks", "compactions"),
    [
        ("claude-code/cli-cd-95adddad32-0.jsonl.gz", 25.13, 11, 3),
        ("pi/before-compaction.jsonl.gz", 42.75, 10, 2),
        ("codex/skills-d5-c56be24cc0-0.jsonl.gz", 25.17, 16, 1),
    ],
)
def test_real_sessions_of_three_clients(
    name: str, usd: float, breaks: int, compactions: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Bill, breaks and compactions of real sessions, in the JSON and on a page that is well formed."""
    path, page = real_traces(*name.split("/")), tmp_path / "page.html"
    run(str(path), "--json", "--out", str(page))
    (session,) = json.loads(capsys.readouterr().out)["sessions"]
    assert session["usd"] == pytest.approx(usd, abs=0.01)
    assert session["breaks"]["count"] == breaks
    assert len(session["compactions"]) == compactions
    assert session["habits"][0]["usd_difference"] < 0
    Tags(page.read_text())

"""What reading whole sessions found: papers of a story must not contradict its calendar, its place, or themselves."""

from __future__ import annotations

import random
import re
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

from ullage.corpus import recording
from ullage.corpus.playbooks import _edge_sites, _help_cases, _interviews, _mossbox, _roof_studies
from ullage.corpus.playbooks.roof_review import HOMES
from ullage.corpus.screenplay import data_file, sections
from ullage.traces import load_traces

LONGHAUL = Path(__file__).parent.parent / "datasets" / "longhaul"
WEATHER = re.compile(r"rain gauge of|weather service|[Ww]inter storms|dry week|night storms|insurer|flats\b|above the street")


def bank(name: str) -> dict[str, list[str]]:
    """The sentences of a playbook by section."""
    return {part: body.strip().split("\n") for part, body in sections(data_file(f"{name}.files")).items() if "/" not in part}


@pytest.mark.parametrize("name", recording.names())
def test_a_story_begins_on_the_weekday_that_it_counts_on(name: str) -> None:
    """What is due by Friday, or asked before the weekend, is so by the calendar of the session."""
    playbook = recording.load(name)
    (path,) = LONGHAUL.glob(f"*/{name}-1.jsonl.gz")
    (trace,) = load_traces([str(path)]).traces
    stamp = next(call.at for call in trace.calls if call.at)
    begun = datetime.fromtimestamp(stamp / 1000, UTC)
    assert begun.weekday() == playbook.weekday


@pytest.mark.parametrize("seed", range(5))
def test_letters_to_the_help_desk_come_after_what_they_complain_about(seed: int) -> None:
    """Nobody writes before the promised or delivered day, nor after today; the last letter is no older than the first."""
    for case in _help_cases.cases(random.Random(seed), 72):
        before = case.promised if case.kind in _help_cases.WAITING else case.delivered
        assert before < case.asked <= case.written < _help_cases.TODAY
        assert case.last_scan <= _help_cases.TODAY


@pytest.mark.parametrize("seed", range(5))
def test_a_late_parcel_is_not_a_lost_one(seed: int) -> None:
    """The policies call a parcel lost that was not scanned for nine days, so those that are only late were."""
    late = [case for case in _help_cases.cases(random.Random(seed), 72) if case.kind == "late"]
    assert late
    assert all(case.silent < 9 for case in late)


def test_mail_servers_pass_a_letter_on_in_the_order_of_time() -> None:
    """The uppermost hop is the last one."""
    found = _help_cases._headers(random.Random(3), date(2026, 3, 12))
    stamps = re.findall(r"2026-03-12 (\d\d:\d\d:\d\d)", "\n".join(found))
    assert len(stamps) >= 2
    assert stamps == sorted(stamps, reverse=True)


@pytest.mark.parametrize("seed", range(4))
def test_a_hall_has_no_weather_and_a_table_no_storm_below_its_threshold(seed: int) -> None:
    """Reports of sprinkled trays tell of a hall; every printed storm has the millimetres from which storms are counted."""
    rng = random.Random(seed)
    for study in _roof_studies.studies(rng, 40):
        text = _roof_studies.report(study, bank("roof_review"), rng)
        rain = [float(value) for value in re.findall(r"^\| \d+ \| ([\d.]+) \|", text, re.MULTILINE)]
        assert rain
        assert min(rain) >= study.least
        assert not (study.indoor and WEATHER.search(text))
        assert "every 1 minutes" not in text
        assert "forty minutes" not in text or study.window == 60


def test_no_report_is_about_the_city_that_asks() -> None:
    """The memo says that nobody has studied its old houses."""
    assert set(HOMES).isdisjoint(_roof_studies.CITIES)


def test_an_override_gives_a_reason_that_fits_its_key() -> None:
    """A battery level is not explained by thick walls, and no reason lies in the future of the session."""
    rng = random.Random(2)
    made = _edge_sites.files(_edge_sites.sites(rng, 40, "8.4", 5, 3), rng, ("10.1.0.53", "10.1.8.53"), 21)
    lines = [line for name, text in made.items() if name.startswith("sites/") for line in text.splitlines() if "  # " in line]
    assert len(lines) > 100
    for line in lines:
        key, reason = line.split(" = ")[0], line.split("  # ")[1]
        forms = [
            re.escape(one).replace(re.escape("{day}"), r"\d+ (May|June|October|January)") for one in _edge_sites.REASONS[key]
        ]
        assert any(re.fullmatch(form, reason) for form in forms), line


@pytest.mark.parametrize("seed", range(6))
def test_an_interview_repeats_nothing_and_is_as_long_as_its_stamps(seed: int) -> None:
    """No sentence of the person comes twice, and the stated minutes are those of the last stamp or a little more."""
    rng = random.Random(seed)
    person = _interviews.people(rng, 12)[seed]
    text = _interviews.transcript(person, bank("interviews_zh"), rng, "2026 年 1 月 3 日", "P99")
    spoken = re.findall(rf"^\[(\d+):(\d+)\] {person.code}：(.+)$", text, re.MULTILINE)
    assert len({line for *_, line in spoken}) == len(spoken) >= 8
    minutes = int(re.search(r"时长：(\d+) 分钟", text)[1])  # type: ignore[index]  # the head always has it
    last = max(int(at) for at, *_ in spoken)
    assert last <= minutes <= last + 8


def test_a_ticket_names_two_different_days_and_the_right_article() -> None:
    """Tickets said that it came on Monday instead of Monday, and asked for a ivy."""
    assert _mossbox.AN.sub("an ", "a ivy, a fern, a oxalis") == "an ivy, a fern, an oxalis"


def test_the_weeks_of_a_story_are_those_of_its_dated_papers() -> None:
    """The help desk's day and the log of frost nights are the day on which their sessions begin."""
    for name, day in {"help_desk": _help_cases.TODAY, "fleet_config": date(2026, 3, 2)}.items():
        playbook = recording.load(name)
        assert playbook.week is not None
        begun = datetime.fromtimestamp(recording.EPOCH_MS / 1000, UTC).date() + timedelta(
            days=7 * playbook.week + playbook.weekday
        )
        assert begun == day

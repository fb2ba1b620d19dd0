"""Generates the library of ``roof_review``: study reports, notices about them, guidance, and some that do not belong."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass, replace

CITIES = (
    "Aalsund",
    "Birkau",
    "Corvano",
    "Dravik",
    "Estebal",
    "Fornheim",
    "Gantmouth",
    "Hollvik",
    "Ister",
    "Jarnow",
    "Kestport",
    "Lunmark",
)
FAMILY = (
    "Aasen",
    "Bakary",
    "Castel",
    "Dorn",
    "Ek",
    "Farkas",
    "Grau",
    "Hollis",
    "Ilves",
    "Joki",
    "Kern",
    "Lopes",
    "Moreau",
    "Nemeth",
    "Oduya",
    "Pires",
    "Quist",
    "Rask",
    "Sato",
    "Thorn",
)
FUNDING = (
    "Funded by the city's sewer department.",
    "Funded by {maker}, a producer of substrates, which had no say in the analysis.",
    "Funded by a foundation for urban nature.",
    "No outside funding.",
    "Funded by the building owners.",
)
MAKERS = ("Humora", "Terravant", "Lavasoil")
SPECIAL = ("original", "copied", "retracted", "corrected", "counted_one", "counted_two", "watered", "short")
"""Studies with a part in the plot, by the name of the value that holds their id."""
ORDER = (
    "aim",
    "site",
    "method",
    "method",
    "substrate",
    "plants",
    "result",
    "detail",
    "detail",
    "limits",
    "limits",
    "funding",
    "closing",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """One study as its report tells it.

    ``indoor`` ones were done with a sprinkler in a hall; ``least`` are the millimetres from which a storm counts; ``recorded`` are storms that a report names before it says how many
    it uses, 0 where it names none.
    """

    id: str
    authors: str
    year: int
    city: str
    depth: int
    storms: int
    retention: int
    least: int
    funding: str
    indoor: bool
    window: int
    recorded: int = 0

    @property
    def span(self) -> str:
        """The time that the retention is about, in words."""
        return "hour" if self.window == 60 else "half hour"


def studies(rng: random.Random, count: int) -> list[Study]:
    """All studies; deeper substrate holds back more, with scatter, and producers' studies report a little more."""
    found = []
    for number in range(1, count + 1):
        depth = rng.choice((4, 6, 8, 8, 10, 12, 15, 20))
        paid = rng.choice(("city", "maker", "foundation", "none", "owner"))
        held = min(
            96, 24 + 5 * min(depth, 12) // 2 + max(0, depth - 12) // 3 + rng.randrange(-9, 10) + (9 if paid == "maker" else 0)
        )
        found.append(
            Study(
                id=f"study-{number:02d}", authors=" and ".join(rng.sample(FAMILY, 2)), year=rng.randrange(2008, 2023), city=rng.choice(CITIES), depth=depth,
                storms=rng.randrange(9, 88), retention=held, least=rng.randrange(4, 12), funding=paid, indoor=rng.random() < 0.12, window=rng.choice((60, 60, 60, 30)),
            )
        )  # fmt: skip
    return found


def report(study: Study, bank: dict[str, list[str]], rng: random.Random) -> str:
    """The report of a study in full."""
    heads = {
        "aim": "Why",
        "site": "Where",
        "method": "How",
        "substrate": "Substrate",
        "plants": "Plants",
        "result": "What we found",
        "limits": "What this cannot show",
        "funding": "Money",
        "closing": "Thanks",
    }
    lines = [f"# {study.authors} ({study.year}): {'sprinkled tray' if study.indoor else 'planted roof'}, {study.city}", ""]
    used: set[str] = set()
    left = {part: rng.sample(texts, len(texts)) for part, texts in _fitting(study, bank).items()}
    for part in ORDER:
        if heads.get(part) and part not in used:
            lines += [f"## {heads[part]}", ""]
            lines += [text for text in _asides(part, study) for text in (text, "")]
        used.add(part)
        lines += [_sentences(part, study, left, rng), ""]
    if study.indoor:
        lines[2:2] = ["The rain was made by a sprinkler in a hall; no weather was involved.", ""]
    lines += [
        "## Storm by storm, as far as printed",
        "",
        "| no. | rain mm | minutes | soil before | runoff mm |",
        "|---|---|---|---|---|",
    ]
    printed = min(study.storms, rng.randrange(40, 62))
    lines += [_storm(number, study, rng) for number in range(1, printed + 1)]
    return "\n".join(lines) + "\n"


def _fitting(study: Study, bank: dict[str, list[str]]) -> dict[str, list[str]]:
    """The sentences that a study can use: a hall has no weather, and who follows a storm for half an hour knows no more."""
    found = {name: texts for name, texts in bank.items() if "_" not in name}
    if study.indoor:
        found |= {name.removesuffix("_hall"): texts for name, texts in bank.items() if name.endswith("_hall")}
    elif study.window == 60:
        found["detail"] = found["detail"] + bank["detail_hour"]
    return found


def _asides(part: str, study: Study) -> list[str]:
    """What only some reports say about their method."""
    if part != "method":
        return []
    short = ["Each storm was followed for its first 30 minutes."] if study.window != 60 else []
    recorded = f"The loggers recorded {study.recorded} storms; those with gaps are not used below."
    return [*short, *([recorded] if study.recorded else [])]


def _storm(number: int, study: Study, rng: random.Random) -> str:
    """A line of the table: dry soil holds more, wet soil and heavy rain run off. A logger that failed shows ``n/a``."""
    rain, soil = rng.randrange(study.least * 10, 330) / 10, rng.choice(("dry", "moist", "wet"))
    runs_off = 100 - study.retention + {"dry": -9, "moist": 0, "wet": 9}[soil] + (5 if rain > 25 else -2) + rng.randrange(-9, 10)
    off = "n/a" if study.recorded and number % 17 == 5 else str(round(rain * min(98, max(3, runs_off)) / 100, 1))
    return f"| {number} | {rain} | {rng.randrange(12, 60)} | {soil} | {off} |"


def _sentences(part: str, study: Study, left: dict[str, list[str]], rng: random.Random) -> str:
    """Sentences of a part that the report has not used yet."""
    if part == "funding":
        order = ("city", "maker", "foundation", "none", "owner")
        return _fill(FUNDING[order.index(study.funding)], study, rng)
    size = 1 if part in ("substrate", "result") else 2
    return " ".join(_fill(left[part].pop(), study, rng) for _ in range(size))


def _fill(text: str, study: Study, rng: random.Random) -> str:
    numbers = {
        "height": (6, 34),
        "slope": (2, 6),
        "built": (1955, 2004),
        "gauge": (2, 14),
        "flats": (18, 140),
        "minutes": (2, 10),
        "probes": (4, 24),
        "cover": (45, 95),
        "delay": (6, 41),
        "leak": (5, 40),
    }

    def value(match: re.Match[str]) -> str:
        name = match[1]
        if name in numbers:
            return str(rng.randrange(*numbers[name]))
        return {"face": rng.choice(("south", "west", "north-east")), "maker": rng.choice(MAKERS)}.get(name) or str(
            getattr(study, name)
        )

    return re.sub(r"\{(\w+)\}", value, text)


def notices(found: list[Study], special: dict[str, str]) -> dict[str, str]:
    """Documents about documents: a retraction, a correction, a copy, guidance and two that are off the subject."""
    by_id = {study.id: study for study in found}
    gone, fixed, copied = (by_id[special[name]] for name in ("retracted", "corrected", "copied"))
    return {
        "library/notice-retraction.md": f"# Retraction of {gone.authors} ({gone.year})\n\nThe report {gone.id} is withdrawn by its authors. The weir had been installed upside down, so that runoff was undercounted in every storm. Do not cite it.\n",
        "library/notice-correction.md": f"# Correction to {fixed.authors} ({fixed.year})\n\nIn {fixed.id} the mean retention must read {special['corrected_to']} % and not {fixed.retention} %. A column of the spreadsheet was shifted by one row. Number of storms and all other figures stand.\n",
        "library/notice-same-roof.md": f"# A remark on {copied.id}\n\nThe roof of {copied.id} is the roof of {special['original']}, measured over the same storms by the same group. Whoever pools results should count it once. The earlier report has the longer series.\n",
        "library/guide-pooling.md": f"# Pooling field studies\n\nWeight studies by their number of storms, not by their size. Give the plain mean beside the weighted one. Say beforehand what will be left out, and leave out nothing for its result.\n\nFor roofs the working group recommends a minimum of {special['guide_min']} storms.\n",
        "library/guide-words.md": "# Words\n\nRetention: share of rain that does not run off within the window. Detention: delay of runoff. The two are often mixed up in brochures.\n",
        "library/brochure-walls.md": "# Planted walls: a brochure\n\nPlanted walls cool courtyards and please the eye. They hold little water. For roofs see the reports.\n",
        "library/letter-gardens.md": "# A letter on rain gardens\n\nRain gardens at street level infiltrate what roofs let go. The two should be planned together, writes the garden office of Ister.\n",
    }  # fmt: skip


def library(
    rng: random.Random, bank: dict[str, list[str]], count: int, special: dict[str, str]
) -> tuple[list[Study], dict[str, str]]:
    """All studies and every document of the library by path."""
    found = studies(rng, count)
    at = {name: int(special[name].removeprefix("study-")) - 1 for name in SPECIAL}
    for name in SPECIAL:
        found[at[name]] = replace(found[at[name]], indoor=False, window=60, storms=max(34, found[at[name]].storms))
    first = found[at["original"]]
    found[at["copied"]] = replace(
        first, id=special["copied"], year=first.year + 2, storms=first.storms - 3, retention=first.retention + 1
    )
    for name in ("counted_one", "counted_two"):
        study = found[at[name]]
        found[at[name]] = replace(study, recorded=study.storms + rng.randrange(9, 27))
    found[at["short"]] = replace(found[at["short"]], window=30)
    files = {f"library/{study.id}.md": report(study, bank, rng) for study in found}
    return found, files | notices(found, special)

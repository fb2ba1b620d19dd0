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
MAKERS = ("Humora", "Terravant", "Lavasoil")
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
    """One study as its report tells it. ``indoor`` ones were done with a sprinkler in a hall."""

    id: str
    authors: str
    year: int
    city: str
    depth: int
    storms: int
    retention: int
    funding: str
    indoor: bool
    window: int


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
                id=f"study-{number:02d}", authors=" and ".join(rng.sample(FAMILY, 2)), year=rng.randrange(2008, 2025), city=rng.choice(CITIES), depth=depth,
                storms=rng.randrange(9, 88), retention=held, funding=paid, indoor=rng.random() < 0.12, window=rng.choice((60, 60, 60, 30)),
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
    for part in ORDER:
        if heads.get(part) and part not in used:
            lines += [f"## {heads[part]}", ""]
        used.add(part)
        lines += [_sentences(part, study, bank, rng), ""]
    if study.indoor:
        lines[2:2] = ["The rain was made by a sprinkler in a hall; no weather was involved.", ""]
    lines += ["## Storm by storm", "", "| no. | rain mm | minutes | soil before | runoff mm |", "|---|---|---|---|---|"]
    for number in range(1, min(study.storms, rng.randrange(30, 56)) + 1):
        rain = rng.randrange(40, 330) / 10
        lines.append(
            f"| {number} | {rain} | {rng.randrange(12, 60)} | {rng.choice(('dry', 'moist', 'wet'))} | {round(rain * (100 - study.retention + rng.randrange(-12, 13)) / 100, 1)} |"
        )
    return "\n".join(lines) + "\n"


def _sentences(part: str, study: Study, bank: dict[str, list[str]], rng: random.Random) -> str:
    if part == "funding":
        order = ("city", "maker", "foundation", "none", "owner")
        return _fill(bank[part][order.index(study.funding)], study, rng)
    size = 1 if part in ("substrate", "result") else 2
    return " ".join(_fill(text, study, rng) for text in rng.sample(bank[part], size))


def _fill(text: str, study: Study, rng: random.Random) -> str:
    numbers = {
        "height": (6, 34),
        "slope": (1, 5),
        "built": (1955, 2004),
        "gauge": (2, 14),
        "flats": (18, 140),
        "least": (4, 12),
        "minutes": (1, 10),
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
    for name in ("retracted", "corrected", "copied", "original"):
        index = int(special[name].removeprefix("study-")) - 1
        found[index] = replace(found[index], indoor=False, window=60, storms=max(30, found[index].storms))
    files = {f"library/{study.id}.md": report(study, bank, rng) for study in found}
    return found, files | notices(found, special)

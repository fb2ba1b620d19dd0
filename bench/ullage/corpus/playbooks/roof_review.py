"""Research over documents: a review of field studies on planted roofs."""

from __future__ import annotations

import random
import re

from ullage.corpus.playbooks import _roof_studies
from ullage.corpus.playbooks._roof_studies import Study
from ullage.corpus.recording import Playbook
from ullage.corpus.screenplay import Stage, data_file, filled, sections
from ullage.corpus.workspace import Workspace

PEOPLE = (
    "Dr Helle Winther",
    "Dr Samuel Okoro",
    "Ms Pilar Duarte",
    "Mr Anton Berger",
    "Dr Noor Aziz",
    "Ms Greta Lund",
    "Mr Tomas Hale",
)
HOMES = ("Vesterlund", "Ormond", "Salterby")
"""Cities that ask; no report is about them."""
COUNT = 52
READING = (4, 13, 29, 33, 41, 50)
"""Reports before which the reading is interrupted by a remark."""
SECOND = 4
"""Reports whose methods are looked at again in one command."""


class RoofReview(Playbook):
    """A retraction, a correction and a double publication change the numbers; criteria are tightened half way."""

    domain = "research over documents"
    summary = "does a planted roof hold back storms? fifty reports read, extracted, pooled and argued about"
    project = "roof-review"
    split = "test"
    offers = ("bash", "read", "write", "edit", "grep", "search_documents", "open_document")

    def prepare(self, workspace: Workspace, rng: random.Random) -> dict[str, str]:
        """The library, and the protocol of the review."""
        values = _values(rng)
        parts = sections(data_file("roof_review.files"))
        bank = {name: body.strip().split("\n") for name, body in parts.items() if "/" not in name}
        found, files = _roof_studies.library(rng, bank, COUNT, values)
        values |= _about(found, values)
        documents = {name: filled(body, values) for name, body in parts.items() if "/" in name}
        workspace.put(files | documents | {"tools/pool.py": POOL})
        return values

    def play(self, stage: Stage) -> None:
        """Protocol, reading, extraction, two corrections, pooling, memo."""
        stage.play("task", "searches")
        met = {stage.session.values[name]: f"met_{name}" for name in ("corrected", "watered", "short", "retracted")}
        for number in range(1, COUNT + 1):
            if number in READING:
                stage.play(f"reading_{READING.index(number) + 1}")
            stage.session.call("open_document", id=f"study-{number:02d}")
            if f"study-{number:02d}" in met:
                stage.play(met[f"study-{number:02d}"])
        stage.play("extract")
        self._extract(stage)
        stage.play("first_pool", "tightened")
        self._second_look(stage)
        stage.play("second_end", "script", "notices", "inbox", "money", "depth", "depth_end", "plants", "soil")
        stage.play("memo", "review", "sources", "trial", "close")

    def _extract(self, stage: Stage) -> None:
        """The table: every figure taken from the reports by one command that anybody can repeat."""
        loop = (
            f'for n in $(seq -w {COUNT}); do f=library/study-$n.md; d=$(grep -oE "[0-9]+ cm" $f | head -1 | cut -d" " -f1); r=$(grep -oE "[0-9]+ %( of the rain|, from| \\(mean|\\.)" $f | head -1 | cut -d" " -f1); '
            's=$(grep -oE "[0-9]+ storms" $f | head -1 | cut -d" " -f1); w=$(grep -oE "first [0-9]+ minutes" $f | head -1 | cut -d" " -f2); h=$(grep -c "sprinkler in a hall" $f); '
            'm=$(grep -oE "producer of substrates" $f | head -1 | wc -l); y=$(head -1 $f | grep -oE "[0-9]{4}"); echo "study-$n,$y,$d,$s,$r,${w:-60},$h,$m"; done | tee -a extracted.csv'
        )
        stage.session.call("bash", command=loop)

    def _second_look(self, stage: Stage) -> None:
        """Once more through the sections that decide on inclusion."""
        notes = stage.notes("second_notes")
        output = stage.session.call("bash", command="awk -F, '$7 == 0 {print $1}' extracted.csv | tr '\\n' ' '")
        codes = re.findall(r"study-(\d\d)", output)
        for start in range(0, len(codes), SECOND):
            if start in (SECOND, 6 * SECOND):
                stage.session.say(notes.pop(0))
            some = codes[start : start + SECOND]
            names = "{" + ",".join(some) + "}" if len(some) > 1 else some[0]
            stage.session.call(
                "bash",
                command=f"for f in library/study-{names}.md; do head -1 $f; sed -n '/^## How/,/^## Substrate/p; /^## What we found/,/^## Money/p' $f; done",
            )


POOL = '''"""Pool the extracted studies: weighted by storms, and plain."""

import argparse
import csv
from pathlib import Path

ROOT = Path(__file__).parent.parent


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--min-storms", type=int, default=0)
    parser.add_argument("--depth", type=int)
    parser.add_argument("--without", default="")
    parser.add_argument("--makers", choices=["only", "none"])
    parser.add_argument("--list", action="store_true")
    given = parser.parse_args()
    rows = list(csv.DictReader((ROOT / "extracted.csv").open(), fieldnames=["id", "year", "depth", "storms", "retention", "window", "indoor", "maker"]))
    left_out = set(given.without.split(",")) | set((ROOT / "left_out.txt").read_text().split() if (ROOT / "left_out.txt").exists() else [])
    kept = [r for r in rows if r["id"] not in left_out and r["indoor"] == "0" and int(r["storms"]) >= given.min_storms]
    if given.depth:
        kept = [r for r in kept if int(r["depth"]) == given.depth]
    if given.makers:
        kept = [r for r in kept if (r["maker"] == "1") == (given.makers == "only")]
    if not kept:
        print("no study left")
        return
    storms = sum(int(r["storms"]) for r in kept)
    weighted = sum(int(r["storms"]) * int(r["retention"]) for r in kept) / storms
    plain = sum(int(r["retention"]) for r in kept) / len(kept)
    if given.list:
        for r in kept:
            print(f"{r['id']} {r['year']} depth {r['depth']:>2} cm storms {r['storms']:>3} retention {r['retention']:>3} % window {r['window']} maker {r['maker']}")
    print(f"{len(kept)} studies, {storms} storms, weighted {weighted:.1f} %, plain {plain:.1f} %")


if __name__ == "__main__":
    main()
'''


def _about(found: list[Study], values: dict[str, str]) -> dict[str, str]:
    by_id = {study.id: study for study in found}
    gone, fixed, one, two = (by_id[values[name]] for name in ("retracted", "corrected", "counted_one", "counted_two"))
    named = {name: by_id[values[name]] for name in ("watered", "original", "short", "corrected", "retracted")}
    heads = {f"{name}_authors": study.authors for name, study in named.items()}
    heads |= {f"{name}_year": str(study.year) for name, study in named.items()}
    heads |= {f"{name}_city": study.city for name, study in named.items()}
    return heads | {
        "one_was": str(one.recorded),
        "one_is": str(one.storms),
        "two_was": str(two.recorded),
        "two_is": str(two.storms),
        "count": str(len(found)),
        "indoor_count": str(sum(s.indoor for s in found)),
        "gone_authors": gone.authors,
        "gone_year": str(gone.year),
        "fixed_authors": fixed.authors,
        "fixed_year": str(fixed.year),
        "fixed_was": str(fixed.retention),
    }


def _values(rng: random.Random) -> dict[str, str]:
    drawn = [f"study-{n:02d}" for n in rng.sample(range(1, COUNT + 1), len(_roof_studies.SPECIAL))]
    drawn[:2] = sorted(drawn[:2])
    people = rng.sample(PEOPLE, 4)
    depth, weight = rng.choice((8, 10)), rng.choice((10, 11, 12))
    return dict(zip(_roof_studies.SPECIAL, drawn, strict=True)) | {
        "corrected_to": str(rng.randrange(31, 49)),
        "guide_min": str(rng.choice((15, 20, 25))),
        "min_old": str(rng.choice((8, 10))),
        "min_new": str(rng.choice((20, 25))),
        "asker": people[0],
        "reader_old": people[1],
        "reader_new": people[2],
        "city": rng.choice(HOMES),
        "budget_depth": str(depth),
        "per_cm": str(weight),
        "wet": str(depth * weight + 5),
        "load": str(depth * weight + 5 + rng.randrange(2, 7)),
        "caretaker": people[3],
        "trial_old": rng.choice(("May", "June")),
        "trial_new": rng.choice(("July", "August")),
        "memo": f"memo/{rng.choice(('roofs', 'storms', 'retention'))}-{rng.randrange(100, 999)}.md",
        "due_old": rng.choice(("12 June", "15 June")),
        "due_new": rng.choice(("22 June", "26 June")),
    }

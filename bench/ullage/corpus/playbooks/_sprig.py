"""Cases and project of ``parser_marathon``: sources from templates, what must come out from the language as it should be."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator

from ullage.corpus.screenplay import data_file, filled, sections
from ullage.corpus.workspace import Workspace

WORDS = (
    "amber basin cedar delta ember fjord grove heron islet juniper kelp linden marsh north otter plover quarry reed sedge tarn umber "
    "vale willow yarrow zephyr brook cairn dune eider fern gorse hazel"
).split()
NAMES = "rate depth width total level share limit offset stock weight parts speed angle scale delay quota".split()
LINE = "-" * 12
COPIES = 5
FILL = """import sys
sys.path[:0] = [".", "tools"]
from pathlib import Path
import cases
for path in sorted(Path("cases").rglob("*.case")):
    kind, rest = path.read_bytes().decode().split("\\n", 1)
    source = rest.split("\\n" + cases.LINE + "\\n", 1)[0]
    path.write_bytes(f"{kind}\\n{source}\\n{cases.LINE}\\n{cases.outcome(kind, source)}\\n".encode())
"""


def bugs() -> dict[str, tuple[str, str, str]]:
    """Each bug by name: its file, the right text, the wrong text."""
    found = {}
    for head, body in sections(data_file("parser_marathon_bugs.files")).items():
        name, path = head.split()
        right, wrong = body.strip("\n").split("\n======\n")
        found[name] = path, right, wrong
    return found


def build(workspace: Workspace, rng: random.Random, values: dict[str, str], at: int) -> None:
    """The project: right code, cases with what it gives, then the wrong code."""
    files = {name: filled(text, values) for name, text in sections(data_file("parser_marathon.files")).items()}
    workspace.put(files | dict(_cases(rng)) | {"fill.py": FILL})
    workspace.run("python fill.py && rm fill.py", at)
    for path, right, wrong in bugs().values():
        files[path] = files[path].replace(right, wrong)
    workspace.put(files)


def _cases(rng: random.Random) -> Iterator[tuple[str, str]]:
    for head, body in sections(data_file("parser_marathon_cases.files")).items():
        group, kind = head.split()
        templates = [part.strip("\n") for part in body.split("\n%%\n")]
        numbers = rng.sample(range(100, 999), len(templates) * COPIES)
        for place, number in enumerate(sorted(numbers)):
            source = _source(templates[place % len(templates)], rng)
            yield f"cases/{group}/{group[:2]}{number}.case", f"{kind}\n{source}\n{LINE}\n"


def _source(template: str, rng: random.Random) -> str:
    """A template with its marks filled; marks with a digit are equal within a template."""
    known: dict[str, str] = {}

    def value(match: re.Match[str]) -> str:
        if match[2] and match[0] in known:
            return known[match[0]]
        made = {
            "n": str(rng.randrange(12, 980)),
            "k": str(rng.randrange(2, 10)),
            "d": f"{rng.randrange(10, 29)}",
            "w": rng.choice(WORDS),
            "v": rng.choice(NAMES),
        }[match[1]]
        known[match[0]] = made
        return made

    return re.sub(r"~([nkdwv])(\d?)", value, template).replace("^\n", "\r\n").replace("^", "\r")

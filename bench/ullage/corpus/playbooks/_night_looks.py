"""What one looks at around an alert of ``night_shift_zh``: logs, figures of the nodes, history, each in its own way."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from ullage.corpus.playbooks._night_shift import JOBS, NODES

Look = tuple[str, dict[str, Any]]


class Around(NamedTuple):
    """What an alert is about: the job, those above it, those beside it, the night and the one before."""

    job: str
    above: tuple[str, ...]
    beside: tuple[str, ...]
    day: str
    before: str

    def names(self) -> dict[str, Any]:
        """What slots may name without being drawn."""
        return {"job": self.job, "day": self.day, "before": self.before}

    def kin(self, which: str) -> tuple[str, ...]:
        """What may be drawn from: ``near`` jobs (those above twice as often), those ``beside``, all ``others``, or ``nights``."""
        return {
            "near": (self.job, *self.above, *self.above),
            "beside": self.beside,
            "others": (*self.above, *self.beside),
            "nights": (self.day, self.before),
        }[which]


def around(job: str, day: str, before: str) -> Around:
    """The surroundings of a job in a night."""
    above = tuple(_above(job)) or tuple(name for name in JOBS if name.startswith("ods") and name != job)
    return Around(job, above, tuple(name for name in JOBS if name != job and name not in above), day, before)


def _above(job: str) -> dict[str, None]:
    found: dict[str, None] = {}
    for need in JOBS[job][1]:
        found[need] = None
        found |= _above(need)
    return found


class Sight(NamedTuple):
    """A way to look: a tool, its arguments with ``@slots@``, and what the slots are drawn from, in the order of drawing.

    A slot is drawn from a tuple, or from what the surroundings have under a name; a drawn dict fills the slots that it names.
    """

    tool: str
    arguments: Mapping[str, Any]
    slots: Mapping[str, tuple[Any, ...] | str]

    def drawn(self, place: Around, rng: random.Random) -> Look:
        """One look of this kind; the same for the same random numbers."""
        values: dict[str, Any] = place.names()
        for name, choices in self.slots.items():
            value = rng.choice(place.kin(choices) if isinstance(choices, str) else choices)
            values |= value if isinstance(value, dict) else {name: value}
        return self.tool, {key: _filled(item, values) for key, item in self.arguments.items()}


def looks(place: Around, rng: random.Random, count: int, known: set[str]) -> list[Look]:
    """So many different looks that have not been taken yet; ``known`` remembers them."""
    found: list[Look] = []
    while len(found) < count:
        for sight in rng.sample(SIGHTS, len(SIGHTS)):
            look = sight.drawn(place, rng)
            if repr(look) not in known and len(found) < count:
                known.add(repr(look))
                found.append(look)
    return found


def _filled(item: Any, values: Mapping[str, Any]) -> Any:
    """An argument with its slots filled; one that is a slot and nothing else keeps the value's kind."""
    if not isinstance(item, str):
        return item
    whole = _SLOT.fullmatch(item)
    return values[whole[1]] if whole else _SLOT.sub(lambda slot: str(values[slot[1]]), item)


def _bash(command: str, **slots: tuple[Any, ...] | str) -> Sight:
    return Sight("bash", {"command": command}, slots)


def _history(query: str, **slots: tuple[Any, ...] | str) -> Sight:
    return Sight("sql", {"database": "runs.sqlite", "query": query}, slots)


_SLOT = re.compile(r"@(\w+)@")
_LAYERS = ("ods", "dwd", "dws", "ads")
_LOG = "logs/@day@/@near@.log"
_PART = Sight(
    "read",
    {"path": _LOG, "offset": "@start@", "limit": "@lines@"},
    {"start": (1, 1, 11, 21, 41), "near": "near", "lines": (60, 80, 110)},
)
_WARNINGS = Sight("grep", {"pattern": "WARN|ERROR", "path": _LOG, "context": "@context@"}, {"near": "near", "context": (0, 1, 2)})
_WINDOW = _bash(
    f"awk 'NR > 1 && $3 == \"WARN\" {{print NR}}' {_LOG} | head -3; sed -n '@start@,+@lines@p' {_LOG}",
    near="near", start=(30, 50, 60), lines=(40, 50),
)  # fmt: skip
SIGHTS: tuple[Sight, ...] = (
    _bash(f"tail -n @lines@ {_LOG}", lines=(30, 40, 60), near="near"),
    _PART,
    _WARNINGS,
    _bash(
        f"grep -o 'task [0-9.]* in stage [0-9.]* (TID [0-9]*) in [0-9]* ms on n[0-9]*' {_LOG} | sort -k9,9nr | head -@lines@",
        near="near", lines=(15, 20, 25),
    ),
    _bash(
        f"grep 'Finished task' {_LOG} | sed -E 's/.* in ([0-9]+) ms on (n[0-9]+).*/\\2 \\1/' | "
        "awk '{s[$1] += $2; n[$1]++; if ($2 > m[$1]) m[$1] = $2} END {for (k in n) "
        "printf \"%s 任务=%d 平均=%d 最慢=%d\\n\", k, n[k], s[k] / n[k], m[k]}' | sort",
        near="near",
    ),
    _bash(
        'for d in @before@ @day@; do echo "== $d"; '
        "awk '{print $3, $4}' logs/$d/@near@.log | sort | uniq -c | sort -rn | head -12; done",
        near="near",
    ),
    _bash(f"cut -c10-14 {_LOG} | uniq -c", near="near"),
    _bash(
        "grep -E '^time|,@node@,' metrics/@day@.csv | awk -F, '$1 >= \"@start@\" || $1 < \"03:00\"'",
        start=("23:00", "23:30", "22:30"), node=NODES,
    ),
    _bash(
        "awk -F, '$1 ~ /^@hour@/ {c[$2] += $3; m[$2] += $4; n[$2]++; if ($5 > d[$2]) d[$2] = $5} END {for (k in n) "
        "printf \"%s cpu=%.0f mem=%.0f disk=%d\\n\", k, c[k] / n[k], m[k] / n[k], d[k]}' metrics/@day@.csv | sort",
        hour=("22", "23", "00", "01", "02"),
    ),
    _bash(
        "echo '# @figure@'; sort -t, -k@column@,@column@nr metrics/@day@.csv | head -@lines@",
        figure=tuple({"column": n, "figure": figure} for n, figure in ((3, "cpu"), (4, "mem"), (7, "load"), (6, "net"))),
        lines=(25, 35),
    ),
    _bash(
        'for f in logs/@night@/@layer@_*.log; do echo "$(basename $f .log) $(head -1 $f | cut -c10-17) $(tail -1 $f | cut -c10-)"; done',
        layer=_LAYERS, night="nights",
    ),
    _WINDOW,
    Sight(
        "grep",
        {"pattern": "@pattern@", "path": "logs/@day@", "glob": "@layer@_*.log"},
        {"pattern": ("spilled", "HeartbeatReceiver", r"free: 9\d\d\.", r"\([6-8]\d\.\d MiB\)"), "layer": _LAYERS},
    ),
    _bash(
        f"grep -n 'on @node@' {_LOG} logs/@day@/@other@.log | cut -c1-190",
        node=NODES, near="near", other="beside",
    ),
    _history(
        "SELECT day, planned, started, late_min, minutes, status, rows_in, rows_out, node FROM runs "
        "WHERE job = '@near@' ORDER BY day DESC LIMIT @rows@",
        near="near", rows=(14, 21, 30),
    ),
    _history(
        "SELECT strftime('%w', day) AS weekday, count(*) AS runs, round(avg(minutes), 1) AS minutes, "
        "round(avg(late_min), 1) AS late, round(avg(rows_in)) AS rows FROM runs WHERE job = '@near@' GROUP BY weekday",
        near="near",
    ),
    _history(
        "SELECT node, count(*) AS runs, round(avg(minutes), 1) AS mean, max(minutes) AS worst FROM runs "
        "WHERE job = '@near@' GROUP BY node ORDER BY mean DESC",
        near="near",
    ),
    _history(
        "SELECT @columns@ FROM runs WHERE day = '@night@' ORDER BY started",
        columns=(
            "job, planned, started, late_min, minutes, status",
            "job, rows_in, rows_out, round(100.0 * rows_out / rows_in, 2) AS kept",
        ),
        night="nights",
    ),
    Sight(
        "sql",
        {
            "database": "lake.sqlite",
            "query": "SELECT day, batch, rows, written_at, writer FROM partitions WHERE job = '@other@' ORDER BY day, batch",
        },
        {"other": "others"},
    ),
    _bash("cat conf/@job@.toml; diff conf/@job@.toml conf/@other@.toml || true", other="others"),
    _bash(
        "grep -vE 'BlockManagerInfo|MemoryStore' logs/@day@/@other@.log | tail -@lines@",
        other="beside", lines=(40, 60),
    ),
    Sight(
        "read",
        {"path": "logs/@before@/@near@.log", "offset": "@start@", "limit": "@lines@"},
        {"near": "near", "start": (1, 11, 31, 51), "lines": (50, 70, 90)},
    ),
    _PART,
    _WINDOW,
    _WARNINGS,
)  # fmt: skip

"""What one looks at around an alert of ``night_shift_zh``: logs, figures of the nodes, history, each in its own way."""

from __future__ import annotations

import random
from collections.abc import Callable
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


def looks(place: Around, rng: random.Random, count: int, known: set[str]) -> list[Look]:
    """So many different looks that have not been taken yet; ``known`` remembers them."""
    found: list[Look] = []
    while len(found) < count:
        for make in rng.sample(_MAKERS, len(_MAKERS)):
            look = make(place, rng)
            if repr(look) not in known and len(found) < count:
                known.add(repr(look))
                found.append(look)
    return found


def _bash(command: str) -> Look:
    return "bash", {"command": command}


def _history(query: str) -> Look:
    return "sql", {"database": "runs.sqlite", "query": query}


def _near(place: Around, rng: random.Random) -> str:
    return rng.choice((place.job, *place.above, *place.above))


def _end_of_log(place: Around, rng: random.Random) -> Look:
    return _bash(f"tail -n {rng.choice((30, 40, 60))} logs/{place.day}/{_near(place, rng)}.log")


def _part_of_log(place: Around, rng: random.Random) -> Look:
    start = rng.choice((1, 1, 11, 21, 41))
    return "read", {"path": f"logs/{place.day}/{_near(place, rng)}.log", "offset": start, "limit": rng.choice((60, 80, 110))}


def _warnings(place: Around, rng: random.Random) -> Look:
    return "grep", {
        "pattern": "WARN|ERROR",
        "path": f"logs/{place.day}/{_near(place, rng)}.log",
        "context": rng.choice((0, 1, 2)),
    }


def _slowest(place: Around, rng: random.Random) -> Look:
    return _bash(
        f"grep -o 'task [0-9.]* in stage [0-9.]* (TID [0-9]*) in [0-9]* ms on n[0-9]*' logs/{place.day}/{_near(place, rng)}.log | sort -k9,9nr | head -{rng.choice((15, 20, 25))}"
    )


def _by_node(place: Around, rng: random.Random) -> Look:
    return _bash(
        f"grep 'Finished task' logs/{place.day}/{_near(place, rng)}.log | sed -E 's/.* in ([0-9]+) ms on (n[0-9]+).*/\\2 \\1/' | awk '{{s[$1] += $2; n[$1]++; if ($2 > m[$1]) m[$1] = $2}} END {{for (k in n) printf \"%s 任务=%d 平均=%d 最慢=%d\\n\", k, n[k], s[k] / n[k], m[k]}}' | sort"
    )


def _kinds(place: Around, rng: random.Random) -> Look:
    name = _near(place, rng)
    return _bash(
        f"for d in {place.before} {place.day}; do echo \"== $d\"; awk '{{print $3, $4}}' logs/$d/{name}.log | sort | uniq -c | sort -rn | head -12; done"
    )


def _pace(place: Around, rng: random.Random) -> Look:
    return _bash(f"cut -c10-14 logs/{place.day}/{_near(place, rng)}.log | uniq -c")


def _node_window(place: Around, rng: random.Random) -> Look:
    start = rng.choice(("23:00", "23:30", "22:30"))
    return _bash(f"grep -E '^time|,{rng.choice(NODES)},' metrics/{place.day}.csv | awk -F, '$1 >= \"{start}\" || $1 < \"03:00\"'")


def _hour_of_all(place: Around, rng: random.Random) -> Look:
    hour = rng.choice(("22", "23", "00", "01", "02"))
    return _bash(
        f"awk -F, '$1 ~ /^{hour}/ {{c[$2] += $3; m[$2] += $4; n[$2]++; if ($5 > d[$2]) d[$2] = $5}} END {{for (k in n) printf \"%s cpu=%.0f mem=%.0f disk=%d\\n\", k, c[k] / n[k], m[k] / n[k], d[k]}}' metrics/{place.day}.csv | sort"
    )


def _busiest(place: Around, rng: random.Random) -> Look:
    column, name = rng.choice(((3, "cpu"), (4, "mem"), (7, "load"), (6, "net")))
    return _bash(f"echo '# {name}'; sort -t, -k{column},{column}nr metrics/{place.day}.csv | head -{rng.choice((25, 35))}")


def _all_ends(place: Around, rng: random.Random) -> Look:
    layer = rng.choice(("ods", "dwd", "dws", "ads"))
    return _bash(
        f'for f in logs/{rng.choice((place.day, place.before))}/{layer}_*.log; do echo "$(basename $f .log) $(head -1 $f | cut -c10-17) $(tail -1 $f | cut -c10-)"; done'
    )


def _window(place: Around, rng: random.Random) -> Look:
    name = _near(place, rng)
    return _bash(
        f"awk 'NR > 1 && $3 == \"WARN\" {{print NR}}' logs/{place.day}/{name}.log | head -3; sed -n '{rng.choice((30, 50, 60))},+{rng.choice((40, 50))}p' logs/{place.day}/{name}.log"
    )


def _memory(place: Around, rng: random.Random) -> Look:
    return "grep", {
        "pattern": rng.choice(("spilled", "HeartbeatReceiver", r"free: 9\d\d\.", r"\([6-8]\d\.\d MiB\)")),
        "path": f"logs/{place.day}",
        "glob": f"{rng.choice(('ods', 'dwd', 'dws', 'ads'))}_*.log",
    }


def _on_node(place: Around, rng: random.Random) -> Look:
    return _bash(
        f"grep -n 'on {rng.choice(NODES)}' logs/{place.day}/{_near(place, rng)}.log logs/{place.day}/{rng.choice(place.beside)}.log | cut -c1-190"
    )


def _recent_runs(place: Around, rng: random.Random) -> Look:
    return _history(
        f"SELECT day, planned, started, late_min, minutes, status, rows_in, rows_out, node FROM runs WHERE job = '{_near(place, rng)}' ORDER BY day DESC LIMIT {rng.choice((14, 21, 30))}"
    )


def _weekdays(place: Around, rng: random.Random) -> Look:
    return _history(
        f"SELECT strftime('%w', day) AS weekday, count(*) AS runs, round(avg(minutes), 1) AS minutes, round(avg(late_min), 1) AS late, round(avg(rows_in)) AS rows FROM runs WHERE job = '{_near(place, rng)}' GROUP BY weekday"
    )


def _where_it_ran(place: Around, rng: random.Random) -> Look:
    return _history(
        f"SELECT node, count(*) AS runs, round(avg(minutes), 1) AS mean, max(minutes) AS worst FROM runs WHERE job = '{_near(place, rng)}' GROUP BY node ORDER BY mean DESC"
    )


def _same_night(place: Around, rng: random.Random) -> Look:
    columns = rng.choice(
        (
            "job, planned, started, late_min, minutes, status",
            "job, rows_in, rows_out, round(100.0 * rows_out / rows_in, 2) AS kept",
        )
    )
    return _history(f"SELECT {columns} FROM runs WHERE day = '{rng.choice((place.day, place.before))}' ORDER BY started")


def _partitions(place: Around, rng: random.Random) -> Look:
    query = f"SELECT day, batch, rows, written_at, writer FROM partitions WHERE job = '{rng.choice((*place.above, *place.beside))}' ORDER BY day, batch"
    return "sql", {"database": "lake.sqlite", "query": query}


def _settings(place: Around, rng: random.Random) -> Look:
    name = rng.choice((*place.above, *place.beside))
    return _bash(f"cat conf/{place.job}.toml; diff conf/{place.job}.toml conf/{name}.toml || true")


def _beside(place: Around, rng: random.Random) -> Look:
    return _bash(
        f"grep -vE 'BlockManagerInfo|MemoryStore' logs/{place.day}/{rng.choice(place.beside)}.log | tail -{rng.choice((40, 60))}"
    )


def _night_before(place: Around, rng: random.Random) -> Look:
    return "read", {
        "path": f"logs/{place.before}/{_near(place, rng)}.log",
        "offset": rng.choice((1, 11, 31, 51)),
        "limit": rng.choice((50, 70, 90)),
    }


_MAKERS: tuple[Callable[[Around, random.Random], Look], ...] = (
    _end_of_log, _part_of_log, _warnings, _slowest, _by_node, _kinds, _pace, _node_window, _hour_of_all, _busiest, _all_ends, _window,
    _memory, _on_node, _recent_runs, _weekdays, _where_it_ran, _same_night, _partitions, _settings, _beside, _night_before, _part_of_log,
    _window, _warnings,
)  # fmt: skip

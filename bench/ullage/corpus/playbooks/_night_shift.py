"""Generates the batch platform of ``night_shift_zh`` night by night: logs, node figures, arrivals, runs and the lake's tables."""

from __future__ import annotations

import json
import random
import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path

JOBS: dict[str, tuple[str, tuple[str, ...]]] = {
    "ods_orders": ("订单落地", ()),
    "ods_users": ("用户落地", ()),
    "ods_clicks": ("点击流落地", ()),
    "ods_stock": ("库存落地", ()),
    "ods_partner": ("合作方文件落地", ()),
    "dim_users": ("用户维度", ("ods_users",)),
    "dwd_orders": ("订单明细", ("ods_orders", "ods_users")),
    "dwd_clicks": ("点击明细", ("ods_clicks", "ods_users")),
    "dwd_stock": ("库存明细", ("ods_stock",)),
    "dws_shop": ("门店汇总", ("dwd_orders", "dwd_stock")),
    "dws_user": ("用户汇总", ("dwd_orders", "dim_users")),
    "dws_flow": ("流量汇总", ("dwd_clicks", "dim_users")),
    "ads_board": ("经营看板", ("dws_shop", "dws_user")),
    "ads_risk": ("风控名单", ("dws_user", "dwd_clicks")),
    "ads_push": ("推送人群", ("dws_user", "dws_flow")),
    "dwd_partner": ("合作方明细", ("ods_partner",)),
    "dws_settle": ("结算汇总", ("dwd_orders", "dwd_partner")),
    "ads_settle": ("结算对账单", ("dws_settle",)),
}
PLANS = {job: 5 + 9 * number for number, job in enumerate(JOBS)} | {"dwd_partner": 126, "dws_settle": 138, "ads_settle": 150}
"""Minutes after midnight at which a job is meant to start; that of ``ods_partner`` follows the agreed time."""
NODES = tuple(f"n{n:02d}" for n in range(1, 15))
APPEND = "dwd_orders"
"""The one job whose second run doubles a partition."""
HISTORY = 60
LOGGED = 3
"""Days before the first night of which there are runs, and nights of which there are logs."""
STILL = 178
"""Minutes after midnight at which the log of a job that is still at work ends."""
STEPS = 60
"""Five-minute steps of the node figures: 22:00 to 02:55."""
TASKS_A_STAGE = 24


@dataclass(frozen=True, slots=True)
class Trouble:
    """What goes wrong with a job in a night: lines that its log holds on the way, how it ends, what heals it.

    ``waits`` stand before the first task, ``lines`` are spread over the tasks; without ``error`` the job succeeds, unless it
    is ``stuck`` waiting. ``late`` are minutes behind the plan, ``heavier`` multiplies the tasks. A
    ``pace`` above 1 multiplies the seconds of a task: the job is still at work when the night's alerts come.
    """

    job: str
    night: int
    lines: tuple[str, ...] = ()
    waits: tuple[str, ...] = ()
    error: str = ""
    key: str = ""
    need: str = ""
    late: int = 0
    stuck: bool = False
    heavier: int = 1
    pace: int = 1


@dataclass(frozen=True, slots=True)
class Shape:
    """What is usual for a job: rows, minutes, tasks, milliseconds of a task."""

    rows: int
    minutes: int
    tasks: int
    task_ms: int


def shapes(rng: random.Random) -> dict[str, Shape]:
    """The usual size of every job."""
    made = {}
    for job in JOBS:
        tasks = rng.randrange(110, 190)
        made[job] = Shape(rng.randrange(300_000, 8_000_000), 1 + tasks * 3 // 60, tasks, rng.randrange(500, 2600))
    return made


def nights(first: date, count: int) -> list[str]:
    """The dates of all nights."""
    return [str(first + timedelta(days=n)) for n in range(count)]


def settings(rng: random.Random, plans: dict[str, int], threshold: str) -> dict[str, str]:
    """Settings of each job as a small TOML file."""
    made = {}
    for job, (title, needs) in JOBS.items():
        queue = "prime" if job in ("ads_board", "ads_risk") else "night"
        late = threshold if job == "ads_board" else rng.choice((20, 25, 40))
        made[f"conf/{job}.toml"] = (
            f'title = "{title}"\nneeds = {json.dumps(list(needs))}\nplan = "{clock(plans[job])}"\nparallel = {rng.choice((6, 8))}\n'
            f'memory_gb = {rng.choice((4, 6, 8))}\nlate_after_min = {late}\nretries = {rng.randrange(1, 3)}\nqueue = "{queue}"\n'
            f'mode = "{"append" if job == APPEND else "overwrite"}"\n'
        )
    return made


def clock(minute: int) -> str:
    """Minutes after midnight as hours and minutes."""
    return f"{minute // 60 % 24:02d}:{minute % 60:02d}"


def minute_of(text: str) -> int:
    """The reverse of ``clock``."""
    hour, minute = text.split(":")
    return int(hour) * 60 + int(minute)


def log(rng: random.Random, day: str, start: int, shape: Shape, trouble: Trouble | None) -> str:
    """One job's log of one night; a job in trouble waits, tells of it on the way, or fails at two thirds."""
    stamp = day[2:].replace("-", "/")
    second, lines = start * 60, []
    for text in trouble.waits if trouble else ():
        lines.append(f"{stamp} {_seconds(second)} {text}")
        second += rng.randrange(176, 185)
    if trouble and trouble.stuck:
        return "\n".join(lines) + "\n"
    told = list(trouble.lines) if trouble else []
    total = shape.tasks * (trouble.heavier if trouble else 1)
    every = max(1, total * 2 // 3 // (len(told) + 1))
    pace = trouble.pace if trouble else 1
    for task in range(total):
        second += rng.randrange(1, 6) * pace
        if pace > 1 and second >= STILL * 60:
            break
        lines.append(f"{stamp} {_seconds(second)} {_line(rng, task, total, shape.task_ms)}")
        if told and task % every == every - 1:
            lines.append(f"{stamp} {_seconds(second)} {told.pop(0)}")
        if trouble and trouble.error and task >= total * 2 // 3 and not told:
            return "\n".join([*lines, *(f"{stamp} {_seconds(second)} {text}" for text in _failure(rng, trouble))]) + "\n"
    if pace > 1:
        return "\n".join(lines) + "\n"
    rows = _about(rng, shape.rows)
    end = f"INFO JobRunner: committed rows_in={rows} rows_out={rows - rng.randrange(rows // 400)} status=SUCCESS"
    return "\n".join([*lines, f"{stamp} {_seconds(second + 2)} {end}"]) + "\n"


def _seconds(second: int) -> str:
    return f"{second // 3600:02d}:{second // 60 % 60:02d}:{second % 60:02d}"


def _about(rng: random.Random, usual: int, spread: float = 0.06) -> int:
    return round(usual * rng.uniform(1 - spread, 1 + spread))


def _line(rng: random.Random, task: int, total: int, usual_ms: int) -> str:
    node, stage = rng.choice(NODES), task // TASKS_A_STAGE
    taken = round(usual_ms * rng.lognormvariate(0, 0.45))
    texts = (
        f"TaskSetManager: Finished task {task % TASKS_A_STAGE}.0 in stage {stage}.0 (TID {task}) in {taken} ms on {node} ({task + 1}/{total})",
        f"TaskSetManager: Starting task {task % TASKS_A_STAGE}.0 in stage {stage}.0 (TID {task}) on {node}, partition {task}, NODE_LOCAL",
        f"BlockManagerInfo: Added broadcast_{stage}_piece0 in memory on {node}:{rng.randrange(30000, 60000)} (size: {rng.randrange(9, 90)}.{rng.randrange(10)} KiB, free: {rng.randrange(900, 3000)}.0 MiB)",
        f"ShuffleBlockFetcherIterator: Getting {rng.randrange(3, 200)} ({rng.randrange(1, 90)}.{rng.randrange(10)} MiB) non-empty blocks including {rng.randrange(1, 9)} local from {node}",
        f"MemoryStore: Block rdd_{stage}_{task} stored as values in memory (estimated size {rng.randrange(1, 60)}.{rng.randrange(10)} MiB, free {rng.randrange(100, 900)}.{rng.randrange(10)} MiB)",
        f"FileOutputCommitter: Saved output of task 'attempt_{task:06d}_{stage}' to hdfs://lake/tmp/_temporary/0/task_{task:06d}",
        f"Executor: Running task {task % TASKS_A_STAGE}.0 in stage {stage}.0 (TID {task}) on {node}",
    )
    odd = (
        f"WARN HeartbeatReceiver: executor on {node} answered after {rng.randrange(1100, 4900)} ms",
        f"WARN TaskMemoryManager: spilled {rng.randrange(20, 300)} MiB to disk on {node}, stage {stage}",
    )
    return rng.choice(odd) if rng.random() < 0.035 else f"INFO {rng.choice(texts)}"


def _failure(rng: random.Random, trouble: Trouble) -> list[str]:
    frames = [f"\tat lake.{trouble.job}.Step{rng.randrange(1, 9)}.run(Step.scala:{rng.randrange(20, 300)})" for _ in range(7)]
    return [f"ERROR JobRunner: {trouble.error}", *frames, "ERROR JobRunner: giving up after retries, status=FAILED"]


def metrics(rng: random.Random, full_node: str = "") -> str:
    """Five-minute figures of every node for one night; the disk of ``full_node`` fills up."""
    disk = {node: rng.randrange(38, 70) for node in NODES}
    cpu = {node: rng.randrange(10, 60) for node in NODES}
    memory = {node: rng.randrange(35, 75) for node in NODES}
    rows = ["time,node,cpu,mem,disk,net_mb,load"]
    for step in range(STEPS):
        for node in NODES:
            cpu[node] = min(96, max(3, cpu[node] + rng.randrange(-9, 10)))
            memory[node] = min(91, max(24, memory[node] + rng.randrange(-3, 4)))
            used = min(100, 44 + step) if node == full_node else disk[node] + step // 30
            load = cpu[node] / 100 * 16 + rng.uniform(0, 1.5)
            rows.append(
                f"{clock(22 * 60 + step * 5)},{node},{cpu[node]},{memory[node]},{used},{cpu[node] * 7 + rng.randrange(60)},{load:.2f}"
            )
    return "\n".join(rows) + "\n"


def switch(rng: random.Random, day: str, rack: str = "", flaps: int = 0) -> str:
    """The log of the switches before and in a night; ``rack`` flaps before the first job starts."""
    lines = []
    for _ in range(26):
        minute = rng.randrange(20 * 60, 24 * 60)
        lines.append(
            f"{_seconds(minute * 60 + rng.randrange(60))} info rack={rng.choice(('A1', 'A2', 'D1', 'D4'))} lldp neighbour refreshed"
        )
    lines += [
        f"{_seconds(23 * 3600 + rng.randrange(900, 2700))} warn rack={rack} uplink eth{rng.randrange(4)} flap, down {rng.randrange(200, 900)} ms"
        for _ in range(flaps)
    ]
    return "\n".join(f"{date.fromisoformat(day) - timedelta(days=1)} {line}" for line in sorted(lines)) + "\n"


def arrival(rng: random.Random, day: str, agreed: str, around: str) -> str:
    """The four files of the partner on one day, as rows of the arrivals table."""
    last = minute_of(around)
    times = [*sorted(rng.randrange(last - 14, last - 2) for _ in range(3)), last - rng.randrange(0, 2)]
    names = ("detail", "refund", "fee", "manifest")
    return "".join(
        f"{day},{name}.csv,{rng.randrange(2, 90) * 10**6 + rng.randrange(10**6)},{agreed},{clock(at)}\n"
        for name, at in zip(names, times, strict=True)
    )


def partner_file(rng: random.Random, bad_line: int) -> str:
    """A file of the partner; from one line on some amounts carry a thousands separator."""
    rows = ["order_id,merchant,amount,currency,paid_at"]
    for number in range(2, bad_line + 240):
        amount = f"{rng.randrange(3, 900)}.{rng.randrange(100):02d}"
        if number == bad_line or (number > bad_line and rng.random() < 0.05):
            amount = f'"{rng.randrange(1, 9)},{rng.randrange(1000):03d}.{rng.randrange(100):02d}"'
        rows.append(f"{rng.randrange(10**9, 10**10)},m{rng.randrange(100, 999)},{amount},CNY,{_seconds(rng.randrange(86_000))}")
    return "\n".join(rows) + "\n"


def make_runs(path: Path, rng: random.Random, first: date, plans: dict[str, int], usual: dict[str, Shape], behind: int) -> None:
    """Sixty days of runs; in the last five the partner's job starts ``behind`` minutes late, and the board's delay is never far from its alarm."""
    with sqlite3.connect(path) as db:
        db.execute(
            "CREATE TABLE runs (job TEXT, day TEXT, attempt INTEGER, planned TEXT, started TEXT, late_min INTEGER, minutes INTEGER, "
            "status TEXT, rows_in INTEGER, rows_out INTEGER, node TEXT)"
        )
        for offset in range(-HISTORY, 0):
            for job in JOBS:
                late = _usual_delay(rng, job, offset, behind)
                _insert(db, rng, job, str(first + timedelta(days=offset)), plans[job], late, usual[job], failed=False)
    db.close()


def _usual_delay(rng: random.Random, job: str, offset: int, behind: int) -> int:
    if job == "ods_partner" and offset >= -5:
        return behind + rng.randrange(4)
    if job == "ads_board":
        return rng.choice((6, 9, 14, 17, 22, 26, 28, 31, 34, 37))
    return rng.choice((0, 0, 0, 1, 1, 2, 4))


def add_night(path: Path, rng: random.Random, day: str, plans: dict[str, int], usual: dict[str, Shape], troubles: dict[str, Trouble]) -> None:  # fmt: skip
    """One night's runs; jobs that still wait have no row."""
    with sqlite3.connect(path) as db:
        for job, shape in usual.items():
            trouble = troubles.get(job)
            if trouble and (trouble.stuck or trouble.pace > 1):
                continue
            late = trouble.late if trouble else rng.choice((0, 0, 1, 2))
            heavier = trouble.heavier if trouble else 1
            taken = Shape(shape.rows, shape.minutes * heavier, shape.tasks, shape.task_ms)
            _insert(db, rng, job, day, plans[job], late, taken, failed=bool(trouble and trouble.error))
    db.close()


def _insert(db: sqlite3.Connection, rng: random.Random, job: str, day: str, plan: int, late: int, shape: Shape, *, failed: bool) -> None:  # fmt: skip
    rows = _about(rng, shape.rows)
    out = 0 if failed else rows - rng.randrange(rows // 400)
    status = "FAILED" if failed else "SUCCESS"
    db.execute(
        "INSERT INTO runs VALUES (?,?,?,?,?,?,?,?,?,?,?)",
        (job, day, 1, clock(plan), clock(plan + late), late, max(3, _about(rng, shape.minutes, 0.12)), status, rows, out,
         rng.choice(NODES)),
    )  # fmt: skip


def make_lake(path: Path, rng: random.Random, days: list[str], usual: dict[str, Shape], hot_key: str) -> None:
    """Partitions, hourly rows and accounts; one account belongs to the load test."""
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE partitions (job TEXT, day TEXT, batch INTEGER, rows INTEGER, written_at TEXT, writer TEXT)")
        db.execute("CREATE TABLE hourly (job TEXT, day TEXT, hour INTEGER, rows INTEGER)")
        db.execute("CREATE TABLE accounts (id INTEGER, kind TEXT, opened TEXT, note TEXT)")
        for day in days:
            fill_lake(db, rng, day, usual, ())
        for _ in range(180):
            opened = f"20{rng.randrange(19, 26)}-{rng.randrange(1, 13):02d}-{rng.randrange(1, 29):02d}"
            db.execute("INSERT INTO accounts VALUES (?,?,?,?)", (rng.randrange(10**7, 10**8), "customer", opened, ""))
        db.execute("INSERT INTO accounts VALUES (?,?,?,?)", (int(hot_key), "test", "2025-11-03", "压测脚本使用，由性能组申请"))
    db.close()


def fill_lake(db: sqlite3.Connection, rng: random.Random, day: str, usual: dict[str, Shape], empty: Iterable[int]) -> None:
    """One day's partitions and hourly rows; ``empty`` are hours in which the flow job found nothing."""
    for job in JOBS:
        at = f"{day} {clock(PLANS[job] + usual[job].minutes)}"
        db.execute("INSERT INTO partitions VALUES (?,?,?,?,?,?)", (job, day, 1, _about(rng, usual[job].rows), at, "scheduler"))
    for job in ("dwd_clicks", "dws_flow"):
        for hour in range(24):
            rows = 0 if job == "dws_flow" and hour in empty else _about(rng, usual[job].rows // 24, 0.4)
            db.execute("INSERT INTO hourly VALUES (?,?,?,?)", (job, day, hour, rows))

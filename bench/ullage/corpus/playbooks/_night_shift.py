"""Generates the batch platform of ``night_shift_zh``: jobs, their settings, logs and runs of six nights, node metrics."""

from __future__ import annotations

import json
import random
import sqlite3
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path

JOBS: dict[str, tuple[str, tuple[str, ...]]] = {
    "ods_orders": ("订单落地", ()),
    "ods_users": ("用户落地", ()),
    "ods_partner": ("合作方文件落地", ()),
    "ods_clicks": ("点击流落地", ()),
    "ods_stock": ("库存落地", ()),
    "dwd_orders": ("订单明细", ("ods_orders", "ods_users")),
    "dwd_clicks": ("点击明细", ("ods_clicks", "ods_users")),
    "dwd_partner": ("合作方明细", ("ods_partner",)),
    "dwd_stock": ("库存明细", ("ods_stock",)),
    "dim_users": ("用户维度", ("ods_users",)),
    "dws_shop": ("门店汇总", ("dwd_orders", "dwd_stock")),
    "dws_user": ("用户汇总", ("dwd_orders", "dim_users")),
    "dws_settle": ("结算汇总", ("dwd_orders", "dwd_partner")),
    "dws_flow": ("流量汇总", ("dwd_clicks", "dim_users")),
    "ads_board": ("经营看板", ("dws_shop", "dws_user")),
    "ads_settle": ("结算对账单", ("dws_settle",)),
    "ads_push": ("推送人群", ("dws_user", "dws_flow")),
    "ads_risk": ("风控名单", ("dws_user", "dwd_clicks")),
}
NODES = tuple(f"n{n:02d}" for n in range(1, 15))
CLASSES = (
    "TaskSetManager",
    "BlockManagerInfo",
    "DAGScheduler",
    "ShuffleBlockFetcher",
    "MemoryStore",
    "CodeGenerator",
    "FileOutputCommitter",
    "Executor",
)
NIGHTS = 6


@dataclass(frozen=True, slots=True)
class Fault:
    """A job fails from a night on until its settings hold ``need``; ``error`` is what its log then says."""

    job: str
    night: int
    key: str
    need: str
    error: str


def nights(first: date) -> list[str]:
    """The dates of all nights."""
    return [str(first + timedelta(days=n)) for n in range(NIGHTS)]


def settings(rng: random.Random) -> dict[str, str]:
    """Settings of each job as a small TOML file."""
    made = {}
    for job, (title, needs) in JOBS.items():
        made[f"conf/{job}.toml"] = (
            f'title = "{title}"\nneeds = {json.dumps(list(needs))}\nparallel = {rng.choice((4, 6, 8))}\nmemory_gb = {rng.choice((2, 4))}\n'
            f'late_after_min = {rng.choice((20, 30))}\nretries = {rng.randrange(1, 4)}\nqueue = "{rng.choice(("night", "night", "prime"))}"\n'
        )
    return made


def logs(rng: random.Random, dates: list[str], faults: list[Fault]) -> dict[str, str]:
    """One log a job and night."""
    made = {}
    for night, day in enumerate(dates):
        for number, job in enumerate(JOBS):
            fault = next((f for f in faults if f.job == job and f.night == night), None)
            made[f"logs/{day}/{job}.log"] = "\n".join(_log(rng, day, 5 + number * 9, fault)) + "\n"
    return made


def _log(rng: random.Random, day: str, minute: int, fault: Fault | None) -> list[str]:
    stamp = day[2:].replace("-", "/")
    second, lines, stage = minute * 60, [], 0
    total = rng.choice((40, 64, 96, 120))
    for task in range(total):
        second += rng.randrange(1, 7)
        stage += task % 24 == 23
        clock = f"{second // 3600:02d}:{second // 60 % 60:02d}:{second % 60:02d}"
        lines.append(f"{stamp} {clock} {_line(rng, stage, task, total)}")
        if fault and task == total * 2 // 3:
            return [*lines, *(f"{stamp} {clock} {text}" for text in _failure(rng, fault))]
    rows = rng.randrange(10**5, 10**7)
    return [
        *lines,
        f"{stamp} {clock} INFO JobRunner: committed rows_in={rows} rows_out={rows - rng.randrange(9000)} status=SUCCESS",
    ]


def _line(rng: random.Random, stage: int, task: int, total: int) -> str:
    node, kind = rng.choice(NODES), rng.choice(CLASSES)
    texts = {
        "TaskSetManager": f"Finished task {task}.0 in stage {stage}.0 (TID {task + stage * 7}) in {rng.randrange(80, 9000)} ms on {node} ({task + 1}/{total})",
        "BlockManagerInfo": f"Added broadcast_{stage}_piece0 in memory on {node}:{rng.randrange(30000, 60000)} (size: {rng.randrange(9, 900)}.{rng.randrange(10)} KiB, free: {rng.randrange(200, 3000)}.0 MiB)",
        "DAGScheduler": f"Submitting {rng.randrange(1, 12)} missing tasks from ShuffleMapStage {stage} (MapPartitionsRDD[{task}])",
        "ShuffleBlockFetcher": f"Getting {rng.randrange(3, 200)} ({rng.randrange(1, 90)}.{rng.randrange(10)} MiB) non-empty blocks including {rng.randrange(1, 9)} local from {node}",
        "MemoryStore": f"Block rdd_{stage}_{task} stored as values in memory (estimated size {rng.randrange(1, 60)}.{rng.randrange(10)} MiB, free {rng.randrange(100, 900)}.{rng.randrange(10)} MiB)",
        "CodeGenerator": f"Code generated in {rng.randrange(4, 90)}.{rng.randrange(10**5):05d} ms",
        "FileOutputCommitter": f"Saved output of task 'attempt_{task:06d}_{stage}' to hdfs://lake/tmp/_temporary/0/task_{task:06d}",
        "Executor": f"Running task {task}.0 in stage {stage}.0 on {node} (executor {rng.randrange(1, 15)})",
    }
    level = "WARN" if rng.random() < 0.06 else "INFO"
    return f"{level} {kind}: {texts[kind]}"


def _failure(rng: random.Random, fault: Fault) -> list[str]:
    frames = [f"\tat lake.{fault.job}.Step{rng.randrange(1, 9)}.run(Step.scala:{rng.randrange(20, 300)})" for _ in range(6)]
    return [f"ERROR JobRunner: {fault.error}", *frames, "ERROR JobRunner: giving up after retries, status=FAILED"]


def metrics(rng: random.Random, dates: list[str], full_node: str, full_night: int) -> dict[str, str]:
    """Five-minute figures of every node for each night; one node's disk fills up in one night."""
    made = {}
    for night, day in enumerate(dates):
        disk = {node: rng.randrange(38, 70) for node in NODES}
        rows = ["time,node,cpu,mem,disk,net_mb,load"]
        for step in range(60):
            clock = f"{step // 12:02d}:{step % 12 * 5:02d}"
            for node in NODES:
                grown = min(100, disk[node] + step) if (night, node) == (full_night, full_node) else disk[node]
                rows.append(
                    f"{clock},{node},{rng.randrange(4, 97)},{rng.randrange(30, 92)},{grown},{rng.randrange(1, 900)},{rng.randrange(0, 30)}.{rng.randrange(100):02d}"
                )
        made[f"metrics/{day}.csv"] = "\n".join(rows) + "\n"
    return made


def runs(path: Path, rng: random.Random, first: date, faults: list[Fault]) -> None:
    """Sixty days of runs before the first night, and the six nights as they stand in the morning."""
    with sqlite3.connect(path) as db:
        db.execute(
            "CREATE TABLE runs (job TEXT, day TEXT, attempt INTEGER, started TEXT, minutes INTEGER, status TEXT, rows_in INTEGER, rows_out INTEGER, node TEXT)"
        )
        for offset in range(-60, NIGHTS):
            for number, job in enumerate(JOBS):
                failed = any(f.job == job and f.night == offset for f in faults)
                rows = rng.randrange(10**5, 10**7)
                minutes = rng.randrange(6, 25)
                started = f"{(5 + number * 9) // 60:02d}:{(5 + number * 9) % 60:02d}"
                status = "FAILED" if failed else "SUCCESS"
                db.execute(
                    "INSERT INTO runs VALUES (?,?,?,?,?,?,?,?,?)",
                    (
                        job,
                        str(first + timedelta(days=offset)),
                        1,
                        started,
                        minutes,
                        status,
                        rows,
                        0 if failed else rows - rng.randrange(9000),
                        rng.choice(NODES),
                    ),
                )
    db.close()

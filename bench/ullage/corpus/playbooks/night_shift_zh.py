"""A week of night shifts on a batch platform, in Chinese, with English logs."""

from __future__ import annotations

import hashlib
import json
import random
import sqlite3
from datetime import UTC, date, datetime, time, timedelta

from ullage.corpus.playbooks import _night_looks, _night_shift
from ullage.corpus.playbooks._night_shift import JOBS, NODES, Trouble, minute_of
from ullage.corpus.recording import Playbook
from ullage.corpus.screenplay import Stage, data_file, filled, sections
from ullage.corpus.session import MINUTE
from ullage.corpus.workspace import Workspace

PEOPLE = ("周牧云", "冯采薇", "蒋知行", "韩雨桐", "邓北辰", "许清欢", "彭远山")
ALERTS = 12
NIGHTS = 6
DAY = 24 * 60 * MINUTE
EVENING, ALARM = 15 * 60 + 30, 19 * 60 + 4
"""Minutes of the day in UTC at which the first evening begins and a night's first alert comes: half past eleven and three in China."""
GLANCES = (17, 18)
"""Looks around before and after the job's own evidence is read."""
RELEASE = "library/发布-镜像.md"
"""The one document that names a night."""
TOGETHER = 0.1
"""Share of looks that are taken two at a time."""
ALERT_JOBS = (
    "ods_partner", "ods_clicks", "dwd_partner", "dwd_orders", "ads_board", "dwd_clicks",
    "dws_shop", "ads_risk", "ads_push", "dws_flow", "ads_settle", "ods_partner",
)  # fmt: skip


class NightShiftZh(Playbook):
    """Twelve alerts in six nights; some look alike and are not."""

    domain = "operations shift in Chinese"
    summary = "六个夜班、十二个告警：现象相似、原因不同，交接记录贯穿始终"
    language = "zh"
    project = "lake-night"
    split = "test"
    offers = ("bash", "read", "write", "edit", "grep", "sql", "search_documents", "open_document")

    def prepare(self, workspace: Workspace, rng: random.Random) -> dict[str, str]:
        """The manuals and tools; what is dated follows the session's clock and comes in ``play``."""
        values = _values(rng)
        parts = sections(data_file("night_shift_zh.files"))
        workspace.put({name: filled(text, values) for name, text in parts.items() if name != RELEASE})
        return values

    def play(self, stage: Stage) -> None:
        """Two alerts a night, each with a look around before it is judged."""
        platform = _Platform(stage)
        platform.build()
        stage.play("task")
        remarks, known = stage.notes("look_notes"), set[str]()
        for alert in range(1, ALERTS + 1):
            if alert % 2:
                platform.night((alert - 1) // 2)
            stage.play(f"alert_{alert}")
            self._look(stage, alert, GLANCES[0], remarks, known)
            stage.play(f"look_{alert}")
            self._look(stage, alert, GLANCES[1], remarks, known)
            stage.play(f"judged_{alert}")
        stage.play("week", "close")

    def _look(self, stage: Stage, alert: int, count: int, remarks: list[str], known: set[str]) -> None:
        """What one reads at three in the morning, with two remarks on the way."""
        values, night = stage.session.values, (alert + 1) // 2
        place = _night_looks.around(values[f"job_{alert}"], values[f"d{night}"], values[f"d{night - 1}"])
        looks = _night_looks.looks(place, stage.session.rng, count, known)
        steps = 0
        while looks:
            if steps in (1, count // 2):
                stage.session.say(remarks.pop(0))
            pair = 2 if len(looks) > 1 and stage.session.rng.random() < TOGETHER else 1
            stage.session.together([looks.pop(0) for _ in range(pair)])
            steps += 1


class _Platform:
    """The batch platform as the nights pass: each night's files appear when it comes."""

    def __init__(self, stage: Stage) -> None:
        self.session = stage.session
        self.workspace, self.rng, self.values = stage.session.workspace, stage.session.rng, stage.session.values
        self.usual = _night_shift.shapes(self.rng)
        self.plans = _night_shift.PLANS | {"ods_partner": minute_of(self.values["cut_old"]) + 2}

    def build(self) -> None:
        """The platform as the first evening finds it; names the nights by the session's clock."""
        clock = self.session.clock
        clock.now = clock.now // DAY * DAY + EVENING * MINUTE + clock.rng.randrange(9 * MINUTE)
        first = datetime.fromtimestamp(clock.now / 1000, UTC).date() + timedelta(days=1)
        self.values |= {f"d{n}": str(first + timedelta(days=n - 1)) for n in range(NIGHTS + 1)}
        self.workspace.put({RELEASE: filled(sections(data_file("night_shift_zh.files"))[RELEASE], self.values)})
        self.workspace.put(_night_shift.settings(self.rng, self.plans, self.values["threshold_old"]))
        behind = minute_of(self.values["cut_new"]) - minute_of(self.values["cut_old"]) + 1
        _night_shift.make_runs(self.workspace.path("runs.sqlite"), self.rng, first, self.plans, self.usual, behind)
        days = [str(first + timedelta(days=n)) for n in range(-_night_shift.LOGGED - 4, 0)]
        _night_shift.make_lake(self.workspace.path("lake.sqlite"), self.rng, days, self.usual, self.values["hot_key"])
        self._arrivals(first)
        for day in days[-_night_shift.LOGGED :]:
            self._files(day, {})
        self._nodes({})
        self._reruns([])
        self.workspace.stamp(clock.now - 60 * MINUTE)

    def _arrivals(self, first: date) -> None:
        rows = "day,file,bytes,agreed,arrived\n"
        for offset in range(-16, 0):
            around = self.values["cut_new"] if offset >= -5 else self.values["cut_old"]
            rows += _night_shift.arrival(self.rng, str(first + timedelta(days=offset)), self.values["cut_old"], around)
        self.workspace.put({"landing/arrivals.csv": rows})

    def night(self, number: int) -> None:
        """Let a night fall: the clock reaches its first alert, and all its files are there."""
        clock, values = self.session.clock, self.values
        day = values[f"d{number + 1}"]
        evening = datetime.combine(date.fromisoformat(values[f"d{number}"]), time(), UTC)
        clock.now = round(evening.timestamp() * 1000) + ALARM * MINUTE + clock.rng.randrange(8 * MINUTE)
        if number == 1:
            self.plans["ods_partner"] = minute_of(values["cut_new"]) + 2
        troubles = {t.job: t for t in _troubles(values, self.plans) if t.night == number}
        troubles |= {job: self._stuck(job, number, need) for job, need in _behind(troubles).items() if job not in troubles}
        self._files(day, troubles, number)
        _night_shift.add_night(self.workspace.path("runs.sqlite"), self.rng, day, self.plans, self.usual, troubles)
        self._landing(number, day)
        with sqlite3.connect(self.workspace.path("lake.sqlite")) as lake:
            _night_shift.fill_lake(lake, self.rng, day, self.usual, range(16, 24) if number == 4 else ())
            if number == 1:
                before = values["d1"]
                row = ("dwd_orders", before, 2, int(values["dup_rows"]), f"{before} 15:{self.rng.randrange(10, 59)}", "manual")
                lake.execute("INSERT INTO partitions VALUES (?,?,?,?,?,?)", row)
        lake.close()
        self._nodes({"full": number == 0, "drift": number == 3})
        self._reruns([t for t in _troubles(values, self.plans) if t.key])
        self.workspace.stamp(clock.now - 2 * MINUTE)

    def _stuck(self, job: str, number: int, need: str) -> Trouble:
        lines = tuple(
            f"INFO DependencyWaiter: {job} waits for {need}, next look in 180 s" for _ in range(self.rng.randrange(3, 9))
        )
        return Trouble(job, number, waits=lines, stuck=True)

    def _files(self, day: str, troubles: dict[str, Trouble], number: int = -1) -> None:
        values, files = self.values, {}
        for job, plan in self.plans.items():
            trouble = troubles.get(job)
            start = plan + (trouble.late if trouble and not trouble.waits else 0)
            files[f"logs/{day}/{job}.log"] = _night_shift.log(self.rng, day, start, self.usual[job], trouble)
        files[f"metrics/{day}.csv"] = _night_shift.metrics(self.rng, values["full_node"] if number == 0 else "")
        rack, flaps = (values["rack"], int(values["flaps"])) if number == 4 else ("", 0)
        files[f"switch/{day}.log"] = _night_shift.switch(self.rng, day, rack, flaps)
        self.workspace.put(files)

    def _landing(self, number: int, day: str) -> None:
        """What the partner sent: late in the first night, in time in the last, when its amounts cannot be read."""
        values, arrivals = self.values, self.workspace.path("landing/arrivals.csv")
        agreed = values["cut_old" if number == 0 else "cut_new"]
        around = _night_shift.clock(minute_of(values["cut_new"]) - (19 if number == NIGHTS - 1 else 0))
        text = arrivals.read_text(encoding="utf-8") + _night_shift.arrival(self.rng, day, agreed, around)
        self.workspace.put({"landing/arrivals.csv": text})
        if number == NIGHTS - 1:
            detail = _night_shift.partner_file(self.rng, int(values["bad_line"]))
            digest = hashlib.sha256(detail.encode()).hexdigest()
            self.workspace.put({f"landing/{day}/detail.csv": detail, f"landing/{day}/manifest.sha256": f"{digest}  detail.csv\n"})

    def _nodes(self, now: dict[str, bool]) -> None:
        """What ``tools/node.py`` will tell of the machines."""
        values, rng = self.values, self.rng
        state = {
            node: {
                "root": rng.randrange(21, 48),
                "data": 99 if now.get("full") and node == values["full_node"] else rng.randrange(40, 72),
                "offset": int(values["drift"]) if now.get("drift") and node == values["drift_node"] else rng.randrange(-1, 2),
                "ntp": values["ntp_old"] if node == values["drift_node"] else values["ntp"],
            }
            for node in NODES
        }
        freed = int(values["freed"])
        full = {
            "node": values["full_node"],
            "freed": freed,
            "debug": freed + rng.randrange(90, 140),
            "raw": rng.randrange(300, 420),
        }
        cert = {"risk-out": "expired", "board-out": "valid", "push-out": "valid"}
        text = json.dumps({"nodes": state, "full": full, "cert": cert}, ensure_ascii=False)
        self.workspace.put({"tools/.nodes.json": text + "\n"})

    def _reruns(self, troubles: list[Trouble]) -> None:
        """What ``tools/rerun.py`` asks of the settings, and how many rows a job usually has."""
        days = [self.values[f"d{n}"] for n in range(1, NIGHTS + 1)]
        faults = [{"job": t.job, "day": days[t.night], "key": t.key, "need": t.need, "error": t.error} for t in troubles]
        usual = {job: shape.rows for job, shape in self.usual.items()}
        self.workspace.put({"tools/.platform.json": json.dumps({"faults": faults, "rows": usual}, ensure_ascii=False) + "\n"})


def _behind(troubles: dict[str, Trouble]) -> dict[str, str]:
    """Jobs that cannot start because one that they need failed or waits, with what they wait for."""
    halted = {job for job, trouble in troubles.items() if trouble.error or trouble.stuck or trouble.pace > 1}
    found: dict[str, str] = {}
    for job, (_, needs) in JOBS.items():
        missing = next((need for need in needs if need in halted or need in found), None)
        if missing:
            found[job] = missing
    return found


def _troubles(values: dict[str, str], plans: dict[str, int]) -> list[Trouble]:
    v = values
    late = minute_of(v["cut_new"]) - plans["ods_partner"] + 3
    files = tuple(f"INFO FileWaiter: {n // 8} of 4 partner files present, next look in 180 s" for n in range(max(0, late // 3)))
    slow = tuple(f"WARN DiskBlockObjectWriter: 64 MiB to /data/tmp on {v['full_node']} took {19 + 4 * n} s" for n in range(7))
    hot = tuple(
        f"WARN ShuffleMapStage: partition 17 holds {n}% of the rows so far, largest key user_id={v['hot_key']}"
        for n in (38, 52, 61)
    )
    lease = tuple(
        f"WARN LeaseManager: lease of TID {14 + 9 * n} on {v['drift_node']} already expired when granted, task returned to the queue"
        for n in range(11)
    )
    pushing = tuple(f"INFO DependencyWaiter: ads_push waits for dws_flow, next look in 180 s ({n + 1})" for n in range(14))
    settling = tuple(f"INFO DependencyWaiter: ads_settle waits for dws_settle, next look in 180 s ({n + 1})" for n in range(9))
    board = int(v["board_late"])
    return [
        Trouble("ods_partner", 0, waits=files, late=late),
        Trouble("ods_clicks", 0, lines=slow, heavier=2, pace=12),
        Trouble("dwd_partner", 1, error=f"schema mismatch: unexpected column '{v['column']}' in partner file", key="columns", need=f"+{v['column']}"),
        Trouble("ads_board", 2, late=board),
        Trouble("dwd_clicks", 2, lines=hot, error="java.lang.OutOfMemoryError: GC overhead limit exceeded in ShuffleMapStage 3", key="parallel", need=v["parallel_need"]),
        Trouble("dws_shop", 3, lines=lease, heavier=2),
        Trouble("ads_risk", 3, error="javax.net.ssl.SSLHandshakeException: certificate expired, alias risk-out", key="cert", need=v["cert_need"]),
        Trouble("ads_push", 4, waits=pushing, stuck=True),
        Trouble("dws_flow", 4, error="row count 0 for partition hour=16..23, refusing to commit an incomplete day", key="zone", need="Asia/Shanghai"),
        Trouble("ads_settle", 5, waits=settling, stuck=True),
        Trouble("ods_partner", 5, error=f"unparsable amount at line {v['bad_line']} of detail.csv", key="parser", need=v["parser_need"]),
    ]  # fmt: skip


def _values(rng: random.Random) -> dict[str, str]:
    people = rng.sample(PEOPLE, 5)
    nodes = rng.sample(NODES, 3)
    parsers = rng.sample((2, 3, 4, 5), 2)
    return {f"job_{n}": job for n, job in enumerate(ALERT_JOBS, 1)} | {
        "lead": people[0],
        "second_old": people[1],
        "second_new": people[2],
        "biz": people[3],
        "owner_risk": people[4],
        "partner": rng.choice(("恒通支付", "远帆支付", "融合付")),
        "cut_old": rng.choice(("00:30", "00:40")),
        "cut_new": rng.choice(("01:20", "01:30", "01:40")),
        "full_node": nodes[0],
        "freed": str(rng.randrange(31, 88)),
        "column": rng.choice(("fee_rate", "channel_fee", "subsidy_amt")),
        "dup_rows": str(rng.randrange(11_000, 98_000)),
        "threshold_old": "30",
        "threshold_new": rng.choice(("45", "50", "60")),
        "board_late": str(rng.randrange(38, 43)),
        "parallel_need": rng.choice(("3", "4", "5")),
        "hot_key": str(rng.randrange(10**6, 10**7)),
        "salt": rng.choice(("16", "24", "32")),
        "cert_need": f"risk-out-{rng.randrange(2027, 2030)}",
        "drift_node": nodes[1],
        "calm_node": nodes[2],
        "drift": str(rng.randrange(40, 190)),
        "ntp": f"10.8.{rng.randrange(2, 60)}.{rng.randrange(2, 200)}",
        "ntp_old": f"10.3.{rng.randrange(2, 60)}.{rng.randrange(2, 200)}",
        "rack": rng.choice(("A3", "B2", "C1")),
        "flaps": str(rng.randrange(4, 19)),
        "parser_need": f"amount-v{parsers[0]}",
        "parser_no": f"amount-v{parsers[1]}",
        "image": f"2026.{rng.randrange(1, 9)}.{rng.randrange(1, 30)}",
        "bad_line": str(rng.randrange(1100, 9800)),
        "total_memory": str(rng.choice((96, 128, 160))),
        "board_old": "06:30",
        "board_new": rng.choice(("06:00", "06:10")),
        "ticket_1": f"LN-{rng.randrange(1000, 4000)}",
        "ticket_2": f"LN-{rng.randrange(4000, 9000)}",
    }

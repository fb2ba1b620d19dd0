"""A week of night shifts on a batch platform, in Chinese, with English logs."""

from __future__ import annotations

import json
import random
from datetime import date

from ullage.corpus.playbooks import _night_shift
from ullage.corpus.playbooks._night_shift import JOBS, NODES, Fault
from ullage.corpus.recording import Playbook
from ullage.corpus.screenplay import Stage, data_file, filled, sections
from ullage.corpus.workspace import Workspace

PEOPLE = ("周牧云", "冯采薇", "蒋知行", "韩雨桐", "邓北辰", "许清欢", "彭远山")
ALERTS = 12


class NightShiftZh(Playbook):
    """Twelve alerts in six nights; some look alike and are not."""

    domain = "operations shift in Chinese"
    summary = "六个夜班、十二个告警：现象相似、原因不同，交接记录贯穿始终"
    language = "zh"
    project = "lake-night"
    split = "test"
    offers = ("bash", "read", "write", "edit", "grep", "sql", "search_documents", "open_document")

    def prepare(self, workspace: Workspace, rng: random.Random) -> dict[str, str]:
        """Settings, logs and runs of six nights, figures of the nodes, manuals."""
        values, first = _values(rng)
        dates = _night_shift.nights(first)
        values |= {f"d{n}": day for n, day in enumerate(dates, 1)}
        faults = _faults(values)
        files = {name: filled(text, values) for name, text in sections(data_file("night_shift_zh.files")).items()}
        files |= _night_shift.settings(rng) | _night_shift.logs(rng, dates, faults)
        files |= _night_shift.metrics(rng, dates, values["full_node"], 0)
        described = [{"job": f.job, "day": dates[f.night], "key": f.key, "need": f.need, "error": f.error} for f in faults]
        files["tools/platform.json"] = json.dumps(described, ensure_ascii=False) + "\n"
        workspace.put(files)
        _night_shift.runs(workspace.path("runs.sqlite"), rng, first, faults)
        return values

    def play(self, stage: Stage) -> None:
        """Two alerts a night, each with a long look around before it is judged."""
        stage.play("task")
        notes = stage.notes("look_notes")
        for alert in range(1, ALERTS + 1):
            stage.play(f"alert_{alert}")
            self._look(stage, alert, notes)
            stage.play(f"judged_{alert}")
        stage.play("week", "close")

    def _look(self, stage: Stage, alert: int, notes: list[str]) -> None:
        """Logs of the job and of everything above it, nodes, history: what one reads at three in the morning."""
        session, values = stage.session, stage.session.values
        job, day = values[f"job_{alert}"], values[f"d{(alert + 1) // 2}"]
        above = _above(job) or [name for name in JOBS if name.startswith("ods")]
        session.call("bash", command=f"python tools/graph.py {job}; tail -36 logs/{day}/{job}.log")
        session.say(notes.pop(0))
        looks = [f"grep -nE 'WARN|ERROR' logs/{day}/{job}.log | head -16; echo ...; sed -n '1,26p' logs/{day}/{job}.log"]
        looks += [f"tail -36 logs/{day}/{name}.log" for name in above[:5]]
        looks += [
            f"grep -E 'TaskSetManager' logs/{day}/{name}.log | sort -t' ' -k14,14nr | head -32" for name in [job, *above[:2]]
        ]
        nodes = session.rng.sample(NODES, 6)
        looks += [f"grep ',{node},' metrics/{day}.csv | sed -n '{session.rng.randrange(1, 12)},+68p'" for node in nodes]
        looks += [
            f"awk -F, '$1 ~ /^0{hour}/ {{c[$2] += $3; m[$2] += $4; if ($5 > d[$2]) d[$2] = $5; n[$2]++}} END {{for (k in n) printf \"%s cpu=%.0f mem=%.0f disk=%d\\n\", k, c[k] / n[k], m[k] / n[k], d[k]}}' metrics/{day}.csv | sort"
            for hour in (0, 1, 2, 3)
        ]
        looks += [f"grep -hn '{node}' logs/{day}/{job}.log | head -34" for node in nodes[:4]]
        beside = session.rng.sample([name for name in JOBS if name != job and name not in above], 7)
        looks += [f"tail -32 logs/{day}/{name}.log" for name in beside]
        for number, command in enumerate(looks):
            if number == 11:
                session.say(notes.pop(0))
            session.call("bash", command=command)
        for name in [job, *above][:4]:
            query = f"SELECT day, attempt, started, minutes, status, rows_in, rows_out, node FROM runs WHERE job = '{name}' AND day <= '{day}' ORDER BY day DESC LIMIT 44"
            session.call("sql", database="runs.sqlite", query=query)
        session.call(
            "sql",
            database="runs.sqlite",
            query=f"SELECT job, count(*) AS runs, avg(minutes) AS mean, max(minutes) AS worst, sum(status = 'FAILED') AS failed FROM runs WHERE day < '{day}' GROUP BY job ORDER BY job",
        )


def _above(job: str) -> list[str]:
    found: dict[str, None] = {}
    for need in JOBS[job][1]:
        found[need] = None
        found |= dict.fromkeys(_above(need))
    return list(found)


def _faults(values: dict[str, str]) -> list[Fault]:
    column, zone = values["column"], values["zone_need"]
    return [
        Fault("dwd_partner", 1, "columns", f"+{column}", f"schema mismatch: unexpected column '{column}' in partner file"),
        Fault(
            "dws_user",
            2,
            "parallel",
            values["parallel_need"],
            "java.lang.OutOfMemoryError: GC overhead limit exceeded in ShuffleMapStage 3",
        ),
        Fault(
            "ads_risk", 3, "cert", values["cert_need"], "javax.net.ssl.SSLHandshakeException: certificate expired, alias risk-out"
        ),
        Fault("dws_flow", 4, "zone", zone, "row count 0 for partition hour=16..23, refusing to commit an incomplete day"),
        Fault(
            "ods_partner",
            5,
            "parser",
            values["parser_need"],
            f"unparsable amount at line {values['bad_line']}: thousands separator",
        ),
    ]


def _values(rng: random.Random) -> tuple[dict[str, str], date]:
    people = rng.sample(PEOPLE, 5)
    first = date(2026, 1, 5 + rng.randrange(0, 14))
    jobs = (
        "ods_partner",
        "ods_clicks",
        "dwd_partner",
        "dwd_orders",
        "ads_board",
        "dws_user",
        "dws_shop",
        "ads_risk",
        "ads_push",
        "dws_flow",
        "ads_settle",
        "ods_partner",
    )
    values = {f"job_{n}": job for n, job in enumerate(jobs, 1)}
    return values | {
        "lead": people[0],
        "second_old": people[1],
        "second_new": people[2],
        "biz": people[3],
        "owner_risk": people[4],
        "partner": rng.choice(("恒通支付", "远帆支付", "融合付")),
        "cut_old": rng.choice(("00:30", "00:40")),
        "cut_new": rng.choice(("01:20", "01:30", "01:40")),
        "full_node": rng.choice(NODES),
        "freed": str(rng.randrange(31, 88)),
        "column": rng.choice(("fee_rate", "channel_fee", "subsidy_amt")),
        "dup_rows": str(rng.randrange(11_000, 98_000)),
        "threshold_old": "30",
        "threshold_new": rng.choice(("45", "50", "60")),
        "parallel_need": rng.choice(("3", "5")),
        "hot_key": str(rng.randrange(10**6, 10**7)),
        "salt": rng.choice(("16", "24", "32")),
        "cert_need": f"risk-out-{rng.randrange(2027, 2030)}",
        "drift_node": rng.choice(NODES),
        "drift": str(rng.randrange(40, 190)),
        "ntp": f"10.8.{rng.randrange(2, 60)}.{rng.randrange(2, 200)}",
        "zone_need": "Asia/Shanghai",
        "rack": rng.choice(("A3", "B2", "C1")),
        "flaps": str(rng.randrange(4, 19)),
        "parser_need": f"amount-v{rng.randrange(2, 5)}",
        "bad_line": str(rng.randrange(1100, 9800)),
        "total_memory": str(rng.choice((96, 128, 160))),
        "board_old": "06:30",
        "board_new": rng.choice(("06:00", "06:10")),
        "ticket_1": f"LN-{rng.randrange(1000, 4000)}",
        "ticket_2": f"LN-{rng.randrange(4000, 9000)}",
    }, first

"""An incident with logs: an evening without checkout, and the report about it."""

from __future__ import annotations

import random
import re

from ullage.corpus.drawing import bars
from ullage.corpus.playbooks import _outage, _outage_papers
from ullage.corpus.recording import EPOCH_MS, Playbook
from ullage.corpus.screenplay import Stage, data_file, filled, sections
from ullage.corpus.workspace import Workspace

ROLES = ("Marta Lindqvist", "Joel Kimani", "Sun-hee Park", "Anders Nygaard", "Priya Raman", "Oskar Weiss", "Fatima Belkacem")
SERVICES = ("gateway/access", "checkout/checkout", "cart/cart", "payment/payment", "inventory/inventory", "notifier/notifier")


class CheckoutOutage(Playbook):
    """A lost digit in a pool size, two wrong suspects, a severity that is raised, and numbers that are corrected."""

    domain = "incident with logs"
    summary = "checkout answers 503 for an hour; deploy and provider are cleared; the pool size lost a digit"
    project = "incident"
    split = "test"
    week = 0
    offers = ("bash", "read", "write", "edit", "grep", "sql", "search_documents", "open_document")

    def prepare(self, workspace: Workspace, rng: random.Random) -> dict[str, str]:
        """Logs, settings with history, orders, runbooks, and a chart."""
        values = _values(rng)
        evening = _outage.Evening(
            rng=rng, day=_outage.utc(values["day"]), begins=int(values["minute_begin"]), ends=int(values["minute_end"]),
            pool=int(values["pool"]), wrong_pool=int(values["wrong_pool"]), provider=values["provider"],
        )  # fmt: skip
        files = {name: filled(text, values) for name, text in sections(data_file("checkout_outage.files")).items()}
        before = _outage.settings(rng, evening.pool)
        _history(workspace, before, values)
        workspace.put(files | _outage.build(evening, 5500) | {"settings-bot.log": _outage_papers.bot_log(rng, values)})
        counts = _outage.orders(workspace.path("orders.sqlite"), evening, lambda minute: 6 if evening.ill(minute) else 5)
        heights = [60 + rng.randrange(30) if evening.ill(m) else 4 + rng.randrange(5) for m in range(0, 118, 3)]
        workspace.path("latency.png").write_bytes(bars(heights))
        return values | {key: str(count) for key, count in counts.items()}

    def play(self, stage: Stage) -> None:
        """From the first look at the logs to the report that the board receives."""
        stage.play("task", "survey")
        self._levels(stage)
        stage.play("deploy_suspect")
        self._minutes(stage)
        stage.play("rollback", "provider", "pool")
        self._requests(stage)
        self._failing(stage)
        stage.play("settings", "retry", "review_gap", "correction")
        stage.play("orders")
        self._markets(stage)
        stage.play("orders_end", "duplicates", "report", "severity", "actions", "rehearsal", "review", "sweep")
        self._sweep(stage)
        stage.play("sweep_end", "care")
        self._customers(stage)
        stage.play("care_end")
        values, rng = stage.session.values, stage.session.rng
        stage.session.workspace.put({"care-tickets.csv": _outage_papers.tickets(rng, values)})
        stage.play("tickets", "came_back", "partner", "morning", "shorten", "close")

    def _levels(self, stage: Stage) -> None:
        """The head of every log, before anything is believed."""
        for name in SERVICES:
            stage.session.call(
                "bash", command=f"wc -l logs/{name}.log; head -12 logs/{name}.log; echo ...; tail -6 logs/{name}.log"
            )
        stage.session.together([("bash", {"command": f"head -20 logs/db/{name}.log"}) for name in ("pgbouncer", "postgres")])

    def _minutes(self, stage: Stage) -> None:
        """Answers a minute, around the deploy first and then for the rest of the evening."""
        day = stage.session.values["access_day"]
        for pattern in ("18:4[5-9]|18:5[0-9]|19:0[0-9]", "19:[1-5][0-9]|20:0[0-9]|20:1[0-4]"):
            command = f'grep -E \'\\[{day}:({pattern}):\' logs/gateway/access.log | grep checkout | awk \'{{split($4, t, ":"); k = t[2] ":" t[3] " " $9; n[k]++}} END {{for (k in n) print k, n[k]}}\' | sort'
            stage.session.call("bash", command=command)

    def _requests(self, stage: Stage) -> None:
        """Follow failing requests through all services: taken from what the log really shows."""
        output = stage.session.call(
            "bash", command="grep 'acquire timed out' logs/checkout/checkout.log | awk 'NR % 66 == 5' | head -24"
        )
        for request in re.findall(r'"req":"([0-9a-f]{12})"', output):
            stage.session.call("bash", command=f"grep -rh {request} logs | sort")
        stage.session.call("grep", pattern="cl_waiting [1-9]", path="logs/db/pgbouncer.log")

    def _failing(self, stage: Stage) -> None:
        """Raw lines of the first failing minutes."""
        notes = stage.notes("failing_notes")
        first = int(stage.session.values["minute_begin"])
        day = stage.session.values["access_day"]
        for number, minute in enumerate(range(first, first + 36, 6)):
            if number % 2 == 1:
                stage.session.say(notes.pop(0))
            clock = _clock(minute)[:5]
            stage.session.call(
                "bash",
                command=f"grep -F '[{day}:{clock}:' logs/gateway/access.log | grep -F ' 503 ' | head -12; grep -F 'T{clock}:' logs/checkout/checkout.log | grep -vF begin | head -10",
            )

    def _sweep(self, stage: Stage) -> None:
        """Every log that nobody has looked into, whole, in windows of about half an hour."""
        notes = stage.notes("sweep_notes")
        halves = ("18:[345]", "19:[012]", "19:[345]", "20:[0123]")
        tens = ("18:[34]", "18:5", "19:[012]", "19:[345]", "20:0", "20:[123]")
        for name, before, windows in (
            ("inventory/inventory", "-A4 '^[0-9-]+T", halves),
            ("notifier/notifier", "'^[0-9-]+T", halves),
            ("db/postgres", "'^[0-9-]+ ", halves),
            ("payment/payment", "'^[0-9-]+ ", tens),
        ):
            for number, window in enumerate(windows):
                if number in (0, 2):
                    stage.session.say(notes.pop(0))
                stage.session.call("bash", command=f"grep -hE {before}{window}' logs/{name}.log | cut -c12-130")

    def _customers(self, stage: Stage) -> None:
        """The history of the customers who tried most often."""
        query = "SELECT customer, count(*) AS tries, sum(attempt_of IS NULL) AS own FROM orders WHERE status = 'failed' GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 14"
        output = stage.session.call("sql", database="orders.sqlite", query=query)
        for customer in re.findall(r"^(k-\d+)", output, re.MULTILINE)[:12]:
            stage.session.call(
                "sql",
                database="orders.sqlite",
                query=f"SELECT o.id, o.placed, o.status, o.total, o.attempt_of, m.template, m.sent FROM orders o LEFT JOIN mails m ON m.order_id = o.id WHERE o.customer = '{customer}' ORDER BY o.placed",
            )
        stage.session.values["eager"], stage.session.values["tries"] = re.findall(r"^(k-\d+) +(\d+)", output, re.MULTILINE)[0]

    def _markets(self, stage: Stage) -> None:
        """Failed orders by market and quarter of an hour."""
        query = "SELECT market, substr(placed, 12, 4) || '0' AS ten_minutes, status, count(*) AS orders, sum(total) AS minor FROM orders GROUP BY 1, 2, 3 ORDER BY 1, 2, 3"
        stage.session.call("sql", database="orders.sqlite", query=query)
        for start in (0, 60):
            query = f"SELECT id, customer, market, placed, total, attempt_of FROM orders WHERE status = 'failed' ORDER BY placed, id LIMIT 60 OFFSET {start}"
            stage.session.call("sql", database="orders.sqlite", query=query)


def _clock(minute: float) -> str:
    whole = 18 * 60 + 30 + int(minute)
    return f"{whole // 60:02d}:{whole % 60:02d}:{int(minute * 60) % 60:02d}"


def _values(rng: random.Random) -> dict[str, str]:
    begin = rng.randrange(31, 39)
    end = begin + rng.randrange(63, 72)
    pool = rng.choice((40, 50, 60, 80))
    build = rng.randrange(300, 900)
    day = f"2026-02-{rng.randrange(19, 28)}"
    revision = rng.randrange(4000, 6900)
    people = rng.sample(ROLES, 5)
    return {
        "incident": f"INC-{rng.randrange(2100, 9800)}",
        "day": day,
        "access_day": f"{day[8:]}/Feb/2026",
        "minute_begin": str(begin),
        "minute_end": str(end),
        "begin": _clock(begin)[:5],
        "end": _clock(end)[:5],
        "minutes": str(end - begin),
        "page": _clock(begin + 8)[:5],
        "page_time": _clock(begin + 8.2),
        "deploy_time": _clock(begin - 15.6),
        "settings_time": _clock(begin),
        "rollback_time": _clock(begin + 34.3),
        "fixed_time": _clock(end),
        **{f"chat_{n}": _clock(begin + m) for n, m in enumerate((11.4, 17.9, 27.2, 49.1, 57.6, 92.5), 1)},
        "pool": str(pool),
        "wrong_pool": str(pool // 10),
        "build_old": f"4.{build}.2",
        "build_new": f"4.{build + 1}.0",
        "settings_rev": f"r{revision}",
        "before_rev": f"r{revision - 1}",
        "fix_rev": f"r{rng.randrange(7000, 9900)}",
        "provider": rng.choice(("paynord", "cardway", "mintpay")),
        "provider_from": _clock(begin + 26)[:5],
        "provider_to": _clock(begin + 58)[:5],
        "oncall": people[0],
        "second": people[1],
        "lead_old": people[2],
        "lead_new": people[3],
        "db_owner": people[4],
        "max_conn": str(rng.choice((100, 120, 150))),
        "reserved_conn": str(rng.choice((6, 8, 10))),
        "budget": str(rng.choice((25, 30, 45))),
        "old_incident": f"INC-{rng.randrange(900, 1900)}",
        "board": rng.choice(("risk board", "platform council", "audit committee")),
        "sla": rng.choice(("two", "three", "five")),
        "date_old": rng.choice(("27 April", "29 April", "30 April")),
        "date_new": rng.choice(("11 May", "15 May", "18 May")),
        "cart_date": rng.choice(("23 April", "24 April", "28 April")),
    } | _outside(rng, begin)


def _outside(rng: random.Random, begin: int) -> dict[str, str]:
    """What others bring into the story after the logs have been read."""
    return {
        "partner": rng.choice(("Bergwald Living", "Nordlicht Homes", "Casa Tilia")),
        "partner_share": str(rng.choice((70, 75, 80))),
        "whitelist_year": rng.choice(("2023", "2024")),
        "care_begin": _clock(begin + 69)[:5],
        "author_role": rng.choice(
            (
                "a contractor of the database group",
                "the apprentice of the platform team",
                "a developer on loan from the cart team",
            )
        ),
        "guard": rng.choice(("poolguard", "sizecheck", "settings-lint")),
    }


def _history(workspace: Workspace, files: dict[str, str], values: dict[str, str]) -> None:
    """The settings repository: quiet months, the change of the evening, and its repair."""
    day = _outage.utc(values["day"]).timestamp()
    right, wrong = f"default_pool_size = {values['pool']}\n", f"default_pool_size = {values['wrong_pool']}\n"
    name = "settings/pgbouncer.ini"
    steps: list[tuple[str, dict[str, str], float]] = [("Settings of all services", files, -90 * 86_400)]
    for days, service, old, new in (
        (60, "payment", "memory_mb", "# sized in autumn\nmemory_mb"),
        (41, "notifier", "replicas", "# one more at weekends\nreplicas"),
    ):
        path = f"settings/{service}.toml"
        files = files | {path: files[path].replace(old, new, 1)}
        steps.append((f"{service}: note the sizing", files, -days * 86_400.0))
    broken = files[name].replace(right, wrong).replace("server_lifetime = 3600", "server_lifetime = 1800")
    steps.append(
        (
            f"{values['settings_rev']}: shorter server lifetime",
            {name: broken},
            18.5 * 3600 + 60 * int(values["minute_begin"]) - 40,
        )
    )
    steps.append(
        (
            f"{values['fix_rev']}: pool size back",
            {name: broken.replace(wrong, right)},
            18.5 * 3600 + 60 * int(values["minute_end"]) - 30,
        )
    )
    workspace.run("git init -q", EPOCH_MS)
    for message, changed, offset in steps:
        workspace.put(changed)
        workspace.run(f"git add -A && git commit -q -m '{message}'", round((day + offset) * 1000))

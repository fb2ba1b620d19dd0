"""Generates the evening of ``checkout_outage``: logs of six services and two databases, settings with history, orders."""

from __future__ import annotations

import json
import random
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

AGENTS = (
    "shop-ios/5.14.1",
    "shop-ios/5.13.0",
    "shop-android/8.2.4",
    "shop-android/8.1.9",
    "Mozilla/5.0 (X11; Linux x86_64)",
    "Mozilla/5.0 (Macintosh)",
)
PATHS = (
    "GET /api/products",
    "GET /api/cart",
    "POST /api/cart/items",
    "GET /api/search?q=",
    "GET /api/stock",
    "POST /api/checkout",
    "POST /api/checkout",
)
SKUS = "lamp-oak stool-birch desk-120 desk-160 rug-wool-m chair-felt shelf-3 shelf-5 mirror-round vase-blue kettle-matt throw-grey".split()
MESSAGES = (
    "price list reloaded entries={n}", "slow consumer lag={n}ms topic=stock.moves", "feature flag new-basket={b} cohort={n}",
    "gc pause {n}ms young", "certificate expires in {n} days", "cache miss ratio 0.{n}", "skipping locale fallback for market {m}",
)  # fmt: skip
EAGER = (7, 5, 4, 4, 3, 3, 2)
"""Own failed orders of the customers who do not give up."""


@dataclass(slots=True)
class Evening:
    """One incident: when it begins and ends, and which values its logs carry."""

    rng: random.Random
    day: datetime
    begins: int
    ends: int
    pool: int
    wrong_pool: int
    provider: str
    logs: dict[str, list[tuple[float, str]]] = field(default_factory=dict)

    def ill(self, minute: float) -> bool:
        """Whether the pool is too small at this minute after 18:30."""
        return self.begins <= minute < self.ends

    def at(self, minute: float) -> datetime:
        """The moment that many minutes after 18:30."""
        return self.day + timedelta(hours=18, minutes=30) + timedelta(milliseconds=round(minute * 60_000))

    def log(self, name: str, minute: float, line: str) -> None:
        """Add a line to a log."""
        self.logs.setdefault(name, []).append((minute, line))


def build(evening: Evening, requests: int = 2600) -> dict[str, str]:
    """All logs by path, each in order of time."""
    rng = evening.rng
    for _ in range(requests):
        minute = rng.random() * 118
        _request(evening, minute, f"{rng.getrandbits(48):012x}")
    for minute in range(118):
        _databases(evening, minute)
        _noise(evening, minute)
    return {name: "".join(f"{line}\n" for _, line in sorted(lines, key=lambda x: x[0])) for name, lines in evening.logs.items()}


def _request(evening: Evening, minute: float, request: str) -> None:
    rng = evening.rng
    path = rng.choice(PATHS)
    client = f"10.{rng.randrange(4, 9)}.{rng.randrange(256)}.{rng.randrange(1, 255)}"
    if path.endswith("checkout"):
        status, took = _checkout(evening, minute, request)
    else:
        status, took = (200, rng.uniform(0.004, 0.18)) if rng.random() < 0.985 else (rng.choice((404, 429, 304)), 0.003)
    shown = path + (rng.choice(SKUS) if path.endswith("=") else "")
    stamp = evening.at(minute).strftime("%d/%b/%Y:%H:%M:%S +0000")
    line = f'{client} - - [{stamp}] "{shown} HTTP/1.1" {status} {rng.randrange(90, 9000)} "-" "{rng.choice(AGENTS)}" rt={took:.3f} req={request}'
    evening.log("logs/gateway/access.log", minute, line)


def _checkout(evening: Evening, minute: float, request: str) -> tuple[int, float]:
    rng = evening.rng
    fails = evening.ill(minute) and rng.random() < 0.62
    order = f"o-{rng.randrange(10**7, 10**8)}"
    wait = rng.randrange(1900, 3000) if evening.ill(minute) else rng.randrange(1, 40)
    _json(evening, minute, "INFO", request, "begin order", order=order, lines=rng.randrange(1, 9))
    if fails:
        return 503, _failure(evening, minute, request, order)
    took = rng.randrange(180, 620) + (rng.randrange(900) if minute > evening.begins + 25 and evening.ill(minute) else 0)
    stamp = evening.at(minute + 0.01).strftime("%Y-%m-%d %H:%M:%S,%f")[:-3]
    result = "approved" if rng.random() < 0.97 else "declined"
    evening.log(
        "logs/payment/payment.log",
        minute,
        f"{stamp} INFO  [pay-worker-{rng.randrange(1, 9)}] authorise order={order} psp={evening.provider} took={took}ms result={result}",
    )
    _json(evening, minute + 0.02, "INFO", request, "order placed", order=order, took_ms=wait + took)
    evening.log(
        "logs/cart/cart.log",
        minute + 0.02,
        f'time={_iso(evening, minute + 0.02)} level=info svc=cart req={request} msg="checkout done" order={order}',
    )
    return 200, (wait + took) / 1000


def _failure(evening: Evening, minute: float, request: str, order: str) -> float:
    """A checkout that gets no connection, and the cart's repeats of it; seconds until the customer is told."""
    rng = evening.rng
    attempts = rng.randrange(2, 6)
    for attempt in range(attempts):
        if attempt:
            line = f'time={_iso(evening, minute)} level=warn svc=cart req={request} msg="checkout failed, trying again" attempt={attempt} backoff_ms=50 status=503'
            evening.log("logs/cart/cart.log", minute, line)
        pool: dict[str, object] = {"pool": "orders-rw"}
        waiting = pool | {"waiting": rng.randrange(30, 190), "waited_ms": rng.randrange(2900, 3000)}
        _json(evening, minute + 0.05, "WARN", request, "waiting for a connection", **waiting)
        _json(evening, minute + 0.051, "ERROR", request, "acquire timed out after 3000 ms", **pool, order=order)
        minute += 0.052
    return attempts * 3.1 + rng.random() * 0.05


def _json(evening: Evening, minute: float, level: str, request: str, message: str, **more: object) -> None:
    row = {"ts": _iso(evening, minute), "level": level, "svc": "checkout", "req": request, "msg": message} | more
    evening.log("logs/checkout/checkout.log", minute, json.dumps(row, separators=(",", ":")))


def _iso(evening: Evening, minute: float) -> str:
    return evening.at(minute).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _databases(evening: Evening, minute: int) -> None:
    rng, ill = evening.rng, evening.ill(minute)
    size = evening.wrong_pool if ill else evening.pool
    stamp = evening.at(minute).strftime("%Y-%m-%d %H:%M:%S.000 UTC")
    rate = rng.randrange(18, 26) if ill else rng.randrange(70, 110)
    wait = rng.randrange(1_900_000, 2_990_000) if ill else rng.randrange(100, 9_000)
    evening.log(
        "logs/db/pgbouncer.log",
        minute,
        f"{stamp} [912] LOG stats: {rate} xacts/s, {rate * 4} queries/s, in {rng.randrange(90_000)} B/s, out {rng.randrange(400_000)} B/s, xact {rng.randrange(9000, 30_000)} us, query {rng.randrange(2000, 7000)} us, wait {wait} us",
    )
    active = size if ill else rng.randrange(9, 27)
    evening.log(
        "logs/db/pgbouncer.log",
        minute + 0.3,
        f"{stamp} [912] LOG pool orders/orders: cl_active {active} cl_waiting {rng.randrange(60, 210) if ill else 0} sv_active {active} sv_idle {max(0, size - active)} pool_size {size}",
    )
    for _ in range(rng.randrange(1, 4)):
        pid = rng.randrange(20_000, 60_000)
        text = rng.choice(
            (
                "checkpoint starting: time",
                "connection authorized: user=orders database=orders",
                'automatic vacuum of table "orders.public.order_line": index scans: 1',
                f"duration: {rng.randrange(200, 800)}.{rng.randrange(999):03d} ms  statement: SELECT id, status FROM orders WHERE customer = $1",
            )
        )
        moment = minute + rng.random()
        second = evening.at(moment).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]
        evening.log("logs/db/postgres.log", moment, f"{second} UTC [{pid}] orders@orders LOG:  {text}")


def _noise(evening: Evening, minute: int) -> None:
    rng = evening.rng
    for service in ("inventory", "notifier"):
        for _ in range(rng.randrange(2, 7)):
            moment = minute + rng.random()
            text = rng.choice(MESSAGES).format(
                n=rng.randrange(3, 98), b=rng.choice(("on", "off")), m=rng.choice(("se", "de", "at", "nl"))
            )
            level = rng.choice(("INFO ", "INFO ", "DEBUG", "WARN "))
            evening.log(
                f"logs/{service}/{service}.log",
                moment,
                f"{_iso(evening, moment)} {level} {service}.{rng.choice(('main', 'sync', 'queue', 'http'))} {text}",
            )
    if minute % 9 == 0:
        moment = minute + 8 * rng.random()
        evening.log("logs/inventory/inventory.log", moment, _stack(evening, moment))
    if evening.ill(minute):
        for _ in range(rng.randrange(1, 4)):
            moment = minute + rng.random()
            evening.log(
                "logs/notifier/notifier.log",
                moment,
                f"{_iso(evening, moment)} INFO  notifier.queue mail order-delayed sent customer=k-{rng.randrange(10_000, 99_999)} template=sorry-2",
            )


def _stack(evening: Evening, minute: float) -> str:
    frames = (
        "StockReader.next(StockReader.java:{n})",
        "Batch.fill(Batch.java:{n})",
        "Worker.run(Worker.java:{n})",
        "Pool$Task.call(Pool.java:{n})",
    )
    lines = [
        f"{_iso(evening, minute)} ERROR inventory.sync reading stock.moves failed: java.net.SocketTimeoutException: Read timed out"
    ]
    lines += [f"\tat shop.inventory.{frame.format(n=evening.rng.randrange(30, 400))}" for frame in frames]
    return "\n".join(lines)


def settings(rng: random.Random, pool: int) -> dict[str, str]:
    """The settings of every component as they were before the evening."""
    files = {"settings/pgbouncer.ini": _bouncer(pool), "settings/gateway.conf": _gateway(rng)}
    for service in ("cart", "checkout", "payment", "inventory", "notifier"):
        files[f"settings/{service}.toml"] = _service(service, rng)
    return files


def _bouncer(pool: int) -> str:
    return (
        "[databases]\norders = host=10.9.0.4 port=5432 dbname=orders\n\n[pgbouncer]\nlisten_port = 6432\npool_mode = transaction\n"
        f"max_client_conn = 2000\ndefault_pool_size = {pool}\nreserve_pool_size = 0\nserver_lifetime = 3600\nquery_wait_timeout = 120\nstats_period = 60\n"
    )


def _gateway(rng: random.Random) -> str:
    rows = [f"upstream {name} {{ server 10.4.{rng.randrange(20)}.{rng.randrange(2, 250)}:{port}; keepalive 32; }}" for name, port in
            (("cart", 8101), ("checkout", 8102), ("payment", 8103), ("inventory", 8104))]  # fmt: skip
    return "\n".join([*rows, "proxy_read_timeout 30s;", "limit_req_zone $binary_remote_addr zone=perip:10m rate=20r/s;"]) + "\n"


def _service(service: str, rng: random.Random) -> str:
    retries = (
        "[retry]\nattempts = 5\nbackoff_ms = 50\njitter = false\n"
        if service == "cart"
        else "[retry]\nattempts = 2\nbackoff_ms = 200\njitter = true\n"
    )
    return (
        f'name = "{service}"\nreplicas = {rng.randrange(3, 9)}\nmemory_mb = {rng.choice((512, 768, 1024, 2048))}\n\n[http]\nport = {rng.randrange(8101, 8110)}\n'
        f'timeout_ms = {rng.choice((2000, 3000, 5000))}\n\n{retries}\n[pool]\nname = "orders-rw"\nacquire_timeout_ms = 3000\nmax = {rng.choice((20, 24, 30))}\n'
    )


def orders(path: Path, evening: Evening, hours: Callable[[float], int]) -> dict[str, int]:
    """The order database of the evening; counts of what it holds. ``hours`` gives orders a minute."""
    rng = evening.rng
    path.parent.mkdir(parents=True, exist_ok=True)
    with sqlite3.connect(path) as db:
        db.executescript(
            "CREATE TABLE orders (id TEXT PRIMARY KEY, customer TEXT, market TEXT, placed TEXT, status TEXT, total INTEGER, attempt_of TEXT);"
            "CREATE TABLE mails (order_id TEXT, template TEXT, sent TEXT);"
            "CREATE TABLE markets (code TEXT PRIMARY KEY, name TEXT, manager TEXT);"
        )
        db.executemany(
            "INSERT INTO markets VALUES (?,?,?)",
            [("se", "Sweden", "Lund"), ("de", "Germany", "Kern"), ("at", "Austria", "Moser"), ("nl", "Netherlands", "Visser")],
        )
        counts = {"failed": 0, "repeats": 0}
        for minute in range(118):
            for _ in range(hours(minute)):
                _order(db, evening, minute, counts)
        for own in EAGER:
            customer = f"k-{rng.randrange(10_000, 99_999)}"
            for minute in sorted(rng.sample(range(evening.begins + 1, evening.ends - 1), own)):
                _order(db, evening, minute, counts, customer)
    db.close()
    counts["unique"] = counts["failed"] - counts["repeats"]
    return counts


def _order(db: sqlite3.Connection, evening: Evening, minute: int, counts: dict[str, int], eager: str = "") -> None:
    """One order with the repeats of the app; ``eager`` names a customer who fails whatever happens."""
    rng = evening.rng
    identity, customer = f"o-{rng.randrange(10**7, 10**8)}", eager or f"k-{rng.randrange(10_000, 99_999)}"
    failed = bool(eager) or (evening.ill(minute) and rng.random() < 0.6)
    market = rng.choices(("se", "de", "at", "nl"), (4, 5, 1, 2))[0]
    moment = minute + rng.random()
    placed = _iso(evening, moment)
    status = "failed" if failed else rng.choices(("paid", "shipped", "cancelled"), (80, 15, 5))[0]
    total = rng.randrange(900, 90_000)
    db.execute("INSERT OR IGNORE INTO orders VALUES (?,?,?,?,?,?,NULL)", (identity, customer, market, placed, status, total))
    counts["failed"] += failed
    repeats = (1 if eager else rng.choice((0, 0, 1, 1, 2))) if failed else 0
    for repeat in range(1, 1 + repeats):
        again = f"o-{rng.randrange(10**7, 10**8)}"
        db.execute(
            "INSERT OR IGNORE INTO orders VALUES (?,?,?,?,'failed',?,?)",
            (again, customer, market, _iso(evening, moment + 0.052 * repeat), total, identity),
        )
        counts["failed"] += 1
        counts["repeats"] += 1
    if failed and rng.random() < 0.5:
        db.execute("INSERT INTO mails VALUES (?,?,?)", (identity, "sorry-2", placed))


def utc(text: str) -> datetime:
    """Midnight of an ISO day."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC)

"""Papers of ``checkout_outage`` that are not logs of services: the pipeline of the settings, and tickets of customer care."""

from __future__ import annotations

import random
from datetime import datetime, timedelta

COMPLAINTS = (
    "cannot pay, the button spins and then an error page",
    "error 503 after I confirmed the address",
    "tried three times, is my order in or not?",
    "the app says something went wrong, please try later",
    "basket is full but the last step fails",
    "waited a quarter of a minute, then nothing",
    "was anything charged? the page broke at the end",
    "order button does not react any more",
    "same error on the phone and on the laptop",
    "I want to order the oak lamp before it is gone",
)
EVERYDAY = (
    "where is my parcel, the tracking has stopped",
    "please change the delivery address of yesterday's order",
    "the stool wobbles, can I send it back?",
    "invoice without VAT number",
    "when will the desk be available again?",
    "voucher code is not accepted",
    "chair arrived with a scratch",
    "how do I close my account?",
    "wrong colour in the picture of the rug",
    "can the driver call before he comes?",
    "forgot my password, the mail does not arrive",
    "do you deliver to the islands?",
)


def bot_log(rng: random.Random, values: dict[str, str]) -> str:
    """What the bot of the settings pipeline wrote that evening: polls, and two revisions on their way."""
    day = datetime.fromisoformat(values["day"])
    lines: list[tuple[datetime, str]] = []
    for number in range(72):
        at = day + timedelta(hours=16, minutes=4 * number, seconds=rng.randrange(40))
        lines.append((at, f"poll head={_head(at, values)} pending=0 took={rng.randrange(80, 900)}ms"))
        if rng.random() < 0.3:
            lines.append(
                (
                    at + timedelta(seconds=1),
                    f"fetch {rng.choice(('ok', 'ok', 'ok', 'slow, tried twice'))} objects={rng.randrange(1, 9)}",
                )
            )
    lines += _revision(day, values["settings_time"], values["settings_rev"], automatic=True)
    lines += _revision(day, values["fixed_time"], values["fix_rev"], automatic=False)
    return "".join(f"{at.strftime('%Y-%m-%d %H:%M:%S')} settings-bot {text}\n" for at, text in sorted(lines))


def _head(at: datetime, values: dict[str, str]) -> str:
    clock = at.strftime("%H:%M:%S")
    if clock >= values["fixed_time"]:
        return values["fix_rev"]
    return values["settings_rev"] if clock >= values["settings_time"] else values["before_rev"]


def _revision(day: datetime, clock: str, name: str, *, automatic: bool) -> list[tuple[datetime, str]]:
    end = datetime.fromisoformat(f"{day.date()}T{clock}")
    approved = "label low-risk, by the list of files: no approval asked" if automatic else "label urgent, approved by on-call"
    steps = (
        (38, f"{name} received, 1 file: settings/pgbouncer.ini"),
        (31, f"{name} syntax of settings/pgbouncer.ini: ok"),
        (30, f"{name} keys known: all"),
        (24, f"{name} {approved}"),
        (9, f"{name} apply to pgbouncer, mode reload"),
        (0, f"{name} applied"),
        (-4, f"{name} health of pgbouncer: process is up"),
    )
    return [(end - timedelta(seconds=seconds), text) for seconds, text in steps]


def tickets(rng: random.Random, values: dict[str, str]) -> str:
    """Export of customer care in local time, an hour ahead of UTC; complaints about checkout begin some minutes late."""
    day = datetime.fromisoformat(values["day"])
    start = day + timedelta(hours=19, minutes=30)
    begin, end = int(values["minute_begin"]), int(values["minute_end"])
    rows = []
    for minute in range(10, 118):
        ill = begin + 9 <= minute < end + 6
        for _ in range(rng.choice((1, 2, 3)) if ill else rng.choice((0, 0, 1))):
            at = start + timedelta(minutes=minute, seconds=rng.randrange(1, 60))
            about = ill and rng.random() < 0.75
            text = rng.choice(COMPLAINTS if about else EVERYDAY)
            channel = rng.choice(("chat", "chat", "mail", "telephone"))
            rows.append((at, f"k-{rng.randrange(10_000, 99_999)};{channel};{'checkout' if about else 'other'};{text}"))
    first = start + timedelta(minutes=begin + 9)
    rows.append((first, "k-40417;telephone;checkout;caller cannot finish her order since a few minutes"))
    lines = [f"T-{50_000 + n};{at.strftime('%Y-%m-%d %H:%M:%S')};{rest}" for n, (at, rest) in enumerate(sorted(rows))]
    return "# opened: local time of the care desk\nid;opened;customer;channel;topic;text\n" + "\n".join(lines) + "\n"

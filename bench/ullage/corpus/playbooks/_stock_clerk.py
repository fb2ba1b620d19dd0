"""How one store of ``stock_count`` is reconciled: what the tools print decides what is looked at and written next."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from ullage.corpus.screenplay import Stage

Gap = tuple[str, int, int, int, int, int]
FREQUENT = 8
"""Stores of the beginning, each of which gets a closing word; later every second one."""
ABOVE = 5.0
"""Unexplained per mille from which a store is worth a scene of its own."""


@dataclass(slots=True)
class Clerk:
    """Works through stores and remembers what was odd. ``notes`` are remarks by occasion, each said once."""

    stage: Stage
    notes: dict[str, list[str]]
    waiting: list[str] = field(default_factory=list)
    early: list[tuple[str, str, str, str]] = field(default_factory=list)
    turn: int = 0

    def run(self, command: str) -> str:
        """One shell command; what it printed."""
        return self.stage.session.call("bash", command=command)

    def say(self, occasion: str, **values: str) -> None:
        """A remark of an occasion about this store, as long as there are some and none is waiting to be said."""
        self.stage.session.values |= values
        if self.notes.get(occasion) and not self.stage.session.pending:
            self.stage.session.say(self.stage.fill(self.notes[occasion].pop(0)))

    def store(self, code: str, *, by_hand: bool) -> None:
        """From the first comparison to the line in accepted.csv."""
        self.turn += 1
        self.stage.session.values["code"] = code
        gaps, zones = self._look(code)
        after = self._by_hand(code, gaps, zones) if by_hand else self._with_tool(code, gaps)
        after = self._leftovers(code, after)
        self._accept(code, after)

    def _look(self, code: str) -> tuple[list[Gap], str]:
        compare, zones = f"python tools/compare.py {code} 45", f"python tools/zones.py {code}"
        way = self.turn % 4
        if way == 0:
            both = self.run(f"{compare}; echo; {zones}")
            return gaps_of(both), both
        if way == 1:
            one, two = self.stage.session.together([("bash", {"command": compare}), ("bash", {"command": zones})])
            return gaps_of(one.text), two.text
        if way == 2:
            self.run(f"cat {code}/notes.txt; wc -l {code}/*.csv {code}/scan.log")
        first = self.run(compare)
        return gaps_of(first), self.run(zones)

    def _by_hand(self, code: str, gaps: list[Gap], zones: str) -> str:
        twice = re.search(r"^(Z\d\d) .*?(sc\d), (sc\d) .*TWICE$", zones, re.MULTILINE)
        if twice:
            gaps = self._drop(code, twice[1], twice[2], twice[3])
        elif self.turn % 2:
            self.stage.session.call("read", path=f"{code}/scan.log")
        lines = self._packs(code, gaps)
        moves = self.stage.session.call("read", path=f"{code}/moves.csv")
        sold = sales_of(moves)
        self.say("sales", sales="one sale" if len(sold) == 1 else f"{len(sold)} sales")
        lines += [f"add {name} {pieces}  # {document}, {time}" for time, name, pieces, document in sold]
        name = "corrections_2.txt" if twice else "corrections.txt"
        self.stage.session.call("write", path=f"{code}/{name}", content="\n".join(lines) + "\n")
        self.run(f"python tools/post.py {code} {code}/{name}")
        after = self.run(f"python tools/compare.py {code} 45")
        return self._odd(code, sold, after)

    def _drop(self, code: str, zone: str, first: str, second: str) -> list[Gap]:
        """See which scan of a zone is the later one, and drop the other."""
        self.run(f"grep -nE '{zone} (opened|reopened|closed)' {code}/scan.log")
        self.run(
            f"diff <(grep '^{zone},.*,{first},' {code}/count.csv | cut -d, -f2,3 | sort) "
            f"<(grep '^{zone},.*,{second},' {code}/count.csv | cut -d, -f2,3 | sort); true"
        )
        self.say("twice", zone=zone, first=first, second=second)
        content = f"drop {zone} {first}  # scanned again by {second}, later\n"
        self.stage.session.call("write", path=f"{code}/corrections.txt", content=content)
        self.run(f"python tools/post.py {code} {code}/corrections.txt")
        return gaps_of(self.run(f"python tools/compare.py {code} 45"))

    def _packs(self, code: str, gaps: list[Gap]) -> list[str]:
        packs = [(name, pack, have, want) for name, have, want, _, pack, _ in gaps if have and have * pack == want]
        if packs:
            names = "|".join(name for name, *_ in packs)
            self.run(f"grep -nE '{names}' {code}/count.csv {code}/book.csv articles.csv")
            self.say("packs", article=packs[0][0], size=str(packs[0][1]), have=str(packs[0][2]), want=str(packs[0][3]))
        return [f"times {name} {pack}  # counted {have}, book {want}, pack {pack}" for name, pack, have, want in packs]

    def _with_tool(self, code: str, gaps: list[Gap]) -> str:
        found = self.run(f"python tools/suggest.py {code} | tee {code}/corrections.txt")
        if self.stage.session.values.get("third") == code:
            self.stage.play("third_early")
        packs = re.findall(r"^times (\S+) (\d+)  # counted (\d+), book (\d+)", found, re.MULTILINE)
        sold = [(t, n, p, d) for n, p, d, t in re.findall(r"^add (\S+) (\d+)  # (D\d+), (\d\d:\d\d)$", found, re.MULTILINE)]
        if packs:
            self.run(f"grep -nE '{packs[0][0]}' {code}/count.csv {code}/book.csv articles.csv")
            if self.turn % 5 in (0, 2, 4):
                self.say("checks", article=packs[0][0], size=packs[0][1], have=packs[0][2], want=packs[0][3])
        dropped = re.search(r"^drop (Z\d\d) (sc\d)  # scanned again by (sc\d)", found, re.MULTILINE)
        if dropped:
            self.run(f"grep -nE -A1 '{dropped[1]} (opened|reopened|closed)' {code}/scan.log")
            if self.turn % 2 == 0:
                self.say("reopened", zone=dropped[1], first=dropped[2], second=dropped[3])
        if self.turn % 3 == 0:
            self.stage.session.call("read", path=f"{code}/moves.csv")
        elif sold:
            self.run(f"grep -nE '{'|'.join(s[3] for s in sold)}' {code}/moves.csv; tail -12 {code}/moves.csv")
        if self.turn % 5 == 0:
            self.stage.session.call("read", path=f"{code}/count.csv")
            self.say("whole", gaps=str(len(gaps)))
        post, compare = f"python tools/post.py {code} {code}/corrections.txt", f"python tools/compare.py {code} 45"
        if self.turn % 2:
            return self._odd(code, sold, self.run(f"{post} && {compare}"))
        self.run(post)
        return self._odd(code, sold, self.run(compare))

    def _odd(self, code: str, sold: list[tuple[str, str, str, str]], after: str) -> str:
        """A sale that the book already knew: its correction makes a gap where none was."""
        for name, _, _, gap, _, _ in gaps_of(after):
            match = [s for s in sold if s[1] == name and int(s[2]) == gap]
            if match:
                time, _, pieces, document = match[0]
                self.early.append((code, name, pieces, document))
                number = str(len(self.early))
                self.stage.session.values |= {
                    f"early_{number}": code, f"early_article_{number}": name, f"early_time_{number}": time,
                    f"early_pieces_{number}": pieces, f"early_document_{number}": document,
                }  # fmt: skip
                self.run(f"grep -n '{name}' {code}/*.csv {code}/scan.log")
                self.stage.play(f"odd_{number}")
        return after

    def _leftovers(self, code: str, after: str) -> str:
        """Look for a document behind what is still open."""
        known = {name for _, name, *_ in self.early}
        lines = []
        for name, _, _, gap, _, _ in gaps_of(after)[:3]:
            if name in known:
                continue
            output = self.run(f"grep -rn '{name}' {code}/ transfers/ | grep -v fixed")
            for note in sorted(set(re.findall(r"transfers/(T-\d+)\.txt:\d+: +\S+ +(\d+) pieces", output))):
                if int(note[1]) == abs(gap):
                    lines += self._transfer(code, name, gap, note[0])
        if not lines:
            return after
        self.stage.session.call("write", path=f"{code}/corrections_transfer.txt", content="\n".join(lines) + "\n")
        return self.run(f"python tools/post.py {code} {code}/corrections_transfer.txt && python tools/compare.py {code} 45")

    def _transfer(self, code: str, name: str, gap: int, number: str) -> list[str]:
        """A line of corrections when the note is unbooked and names this store."""
        text = self.run(f"cat transfers/{number}.txt")
        sides = re.search(r"from (S\d\d)  to (S\d\d)", text)
        if "booked out: -" not in text or sides is None or code not in sides.groups():
            return []
        values = self.stage.session.values
        known = [k for k in values if k.startswith("note_") and values[k] == number]
        if known:
            self.say("counterpart", note=number, source=sides[1], target=sides[2], article=name)
        else:
            count = 1 + sum(k.startswith("note_") for k in values)
            values |= {f"note_{count}": number, f"from_{count}": sides[1], f"to_{count}": sides[2], f"sent_{count}": name}
            values |= {f"pieces_{count}": str(abs(gap)), "note": number, "source": sides[1], "target": sides[2]}
            self.stage.play(f"transfer_{count}")
        return [f"add {name} {-gap}  # {number}, {sides[1]} to {sides[2]}, never booked"]

    def _accept(self, code: str, after: str) -> None:
        line = accepted_line(code, after)
        mille = line.split(",")[1]
        above = float(mille) > float(self.stage.session.values["tolerance_old"])
        self.waiting.append(f"{line},above the tolerance" if above else line)
        if float(mille) > ABOVE:
            self._heavy(code, mille, after)
        elif self.turn <= FREQUENT or self.turn % 2:
            self._conclude(mille, gaps_of(after))
        self.record()

    def take_back(self) -> None:
        """Undo the corrections of sales that the book already knew, and mend what was written about their stores."""
        lines = []
        for code, name, pieces, document in self.early:
            content = f"add {name} -{pieces}  # {document} was sold before the real freeze\n"
            path = f"{code}/corrections_freeze.txt"
            self.stage.session.call("write", path=path, content=content)
            after = self.run(f"python tools/post.py {code} {path} && python tools/compare.py {code} 10")
            lines.append(accepted_line(code, after))
        edits = " ".join(f"-e 's/^{line[:3]},.*/{line}/'" for line in lines)
        self.run(f"sed -i {edits} accepted.csv; grep -nE '^({'|'.join(line[:3] for line in lines)}),' accepted.csv")

    def _conclude(self, mille: str, gaps: list[Gap]) -> None:
        known = {name for _, name, *_ in self.early}
        open_ones = [f"{name} {gap:+d}" for name, _, _, gap, _, _ in gaps if name not in known]
        if open_ones:
            self.say("left", rest=" and ".join(open_ones), mille=mille)
        elif not gaps:
            self.say("clean")

    def record(self) -> None:
        """Add the stores that are done to the list of accepted ones."""
        lines = "\\n".join(self.waiting)
        self.run(f"printf '{lines}\\n' >> accepted.csv; tail -n 3 accepted.csv")
        self.waiting.clear()

    def _heavy(self, code: str, mille: str, after: str) -> None:
        values = self.stage.session.values
        number = str(1 + sum(k in values for k in ("heavy_1", "heavy_2")))
        worst = gaps_of(after)[0]
        values |= {f"heavy_{number}": code, f"heavy_mille_{number}": mille, f"heavy_article_{number}": worst[0]}
        values |= {f"heavy_pieces_{number}": str(abs(worst[3]))}
        self.stage.play(f"heavy_scene_{number}")


def accepted_line(code: str, after: str) -> str:
    """What accepted.csv says about a store, from its last comparison: store, per mille, open articles."""
    rest = re.search(r"\d+ articles differ, value \d+, book \d+, ([\d.]+) per mille", after)
    if rest is None:
        raise ValueError(f"{code}: no last line in {after[-200:]!r}")
    left = [f"{name} {gap:+d}" for name, _, _, gap, _, _ in gaps_of(after)]
    return f"{code},{rest[1]},{'; '.join(left[:6]) or 'nothing open'}"


def gaps_of(text: str) -> list[Gap]:
    """The lines of a comparison: article, counted, book, gap, pack, value."""
    found = re.findall(r"^([a-z]+-\d+) +(-?\d+) +(\d+) +(-?\d+) +(\d+) +(\d+)$", text, re.MULTILINE)
    return [(name, int(a), int(b), int(c), int(d), int(e)) for name, a, b, c, d, e in found]


def sales_of(text: str) -> list[tuple[str, str, str, str]]:
    """Sales marked as after the freeze: time, article, pieces, document."""
    return re.findall(r"(\d\d:\d\d),([a-z]+-\d+),-(\d+),sold after the freeze,(D\d+)", text)

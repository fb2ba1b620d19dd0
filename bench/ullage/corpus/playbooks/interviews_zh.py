"""User research in Chinese: twenty-eight interviews about why pick-up customers do not return."""

from __future__ import annotations

import random
import re

from ullage.corpus.drawing import bars
from ullage.corpus.playbooks import _interviews
from ullage.corpus.recording import Playbook
from ullage.corpus.screenplay import Stage, data_file, sections
from ullage.corpus.workspace import Workspace

COUNT = 28
CROSSED = 18
"""People whose diary is held against their interview, those who missed most first."""
READERS = ("陈予安", "林书禾", "赵明澈", "孙若溪", "郑以宁", "吴清和")


class InterviewsZh(Playbook):
    """Neither price nor choice is the cause; one person withdraws consent, and the grouping changes half way."""

    domain = "user research interviews"
    summary = "二十八场访谈的编码、撤回同意、改分组、逐字核对引文、写报告"
    language = "zh"
    project = "fangtan"
    split = "test"
    offers = ("bash", "read", "write", "edit", "grep", "view_image")

    def prepare(self, workspace: Workspace, rng: random.Random) -> dict[str, str]:
        """Transcripts, diaries and the table of people; one diary is in an old encoding."""
        everyone = _interviews.people(rng, COUNT)
        values = _values(rng, everyone)
        bank = {name: body.strip().split("\n") for name, body in sections(data_file("interviews_zh.files")).items()}
        files = {"people.csv": _interviews.table(everyone), "guide.md": GUIDE, "codebook.md": CODEBOOK}
        for number, person in enumerate(everyone):
            files[f"raw/{person.code}.md"] = _interviews.transcript(
                person, bank, rng, f"2026 年 {1 + number // 14} 月 {1 + number % 14 * 2} 日", values["contrary"]
            )
        diaries = {f"diary/D{person.code[1:]}.csv": _interviews.diary(person, rng) for person in everyone}
        workspace.put(files | diaries)
        odd = f"diary/D{values['odd'][1:]}.csv"
        workspace.path(odd).write_bytes(diaries[odd].encode("gb18030"))
        workspace.path("wall.png").write_bytes(bars([rng.randrange(3, 20) for _ in range(11)]))
        return values

    def play(self, stage: Stage) -> None:
        """From the first reading to the report."""
        stage.play("task", "plan")
        self._read_all(stage, range(1, 15), "read_notes")
        stage.play("midway")
        self._read_all(stage, range(15, COUNT + 1), "read_notes_b")
        stage.play("first_view", "price")
        self._themes(stage)
        stage.play("themes_end", "withdraw", "diaries")
        self._diaries(stage)
        stage.play("diaries_end", "regroup")
        self._groups(stage)
        stage.play("groups_end", "coding")
        self._code(stage)
        stage.play("coding_end", "quotes", "report", "wall", "review", "close")

    def _read_all(self, stage: Stage, numbers: range, notes: str) -> None:
        """Read one transcript after the other, with a remark now and then."""
        remarks = stage.notes(notes)
        for step, number in enumerate(numbers):
            if step % 5 == 2 and remarks:
                stage.session.say(remarks.pop(0))
            stage.session.call("read", path=f"raw/P{number:02d}.md")

    def _themes(self, stage: Stage) -> None:
        """Look for each theme in the transcripts."""
        remarks = stage.notes("theme_notes")
        for number, pattern in enumerate(
            ("关门|收摊|七点", "通知|手机是", "柜子", "团长", "比，同样|贵", "品种|花样", "退款|客服", "托|麻烦人", "搬过|白跑")
        ):
            if number in (1, 4, 7):
                stage.session.say(remarks.pop(0))
            stage.session.call("grep", pattern=pattern, path="raw", context=1 if number < 3 else 0)

    def _diaries(self, stage: Stage) -> None:
        """Every diary, three at a time; then what those who missed a box wrote that day beside what they said later."""
        session, gone = stage.session, stage.session.values["gone"]
        rows = [row.split(",") for row in session.workspace.path("people.csv").read_text(encoding="utf-8").splitlines()[1:]]
        rows = [row for row in rows if row[0] != gone]
        for start in range(0, len(rows), 3):
            some = " ".join(row[0][1:] for row in rows[start : start + 3])
            session.call("bash", command=f'for n in {some}; do echo "== D$n"; cat diary/D$n.csv; done')
        stage.play("cross")
        most = [row[0] for row in sorted(rows, key=lambda row: -int(row[-1]))[:CROSSED]]
        remarks = stage.notes("cross_notes")
        for start in range(0, CROSSED, 2):
            if start in (6, 12):
                session.say(remarks.pop(0))
            said = "awk '/错过一次以后/ {on = 1} /价格/ {on = 0} on' raw/$p.md"
            some = " ".join(most[start : start + 2])
            session.call("bash", command=f"for p in {some}; do grep $p people.csv; grep 没去成 diary/D${{p#P}}.csv; {said}; done")

    def _groups(self, stage: Stage) -> None:
        """What people of each kind of household say about picking up."""
        for home in _interviews.HOMES:
            output = stage.session.call(
                "bash", command=f"grep ',{home},' people.csv | grep -v '^{stage.session.values['gone']},'"
            )
            codes = re.findall(r"^(P\d\d)", output, re.MULTILINE)
            stage.session.call(
                "bash",
                command=f"for p in {' '.join(codes)}; do echo \"== $p\"; awk '/取货的时候/ {{on = 1}} /错过一次以后/ {{on = 0}} on' raw/$p.md; done",
            )

    def _code(self, stage: Stage) -> None:
        """Collect the coded sentences in batches."""
        gone = stage.session.values["gone"]
        codes = [f"P{n:02d}" for n in range(1, COUNT + 1) if f"P{n:02d}" != gone]
        for batch in range(0, len(codes), 7):
            some = codes[batch : batch + 7]
            loop = f"for p in {' '.join(some)}; do for t in 取货的时候 错过一次以后 要是你来改; do printf '%s,%s,' $p $t; grep -A2 \"$t\" raw/$p.md | grep \"$p：\" | head -1 | sed 's/^[^：]*：//; s/,/，/g'; done; done"
            stage.session.call("bash", command=f"{loop} | tee -a codes.csv")


GUIDE = """# 访谈提纲

1. 怎么开始用的　2. 平时怎么买　3. 取货的时候　4. 错过一次以后　5. 价格　6. 品种　7. 团长　8. 家里人　9. 要是你来改

访谈员不提示答案。追问只用提纲后面列的八种。录音在转写之后三十天删除。
"""
CODEBOOK = """# 编码本（第一版）

| 编码 | 含义 |
|---|---|
| 时间窗 | 取货时段太短，或与下班时间冲突 |
| 通知晚 | 到货通知来得太晚 |
| 路远 | 走路远、腿脚不便、天气 |
| 托人 | 请邻居或家人代取 |
| 价格敏感 | 比较价格、满减、会员 |
| 品种 | 想买的买不到，或选择太多 |
| 团长 | 与团长的关系 |
"""


def _values(rng: random.Random, everyone: list[_interviews.Person]) -> dict[str, str]:
    readers = rng.sample(READERS, 4)
    pair = rng.choice([p for p in everyone if not p.missed] or everyone)
    gone, odd = rng.sample([p for p in everyone if p.missed < 2 and p is not pair], 2)
    days = rng.sample(("周二下班前", "周三中午", "周四上午十点", "周五下午三点"), 2)
    many = [p for p in everyone if p.missed >= 2 and p.code != gone.code]
    return {
        "lead": readers[0],
        "reader_old": readers[1],
        "reader_new": readers[2],
        "pm": readers[3],
        "due_old": days[0],
        "due_new": days[1],
        "gone": gone.code,
        "gone_number": gone.code[1:],
        "odd": odd.code,
        "odd_number": odd.code[1:],
        "contrary": pair.code,
        "count": str(COUNT),
        "missed_people": str(len(many)),
        "report": f"报告_{rng.choice(('取货', '复购', '菜篮'))}_{rng.randrange(11, 99)}.md",
        "project_no": f"YJ-{rng.randrange(310, 980)}",
        "drop": f"{rng.choice((11, 13, 14, 17, 19))}.{rng.randrange(1, 9)}",
        "pilot": rng.choice(("合肥滨湖站", "长沙岳麓站", "厦门集美站", "绵阳涪城站")),
        "pilot_no": rng.choice(("洛阳涧西站", "保定莲池站")),
        "close_new": rng.choice(("二十点", "二十点半")),
        "quote_max": rng.choice(("两条", "三条")),
        "budget": str(rng.choice((18, 22, 26, 30))),
    }

"""Generates the field material of ``interviews_zh``: transcripts, diaries and the table of people, from authored sentences."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

TOPICS = ("怎么开始用的", "平时怎么买", "取货的时候", "错过一次以后", "价格", "品种", "团长", "家里人", "要是你来改")
LATE = 2
"""How many of the sentences on picking up, counted from the top, tell of the short hours or the late notice."""
ASIDES = 0.45
"""Share of answers that trail off into something else."""
HARD = ("取货的时候", "错过一次以后")
"""Topics on which others complain."""
EASY = re.compile("路过就拿|错过也没什么")
"""What one says who has no trouble."""
OFTEN = 2
"""Boxes missed in a month from which a person tells of the short hours or the late notice."""
SLOTS: dict[str, tuple[str, ...]] = {
    "neighbor": ("楼上的李姐", "对门的小周", "一楼的王大爷", "跳广场舞的姐妹", "隔壁单元的老同事"),
    "gift": ("一提鸡蛋", "一瓶酱油", "两斤苹果", "一包抽纸"),
    "veg": ("空心菜", "西红柿", "丝瓜", "娃娃菜", "莴笋", "茄子", "豌豆尖", "冬瓜", "芹菜", "秋葵"),
    "fish": ("鲫鱼", "黑鱼", "鲈鱼"),
    "boss": ("吴姐", "刘师傅", "小赵", "何阿姨"),
    "weekday": ("二", "三", "四", "五"),
    "clock": ("五点半", "六点", "六点一刻", "七点"),
    "grade": ("二", "三", "四", "五"),
    "minute": ("零八分", "十二分", "一刻", "十八分", "二十三分", "半", "三十四分", "四十分", "四十三分", "五十分"),
    "limit": ("五十九", "七十九", "九十九", "一百二"),
    "spent": ("八十", "一百二十", "一百五十", "两百", "两百五十", "三百", "四百"),
}
NUMBERS = {
    "small": (8, 30),
    "count": (4, 15),
    "money": (22, 96),
    "walk": (8, 25),
    "cents": (3, 9),
    "fee": (2, 6),
}
CITIES = ("合肥", "长沙", "洛阳", "绵阳", "厦门", "保定")
JOBS = ("会计", "网约车司机", "护士", "程序员", "小店老板", "自由职业", "保安", "设计师", "物业管家", "中学老师", "快递站长")
RETIRED = ("退休教师", "退休工人", "退休会计", "退休护士")
HOMES = ("独居", "夫妻二人", "有学龄孩子", "三代同住", "合租")
MOODS = ("顺利", "顺利", "一般", "麻烦", "没去成")


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """One interviewed person, as the table of people shows them."""

    code: str
    age: int
    city: str
    job: str
    home: str
    per_month: int
    missed: int


def people(rng: random.Random, count: int) -> list[Person]:
    """Everyone who was interviewed."""
    return [_person(f"P{n:02d}", rng) for n in range(1, count + 1)]


def _person(code: str, rng: random.Random) -> Person:
    age = rng.randrange(23, 76)
    return Person(
        code=code,
        age=age,
        city=rng.choice(CITIES),
        job=rng.choice(RETIRED if age >= 60 else JOBS),
        home=rng.choice(HOMES[:2] + HOMES[3:4] if age >= 60 else HOMES),
        per_month=rng.randrange(2, 16),
        missed=rng.choice((0, 1, 1, 2, 2, 3, 4)),
    )


def table(everyone: list[Person]) -> str:
    """The table of people as CSV."""
    rows = [f"{p.code},{p.age},{p.city},{p.job},{p.home},{p.per_month},{p.missed}" for p in everyone]
    return "编号,年龄,城市,职业,家庭,每月次数,上月错过\n" + "\n".join(rows) + "\n"


def transcript(person: Person, bank: dict[str, list[str]], rng: random.Random, day: str, easy: str) -> str:
    """One interview of about forty minutes; people who missed boxes tell of the short hours or the late notice; ``easy`` has none."""
    talk = _Talk(person, bank, rng, rng.randrange(40, 95))
    for topic in TOPICS:
        talk.section(topic, easy=person.code == easy and topic in HARD)
    lines = [
        f"# 访谈 {person.code}",
        "",
        f"日期：{day}　地点：线上　时长：{talk.clock // 60 + rng.randrange(2, 6)} 分钟",
        f"访谈员：{rng.choice(('甲', '乙'))}　转写：机器转写，人工校对一遍",
        "",
    ]
    return "\n".join(lines + talk.lines) + "\n"


class _Talk:
    """One interview as it goes on: nothing is said twice, and no question is put twice under one topic."""

    def __init__(self, person: Person, bank: dict[str, list[str]], rng: random.Random, clock: int) -> None:
        self.person, self.bank, self.rng, self.clock = person, bank, rng, clock
        self.lines: list[str] = []
        self.said: set[str] = set()
        asked = [(question, answer) for question, *answers in (line.split("｜") for line in bank["追问"]) for answer in answers]
        fitted = [pair for pair in asked if fitting(pair, person) == list(pair)]
        self.probing = rng.sample(fitted, len(fitted))

    def section(self, topic: str, *, easy: bool) -> None:
        """One topic: the question, an answer, one to three further questions, and something that comes to mind."""
        rng, cores = self.rng, self.bank[topic]
        cores = cores[:LATE] if topic == "取货的时候" and self.person.missed >= OFTEN else cores
        cores = [core for core in cores if EASY.search(core)] if easy else cores
        self._say("访", _question(topic, rng), (6, 15))
        extra = self._new(self.bank["品种.细节" if easy else f"{topic}.细节"], 2)
        self._say(self.person.code, self._new(self.bank["opening"], 1)[0] + self._new(cores, 1)[0] + extra[0], (20, 60))
        put: set[str] = set()
        for _ in range(rng.randrange(1, 4)):
            place = next(n for n, (question, _) in enumerate(self.probing) if question not in put)
            question, answer = self.probing.pop(place)
            put.add(question)
            self._say("访", question, (4, 12))
            self._say(self.person.code, answer + (self._new(self.bank["aside"], 1)[0] if rng.random() < ASIDES else ""), (10, 40))
        self._say(self.person.code, extra[1], (15, 50))
        self.lines.append("")

    def _new(self, sentences: Sequence[str], count: int) -> list[str]:
        """Sentences that fit the person and were not said yet; where all were, the oldest topic's may come again."""
        possible = fitting(sentences, self.person)
        fresh = [sentence for sentence in possible if sentence not in self.said]
        chosen = self.rng.sample(fresh if len(fresh) >= count else possible, count)
        self.said.update(chosen)
        return chosen

    def _say(self, who: str, text: str, pause: tuple[int, int]) -> None:
        filled = _fill(text.replace("{missed}", COUNTED[self.person.missed]), self.rng)
        self.lines.append(f"[{_clock(self.clock)}] {who}：{filled}")
        self.clock += self.rng.randrange(*pause)


COUNTED = ("零", "一", "两", "三", "四")


def fitting(sentences: Sequence[str], person: Person) -> list[str]:
    """The sentences that a person of this age and household can say."""
    return [s for s in sentences if all(fits(person) for words, fits in _FITS if re.search(words, s))]


_FITS: tuple[tuple[str, Callable[[Person], bool]], ...] = (
    (r"\{missed\}", lambda p: p.missed >= OFTEN),
    ("老伴|儿女都在", lambda p: p.home == "夫妻二人" and p.age >= 50),
    ("两口人|两个人过", lambda p: p.home == "夫妻二人"),
    ("室友", lambda p: p.home == "合租"),
    ("我一个人住|就我一张嘴", lambda p: p.home == "独居"),
    ("三代同堂|我妈|老人牙口|家里老人|给老人", lambda p: p.home == "三代同住"),
    ("我妈|拎着电脑", lambda p: p.age < 60),
    ("孩子睡|我孩子|带两个孩子|大的上|孩子在旁边|接孩子", lambda p: p.home == "有学龄孩子"),
    ("我女儿|我儿子|腿脚|老人家|我们学不会|老花", lambda p: p.age >= 50),
    ("我老公|我对象", lambda p: p.home in ("夫妻二人", "有学龄孩子") and p.age < 60),
    ("我们家|家里其他人|家里人说|结婚时候|谁在家谁|我们轮着", lambda p: p.home not in ("独居", "合租")),
    ("地铁|下班|公司|单位|上班|同事|工位", lambda p: p.age < 60),
)
"""Words that only some people say."""


def diary(person: Person, rng: random.Random) -> str:
    """Fourteen days of a diary as CSV."""
    rows = ["日期,前一天下单,取货时间,心情,买了什么,一句话"]
    left = person.missed
    for day in range(1, 15):
        if rng.random() < 0.3:
            continue
        mood = "没去成" if left and rng.random() < 0.5 else rng.choice(MOODS[:4])
        left -= mood == "没去成"
        bought = "、".join(rng.sample(SLOTS["veg"], rng.randrange(1, 4)))
        picked = "" if mood == "没去成" else f"{rng.randrange(17, 19)}:{rng.randrange(60):02d}"
        rows.append(
            f"第{day}天,{rng.randrange(6, 23)}:{rng.randrange(60):02d},{picked},{mood},{bought},{_remark(mood, rng, person)}"
        )
    return "\n".join(rows) + "\n"


def _remark(mood: str, rng: random.Random, person: Person) -> str:
    words = {
        "顺利": ("顺路拿了", "不用排队", "菜挺水灵", "老板帮忙装好了"),
        "一般": ("等了十来分钟", "袋子有点湿", "少一根葱", "没什么可说的"),
        "麻烦": ("翻了半天才找到", "下雨了还得去", "取货码刷不出来", "拎着上五楼"),
        "没去成": ("到的时候关门了", "通知来得太晚", "加班走不开" if person.age < 60 else "家里走不开", "忘了"),
    }
    return rng.choice(words[mood])


def _question(topic: str, rng: random.Random) -> str:
    forms = ("接下来想聊聊{}。", "{}，您这边是什么样的？", "说说{}吧。", "关于{}，您先随便讲讲。")
    return rng.choice(forms).format(topic)


def _fill(text: str, rng: random.Random) -> str:
    def value(match: re.Match[str]) -> str:
        name = match[1]
        return str(rng.randrange(*NUMBERS[name])) if name in NUMBERS else rng.choice(SLOTS[name])

    return re.sub(r"\{(\w+)\}", value, text)


def _clock(seconds: int) -> str:
    return f"{seconds // 60:02d}:{seconds % 60:02d}"

"""What a question asks for: the kind of its answer, the words to look for, and the relation that it is about."""

from __future__ import annotations

import re
from typing import NamedTuple

from ullage.readers import Question
from ullage.terms import fold, question_terms, stem

# The first cue that matches tells the kind; its words are taken out before the search.
_CUES: tuple[tuple[str, str], ...] = (
    ("instead", r"\bwhat (?:is|was|will be|should be)?\s*(?:used|chosen|picked|taken|done|it)?\b(?=.*\b(?:instead of|rather than|in place of|replaced)\b)|用什么(?:来)?(?:代替|替代)|(?:代替|替代)\S*的是什么"),
    ("line", r"\b(?:on|at|in) (?:which|what) line(?: of)?\b|\bline number\b|(?:在|位于)?第几行|哪一?行"),
    ("exit", r"\b(?:which|what|with what|with which)?\s*exit (?:code|status)\b|\breturn code\b|退出码|返回码|退出状态"),
    ("reason", r"\bwhy\b|\bfor (?:what|which) reason\b|\bwhat (?:is|was) the reason\b|为什么|为何|因为什么|(?:是)?什么原因|原因(?:是什么)"),
    ("person", r"\bwhom?\b|\bwhose\b|\bwhich (?:person|colleague|engineer|customer|user)\b|是?谁|哪(?:位|个人)"),
    ("duration", r"\bhow long\b|\bhow much time\b|多长时间|多久|耗时|用了多少(?:秒|分钟|毫秒|小时)|花了多少(?:秒|分钟|时间)"),
    ("date", r"^\W*when\b|\bwhen (?:did|is|was|will|does|do|are|should)\b|\b(?:which|what) (?:date|day|time|month|week)\b|\bdeadline\b|什么时候|何时|哪一?天|几点|几号|哪个月|截止(?:日期|时间)"),
    ("count", r"\bhow many\b|\bhow much\b|\bwhat (?:number|amount) of\b|多少|几(?:个|条|次|份|位|人|台|家|种)"),
    ("version", r"\b(?:which|what) versions?\b|哪个版本|什么版本|版本号|的版本"),
    ("subject", r"\b(?:subject|message) of (?:the )?commit\b|\bcommit (?:subject|message)\b|提交(?:信息|说明|标题)"),
    ("sha", r"\b(?:which|what) (?:sha\W?\d*|digest|checksum)\b|\b(?:commit )?hash\b|\b(?:which|what) commit\b|\bcommit id\b|\bsha\b|提交(?:的)?哈希|哪(?:个|次)提交|哈希值?"),
    ("branch", r"\b(?:which|what)(?: git)? branch\b|哪个分支|什么分支"),
    ("url", r"\b(?:which|what)(?: is the)? (?:url|link|web ?page|address)\b|\b(?:url|link) (?:of|for)\b|链接|网址|哪个(?:页面|地址)"),
    ("ticket", r"\bwhat (?:is|was) the (?:issue|ticket|pull request|incident)(?: number)?\b|\b(?:which|what) (?:issue|ticket|pull request|pr|merge request)(?: number)?\b|哪个(?:工单|问题单|议题|PR)"),
    ("error", r"\b(?:which|what) (?:error|exception|failure|warning)(?: message)?\b|\berror message\b|什么(?:错误|报错|异常)|哪个错误|报了什么错|错误信息"),
    ("test", r"\b(?:which|what) tests?(?: case)?\b|哪(?:个|些)(?:测试|用例)"),
    ("command", r"\b(?:which|what) (?:shell )?command\b|(?:哪(?:个|条)|什么)命令"),
    ("directory", r"\b(?:in |under )?(?:which|what) (?:directory|folder)\b|哪个(?:目录|文件夹)"),
    ("path", r"\b(?:in |from |to )?(?:which|what) (?:\w+ )?(?:files?|path|module)\b|哪(?:个|些)文件|什么文件|哪(?:个|条)路径|(?:文件|)路径是"),
    ("identifier", r"\b(?:which|what) (?:\w+ )?(?:function|method|class|variable|constant|option|flag|field|identifier|symbol|type|key|parameter|setting)\b|哪个(?:函数|方法|类|变量|常量|选项|参数|字段|标识符|配置项)"),
    ("value", r"\bwhat (?:is|was) the (?:\w+ )?value\b|\b(?:which|what) value\b|\bset to\b|(?:的)?值是(?:多少|什么)|取值|设(?:置)?(?:为|成)(?:什么|多少)"),
    ("port", r"\b(?:which|what)(?: tcp)? port\b|(?:哪个|什么)端口|端口(?:号)?是"),
    ("percent", r"\b(?:which|what) percent(?:age)?\b|百分之几|百分比"),
)  # fmt: skip
_NEXT = re.compile(
    r"\b(?:which|what) (?:item|step|task|to-?do)\b.*\b(?:after|follows?|next)\b|\bwhat (?:comes|follows|is next)\b|(?:之后|后面|接下来)的?(?:下一项|下一步|一项|是什么|步骤)|下一(?:项|步)",
    re.IGNORECASE,
)
_FIX = re.compile(
    r"\b(?:edited|changed|modified|touched)\b.*\b(?:fix|cure|resolve|solve|repair)\w*\b|修复.*(?:修改|改|编辑)", re.IGNORECASE
)
CUES = tuple((kind, re.compile(pattern, re.IGNORECASE)) for kind, pattern in _CUES)
FRAME_WORDS = frozenset(
    stem(word)
    for word in """value set define defined called call name named use used using give gave given mention mentioned connection session
    agent user conversation latest last change changed current currently now according new still recorded record report reported say
    said show shown result run ran end ended finally finish finished answer assistant appear appeared happen happened find found take
    taken took stand stood file files function method class type struct interface enum trait line output search anything match test tests
    item list to-do item fix error step print printed count counted made make commit have has number amount directory folder whole two these""".split()  # noqa: SIM905 - a word list reads best as text
)
_FRAME_CJK = re.compile(
    r"会话|用户|助手|提到|最后|最新|现在|目前|当前|时候|之后|以后|定义|叫做|名为|使用|给出|告诉|一次|中的|是什么|是多少|哪一个|请问|根据|里面|文件|运行|结果|为止|本次|有没有|是否|什么|允许|要求|必须|可以|应该|需要|统计时|统计|多少|待办清单|清单上|下一项|目录下|目录|用了|多长时间|再次|重新|搜索|找到|内容|"
    r"报了|错误|输出|链接|提交|哈希|分支|哪个|哪些|哪一|哪|里|吗|呢|是|在|了|过|对|把|被|从|跟|和|与|时|有|行"
)
_SEARCH = re.compile(
    r"\b(?:search|grep|look|query)\w*\b.*\b(?:find|found|match|return|turn up|hit)\w*\b|\b(?:find|match)\w* anything\b|(?:搜索|查找|检索).*(?:找到|结果|匹配)",
    re.IGNORECASE,
)
_RERUN = re.compile(
    r"\b(?:re-?run|run again|run|ran|executed|tested)\b.*\b(?:after|since)\b.*\b(?:edit|chang|modif)\w*|(?:修改|改动|编辑)\S*(?:之)?后.*(?:再|重新)",
    re.IGNORECASE,
)
_ORDER = re.compile(r"\b(?:first|earlier|before|came first|earliest)\b|先(?:后)?|更早|最早", re.IGNORECASE)
_ANYTHING = re.compile("")
_PERMISSION = re.compile(
    r"^(?:may|can|could|should|must|shall|does|is|are|has|was)\b.*\b(?:allowed|permitted|may|required|supposed|obliged|agent|expected|forbidden)\b|^(?:may|should|must)\b"
    r"|(?:可以|允许|必须|应该|能否|可否|需要|能不能|禁止)",
    re.IGNORECASE,
)
_OBLIGATION = re.compile(r"^(?:must|should|shall)\b|\b(?:required|supposed|obliged)\b|必须|应该|需要", re.IGNORECASE)
_NEGATIVE = re.compile(r"\b(?:not|never|forbidden|prohibited)\b|禁止|不(?:能|可|得|要)", re.IGNORECASE)
_SCOPE = re.compile(
    r"\b(?:in|under|inside|within) (?:the (?:directory|folder) )?`?([\w./~@+-]+/?)`?|(?:在\s*)?`?([\w./~@+-]+/?)`?\s*(?:目录|文件夹)?(?:下|里|中)",
    re.IGNORECASE,
)
VERBS: dict[str, re.Pattern[str]] = {
    "create": re.compile(r"\b(?:creat|add|wrote|written|new)\w*|新建|创建|新增", re.IGNORECASE),
    "edit": re.compile(r"\b(?:edit|chang|modif|updat|touch|fix)\w*|修改|编辑|改动|更改|更新", re.IGNORECASE),
    "delete": re.compile(r"\b(?:delet|remov)\w*|删除|移除", re.IGNORECASE),
    "read": re.compile(r"\b(?:read|open|view|inspect|look)\w*|读取|查看|打开|阅读|看过", re.IGNORECASE),
}
_TYPE_NOUN = re.compile(
    r"\b(?:which|what) (?:\w+ )?(\w+)(?= (?:is|was|are|were|do|does|did|has|have|had|will|would|can|may|must|should|took|takes)\b)|哪(?:一?[个位名条项种家份次])([\u4e00-\u9fff]{2,3})",
    re.IGNORECASE,
)
_CAMEL = re.compile(r"\b(?:[a-z]+[A-Z]\w*|[A-Z][a-z0-9]+[A-Z]\w*)\b")
_BACKTICK = re.compile(r"`([^`]+)`|\"([^\"]+)\"|「([^」]+)」")
_IN_DEFINING_FILE = re.compile(
    r"\b(?:the )?file (?:that|which) (?:defines|holds|contains) (?:the \w+ )?`([^`]+)`|定义了?(?:\w+ )?`([^`]+)`\s*的(?:那个)?文件",
    re.IGNORECASE,
)


class Query(NamedTuple):
    """A question, read: ``terms`` to find, ``focus`` those that name something by its exact spelling, and the relation.

    ``light`` are terms that only frame the question: they count little; ``phrase`` those of a quoted title; ``type_nouns``
    name the kind of the answer ("which carrier").
    """

    question: Question
    text: str
    kind: str
    terms: tuple[str, ...]
    focus: frozenset[str]
    relation: str
    light: frozenset[str] = frozenset()
    phrase: tuple[str, ...] = ()
    type_nouns: frozenset[str] = frozenset()
    noun: str = ""
    quoted: tuple[str, ...] = ()


def read_question(question: Question) -> Query:
    """Analyse one question; rules alone, the same for every question."""
    text = fold(question.text).strip()
    kind, rest = _kind(text, question)
    found = question_terms(_unframed(rest))
    if question.grader == "choice" and not is_polar(question.choices):
        offered = {term for choice in question.choices for term in question_terms(choice)}
        found = tuple(term for term in found if term not in offered)
    named = frozenset(question_terms(" ".join(next(filter(None, match)) for match in _BACKTICK.findall(text))))
    relation = _relation(text, question)
    if named and relation in {"next", "search", "fix"}:
        found = tuple(term for term in found if term in named)
    light = frozenset(term for term in found if term in FRAME_WORDS) - named
    quoted = tuple(next(filter(None, match)) for match in _BACKTICK.findall(text))
    focus = frozenset(term for name in quoted for term in question_terms(name) if not any(c.isspace() for c in name))
    focus |= frozenset(term for term in found if re.search(r"\d|_|[./:@#]", term))
    focus |= frozenset(term for word in _CAMEL.findall(text) for term in question_terms(word)) & frozenset(found)
    noun = re.search(
        r"\bhow (?:many|much) (?!did\b|do\b|does\b|is\b|are\b|was\b|were\b|have\b|has\b)([a-z]+)|\bnumber of ([a-z]+)|多少(?:个|条|次|行|份)?([\u4e00-\u9fff]{1,2})",
        text,
        re.IGNORECASE,
    )
    return Query(
        question,
        text,
        kind,
        found,
        focus,
        relation,
        light,
        tuple(dict.fromkeys(term for name in quoted if " " in name for term in question_terms(name))),
        frozenset(term for match in _TYPE_NOUN.findall(_BACKTICK.sub(" ", text)) for term in question_terms("".join(match))),
        next(filter(None, noun.groups())) if noun else "",
        quoted,
    )


def _unframed(text: str) -> str:
    """A question without the Chinese words that only frame it; quoted names stay whole."""
    parts, at = [], 0
    for match in _BACKTICK.finditer(text):
        parts += [_FRAME_CJK.sub(" ", text[at : match.start()]), match.group(0)]
        at = match.end()
    return "".join([*parts, _FRAME_CJK.sub(" ", text[at:])])


def _kind(text: str, question: Question) -> tuple[str, str]:
    """The kind of the answer, and the question without the words that told it. Quoted names never count as cues."""
    bare = _BACKTICK.sub(lambda match: " " * len(match.group(0)), text)
    for kind, cue in CUES:
        match = cue.search(bare)
        if match:
            return kind, text[: match.start()] + " " + text[match.end() :]
    return {"numeric": "count", "path": "path"}.get(question.grader, "free"), text


def _relation(text: str, question: Question) -> str:
    bare = _BACKTICK.sub(" ", text)
    if question.grader != "choice":
        relations = {"set": question.grader == "set", "next": bool(_NEXT.search(bare)), "fix": bool(_FIX.search(bare))}
        return next((relation for relation, holds in relations.items() if holds), "")
    if is_polar(question.choices):
        tests = (("rerun", _RERUN), ("search", _SEARCH), ("permission", _PERMISSION), ("polar", _ANYTHING))
        return next(relation for relation, pattern in tests if pattern.search(bare))
    if _ORDER.search(bare) and all(choice.lower() in text.lower() for choice in question.choices):
        return "first"
    return "option"


def is_polar(choices: tuple[str, ...]) -> bool:
    """Whether the options are yes and no."""
    return {choice.lower() for choice in choices} in ({"yes", "no"}, {"是", "否"}, {"可以", "不可以"}, {"有", "没有"})


def polar(choices: tuple[str, ...], *, positive: bool) -> str:
    """The option that says yes, or the one that says no."""
    yes = next(choice for choice in choices if choice.lower() in {"yes", "是", "可以", "有"})
    return yes if positive else next(choice for choice in choices if choice != yes)


def is_obligation(text: str) -> bool:
    """Whether the question asks if something must be done, not if it may."""
    return bool(_OBLIGATION.search(text))


def asks_negative(text: str) -> bool:
    """Whether the question itself is put in the negative (is it forbidden …?)."""
    return bool(_NEGATIVE.search(_BACKTICK.sub(" ", text)))


def scope_of(text: str) -> str:
    """The directory that a set question is limited to; empty when it names none."""
    match = _SCOPE.search(text)
    found = (match.group(1) or match.group(2) or "") if match else ""
    return found.strip("`").rstrip("/") if "/" in found or found.endswith("/") else ""


def verb_of(text: str) -> str:
    """What the question says was done to files: create, edit, delete or read; empty when it says nothing of that."""
    bare = _BACKTICK.sub(" ", text)
    places = {verb: match.start() for verb, pattern in VERBS.items() if (match := pattern.search(bare))}
    return min(places, key=lambda verb: places[verb]) if places else ""


def defining_file(text: str) -> tuple[str, str]:
    """For a question about "the file that defines `x`": x, and the words to be replaced once the file is known."""
    match = _IN_DEFINING_FILE.search(text)
    return (match.group(1) or match.group(2), match.group(0)) if match else ("", "")

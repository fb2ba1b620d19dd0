"""Facts that commands and tools print: commits, tests, errors and what cured them, counts, links, searches."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator

from ullage.actions import Action
from ullage.lines import block_text
from ullage.mining.candidates import Candidate, Settled, Sighting, settle, tell, unique
from ullage.mining.code import command_name
from ullage.mining.source import Line, Source
from ullage.terms import terms
from ullage.types import Grader

_COMMITTED = re.compile(r"^\[(?P<branch>[\w./-]+)(?: \([\w -]+\))? (?P<sha>[0-9a-f]{7,12})\] (?P<subject>.{8,100})$")
_LOGGED = re.compile(r"^(?:\* )?(?P<sha>[0-9a-f]{7,12}) (?:\([^)]*\) )?(?P<subject>[^\d\W][^|]{11,99})$")
_LOG_COMMAND = re.compile(r"\bgit\b.*\b(?:log|reflog|show|cherry|rebase|branch)\b")
_STAT = re.compile(
    r"^(?P<files>\d+) files? changed(?:, (?P<insertions>\d+) insertions?\(\+\))?(?:, (?P<deletions>\d+) deletions?\(-\))?$"
)
_TEST = re.compile(
    r"^\s*--- (?P<go>PASS|FAIL): (?P<name>[\w/.-]+)|^(?P<py>[\w/.-]+\.py(?:::\w+)+\S*) (?P<pyres>PASSED|FAILED)|^(?P<pyres2>PASSED|FAILED) (?P<py2>[\w/.-]+\.py(?:::\w+)+)"
    r"|^test (?P<rs>[\w:]+) \.\.\. (?P<rsres>ok|FAILED)"
)
_PACKAGE = re.compile(r"^(?:ok|FAIL)\s+(?P<name>[\w./-]+)\s+(?P<time>\d+\.\d+s)\b")
_COMPILE = re.compile(
    r"^(?:#\s*)?(?:vet: )?(?P<path>(?:[\w.@+-]+/)*[\w.@+-]+\.\w+):(?P<line>\d+)(?::\d+)?:\s+(?:(?:fatal )?error:\s*)?(?P<text>[A-Za-z(].{7,140})$"
)
_LABELLED = re.compile(
    r"^(?:\S+:\s+)?(?P<whole>(?:(?:[\w.]*(?:Error|Exception))|[Ee]rror|ERROR|fatal|panic|FATAL)(?:\[\w+\])?: (?P<text>\S.{7,140}))$"
)
_EXIT = re.compile(r"\b[Ee]xit(?:ed with)? (?:code|status):? (?P<code>\d{1,3})\b")
_COUNTED = re.compile(r"^(?P<count>\d+) (?P<path>(?:[\w.@+-]+/)*[\w.@+-]+\.\w+)$")
_URL_RESULT = re.compile(r"^(?P<url>https?://\S+)$")
_NOTHING = re.compile(r"^(?:no (?:matches|files|results) found|found 0\b)", re.IGNORECASE)
_PLAIN_PATTERN = re.compile(r"(?=.*[A-Za-z]{4})[\w .:/=-]{4,40}", re.ASCII)
"""Search patterns that a person would name: words and identifiers, no regular expressions."""


def commits(source: Source) -> Iterator[Candidate]:
    """The hash of a commit by its subject, the branch that it was made on, and how much it changed."""
    hashes: dict[str, list[Sighting]] = defaultdict(list)
    branches: dict[str, list[Sighting]] = defaultdict(list)
    for line in _shell_lines(source):
        made = _COMMITTED.match(line.text)
        match = made or (_LOGGED.match(line.text) if _LOG_COMMAND.search(line.action.command if line.action else "") else None)
        if match is None:
            continue
        subject = match.group("subject").strip()
        hashes[subject].append(Sighting(value=match.group("sha"), message=line.message, span=source.span(line)))
        if made:
            branches[subject].append(Sighting(value=made.group("branch"), message=line.message, span=source.span(line)))
    for subject, sightings in hashes.items():
        yield from _commit(source, subject, sightings)
    for subject, sightings in branches.items():
        if len({s.value for s in sightings}) == 1 and "/" in sightings[0].value:
            question = tell(
                source.language, f'On which branch was the commit "{subject}" made?', f"提交“{subject}”是在哪个分支上做的？"
            )
            yield _fact("branch", "recall", question, settle(sightings), "normalised", (subject,))


def _commit(source: Source, subject: str, sightings: list[Sighting]) -> Iterator[Candidate]:
    shas = unique(s.value for s in sightings)
    shas = unique((*shas, *(full for full in source.full_hashes if full.startswith(max(shas, key=len)))))
    longest = max(shas, key=len)
    if any(not longest.startswith(sha) for sha in shas):
        return  # amended or rebased: the subject names several commits
    question = tell(source.language, f'What is the hash of the commit "{subject}"?', f"提交“{subject}”的哈希是什么？")
    first, last = sightings[0], sightings[-1]
    same = [Sighting(value=longest, message=s.message, span=s.span) for s in (first, last)]
    made = _fact("commit", "recall", question, settle(same), "exact", (subject,))
    yield _with_accept(made, shas)
    if len(sightings) <= 2:
        question = tell(source.language, f"What is the subject of commit {shas[0]}?", f"提交 {shas[0]} 的提交信息是什么？")
        same = [Sighting(value=subject, message=s.message, span=s.span) for s in (first, last)]
        yield _fact("subject", "recall", question, settle(same), "normalised", (shas[0],), prose=True)


def changes(source: Source) -> Iterator[Candidate]:
    """How many insertions or deletions a commit made, from what ``git commit`` printed under its subject."""
    previous: tuple[str, int] | None = None
    for line in _shell_lines(source):
        made = _COMMITTED.match(line.text)
        if made:
            previous = made.group("subject"), line.message
            continue
        stat = _STAT.match(line.text)
        if stat and previous and previous[1] == line.message:
            for noun, noun_zh in (("insertions", "插入"), ("deletions", "删除")):
                if stat.group(noun) and int(stat.group(noun)) > 2:
                    sighting = Sighting(value=stat.group(noun), message=line.message, span=source.span(line))
                    question = tell(
                        source.language,
                        f'How many {noun} did the commit "{previous[0]}" have?',
                        f"提交“{previous[0]}”有多少行{noun_zh}？",
                    )
                    yield _fact("changes", "recall", question, settle([sighting]), "numeric", (previous[0],))
        if line.text:
            previous = previous if stat is None else None


def tests(source: Source) -> Iterator[Candidate]:
    """Whether a test passed when it last ran (failures first: nearly all pass), and how long a package took."""
    outcomes: dict[str, list[Sighting]] = defaultdict(list)
    times: dict[str, list[Sighting]] = defaultdict(list)
    for line in _shell_lines(source):
        match = _TEST.match(line.text)
        if match:
            name = match.group("name") or match.group("py") or match.group("py2") or match.group("rs")
            word = match.group("go") or match.group("pyres") or match.group("pyres2") or match.group("rsres")
            value = "pass" if word.upper() in {"PASS", "PASSED", "OK"} else "fail"
            outcomes[name].append(Sighting(value=value, message=line.message, span=source.span(line)))
        timed = _PACKAGE.match(line.text)
        if timed:
            times[timed.group("name")].append(Sighting(value=timed.group("time"), message=line.message, span=source.span(line)))
    ever_failed = [name for name, seen in outcomes.items() if any(s.value == "fail" for s in seen)]
    always = [name for name in outcomes if name not in ever_failed][: len(ever_failed) + 3]
    for name in (*ever_failed, *always):
        yield _test(source, name, settle(outcomes[name]))
    for name, sightings in times.items():
        question = tell(
            source.language,
            f"How long did the tests of `{name}` take when they last ran?",
            f"`{name}` 的测试最后一次运行用了多长时间？",
        )
        yield _fact("duration", _type(sightings), question, settle(sightings), "numeric", (name,))


def _test(source: Source, name: str, settled: Settled) -> Candidate:
    question = tell(
        source.language, f"Did the test `{name}` pass or fail when it last ran?", f"测试 `{name}` 最后一次运行是通过还是失败？"
    )
    return Candidate(
        family="test",
        type="update" if settled.stale else "recall",
        question=question,
        accept=(settled.value,),
        reject=("fail" if settled.value == "pass" else "pass",),
        grader="choice",
        choices=("pass", "fail"),
        evidence=(settled.first.span,),
        settled_at=settled.first.message,
        restated_at=settled.restated_at,
        speaker="tool",
        names=(name,),
    )


def errors(source: Source) -> Iterator[Candidate]:
    """What went wrong where: compiler messages by file and line, and the error of a command that failed once."""
    located: dict[tuple[str, str], list[Sighting]] = defaultdict(list)
    failures: dict[str, list[Sighting]] = defaultdict(list)
    seen: set[tuple[str, int]] = set()
    for line in _shell_lines(source):
        name = command_name(line.action.command) if line.action else ""
        if re.match(r"(?:grep|rg|git grep|cat|sed|head|tail|find|ls|git (?:show|diff|log))\b", name):
            continue
        match = _COMPILE.match(line.text)
        if match:
            sighting = Sighting(value=match.group("text").strip(), message=line.message, span=source.span(line))
            located[source.relative(match.group("path")), match.group("line")].append(sighting)
        labelled = _LABELLED.match(line.text)
        if labelled and nameable(name) and (name, line.message) not in seen:
            seen.add((name, line.message))
            whole = labelled.group("whole")
            value = whole if re.match(r"[\w.]+(?:Error|Exception):", whole) else labelled.group("text")
            failures[name].append(Sighting(value=value, message=line.message, span=source.span(line)))
    for (path, number), sightings in located.items():
        if len({s.value for s in sightings}) == 1:
            where = source.short(path)
            question = tell(
                source.language, f"Which error was reported in {where} at line {number}?", f"{where} 第 {number} 行报了什么错误？"
            )
            yield _fact("error", "recall", question, settle(sightings), "normalised", (where,))
    for name, sightings in failures.items():
        if len(sightings) == 1:
            question = tell(source.language, f"Which error did `{name}` end with?", f"`{name}` 报了什么错误？")
            yield _fact("failure", "recall", question, settle(sightings), "normalised", (name,))


def exits(source: Source) -> Iterator[Candidate]:
    """Exit codes that are not simply 1."""
    codes: dict[str, list[Sighting]] = defaultdict(list)
    for line in _shell_lines(source):
        match = _EXIT.search(line.text)
        if match and line.action:
            sighting = Sighting(
                value=match.group("code"), message=line.message, span=source.span(line, match.start(), match.end())
            )
            codes[command_name(line.action.command)].append(sighting)
    for name, sightings in codes.items():
        if nameable(name) and len({s.value for s in sightings}) == 1 and sightings[0].value not in {"0", "1"}:
            question = tell(source.language, f"With which exit code did `{name}` end?", f"`{name}` 的退出码是多少？")
            yield _fact("exit", "recall", question, settle(sightings), "numeric", (name,))


def fixes(source: Source) -> Iterator[Candidate]:
    """Which file was changed to cure an error: the one file edited between a command's failure and its next success."""
    failing: dict[str, tuple[Action, Sighting]] = {}
    edited: dict[str, list[Action]] = {}
    messages = _first_errors(source)
    for action in source.actions:
        if action.kind in {"edit", "create"} and not action.failed:
            for done in edited.values():
                done.append(action)
        if action.kind != "shell" or action.result is None:
            continue
        name, error = command_name(action.command), messages.get((action.result.message, action.result.block))
        if error is not None:
            failing[name], edited[name] = (action, error), []
        elif name in failing and not action.failed:
            _, error = failing.pop(name)
            yield from _fix(source, error, edited.pop(name), action)


def _first_errors(source: Source) -> dict[tuple[int, int], Sighting]:
    found: dict[tuple[int, int], Sighting] = {}
    for line in _shell_lines(source):
        match = _COMPILE.match(line.text)
        if match and (line.message, line.block) not in found:
            text = re.sub(r"\s*\([\w-]+\)$", "", match.group("text").strip())
            if text.count("`") % 2 or '"' in text or len(terms(text)) < 3:
                continue  # it could not be quoted in a question, or says too little to be told apart
            found[line.message, line.block] = Sighting(value=text, message=line.message, span=source.span(line))
    return found


def _fix(source: Source, error: Sighting, edits: list[Action], success: Action) -> Iterator[Candidate]:
    targets = unique(source.relative(edit.target) for edit in edits)
    if len(targets) != 1 or source.short(targets[0]) in error.value:
        return
    question = tell(
        source.language,
        f'Which file was edited to fix the error "{error.value}"?',
        f"为了修复错误“{error.value}”，修改了哪个文件？",
    )
    yield Candidate(
        family="fix",
        type="multi-hop",
        question=question,
        accept=targets,
        grader="path",
        evidence=(error.span, source.use_span(edits[0])),
        settled_at=success.result.message if success.result else edits[-1].use.message,
        speaker="tool",
        used=targets[0].rsplit("/", 1)[-1],
    )


def counts(source: Source) -> Iterator[Candidate]:
    """How many lines a file has, as ``wc -l`` printed it."""
    found: dict[str, list[Sighting]] = defaultdict(list)
    for line in _shell_lines(source):
        match = _COUNTED.match(line.text)
        if match and line.action and re.search(r"\bwc\s+-\w*l\w*\b", line.action.command) and int(match.group("count")) > 20:
            sighting = Sighting(value=match.group("count"), message=line.message, span=source.span(line))
            found[source.relative(match.group("path"))].append(sighting)
    for path, sightings in found.items():
        where = source.short(path)
        question = tell(
            source.language, f"How many lines did {where} have when they were last counted?", f"{where} 最后一次统计时有多少行？"
        )
        yield _fact("lines", _type(sightings), question, settle(sightings), "numeric", (where,))


def links(source: Source) -> Iterator[Candidate]:
    """Addresses that a command printed on a line of their own."""
    found: dict[str, list[Sighting]] = defaultdict(list)
    for line in _shell_lines(source):
        match = _URL_RESULT.match(line.text)
        if match and line.action:
            sighting = Sighting(value=match.group("url"), message=line.message, span=source.span(line))
            found[" ".join(command_name(line.action.command).split()[:4])].append(sighting)
    for name, sightings in found.items():
        if nameable(name) and len({s.value for s in sightings}) == 1:
            question = tell(source.language, f"Which URL did `{name}` print?", f"`{name}` 输出的链接是什么？")
            yield _fact("url", "recall", question, settle(sightings), "normalised", (name,))


def searches(source: Source) -> Iterator[Candidate]:
    """Whether a search found anything: dead ends are facts too, and as many hits are asked for as dead ends."""
    found: dict[str, list[Sighting]] = defaultdict(list)
    for action in source.actions:
        pattern = action.target
        if action.kind != "search" or action.failed or action.result is None or not _PLAIN_PATTERN.fullmatch(pattern):
            continue
        text = block_text(source.trace.messages[action.result.message].blocks[action.result.block])
        value = "no" if _NOTHING.match(text.strip()) else "yes"
        message = source.trace.messages[action.result.message]
        lines = [x for x in text.split("\n") if x.strip()]
        line = next((x for x in lines if pattern in x), lines[0] if lines else "")
        span = source.use_span(action)
        result = type(span)(message=message.id, block=action.result.block, start=text.find(line), end=text.find(line) + len(line))
        found[pattern].append(Sighting(value=value, message=action.result.message, span=result))
    empty = [p for p, seen in found.items() if {s.value for s in seen} == {"no"}]
    full = [p for p, seen in found.items() if {s.value for s in seen} == {"yes"}][: len(empty) + 2]
    yes, no = tell(source.language, "yes no", "是 否").split()
    for pattern in (*empty, *full):
        settled = settle(found[pattern])
        question = tell(source.language, f"Did the search for `{pattern}` find anything?", f"对 `{pattern}` 的搜索找到了内容吗？")
        positive = settled.value == "yes"
        yield Candidate(
            family="search",
            type="negative",
            question=question,
            accept=(yes if positive else no,),
            reject=(no if positive else yes,),
            grader="choice",
            choices=(yes, no),
            evidence=(settled.first.span,),
            settled_at=settled.first.message,
            restated_at=settled.restated_at,
            speaker="tool",
            names=(pattern,),
        )


def _shell_lines(source: Source) -> Iterator[Line]:
    return (line for line in source.lines if line.kind == "result" and line.action is not None and line.action.kind == "shell")


def nameable(name: str) -> bool:
    """Whether a command can be named in a question: one plain command, not a script."""
    return 3 <= len(name) <= 70 and not re.search(r"&&|\|\||;|\n|<<|`|\$\(|\|", name)


def _type(sightings: list[Sighting]) -> str:
    return "update" if len({s.value for s in sightings}) > 1 else "recall"


def _fact(
    family: str, type_: str, question: str, settled: Settled, grader: Grader, names: tuple[str, ...], *, prose: bool = False
) -> Candidate:
    return Candidate(
        family=family,
        type=type_,
        question=question,
        accept=(settled.value,),
        reject=settled.stale,
        grader=grader,
        form="prose" if prose else "typed",
        evidence=(settled.first.span,),
        settled_at=settled.first.message,
        restated_at=settled.restated_at,
        speaker="tool",
        names=names,
        used=settled.value,
    )


def _with_accept(candidate: Candidate, accept: tuple[str, ...]) -> Candidate:
    return Candidate(**{name: getattr(candidate, name) for name in Candidate.__dataclass_fields__} | {"accept": accept})

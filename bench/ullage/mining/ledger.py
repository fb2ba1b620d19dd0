"""Facts of the agent's own doings: which files it made and changed, in which order, what was tested after, what is still to do."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise

from ullage.actions import Action
from ullage.lines import arguments_of
from ullage.mining.candidates import Candidate, tell, unique
from ullage.mining.source import Source
from ullage.types import Span, ToolUse

SMALLEST_SET, LARGEST_SET = 2, 6
"""Sizes of set questions: one item is no set, and nobody recites more than six."""
ORDER_DISTANCE = 6
"""Messages between two first edits whose order is asked: closer ones are one step of work."""
_TESTS = re.compile(
    r"\b(?:go test|pytest|cargo test|npm (?:run )?test|yarn test|jest|vitest|mvn test|gradle test|make test|tox|ctest|rspec|unittest|\w+ run test\S*)"
)


def file_sets(source: Source) -> Iterator[Candidate]:
    """Which files were created, and which changed, under a directory."""
    for verb, kinds in (("created", {"create"}), ("edited", {"create", "edit"})):
        folders: dict[str, list[Action]] = defaultdict(list)
        for action in source.actions:
            path = source.relative(action.target)
            if action.kind in kinds and not action.failed and "/" in path and not path.startswith("/"):
                folders[path.rsplit("/", 1)[0]].append(action)
        for folder, done in folders.items():
            paths = unique(source.relative(action.target) for action in done)
            if SMALLEST_SET <= len(paths) <= LARGEST_SET and not any(other.startswith(folder + "/") for other in folders):
                yield _file_set(source, verb, folder, paths, done)


def _file_set(source: Source, verb: str, folder: str, paths: tuple[str, ...], done: list[Action]) -> Candidate:
    firsts = [next(action for action in done if source.relative(action.target) == path) for path in paths]
    verb_zh = {"created": "新建", "edited": "修改"}[verb]
    return Candidate(
        family=f"files {verb}",
        type="artifact",
        question=tell(
            source.language, f"Which files were {verb} in the directory {folder}/?", f"在 {folder}/ 目录下{verb_zh}了哪些文件？"
        ),
        accept=paths,
        grader="set",
        evidence=tuple(source.use_span(action) for action in firsts),
        settled_at=max(action.use.message for action in firsts),
        restated_at=done[-1].use.message if done[-1] not in firsts else None,
        speaker="assistant",
        used=paths[-1].rsplit("/", 1)[-1],
    )


def edit_order(source: Source) -> Iterator[Candidate]:
    """Which of two files was edited first."""
    firsts: dict[str, Action] = {}
    for action in source.actions:
        if action.kind in {"create", "edit"} and not action.failed and action.target:
            firsts.setdefault(source.relative(action.target), action)
    order = sorted(firsts.items(), key=lambda item: item[1].use)
    for n, (path, action) in enumerate(order):
        later = next(((p, a) for p, a in order[n + 1 :] if a.use.message - action.use.message >= ORDER_DISTANCE), None)
        if later is None or source.short(path) == source.short(later[0]):
            continue
        names = [source.short(path), source.short(later[0])]
        shown = sorted(names)
        yield Candidate(
            family="order",
            type="temporal",
            question=tell(
                source.language,
                f"Which of these two files was edited first in the session: {shown[0]} or {shown[1]}?",
                f"在这次会话中，{shown[0]} 和 {shown[1]} 哪个先被修改？",
            ),
            accept=(names[0],),
            reject=(names[1],),
            grader="choice",
            choices=(shown[0], shown[1]),
            evidence=(source.use_span(action), source.use_span(later[1])),
            settled_at=later[1].use.message,
            speaker="assistant",
        )


def freshness(source: Source) -> Iterator[Candidate]:
    """Whether tests were run again after the last change of a file."""
    last: dict[str, Action] = {}
    for action in source.actions:
        if action.changes and action.target:
            last[source.relative(action.target)] = action
    runs = [action for action in source.actions if action.kind == "shell" and _TESTS.search(action.command) and action.result]
    yes, no = tell(source.language, "yes no", "是 否").split()
    for path, edit in last.items():
        after = next((run for run in runs if run.use > edit.use), None)
        if not runs or (after is None and not source.trace.calls):
            continue
        settled = after.use.message if after else max(edit.use.message, source.trace.calls[-1].upto - 1)
        yield Candidate(
            family="rerun",
            type="temporal",
            question=tell(
                source.language,
                f"Were tests run again after {source.short(path)} was last edited?",
                f"最后一次修改 {source.short(path)} 之后，有没有再次运行测试？",
            ),
            accept=(yes if after else no,),
            reject=(no if after else yes,),
            grader="choice",
            choices=(yes, no),
            evidence=(source.use_span(edit), *((source.use_span(after),) if after else ())),
            settled_at=settled,
            speaker="assistant",
        )


def to_dos(source: Source) -> Iterator[Candidate]:
    """What comes next on the agent's list: the item after another one, on the last list that holds both."""
    following: dict[str, tuple[str, int, Span]] = {}
    first_seen: dict[tuple[str, str], tuple[int, Span]] = {}
    for action in source.actions:
        if action.kind != "todo" or action.failed:
            continue
        block = source.trace.messages[action.use.message].blocks[action.use.block]
        items = _items(block) if isinstance(block, ToolUse) else []
        for one, other in pairwise(items):
            span = _item_span(source, action, other)
            start = first_seen.setdefault((one, other), (action.use.message, span))
            if following.get(one, ("",))[0] != other:
                following[one] = (other, *start)
    for one, (other, message, span) in following.items():
        yield Candidate(
            family="next",
            type="continuation",
            question=tell(
                source.language, f'Which item comes after "{one}" on the to-do list?', f"待办清单上“{one}”之后的下一项是什么？"
            ),
            accept=(other,),
            reject=(),
            grader="normalised",
            form="prose",
            evidence=(span,),
            settled_at=message,
            speaker="assistant",
        )


def _items(block: ToolUse) -> list[str]:
    """The texts of a to-do list, whatever the client calls its fields."""
    for value in arguments_of(block).values():
        if isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
            texts = [
                next((str(item[key]) for key in ("content", "step", "title", "subject", "text") if item.get(key)), "")
                for item in value
            ]
            return [text for text in texts if text]
    return []


def _item_span(source: Source, action: Action, text: str) -> Span:
    message = source.trace.messages[action.use.message]
    block = message.blocks[action.use.block]
    arguments = block.arguments if isinstance(block, ToolUse) else ""
    start = max(arguments.find(text[:60]), 0)
    return Span(message=message.id, block=action.use.block, start=start, end=min(len(arguments), start + len(text)))

"""What a summary can be made of: sentences, calls and telling lines of results, each under the section it belongs to."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ullage.terms import is_cjk
from ullage.types import Message, Text, ToolResult, ToolUse

GOAL, CONSTRAINT, DECISION, ERROR, FILE, FACT, NEXT = "goal", "constraints", "decisions", "errors", "files", "facts", "next steps"
SECTIONS = (GOAL, CONSTRAINT, DECISION, ERROR, FILE, FACT, NEXT)
LONGEST = 400
"""Characters of one unit: a longer sentence is cut at a word, a longer line is no sentence."""
LINES_OF_A_RESULT = 400
"""Lines of one tool result that are looked at, half from each end, so that work is linear in messages and not in logs."""

_SENTENCE = re.compile(r"(?<=[.!?。！？；])[\"'”’)\]]*(?:\s+|(?<=[。！？；])(?=\S))")
_CONSTRAINT = re.compile(
    r"\b(?:must(?:n't| not)?|never|always|don't|do not|only|without|keep|avoid|no longer|at most|at least|should(?:n't| not)?|required?)\b"
    r"|不要|不能|不得|必须|务必|只能|禁止|保持|请勿|至少|最多|一律",
    re.IGNORECASE,
)
_DECISION = re.compile(
    r"\b(?:because|decided?|decision|instead|rather than|chose|chosen|choose|reason|therefore|so that|agreed|rejected?|ruled out|turns out|root cause)\b"
    r"|因为|所以|决定|选择|改用|而不是|理由|原因|确认|排除|否决|采用",
    re.IGNORECASE,
)
_ERROR = re.compile(
    r"\b(?:error|exception|traceback|fail(?:ed|ure|s)?|fatal|denied|refused|not found|cannot|undefined|panic|timeout|timed out)\b|错误|失败|异常|超时|拒绝",
    re.IGNORECASE,
)
_FAILED = re.compile(
    r"\b[A-Z]\w*(?:Error|Exception)\b|\b(?:ERROR|FAIL(?:ED|URE)?|FATAL|Traceback|panic|Error)\b(?!\()|\b(?:error|fatal)\s*:|\bfailed to\b"
    r"|exit (?:code|status) [1-9]|错误|失败|异常|超时"
)
"""How a tool reports a failure, as apart from code and prose that only mention errors."""
_LISTED = re.compile(r"^\s*(?:\S+[:\-])?\d+\s*[→:\-|]")
"""A line of a file with its number: a listing, a grep hit or a diff."""
_NEXT = re.compile(
    r"\b(?:next|todo|remaining|still (?:need|to)|let me|i(?:'ll| will| am going to)|follow[- ]up)\b|接下来|下一步|待办|还需|然后",
    re.IGNORECASE,
)
_PATH_KEYS = ("file_path", "path", "notebook_path", "filename", "file", "target_file")
_STRING = re.compile(r'"(\w+)"\s*:\s*"((?:[^"\\]|\\.)*)"')


class Unit(NamedTuple):
    """A candidate: its text, section, the position of its message and who said it (``user``, ``assistant``, ``tool``)."""

    text: str
    section: str
    position: int
    speaker: str


def units_of(messages: Sequence[Message]) -> Iterator[Unit]:
    """All candidates, in order."""
    for position, message in enumerate(messages):
        for block in message.blocks:
            if isinstance(block, Text):
                yield from _prose(block.text, position, message.role)
            elif isinstance(block, ToolUse):
                yield Unit(_call(block), FILE if _path(block) else FACT, position, "call")
            elif isinstance(block, ToolResult):
                yield from _result(block, position)


def sentences(text: str) -> Iterator[str]:
    """Sentences and lines of a prose text, fenced code left out but for its first line."""
    fenced = False
    for line in text.split("\n"):
        if line.lstrip().startswith("```"):
            fenced = not fenced
            continue
        if fenced:
            continue
        for part in _SENTENCE.split(line.strip()):
            clean = part.strip().lstrip("-*#>•0123456789. ").strip()
            if len(clean) >= (4 if is_cjk(clean) else 12):
                yield clean if len(clean) <= LONGEST else _cut(clean)


def _prose(text: str, position: int, role: str) -> Iterator[Unit]:
    speaker = "user" if role == "user" else "assistant"
    for number, sentence in enumerate(sentences(text)):
        yield Unit(sentence, _section(sentence, speaker, number), position, speaker)


def _section(sentence: str, speaker: str, number: int) -> str:
    if speaker == "user":
        return CONSTRAINT if _CONSTRAINT.search(sentence) else DECISION if _DECISION.search(sentence) else GOAL
    if _DECISION.search(sentence):
        return DECISION
    if _ERROR.search(sentence):
        return ERROR
    return NEXT if number == 0 and _NEXT.search(sentence) else FACT


def _result(block: ToolResult, position: int) -> Iterator[Unit]:
    """The lines of a result that say something: errors, and lines with values or names in them."""
    lines = [line.strip() for item in block.content if isinstance(item, Text) for line in item.text.split("\n")]
    if len(lines) > LINES_OF_A_RESULT:
        lines = lines[: LINES_OF_A_RESULT // 2] + lines[-LINES_OF_A_RESULT // 2 :]
    for line in lines:
        if 8 <= len(line) <= LONGEST:
            failed = block.is_error or (_FAILED.search(line) and not _LISTED.match(line))
            yield Unit(line, ERROR if failed else FACT, position, "tool")


def _call(block: ToolUse) -> str:
    path = _path(block)
    if path:
        return f"{block.name} {path}"
    strings = [value for _, value in _STRING.findall(block.arguments[:2000])]
    text = " ".join(strings) if strings else block.arguments
    return f"{block.name} {_cut(' '.join(text.split()), 160)}"


def _path(block: ToolUse) -> str:
    return next((value for key, value in _STRING.findall(block.arguments[:2000]) if key in _PATH_KEYS), "")


def _cut(text: str, limit: int = LONGEST) -> str:
    if len(text) <= limit:
        return text
    at = text.rfind(" ", limit // 2, limit)
    return text[: at if at > 0 else limit].rstrip() + " …"

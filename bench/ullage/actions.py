"""What an agent did, read from its tool calls whatever the client calls its tools: reads, writes, edits, searches, commands."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from ullage.lines import COMMAND_KEYS, PATH_KEYS, REPLACED_KEYS, arguments_of, block_text
from ullage.types import Message, ToolResult, ToolUse

ActionKind = Literal["read", "create", "edit", "delete", "search", "shell", "todo", "ask", "other"]

_NAMES: dict[str, ActionKind] = {
    **dict.fromkeys(("read", "read_file", "view", "view_file", "open_file", "notebookread", "read_many_files"), "read"),
    **dict.fromkeys(("write", "write_file", "create_file", "create", "write_to_file", "save_file"), "create"),
    **dict.fromkeys(
        ("edit", "multiedit", "replace", "str_replace", "edit_file", "replace_in_file", "apply_patch", "notebookedit", "update_file", "patch"),
        "edit",
    ),
    **dict.fromkeys(("delete", "delete_file", "remove_file"), "delete"),
    **dict.fromkeys(
        ("grep", "glob", "search", "rg", "find", "search_files", "grep_search", "codebase_search", "search_file_content", "file_search"),
        "search",
    ),
    **dict.fromkeys(
        ("bash", "shell", "execute_bash", "exec_command", "run_shell_command", "run_command", "terminal", "exec", "execute", "local_shell", "run"),
        "shell",
    ),
    **dict.fromkeys(("todowrite", "update_plan", "todo_write", "write_todos", "taskcreate", "taskupdate"), "todo"),
    **dict.fromkeys(("askuserquestion", "ask_user", "ask_followup_question", "request_user_input", "ask_human"), "ask"),
}  # fmt: skip
_EDITOR_COMMANDS: dict[str, ActionKind] = {
    "view": "read",
    "create": "create",
    "str_replace": "edit",
    "insert": "edit",
    "undo_edit": "edit",
}
_PATTERN_KEYS = ("pattern", "query", "regex", "search_query", "glob")
_PATCH_FILE = re.compile(r"^\*\*\* (Add|Update|Delete) File: (.+)$", re.MULTILINE)
_PATCH_KINDS: dict[str, ActionKind] = {"Add": "create", "Update": "edit", "Delete": "delete"}
_REDIRECT = re.compile(r"(?:\bcat\b|\becho\b|\bprintf\b|\btee\b)[^\n|;&]*?(?:>\s*|\btee\s+(?:-a\s+)?)([\w./~@+-]+\.\w+)")
_SED_IN_PLACE = re.compile(r"\bsed\s+(?:-\w+\s+)*-i\S*\s+(?:'[^']*'|\"[^\"]*\"|\S+)\s+([\w./~@+-]+)")
_REMOVE = re.compile(r"(?:^|[;&|]\s*)(?:git\s+)?rm\s+(?:-\w+\s+)*([\w./~@+-]+\.\w+)(?=\s*(?:$|[;&|]))")
_SHOW = re.compile(
    r"(?:^|[;&|]\s*)(?:cat|head|tail|less|nl|sed\s+-n)\s+(?:-\w+\s+|\d+\s+|'[^']*'\s+|\"[^\"]*\"\s+)*([\w./~@+-]+\.\w+)(?!\S)"
)
_CREATED = re.compile(r"\bcreated\b|\bnew file\b", re.IGNORECASE)
_REPLACED = re.compile(r"\b(?:updated|overwr\w+|modified|replaced)\b", re.IGNORECASE)
NOT_DONE = re.compile(
    r"(?:doesn't|does not|didn't) want to (?:proceed|take this action)|was rejected|(?:permission|request) (?:denied|rejected)|"
    r"tool_use_error|interrupted by user|cancel+ed by user|rejected by user",
    re.IGNORECASE,
)


class Place(NamedTuple):
    """A block of a message: position of the message in its sequence, and number of the block."""

    message: int
    block: int


class Action(NamedTuple):
    """One thing that the agent did.

    ``target`` is the file, directory, pattern or command that it was about; ``result`` the place of the answer (none
    while there is none), ``failed`` whether it went wrong or was refused. One call makes several actions when it
    touches several files.
    """

    kind: ActionKind
    tool: str
    target: str
    use: Place
    result: Place | None
    failed: bool
    command: str = ""

    @property
    def changes(self) -> bool:
        """Whether a file is different afterwards."""
        return self.kind in {"create", "edit", "delete"} and not self.failed


def kind_of_call(use: ToolUse) -> ActionKind:
    """The kind of a call, by the tool's name, else by what its arguments hold."""
    arguments = arguments_of(use)
    command = arguments.get("command")
    if isinstance(command, str) and command in _EDITOR_COMMANDS and any(key in arguments for key in PATH_KEYS):
        return _EDITOR_COMMANDS[command]
    named = _NAMES.get(use.name.rsplit("__", 1)[-1].rsplit(".", 1)[-1].lower())
    if named:
        return named
    if arguments.keys() & REPLACED_KEYS:
        return "edit"
    if any(key in arguments for key in PATH_KEYS):
        return "create" if "content" in arguments or "file_text" in arguments else "other"
    return "shell" if any(key in arguments for key in COMMAND_KEYS) else "other"


def actions(messages: Sequence[Message]) -> list[Action]:
    """All actions of a sequence of messages, in order of their calls."""
    results = _results(messages)
    found: list[Action] = []
    known: set[str] = set()
    for position, message in enumerate(messages):
        for number, block in enumerate(message.blocks):
            if not isinstance(block, ToolUse):
                continue
            place, failed, text = results.get(block.id, (None, False, ""))
            for kind, target in _targets(block):
                kind = _created_or_changed(kind, target, known, text)  # noqa: PLW2901 - refined, not replaced
                found.append(Action(kind, block.name, target, Place(position, number), place, failed, command_of(block)))
                if kind in {"read", "create", "edit"}:
                    known.add(target)
    return found


def _results(messages: Sequence[Message]) -> dict[str, tuple[Place, bool, str]]:
    found = {}
    for position, message in enumerate(messages):
        for number, block in enumerate(message.blocks):
            if isinstance(block, ToolResult):
                text = block_text(block)[:2000]
                failed = block.is_error or bool(NOT_DONE.search(text[:300]))
                found[block.tool_use_id] = Place(position, number), failed, text
    return found


def _created_or_changed(kind: ActionKind, target: str, known: set[str], result: str) -> ActionKind:
    """A write is a creation unless the file was there: the result says so, or the agent had touched it before."""
    if kind != "create":
        return kind
    if _CREATED.search(result[:200]):
        return "create"
    return "edit" if target in known or _REPLACED.search(result[:200]) else "create"


def command_of(use: ToolUse) -> str:
    """The shell command of a call on one line; empty when it runs none. Wrappers like ``bash -lc`` are taken off."""
    if kind_of_call(use) != "shell":
        return ""
    arguments = arguments_of(use)
    value = next((arguments[key] for key in COMMAND_KEYS if arguments.get(key)), "")
    if isinstance(value, list):
        parts = [str(part) for part in value]
        value = parts[-1] if len(parts) > 2 and parts[1] in {"-c", "-lc"} else " ".join(parts)
    return str(value).strip()


def _targets(use: ToolUse) -> Iterator[tuple[ActionKind, str]]:
    kind = kind_of_call(use)
    arguments = arguments_of(use)
    if kind == "shell":
        command = command_of(use)
        yield kind, command
        yield from shell_effects(command)
        return
    patch = next((v for key in ("patch", "input") if isinstance(v := arguments.get(key), str) and "*** Begin Patch" in v), "")
    if patch:
        yield from ((_PATCH_KINDS[verb], path.strip()) for verb, path in _PATCH_FILE.findall(patch))
        return
    keys = _PATTERN_KEYS if kind == "search" else PATH_KEYS
    value = next((arguments[key] for key in keys if isinstance(arguments.get(key), str)), "")
    yield kind, value


def shell_effects(command: str) -> Iterator[tuple[ActionKind, str]]:
    """Files that a shell command plainly writes, edits, removes or shows; only its first 4,000 characters are read."""
    head = command[:4000]
    yield from (("edit", path) for path in _SED_IN_PLACE.findall(head))
    yield from (("create", path) for path in _REDIRECT.findall(head))
    yield from (("delete", path) for path in _REMOVE.findall(head))
    yield from (("read", path) for path in _SHOW.findall(head))

"""A temporary folder in which recorded tools really run, and the rules that make two recordings equal.

What differs from run to run or from machine to machine is set (environment, file times) or replaced in the output
(paths of the machine, durations, addresses, version banners); nothing else of an output is touched.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

TIMEOUT_S = 60
OUTPUT_LIMIT = 30_000
"""Characters of one tool output that reach the model; coding agents cut at about this size."""
PEOPLE = ("Ada Okafor", "ada@example.org")
"""Author of commits made in a workspace."""


@dataclass(slots=True)
class Workspace:
    """A folder with a virtual path: outputs show ``shown`` wherever the real folder stood."""

    root: Path
    shown: str
    tools: Path
    stamps: dict[Path, int] = field(default_factory=dict)

    @property
    def scratch(self) -> Path:
        """Where commands may leave temporary files (``$TMPDIR``); shown as ``/tmp``."""
        return self.tools.parent / "tmp"

    def path(self, name: str) -> Path:
        """A file of the workspace by relative or shown path; anything that leads outside is refused."""
        relative = name.removeprefix(self.shown).lstrip("/")
        path = (self.root / relative).resolve()
        if not path.is_relative_to(self.root.resolve()):
            raise ValueError(f"{name} is outside the workspace")
        return path

    def put(self, files: dict[str, str]) -> None:
        """Write text files, making their folders."""
        for name, text in files.items():
            path = self.path(name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")

    def run(self, command: str, at: int, timeout: int = TIMEOUT_S) -> tuple[str, int]:
        """Run a shell command; its normalised output with errors merged, and the exit code (124: out of time)."""
        arguments = ["bash", "--noprofile", "--norc", "-c", command]
        try:
            done = subprocess.run(
                arguments, cwd=self.root, env=self.environment(at), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT, timeout=timeout, check=False,
            )  # fmt: skip
            output, code = done.stdout.decode("utf-8", "replace"), done.returncode
        except subprocess.TimeoutExpired as late:
            output, code = (late.stdout or b"").decode("utf-8", "replace"), 124
        return clipped(self.normalise(output)), code

    def environment(self, at: int) -> dict[str, str]:
        """The whole environment of a tool; nothing of the caller's passes through."""
        date = f"{at // 1000} +0000"
        name, mail = PEOPLE
        return {
            "PATH": f"{self.tools}:/usr/local/bin:/usr/bin:/bin",
            "HOME": str(self.tools),
            "TMPDIR": str(self.scratch),
            "LC_ALL": "C",
            "TZ": "UTC",
            "TERM": "dumb",
            "COLUMNS": "100",
            "NO_COLOR": "1",
            "TIME_STYLE": "long-iso",
            "PYTHONUTF8": "1",
            "PYTHONHASHSEED": "0",
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            "PYTEST_ADDOPTS": "-p no:cacheprovider",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": "/dev/null",
            "GIT_CONFIG_COUNT": "2",
            "GIT_CONFIG_KEY_0": "init.defaultBranch",
            "GIT_CONFIG_VALUE_0": "main",
            "GIT_CONFIG_KEY_1": "core.abbrev",
            "GIT_CONFIG_VALUE_1": "10",
            "GIT_PAGER": "cat",
            "GIT_AUTHOR_NAME": name,
            "GIT_AUTHOR_EMAIL": mail,
            "GIT_COMMITTER_NAME": name,
            "GIT_COMMITTER_EMAIL": mail,
            "GIT_AUTHOR_DATE": date,
            "GIT_COMMITTER_DATE": date,
        }

    def stamp(self, at: int) -> None:
        """Give what changed the simulated time, so that listings do not show the machine's clock.

        What one command makes and lists at once still shows it: a playbook lists in a later call.
        """
        seconds = at // 1000
        for path in self._listed():
            if path.stat(follow_symlinks=False).st_mtime_ns != self.stamps.get(path):
                os.utime(path, (seconds, seconds), follow_symlinks=False)
                self.stamps[path] = seconds * 10**9

    def _listed(self) -> Iterator[Path]:
        """Files and folders whose times a listing may show, with the folder above; of a repository only ``.git`` itself."""
        yield self.tools.parent
        for top in (self.root, self.scratch):
            yield top
            for folder, folders, files in os.walk(top):
                yield from (Path(folder) / name for name in (*folders, *files))
                folders[:] = [name for name in folders if name != ".git"]

    def normalise(self, text: str) -> str:
        """Replace what depends on machine and moment; see the module's docstring."""
        for real in sorted({str(self.root), str(self.root.resolve())}, key=len, reverse=True):
            text = text.replace(real, self.shown)
        text = text.replace(str(self.scratch), "/tmp").replace(f"{self.tools}/", "")  # noqa: S108 - shown, not used
        for prefix in sorted({sys.prefix, sys.base_prefix}, key=len, reverse=True):
            text = text.replace(prefix, "/usr")
        for pattern, replacement in _RULES:
            text = pattern.sub(replacement, text)
        return text


_RULES = (
    (re.compile(r"/usr/lib/python3\.\d+/site-packages"), "/usr/lib/python3/site-packages"),
    (re.compile(r"/usr/lib/python3\.\d+"), "/usr/lib/python3"),
    (re.compile(r"^platform \S+ -- Python .*$", re.MULTILINE), "platform linux -- Python 3"),
    (re.compile(r"\bin \d+\.\d+s(?: \(\d+:\d\d:\d\d\))?"), "in 0.00s"),
    (re.compile(r"\b\d+\.\d+s (call|setup|teardown)\b"), r"0.00s \1"),
    (re.compile(r"\b0x[0-9a-f]{8,16}\b"), "0x7f0000000000"),
    (re.compile(r"^(total) \d+(?=\n[-dlbcps][-rwxsStT]{9})", re.MULTILINE), r"\1 0"),
    (re.compile(r"^([-dl][-rwxst]{9})[.+@]?( +\d+) (\S+) +(\S+) ", re.MULTILINE), r"\1\2 dev dev "),
    (re.compile(r"^bash: line \d+: ", re.MULTILINE), "bash: "),
)


def clipped(text: str, limit: int = OUTPUT_LIMIT) -> str:
    """Cut a long output in its middle and say how much is missing."""
    if len(text) <= limit:
        return text
    half = limit // 2
    return f"{text[:half]}\n\n[{len(text) - 2 * half} characters left out]\n\n{text[-half:]}"


@contextmanager
def temporary_workspace(name: str) -> Iterator[Workspace]:
    """A fresh folder that is shown as ``/home/dev/NAME`` and removed at the end."""
    base = Path(tempfile.mkdtemp(prefix="ullage-"))
    try:
        root, tools = base / name, base / "bin"
        for folder in (root, tools, base / "tmp"):
            folder.mkdir()
        for alias in ("python", "python3"):
            wrapper = tools / alias
            wrapper.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
            wrapper.chmod(0o755)
        yield Workspace(root=root, shown=f"/home/dev/{name}", tools=tools)
    finally:
        shutil.rmtree(base, ignore_errors=True)

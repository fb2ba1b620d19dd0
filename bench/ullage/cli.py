"""The command line: one module a command in ``ullage.commands``, imported only when it is asked for.

Data goes to standard output, talk to standard error. Exit codes: 0 done, 1 a gate or check failed, 2 misuse or bad
input, 3 inconclusive.
"""

from __future__ import annotations

import errno
import importlib
import sys
from typing import Any

import click

from ullage import __version__
from ullage.errors import UserError

COMMANDS = {
    "run": "Replay traces through strategies and write a run folder.",
    "compare": "Paired table of two runs, or of the strategies of one.",
    "sweep": "One strategy over a range of a parameter: a curve, picked on one half, confirmed on the other.",
    "gate": "Judge a candidate against a baseline: pass, fail or inconclusive.",
    "report": "Write the HTML page, Markdown and charts of a run from its records.",
    "rescore": "Score old answers again, with new graders or prices; no replay, no model.",
    "list": "What there is: strategies, formats, caches, readers, summarizers, invariants, metrics, datasets.",
    "import": "What is in a recording; writes canonical traces with --to.",
    "autopsy": "What one real session's compactions and cache breaks lost and cost.",
    "audit-cache": "Hold the cache simulator against the billed usage of recordings.",
    "probes": "Build, check or show the probe bank of a trace.",
    "estimate": "What a run with real models will cost, before it.",
    "doctor": "Self-test of the scorers, and what is installed, found or missing.",
}


OUTSIDE = frozenset(
    {
        errno.EACCES,
        errno.EDQUOT,
        errno.EISDIR,
        errno.ENAMETOOLONG,
        errno.ENOSPC,
        errno.ENOTDIR,
        errno.EPERM,
        errno.EROFS,
    }
)
"""What a disk or its rights refuse: no bug of this tool, so one line and no traceback."""


class LazyGroup(click.Group):
    """A group that knows its commands by name and imports one when it is run."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names in the order of the table above."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command's module; nothing for an unknown name."""
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"ullage.commands.{cmd_name.replace('-', '_')}_command")
        command: click.Command = module.command
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        """Name near matches of an unknown command."""
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            from ullage.specs import nearest

            raise UserError(f"unknown command {args[0]!r}; {nearest(args[0], list(COMMANDS))}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.command(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120})
@click.version_option(__version__, prog_name="ullage")
def ullage() -> None:
    """Benchmark and evaluation harness for context-compaction strategies of LLM agents."""


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; a user's mistake is one line on standard error and exit code 2."""
    try:
        code: Any = ullage.main(args=arguments, prog_name="ullage", standalone_mode=False)
    except UserError as error:
        _say(str(error))
        sys.exit(2)
    except click.exceptions.Exit as stop:
        sys.exit(stop.exit_code)
    except click.ClickException as error:
        _say(error.format_message())
        sys.exit(2)
    except (click.Abort, KeyboardInterrupt):
        _say("interrupted; a run that was under way continues with the same command")
        sys.exit(130)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(0)
    except OSError as error:
        if error.errno not in OUTSIDE:
            raise
        _say(f"{error.filename or 'output'}: found {error.strerror}; expected a place that can be read and written")
        sys.exit(2)
    sys.exit(code if isinstance(code, int) else 0)


def _say(line: str) -> None:
    from ullage.plain import one_line

    print(f"ullage: {one_line(line)}", file=sys.stderr)


if __name__ == "__main__":
    main()

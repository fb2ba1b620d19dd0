"""What a recording calls itself reaches no terminal as a command, and no table as markup."""

from __future__ import annotations

import io

import pytest

from ullage.commands._output import show_table
from ullage.errors import UserError
from ullage.options import RunOptions
from ullage.terminal import print_table

NAME = "a\x1b[2J[/bold][red]b\u202e"


def test_a_title_is_plain_text_on_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    """Escapes and marks are gone, brackets stand as they are."""
    show_table(("name",), [("x",)], title=NAME)
    out = capsys.readouterr().out
    assert "[/bold][red]b" in out.replace("\n", "")
    assert "\x1b" not in out
    assert "\u202e" not in out


def test_a_title_is_plain_text_in_a_stream() -> None:
    """The same in the tables of a run."""
    stream = io.StringIO()
    print_table(("name",), [("x",)], stream, title=NAME)
    assert "[/bold][red]b" in stream.getvalue().replace("\n", "")
    assert "\x1b" not in stream.getvalue()


def test_no_draw_is_no_run() -> None:
    """A run that draws no answer would score nothing and say so nowhere."""
    with pytest.raises(UserError, match="found --draws 0; expected at least 1"):
        RunOptions(strategies=("null",), draws=0).check()

"""Errors, by whose fault they are: the user's (exit 2), a strategy's (recorded), or ours (never caught)."""

from __future__ import annotations


class UllageError(Exception):
    """Base of all errors that this package raises on purpose."""


class UserError(UllageError):
    """Bad input or misuse. Its text is the one line that a person sees; the command line exits with 2."""


class TraceError(UserError):
    """A trace file that cannot be read: says file, line, what was found and what was expected."""

    def __init__(self, path: str, found: str, expected: str, line: int | None = None) -> None:
        where = path if line is None else f"{path}:{line}"
        super().__init__(f"{where}: found {found}; expected {expected}")
        self.path, self.line, self.found, self.expected = path, line, found, expected


class SpecError(UserError):
    """A specification that does not parse, or names something that does not exist."""


class EditError(UllageError):
    """Edits that cannot be applied to the context: the fault of the strategy that proposed them."""


class CannotShrink(UllageError):  # noqa: N818 - the design's name for a statement, not for a failure
    """A strategy's statement at an overflow that it can do no more; not a fault."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class StaleContext(UllageError):  # noqa: N818 - names the state that was met
    """A view of a context that an edit has since changed was read: a bug of the reader."""


LONGEST = 300
"""Characters of a foreign exception's text that a record keeps."""


def said_by(error: BaseException) -> str:
    """The text of a foreign exception on one bounded line of valid UTF-8, even where its own ``__str__`` raises."""
    try:
        text = str(error)
    except Exception as second:  # noqa: BLE001 - an exception's text is foreign code too
        text = f"its text cannot be read ({type(second).__name__})"
    return " ".join(text[: 4 * LONGEST].split())[:LONGEST].encode("utf-8", "replace").decode()

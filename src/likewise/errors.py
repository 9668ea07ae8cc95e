"""The one exception that means: what you gave cannot be used."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class InputError(ValueError):
    """Bad input, in one sentence that says what was wrong, where, and what to do.

    The command line prints the sentence and ends with exit code 2; nothing half-written is left behind. What the
    sentence quotes from a file stays on its line, and can do nothing to the terminal that shows it.

    >>> str(InputError("a.csv: no column is called 'b\\n\\x1b[2J'."))
    "a.csv: no column is called 'b \\\\x1b[2J'."
    """

    def __init__(self, sentence: str) -> None:
        super().__init__("".join(map(_shown, sentence)).strip())


def _shown(character: str) -> str:
    if character.isprintable():
        return character
    return " " if character.isspace() else character.encode("unicode_escape").decode()


@contextmanager
def reading_as(form: str, path: Path) -> Iterator[None]:
    """Inside, whatever a library raises about a damaged file becomes an InputError; lack of memory is called so."""
    try:
        yield
    except (InputError, MemoryError):  # Arrow has a MemoryError that is an ArrowException too
        raise
    except Exception as error:
        if "bad_alloc" in str(error):  # which comes out of Arrow's Parquet reader as any other error
            raise MemoryError(str(error)) from error
        reason = str(error).partition("\n")[0]
        raise InputError(f"{path} cannot be read as {form} ({reason}); write it again.") from error

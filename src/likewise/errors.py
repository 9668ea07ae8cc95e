"""The one exception that means: what you gave cannot be used."""


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

"""The one exception that means: what you gave cannot be used."""


class InputError(ValueError):
    """Bad input, in one sentence that says what was wrong, where, and what to do.

    The command line prints the sentence and ends with exit code 2; nothing half-written is left behind.
    """

"""What a JSON record must look like before anything is built from it; files are not to be trusted."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from likewise.errors import InputError

# str, int, float, bool or dict; a tuple of alternatives; [form] for a list of such; {name: form} for what must be there
Form = Any

WORDS = {
    str: "text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    dict: "a mapping",
    list: "a list",
    None: "null",
}


def check_record(record: Any, form: Form, path: Path, remedy: str) -> None:
    """Refuse a record that is not of this form, naming the first place where it is not.

    >>> check_record({"a": [1, "b"]}, {"a": [int]}, Path("a.json"), "write it again")
    Traceback (most recent call last):
    likewise.errors.InputError: a.json, a, entry 1 must be a whole number; write it again.
    """
    misfit = _misfit(record, form, str(path))
    if misfit:
        raise InputError(f"{misfit}; {remedy}.")


def _misfit(value: Any, form: Form, place: str) -> str:
    """Where and how a value departs from its form; empty where it does not."""
    if isinstance(form, dict):
        if not isinstance(value, dict):
            return f"{place} must be a mapping"
        missing = next((name for name in form if name not in value), None)
        if missing is not None:
            return f"{place} is not whole, {missing!r} is missing"
        found = (_misfit(value[name], inner, f"{place}, {name}") for name, inner in form.items())
    elif isinstance(form, list):
        if not isinstance(value, list):
            return f"{place} must be a list"
        found = (_misfit(one, form[0], f"{place}, entry {number}") for number, one in enumerate(value))
    else:
        kinds = form if isinstance(form, tuple) else (form,)
        if any(_is(value, kind) for kind in kinds):
            return ""
        plain: Iterator[Any] = (type(kind) if isinstance(kind, list | dict) else kind for kind in kinds)
        words = (WORDS[kind] for kind in plain)
        return f"{place} must be {' or '.join(words)}"
    return next(filter(None, found), "")


def _is(value: Any, kind: Any) -> bool:
    if kind is None:
        return value is None
    if isinstance(kind, list | dict):
        return not _misfit(value, kind, "")
    if kind is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    return isinstance(value, kind) and (kind is bool or not isinstance(value, bool))

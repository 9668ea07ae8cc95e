"""JSON records: written whole, and checked for their form before anything is built from them.

Beside them, what a record says of its making: fingerprints of the data, and the machine.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import platform
import sys
from collections.abc import Iterable, Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise.errors import InputError
from likewise.storage.atomic_files import write_atomically

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


def write_json(path: Path | str, value: object) -> None:
    """Write JSON atomically; Path, NumPy and tuple become plain values, NaN and infinity become null."""
    write_atomically(Path(path), json.dumps(as_json(value), indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text("utf-8"))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is not JSON ({error}); delete it or use another folder.") from error


def as_json(value: object) -> Any:
    """The value with plain JSON types; NaN and infinity become null."""
    match value:
        case Mapping():
            return {str(key): as_json(item) for key, item in value.items()}
        case list() | tuple():
            return [as_json(item) for item in value]
        case Path():
            return str(value)
        case np.generic() | np.ndarray():
            return as_json(value.tolist())
        case float():
            return value if math.isfinite(value) else None
        case None | bool() | int() | str():
            return value
    raise InputError(f"A {type(value).__name__} cannot be written to JSON; give numbers, text, lists or mappings.")


def first_difference(old: object, new: object, name: str = "") -> tuple[str, object, object] | None:
    """The dotted name and both values of the first place where two JSON values differ.

    >>> first_difference({"a": 1, "b": {"c": 2}}, {"a": 1, "b": {"c": 3}})
    ('b.c', 2, 3)
    """
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for key in [*new, *(key for key in old if key not in new)]:
            inner = f"{name}.{key}" if name else str(key)
            difference = first_difference(old.get(key), new.get(key), inner)
            if difference:
                return difference
        return None
    return None if old == new else (name, old, new)


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
        misfits = (_misfit(value[name], inner, f"{place}, {name}") for name, inner in form.items())
    elif isinstance(form, list):
        if not isinstance(value, list):
            return f"{place} must be a list"
        misfits = (_misfit(one, form[0], f"{place}, entry {number}") for number, one in enumerate(value))
    else:
        kinds = form if isinstance(form, tuple) else (form,)
        if any(_is(value, kind) for kind in kinds):
            return ""
        plain: Iterator[Any] = (type(kind) if isinstance(kind, list | dict) else kind for kind in kinds)
        words = (WORDS[kind] for kind in plain)
        return f"{place} must be {' or '.join(words)}"
    return next(filter(None, misfits), "")


def _is(value: Any, kind: Any) -> bool:
    if kind is None:
        return value is None
    if isinstance(kind, list | dict):
        return not _misfit(value, kind, "")
    if kind is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    return isinstance(value, kind) and (kind is bool or not isinstance(value, bool))


def fingerprint(parts: Iterable[NDArray[Any] | str]) -> str:
    """SHA-256 of the bytes of arrays and texts, in order; an array may come in pieces of any length.

    >>> fingerprint([np.arange(4), "a"]) == fingerprint([np.arange(2), np.arange(2, 4), "a"])
    True
    >>> fingerprint([np.arange(4)]) == fingerprint([np.arange(5)])
    False
    """
    digest = hashlib.sha256()
    for part in parts:
        if isinstance(part, str):
            digest.update(part.encode(errors="surrogateescape"))
        else:
            digest.update(np.ascontiguousarray(part).reshape(-1).view(np.uint8).data)
    return digest.hexdigest()


def machine() -> dict[str, str | int]:
    """The versions, the processor and the threads of a run."""
    import torch  # records are also read where torch is not needed

    return {
        "likewise": version("likewise"),
        "torch": torch.__version__,
        "cpu": cpu_model(),
        "threads": torch.get_num_threads(),
    }


LIMITS = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))  # of a container


def memory() -> int | None:
    """The bytes of memory that a process may use: the machine's, or a container's limit; None where nobody says."""
    if sys.platform == "win32":
        return None
    limits = [path.read_text().strip() for path in LIMITS if path.exists()]
    there = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return min([there, *(int(limit) for limit in limits if limit.isdecimal())])


def cpu_model() -> str:
    """The processor's name as the system gives it."""
    information = Path("/proc/cpuinfo")
    if information.exists():
        for line in information.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()

"""What the sections of RESULTS.md have in common: a table, the machines that it was made on, and notes by hand."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

from likewise.paper.records import Record


def table(header: Sequence[str], rows: Sequence[Sequence[str]], numeric: Collection[str]) -> str:
    """A table whose numeric columns stand to the right.

    >>> print(table(["name", "n"], [["a", "1"]], {"n"}), end="")
    | name | n |
    | --- | --: |
    | a | 1 |
    """
    rule = ["--:" if name in numeric else "---" for name in header]
    return "".join(f"| {' | '.join(row)} |\n" for row in (header, rule, *rows))


def machines(records: Sequence[Record]) -> str:
    made = {(r.cpu, r.threads, r.torch, r.likewise, str(r.settings.get("precision", ""))) for r in records}
    lines = [
        f"{cpu}, {threads} {'thread' if threads == 1 else 'threads'}, torch {torch}, likewise {likewise}"
        + (f", {precision}" if precision else "")
        for cpu, threads, torch, likewise, precision in sorted(made)
    ]
    return f"Made on: {'; '.join(lines)}.\n"


def notes(results: Path, name: str) -> list[str]:
    """What NOTES.md beside the records of a section says, where there is one."""
    file = results / name / "NOTES.md"
    return [f"### Notes\n\n{file.read_text(encoding='utf-8').strip()}\n"] if file.exists() else []

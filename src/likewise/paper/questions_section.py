"""The section of RESULTS.md about chosen questions, from the record of `likewise bench questions`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from likewise.paper.records import notes, table
from likewise.storage.records import read_json

OURS = "likewise"  # the name of `QuestionChooser` in the record
QUESTIONS = """\
## Chosen questions: accuracy in % of all items after so many answers

`QuestionChooser` asks a simulated person, who answers truly, or wrongly with the given chance, by lot. After each
answer its classes are matched one-to-one with the true ones. Cells are the median over the seeds and, in brackets,
the worst of them. "Answers to 95 %" is the first time that the accuracy is reached; "never" says that it was not
within the answers that were given. "Below the start" is how far the worst seed fell below its accuracy without
answers, in points. A forecast holds where the number of answers that it took from there lies in its range; the
accuracy's interval, by audits, where it has the true accuracy in it. Digits are 1,797 of 8 x 8 pixels, MNIST 2,000
drawn by the seed, photos 1,200 of 30 classes as EfficientNet-lite0 sees them (ImageNet's labels cover many of
these). The others ask without choosing (random), or as published (explore-consolidate, min-max); these two are
given the number of classes.
"""


def questions_section(results: Path) -> str:
    """What the record beside the folder of results has."""
    file = results.parent / "benchmarks" / "questions.json"
    if not file.exists():
        return f"{QUESTIONS}\nNothing is recorded yet: `likewise bench questions` makes the record.\n"
    record = read_json(file)
    summary: list[dict[str, Any]] = record["summary"]
    cases = list(dict.fromkeys(row["case"] for row in summary))
    tables = [_case_table(case, [row for row in summary if row["case"] == case]) for case in cases]
    bars = [
        f"- {bar['bar']}: {_bar(bar['measured'])}, required {_bar(bar['must'])}, aim {_bar(bar['aim'])}."
        for bar in record["bars"]
    ]
    versions = f"torch {record['torch']}, likewise {record['likewise']}"
    made = f"Made on: {record['cpu']}, {versions}, by `likewise bench questions`.\n"
    return "\n".join([QUESTIONS, *tables, "\n".join(bars) + "\n", made, *notes(results, "questions")])


def _case_table(case: str, rows: Sequence[Mapping[str, Any]]) -> str:
    marks = sorted({int(mark) for row in rows for mark in row["marks"]})
    header = ["asked by", "wrong", "without answers", *(f"{mark} answers" for mark in marks)]
    header += ["answers to 95 %", "below the start", "forecasts hold", "intervals hold", "seeds"]
    lines = []
    for row in rows:
        ours = row["chooser"] == OURS
        at = {int(mark): values for mark, values in row["marks"].items()}
        lines.append([
            "`QuestionChooser`" if ours else row["chooser"],
            f"{100 * row['wrong']:.0f} %",
            f"{100 * row['start']:.1f}" if ours else "",
            *(_accuracy(at.get(mark)) for mark in marks),
            f"{_answers(row['to_target'])} ({_answers(row['worst_to_target'])})" if ours else "",
            f"{100 * row['below_start']:.1f}" if ours else "",
            _share(row["covered"], row["forecasts"]),
            _share(row["estimates_covered"], row["estimates"]),
            str(row["seeds"]),
        ])  # fmt: skip
    return f"### {case}\n\n{table(header, lines, set(header[1:]))}"


def _accuracy(values: Mapping[str, float] | None) -> str:
    return "" if values is None else f"{100 * values['median']:.1f} ({100 * values['worst']:.1f})"


def _answers(number: int | None) -> str:
    return "never" if number is None else f"{number}"


def _share(share: float | None, n: int) -> str:
    return "" if share is None else f"{100 * share:.0f} % of {n}"


def _bar(value: float | None) -> str:
    if value is None:
        return "never"
    return f"{100 * value:.1f} %" if isinstance(value, float) and value < 1 else f"{value:g}"

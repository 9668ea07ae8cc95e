"""The section of RESULTS.md on fallible answers: models of wrong answers side by side, rivals, intervals of rates."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import mean

from likewise.paper.answers_section import RIVALS, summary
from likewise.paper.answers_trials import ABLATION, NOISE_MODELS, Aim, AnswersRecipe, AnswersRecord, answers_recipes
from likewise.paper.records import machines, notes, read_records, table

FALLIBLE = """\
## Fallible answers: accuracy in % on the test set, with a part of the answers wrong

Random pairs of training items were answered, and each answer was flipped with the given probability; or a panel of
annotators shared the pairs, each with rates of its own. `PairClassifier` was told these answers and nothing else. The
models of wrong answers, from the least to the most: answers are law (`noise=0`), one rate is learned (`"learn"`), the
rates of false "different" and false "same" of each annotator are learned pair by pair (`"annotators"`), and nothing is
set (`"auto"`): the same rates, with all answers judged together. Where no answer is wrong, nothing must be lost: 0.3
points at most beside answers as law. Cells are the mean ± standard deviation over the draws
and, in brackets, the worst draw. "Required" and "aim" are for the mean where nothing is set. AUROC is the area under
the ROC curve of P(wrong): the probability that a wrong answer looks less credible than a right one.
"""

OTHERS = """\
Others on the same items and the same answers, mean and worst draw. Clusterings are of pixels or features; they put an
unseen item to the nearest mean. Logistic regression knows the labels of all training items, and is a ceiling.
"""

COVERAGE = """\
How often the 95 % interval of a rate holds the truth, where nothing is set. The mean of the estimates stands beside it.
"""

MODEL_WORDS = {
    "law": "answers are law",
    "learned": "one rate learned",
    "annotators": "rates of each annotator",
    "none": "nothing set",
    "confusion": "classes confused",
}
REQUIRED_COVERAGE, AIM_COVERAGE = 85.0, 93.0  # of the intervals, in %
COVERAGE_DRAWS = 50

Row = tuple[int, float, str]  # answers, noise, panel


def noise_section(results: Path) -> str:
    """The same records give the same text."""
    records = read_records(results, "noise", AnswersRecord)
    if not records:
        return f"{FALLIBLE}\nNo trial is recorded yet: `likewise paper noise` makes the records.\n"
    parts = [FALLIBLE]
    for recipe in answers_recipes("noise").values():
        own = [record for record in records if record.dataset == recipe.dataset]
        if own:
            parts.append(_dataset_part(recipe, own))
    return "\n".join([*parts, machines(records), *notes(results, "noise")])


def _dataset_part(recipe: AnswersRecipe, records: Sequence[AnswersRecord]) -> str:
    expected = {(aim.answers, aim.noise, aim.panel): aim for aim in recipe.expect}
    measured = [row for row in expected if _of(records, row)]
    parts = [f"### {recipe.dataset}\n"]
    if measured:
        models = [m for m in NOISE_MODELS if m in ABLATION or any(record.model == m for record in records)]
        header = ("answers", *(MODEL_WORDS[model] for model in models), "required", "aim", "AUROC", "draws", "command")
        rows = [_ablation_row(_of(records, row), models, expected[row]) for row in measured]
        parts.append(table(header, rows, header[1:-1]))
        compared = [row for row in measured if any(record.rivals for record in _of(records, row))]
        if compared:
            header = ("answers", "PairClassifier", *(RIVALS[name] for name in recipe.rivals))
            rows = [_rivals_row(_of(records, row, "none"), recipe.rivals) for row in compared]
            parts += [OTHERS, table(header, rows, header[1:])]
    for panel in recipe.panels:
        with_rates = [record for record in records if record.panel == panel and record.model == "none" and record.rates]
        if with_rates:
            parts.append(_coverage_part(panel, with_rates))
    missing = [row for row in expected if row not in measured]
    parts.append("".join(f"- Not tried yet: {_words(row)}.\n" for row in missing))
    return "\n".join(part for part in parts if part)


def _ablation_row(records: Sequence[AnswersRecord], models: Sequence[str], aim: Aim) -> tuple[str, ...]:
    by_model = {model: [record for record in records if record.model == model] for model in models}
    ours = [record.accuracy for record in by_model["none"]]
    aurocs = [record.wrong_auroc for record in by_model["none"] if record.wrong_auroc is not None]
    first = (by_model["none"] or records)[0]
    draws = {len(by_model[model]) for model in models if by_model[model]}
    required = aim.accuracy
    if required is None and (law := [record.accuracy for record in by_model.get("law", [])]):
        required = round(mean(law) - aim.below_law, 2)
    return (
        _words((aim.answers, aim.noise, aim.panel)),
        *(_cell([record.accuracy for record in by_model[model]]) for model in models),
        "" if required is None else _verdict(ours, required),
        "" if aim.aim is None else _verdict(ours, aim.aim),
        f"{mean(aurocs):.4f} [{min(aurocs):.4f}]" if aurocs else "",
        " or ".join(str(number) for number in sorted(draws)),
        f"`{first.command}`",
    )


def _rivals_row(records: Sequence[AnswersRecord], rivals: Sequence[str]) -> tuple[str, ...]:
    first = records[0]
    columns = [[record.accuracy for record in records]]
    columns += [[record.rivals[name]["accuracy"] for record in records if name in record.rivals] for name in rivals]
    return _words((first.answers, first.noise, first.panel)), *(_cell(figures) for figures in columns)


def _coverage_part(panel: str, records: Sequence[AnswersRecord]) -> str:
    rows, covered = [], []
    for name, kinds in records[0].rates.items():
        for kind in kinds:
            values = [record.rates[name][kind] for record in records]
            inside = [low <= truth <= high for truth, _, low, high in values]
            covered += inside
            rows.append(
                (
                    name,
                    kind,
                    f"{values[0][0]:.3f}",
                    f"{mean(estimate for _, estimate, _, _ in values):.3f}",
                    f"{mean(high - low for _, _, low, high in values):.3f}",
                    f"{100 * mean(inside):.0f} %",
                )
            )
    header = ("annotator", "rate", "truth", "mean estimate", "mean width", "interval holds it")
    share = 100 * mean(covered)
    verdict = f"{share:.1f} % of {len(covered)} intervals of {len(records)} draws hold the truth"
    if len(records) >= COVERAGE_DRAWS:
        verdict += f" (required {_verdict([share], REQUIRED_COVERAGE)}; aim {_verdict([share], AIM_COVERAGE)})"
    panel_words = f"Panel {panel}, {records[0].answers:,} answers: {verdict}. `{records[0].command}`\n"
    return "\n".join([COVERAGE, table(header, rows, header[2:]), panel_words])


def _of(records: Sequence[AnswersRecord], row: Row, model: str | None = None) -> list[AnswersRecord]:
    return [
        record
        for record in records
        if (record.answers, record.noise, record.panel) == row and model in (None, record.model)
    ]


def _words(row: Row) -> str:
    answers, noise, panel = row
    return f"{answers:,}, " + (f"panel {panel}" if panel else f"{100 * noise:g} % wrong" if noise else "none wrong")


def _cell(figures: Sequence[float]) -> str:
    return f"{summary(figures)} [{min(figures):.2f}]" if figures else ""


def _verdict(figures: Sequence[float], least: float) -> str:
    return f"{least:g}" + (f", {'reached' if mean(figures) >= least else 'missed'}" if figures else "")

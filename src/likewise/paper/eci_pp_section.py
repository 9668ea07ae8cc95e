"""The section of RESULTS.md on the protocol of ECI-PP: soft answers of experts, published figures and ours."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import mean

from likewise.paper.answers_section import RIVALS, summary
from likewise.paper.answers_trials import AnswersRecipe, AnswersRecord, answers_recipes
from likewise.paper.records import machines, notes, read_records, table

ECI_PP = """\
## The protocol of ECI-PP: accuracy in % from the soft answers of experts who know little

The protocol of ECI-PP (2026): images as 784 numbers and 9,000 random pairs of training images. An expert, an MLP
512-512 with dropout 0.2 that saw 1 % of the labels, answers y = <p_a, p_b>; 30 % of the answers are then replaced by
uniform random numbers. Three experts share the pairs and know 4, 3 and 3 classes: 10 % of the labels of these, and
0.01 % of the others. The learner is an MLP 784-512-512-10, no augmentation. The upper rows are as published there. Ours
are `PairClassifier` with that network and its other defaults: mean ± standard deviation over the draws, and in brackets
the worst draw. How long experts are trained is not published; the accuracy of ours stands below (published: 88.8 on the
test images of MNIST and 74.8 on those of Fashion-MNIST, one expert). Ours are matched with the classes on the training
set, and once as published: on the test set.
"""


def eci_pp_section(results: Path) -> str:
    """The same records give the same text."""
    records = read_records(results, "eci-pp", AnswersRecord)
    if not records:
        return f"{ECI_PP}\nNo trial is recorded yet: `likewise paper eci-pp` makes the records.\n"
    parts = [ECI_PP]
    for recipe in answers_recipes("eci-pp").values():
        for experts in sorted({record.experts for record in records if record.dataset == recipe.dataset}):
            own = [r for r in records if (r.dataset, r.experts, r.model) == (recipe.dataset, experts, "none")]
            if own:
                parts.append(_part(recipe, experts, own))
    return "\n".join([*parts, machines(records), *notes(results, "eci-pp")])


def _part(recipe: AnswersRecipe, experts: int, records: Sequence[AnswersRecord]) -> str:
    published = {method: figures[experts] for method, figures in recipe.published.items() if experts in figures}
    rows: list[tuple[str, ...]] = [(method, *_train_and_test(figures)) for method, figures in published.items()]
    as_published = _figures([record.test_matched_accuracy for record in records])
    rows += [
        (
            "ours",
            _cell(_figures([record.train_accuracy for record in records])),
            _cell([record.accuracy for record in records]),
        ),
        ("ours, matched on the test set", "", _cell(as_published)),
        *(
            (RIVALS[name], *(_cell(_rival(records, name, kind)) for kind in ("train_accuracy", "accuracy")))
            for name in recipe.rivals
        ),
        (f"the {'expert' if experts == 1 else 'experts, each'}", _cell(_expert_figures(records)), ""),
    ]
    header = ("", "train", "test")
    seeds = sorted(record.seed for record in records)
    minutes = mean(record.cpu_seconds for record in records) / 60
    best = max(published, key=lambda method: published[method][-1], default=None)
    verdict = ""
    if best is not None and as_published:
        ahead = mean(as_published) > published[best][-1]
        verdict = f"The mean of ours, matched as published, is {'ahead of' if ahead else 'behind'} {best}. "
    return "\n".join(
        [
            f"### {recipe.dataset}, {experts} expert{'s' if experts > 1 else ''}\n",
            table(header, rows, header[1:]),
            f"{verdict}{len(seeds)} {'draws' if len(seeds) > 1 else 'draw'}, {minutes:.1f} core-minutes each: "
            f"`{records[0].command}`"
            + (f", and with --seed {', '.join(map(str, seeds[1:]))}" if len(seeds) > 1 else "")
            + ".\n",
        ]
    )


def _train_and_test(figures: Sequence[float]) -> tuple[str, str]:
    """The last is that of the test images."""
    return f"{figures[0]:.1f}" if len(figures) > 1 else "", f"{figures[-1]:.1f}"


def _cell(figures: Sequence[float]) -> str:
    return f"{summary(figures)} [{min(figures):.2f}]" if figures else ""


def _rival(records: Sequence[AnswersRecord], name: str, kind: str) -> list[float]:
    return [record.rivals[name][kind] for record in records if name in record.rivals]


def _expert_figures(records: Sequence[AnswersRecord]) -> list[float]:
    return [share for record in records for share in record.expert_accuracies]


def _figures(values: Sequence[float | None]) -> list[float]:
    return [value for value in values if value is not None]

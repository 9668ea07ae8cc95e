"""The sections of RESULTS.md on the protocols of our peers, SpherePair and ECI-PP: published figures beside ours."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

from likewise.paper.answers_section import RIVALS, summary
from likewise.paper.answers_trials import AnswersRecipe, AnswersRecord, answers_recipes
from likewise.paper.records import Record, machines, notes, read_records, table

SPHEREPAIR = """\
## The protocol of SpherePair: accuracy in % on the test set, against the number of random pairs

The protocol of SpherePair (NeurIPS 2025), the strongest published peer: images as 784 numbers, uniform random pairs of
training images answered same or different, an MLP 784-512-512-10, no augmentation. The upper rows are as published
there. Ours are `PairClassifier` with that network and its other defaults: mean ± standard deviation over the draws, and
the worst draw. Clusters are matched with classes on the test set there; ours are also given with outputs matched on the
training set, so that the test set decides nothing, and so is k-means.
"""

PEER = "SpherePair"
PEERS = "eci-pp-peers"  # the table of records of other people's code

Figure = Callable[[AnswersRecord], float | None]


@dataclass(frozen=True, kw_only=True)
class PeerRecord(Record):
    """What another method's own code made of the answers of a trial of ours; accuracies are in %, as in ours."""

    method: str
    dataset: str
    experts: int
    seed: int
    train_accuracy: float
    accuracy: float
    test_matched_accuracy: float

    @property
    def name(self) -> str:
        return f"{self.method.lower()}-{self.dataset}-{self.experts}experts-seed{self.seed}"


def spherepair_section(results: Path) -> str:
    """The same records give the same text."""
    records = read_records(results, "spherepair", AnswersRecord)
    if not records:
        return f"{SPHEREPAIR}\nNo trial is recorded yet: `likewise paper spherepair` makes the records.\n"
    parts, ahead, tried = [SPHEREPAIR], 0, 0
    for recipe in answers_recipes("spherepair").values():
        own = [record for record in records if record.dataset == recipe.dataset]
        if own:
            parts.append(_spherepair_part(recipe, own))
        for answers in recipe.answers:
            if drawn := _draws(own, answers):
                tried += 1
                ahead += mean(_figures(drawn, _as_published)) > recipe.published[PEER][answers]
    parts.append(f"The mean of ours, matched as published, is ahead of {PEER} in {ahead} of {tried}.\n")
    return "\n".join([*parts, machines(records), *notes(results, "spherepair")])


def _spherepair_part(recipe: AnswersRecipe, records: Sequence[AnswersRecord]) -> str:
    numbers = recipe.answers
    columns = [_draws(records, answers) for answers in numbers]
    header = ("", *(f"{answers:,} pairs" for answers in numbers))
    rows = [(method, *(f"{figures[n]:.1f}" for n in numbers)) for method, figures in recipe.published.items()]
    rows += [
        ("ours, matched on the test set", *(_cell(drawn, _as_published, summary) for drawn in columns)),
        ("its worst draw", *(_cell(drawn, _as_published, _lowest) for drawn in columns)),
        ("ours, matched on the training set", *(_cell(drawn, lambda r: r.accuracy, summary) for drawn in columns)),
        *((RIVALS[name], *(_cell(drawn, _rival(name), summary) for drawn in columns)) for name in recipe.rivals),
        ("draws", *(str(len(drawn)) for drawn in columns)),
        ("core-minutes", *(_cell(drawn, lambda r: r.cpu_seconds / 60, _average) for drawn in columns)),
    ]
    seeds = sorted({record.seed for record in records})
    commands = f"likewise paper spherepair --dataset {recipe.dataset} --seed {seeds[0]}"
    others = f", and with --seed {', '.join(map(str, seeds[1:]))}" if len(seeds) > 1 else ""
    return "\n".join([f"### {recipe.dataset}\n", table(header, rows, header[1:]), f"`{commands}`{others}.\n"])


def _draws(records: Sequence[AnswersRecord], answers: int) -> list[AnswersRecord]:
    return [record for record in records if record.answers == answers]


def _as_published(record: AnswersRecord) -> float | None:
    return record.test_matched_accuracy


def _rival(name: str) -> Figure:
    return lambda record: record.rivals.get(name, {}).get("accuracy")


def _figures(records: Sequence[AnswersRecord], figure: Figure) -> list[float]:
    return [value for value in map(figure, records) if value is not None]


def _cell(records: Sequence[AnswersRecord], figure: Figure, write: Callable[[Sequence[float]], str]) -> str:
    figures = _figures(records, figure)
    return write(figures) if figures else ""


def _lowest(figures: Sequence[float]) -> str:
    return f"{min(figures):.2f}"


def _average(figures: Sequence[float]) -> str:
    return f"{mean(figures):.1f}"


ECI_PP = """\
## The protocol of ECI-PP: accuracy in % from the soft answers of experts who know little

The protocol of ECI-PP (2026): images as 784 numbers and 9,000 random pairs of training images. An expert, an MLP
512-512 with dropout 0.2 that saw 1 % of the labels, answers y = <p_a, p_b>; 30 % of the answers are then replaced by
uniform random numbers. Three experts share the pairs and know 4, 3 and 3 classes: 10 % of the labels of these, and
0.01 % of the others. The learner is an MLP 784-512-512-10, no augmentation. The upper rows are as published there. Ours
are `PairClassifier` with that network and its other defaults: mean ± standard deviation over the draws, and in brackets
the worst draw. How long experts are trained is not published; the accuracy of ours stands below (published: 88.8 on the
test images of MNIST and 74.8 on those of Fashion-MNIST, one expert). Ours are matched with the classes on the training
set, and once as published: on the test set. "Run here" is a peer's own code, given the answers of our draws
(`benchmarks/volmaxdcc.py` says how).
"""


def eci_pp_section(results: Path) -> str:
    """The same records give the same text."""
    records = read_records(results, "eci-pp", AnswersRecord)
    if not records:
        return f"{ECI_PP}\nNo trial is recorded yet: `likewise paper eci-pp` makes the records.\n"
    all_peers = read_records(results, PEERS, PeerRecord)
    parts = [ECI_PP]
    for recipe in answers_recipes("eci-pp").values():
        for experts in sorted({record.experts for record in records if record.dataset == recipe.dataset}):
            own = [r for r in records if (r.dataset, r.experts, r.model) == (recipe.dataset, experts, "none")]
            peers = [r for r in all_peers if (r.dataset, r.experts) == (recipe.dataset, experts)]
            if own:
                parts.append(_eci_pp_part(recipe, experts, own, peers))
    return "\n".join([*parts, machines(records), *notes(results, "eci-pp")])


def _eci_pp_part(
    recipe: AnswersRecipe, experts: int, records: Sequence[AnswersRecord], peers: Sequence[PeerRecord]
) -> str:
    published = {method: figures[experts] for method, figures in recipe.published.items() if experts in figures}
    rows: list[tuple[str, ...]] = [(method, *_train_and_test(figures)) for method, figures in published.items()]
    as_published = _known([record.test_matched_accuracy for record in records])
    for method in sorted({peer.method for peer in peers}):
        draws = [peer for peer in peers if peer.method == method]
        train, test = [peer.train_accuracy for peer in draws], [peer.test_matched_accuracy for peer in draws]
        rows.append((f"{method}, run here ({_draws_in_words(len(draws))})", _with_worst(train), _with_worst(test)))
    rows += [
        (
            "ours",
            _with_worst(_known([record.train_accuracy for record in records])),
            _with_worst([record.accuracy for record in records]),
        ),
        ("ours, matched on the test set", "", _with_worst(as_published)),
        *(
            (
                RIVALS[name],
                *(_with_worst(_rival_shares(records, name, kind)) for kind in ("train_accuracy", "accuracy")),
            )
            for name in recipe.rivals
        ),
        (f"the {'expert' if experts == 1 else 'experts, each'}", _with_worst(_expert_figures(records)), ""),
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
            f"{verdict}{_draws_in_words(len(seeds))}, {minutes:.1f} core-minutes each: "
            f"`{records[0].command}`"
            + (f", and with --seed {', '.join(map(str, seeds[1:]))}" if len(seeds) > 1 else "")
            + ".\n",
        ]
    )


def _draws_in_words(number: int) -> str:
    return f"{number} draw{'s' if number > 1 else ''}"


def _train_and_test(figures: Sequence[float]) -> tuple[str, str]:
    """The last is that of the test images."""
    return f"{figures[0]:.1f}" if len(figures) > 1 else "", f"{figures[-1]:.1f}"


def _with_worst(figures: Sequence[float]) -> str:
    return f"{summary(figures)} [{min(figures):.2f}]" if figures else ""


def _rival_shares(records: Sequence[AnswersRecord], name: str, kind: str) -> list[float]:
    return [record.rivals[name][kind] for record in records if name in record.rivals]


def _expert_figures(records: Sequence[AnswersRecord]) -> list[float]:
    return [share for record in records for share in record.expert_accuracies]


def _known(values: Sequence[float | None]) -> list[float]:
    return [value for value in values if value is not None]

"""How many outputs a classifier gets where nobody says how many classes there are."""

from __future__ import annotations

import dataclasses

from torch import Tensor

from likewise.clustering.constraints import read_constraints
from likewise.clustering.counting import count_classes, items_to_count
from likewise.clustering.joining import Odds
from likewise.distributed import from_first
from likewise.estimators.inputs import InputForm
from likewise.evaluation import NumberOfClasses
from likewise.pairs import Pairs
from likewise.training import Pile
from likewise.training.grouping import spaces_of


def estimate_n_classes(inputs: Tensor, form: InputForm, answers: Pairs, seed: int) -> NumberOfClasses:
    """The number of classes, from the items as they are and the answers; the first process counts for all."""

    def count() -> dict[str, int]:
        rows, odds = items_to_count(Odds.of(read_constraints(answers, len(inputs))), seed)
        spaces = spaces_of(Pile(inputs, form.mean, form.std), rows)
        return dataclasses.asdict(count_classes(spaces, odds, seed))

    return NumberOfClasses(**from_first(count))

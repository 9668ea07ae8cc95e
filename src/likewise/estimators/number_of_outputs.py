"""How many outputs a classifier gets where nobody says how many classes there are."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from likewise.clustering.constraints import read_constraints
from likewise.clustering.counting import count_classes, items_to_count
from likewise.clustering.joining import Odds
from likewise.distributed import from_first
from likewise.errors import InputError
from likewise.estimators.inputs import InputForm
from likewise.evaluation import NumberOfClasses
from likewise.pairs import Pairs
from likewise.training import Pile
from likewise.training.grouping import agglomerated, among, spaces_of


def asked_outputs(n_classes: int | None, labels: NDArray[Any] | None) -> int | None:
    """As many as are asked for, or as there are classes in the labels; None: that is to be estimated."""
    if labels is not None:
        there = len(np.unique(labels))
        if there < 2:
            raise InputError("y holds one class; at least two are needed, for nothing is different.")
        if n_classes is not None and n_classes < there:
            raise InputError(f"n_classes is {n_classes}, but y holds {there} classes; give {there} or more.")
        n_classes = n_classes or there
    if n_classes is not None and n_classes < 2:
        raise InputError(f"n_classes must be 2 or more, or None to be estimated, got {n_classes}.")
    return None if n_classes is None else int(n_classes)


def estimate_n_classes(inputs: Tensor, form: InputForm, answers: Pairs, seed: int) -> NumberOfClasses:
    """The number of classes, from the items as they are and the answers; the first process counts for all.

    Several annotators are weighed first, by as many groups as the items show without any answer.
    """

    def count() -> dict[str, int]:
        rows, odds = items_to_count(Odds.of(read_constraints(answers, len(inputs))), seed)
        spaces = spaces_of(Pile(inputs, form.mean, form.std), rows)
        if len(answers.annotators) > 1:
            nothing = Odds(len(rows), np.empty((0, 2), dtype=np.int64), np.empty(0))
            n_groups = count_classes(spaces, nothing, seed).estimate
            odds = agglomerated(spaces, among(answers, rows), n_groups, seed)[1]
        return dataclasses.asdict(count_classes(spaces, odds, seed))

    return NumberOfClasses(**from_first(count))

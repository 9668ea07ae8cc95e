"""How many outputs a classifier gets where nobody says how many classes there are."""

from __future__ import annotations

import dataclasses

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import adaptive_avg_pool2d

from likewise.clustering.constraints import read_constraints
from likewise.clustering.counting import count_classes, items_to_count
from likewise.clustering.joining import Odds
from likewise.distributed import from_first
from likewise.estimators.inputs import InputForm
from likewise.evaluation import NumberOfClasses
from likewise.pairs import Pairs

MOST_PIXELS = 28  # of a side


def estimate_n_classes(inputs: Tensor, form: InputForm, answers: Pairs, seed: int) -> NumberOfClasses:
    """The number of classes, from the items as they are and the answers; the first process counts for all."""

    def count() -> dict[str, int]:
        rows, odds = items_to_count(Odds.of(read_constraints(answers, len(inputs))), seed)
        return dataclasses.asdict(count_classes(_spaces(inputs[torch.from_numpy(rows)], form), odds, seed))

    return NumberOfClasses(**from_first(count))


def _spaces(items: Tensor, form: InputForm) -> dict[str, NDArray[np.float64]]:
    """Items as vectors (n, d): the pixels of images, which are made smaller; features as they are and standardised."""
    if form.images:
        _, height, width = (min(side, MOST_PIXELS) for side in form.shape)
        return {"pixels": adaptive_avg_pool2d(items.float() / 255, (height, width)).flatten(1).double().numpy()}
    features = items.double()
    return {"items": features.numpy(), "standardised": (features / torch.tensor(form.std, dtype=torch.float64)).numpy()}

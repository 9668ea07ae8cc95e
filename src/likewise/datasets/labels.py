"""Class labels as people write them, numbered."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from likewise.errors import InputError
from likewise.unknown import UNKNOWN


def number_labels(values: NDArray[Any], path: Path) -> tuple[Tensor, tuple[str, ...]]:
    """An index into the sorted class names for each label, integers or text; -1 where unknown: -1, -100 or empty text.

    >>> number_labels(np.array(["dog", "", "cat", "dog"]), Path("pets.csv"))
    (tensor([ 1, -1,  0,  1]), ('cat', 'dog'))
    >>> number_labels(np.array([10, -1, 9]), Path("digits.csv"))
    (tensor([ 1, -1,  0]), ('9', '10'))
    """
    classes, index = np.unique(values, return_inverse=True)
    if values.dtype.kind == "U":
        known = ~np.isin(classes, ("", *map(str, UNKNOWN)))
    else:
        known = classes >= 0
        wrong = classes[~known & ~np.isin(classes, UNKNOWN)]
        if len(wrong):
            raise InputError(f"{path} holds the label {wrong[0]}; use -1 where a label is unknown.")
    number = np.where(known, np.cumsum(known) - 1, -1)
    return torch.from_numpy(number[index].astype(np.int64)), tuple(str(name) for name in classes[known].tolist())

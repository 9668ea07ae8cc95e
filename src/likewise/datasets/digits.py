"""scikit-learn's embedded handwritten digits: 1797 real images of 8x8, no file and no download needed."""

from __future__ import annotations

import numpy as np
import torch

from likewise.datasets.augment import channel_statistics
from likewise.datasets.items import DataSet, Items


def load_digits() -> DataSet:
    """Every fifth image of each class is a test image, so the split is stratified and never changes.

    >>> digits = load_digits()
    >>> digits.train.inputs.shape, len(digits.test)
    (torch.Size([1442, 1, 8, 8]), 355)
    """
    from sklearn.datasets import load_digits as embedded  # takes seconds to import, and only this set needs it

    images, labels = embedded(return_X_y=True)
    labels = labels.astype(np.int64)
    pixels = np.rint(images * (255 / 16)).astype(np.uint8).reshape(-1, 1, 8, 8)  # grey levels 0..16 -> 0..255

    is_test = np.zeros(len(labels), dtype=bool)
    for digit in range(10):
        is_test[np.flatnonzero(labels == digit)[4::5]] = True

    names = tuple(str(digit) for digit in range(10))
    everything = Items(torch.from_numpy(pixels), torch.from_numpy(labels), names)
    train = everything.subset(torch.from_numpy(np.flatnonzero(~is_test)))
    test = everything.subset(torch.from_numpy(np.flatnonzero(is_test)))
    mean, std = channel_statistics(train.inputs)
    return DataSet("digits", train, test, mean, std)

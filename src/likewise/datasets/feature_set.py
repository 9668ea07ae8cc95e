"""A set of feature vectors in one .npz file, split by the order of its rows: what an encoder saw in labelled items."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import torch
from torch.nn.functional import normalize

from likewise.datasets.arrays import load_arrays
from likewise.datasets.augment import column_statistics
from likewise.datasets.items import DataSet
from likewise.errors import InputError


def load_feature_set(path: Path | str, *, unseen: int = 10) -> DataSet:
    """Features X (n, d) and classes y (n,) of an .npz file; every row is scaled to unit length.

    The last `unseen` rows of each class, in the order of the file, are the test set, and all rows before them the
    training set. So the split is stratified and never changes.

    >>> import tempfile
    >>> import numpy as np
    >>> file = Path(tempfile.mkdtemp()) / "features.npz"
    >>> np.savez(file, X=np.arange(1, 13).reshape(6, 2), y=[0, 0, 0, 1, 1, 1])
    >>> data = load_feature_set(file, unseen=1)
    >>> len(data.train), len(data.test)
    (4, 2)
    """
    path = Path(path)
    items = load_arrays(path)
    if items.inputs.ndim != 2 or not items.n_classes or bool((items.labels < 0).any()):
        raise InputError(f"{path} must hold features X (n, d) and a class in y for each of them.")
    classes = [torch.nonzero(items.labels == label).flatten() for label in range(items.n_classes)]
    smallest = min(len(rows) for rows in classes)
    if smallest <= unseen:
        raise InputError(
            f"{path} has a class of {smallest} items, of which {unseen} would be left unseen; give larger classes."
        )
    train = torch.cat([rows[:-unseen] for rows in classes]).sort().values
    test = torch.cat([rows[-unseen:] for rows in classes]).sort().values
    lengths = items.inputs.norm(dim=1)
    if bool((lengths == 0).any()):
        raise InputError(f"{path}, row {int(lengths.argmin())}: all features are 0, so it has no direction. Remove it.")
    unit = replace(items, inputs=normalize(items.inputs, dim=1))
    learned = unit.subset(train)
    return DataSet(path.stem, learned, unit.subset(test), *column_statistics(learned.inputs))

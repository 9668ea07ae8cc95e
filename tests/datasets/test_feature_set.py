"""Features from an .npz file that the test writes: their split, their length, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from likewise.datasets import load_feature_set
from likewise.errors import InputError

LABELS = np.array([0, 1, 0, 1, 0, 1, 1, 0])


def write(path: Path, X: np.ndarray, y: np.ndarray = LABELS) -> Path:
    np.savez(path, X=X, y=y, names=np.array(["ant", "bee"]), files=np.array(["a.jpg"] * len(X)))
    return path


@pytest.fixture
def features() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(8, 5)).astype(np.float16)


def test_the_last_rows_of_each_class_are_unseen(tmp_path: Path, features: np.ndarray) -> None:
    data = load_feature_set(write(tmp_path / "photos.npz", features), unseen=1)
    unit = torch.from_numpy(features.astype(np.float32))
    unit /= unit.norm(dim=1, keepdim=True)
    assert data.name == "photos"
    torch.testing.assert_close(data.train.inputs, unit[:6])
    torch.testing.assert_close(data.test.inputs, unit[6:])
    assert data.train.labels.tolist() == [0, 1, 0, 1, 0, 1]
    assert data.test.labels.tolist() == [1, 0]
    assert data.mean == pytest.approx(data.train.inputs.mean(0).tolist(), abs=1e-6)
    assert data.std == pytest.approx(data.train.inputs.std(0, correction=0).tolist(), abs=1e-6)


def test_what_cannot_be_split_is_refused(tmp_path: Path, features: np.ndarray) -> None:
    path = write(tmp_path / "photos.npz", features)
    with pytest.raises(InputError, match=r"photos\.npz has a class of 4 items, of which 4 would be left unseen"):
        load_feature_set(path, unseen=4)
    write(path, features, np.where(LABELS == 1, 1, -1))
    with pytest.raises(InputError, match=r"photos\.npz must hold features X \(n, d\) and a class in y"):
        load_feature_set(path, unseen=1)
    write(path, np.zeros((8, 3, 3), dtype=np.uint8))
    with pytest.raises(InputError, match=r"must hold features X"):
        load_feature_set(path, unseen=1)
    features[3] = 0
    with pytest.raises(InputError, match=r"photos\.npz, row 3: all features are 0"):
        load_feature_set(write(path, features), unseen=1)


def test_real_photos(real_file: Callable[[str], Path]) -> None:
    data = load_feature_set(real_file("photos-lite0.npz"))
    assert (data.train.inputs.shape, data.test.inputs.shape) == ((900, 1280), (300, 1280))
    assert data.train.labels.bincount().tolist() == [30] * 30

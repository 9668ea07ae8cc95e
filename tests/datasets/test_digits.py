"""The embedded digits: their pixels, and a split that is stratified and fixed."""

from __future__ import annotations

import numpy as np
import torch
from sklearn.datasets import load_digits as sklearn_digits

from likewise.datasets import load


def test_all_digits_are_there_once_with_their_labels() -> None:
    digits = load("digits")
    images, labels = sklearn_digits(return_X_y=True)
    both = torch.cat([digits.train.inputs, digits.test.inputs]).reshape(-1, 64).numpy()
    found = np.column_stack([both, torch.cat([digits.train.labels, digits.test.labels]).numpy()])
    expected = np.column_stack([np.rint(images * 255 / 16), labels])
    assert sorted(map(tuple, found.tolist())) == sorted(map(tuple, expected.tolist()))
    assert digits.train.inputs.dtype == torch.uint8
    assert digits.train.inputs.max() == 255


def test_every_class_gives_a_fifth_to_the_test_set() -> None:
    digits = load("digits")
    train, test = digits.train.labels.bincount(), digits.test.labels.bincount()
    assert test.tolist() == ((train + test) // 5).tolist()


def test_split_ignores_the_seed() -> None:
    torch.manual_seed(1)
    first = load("digits")
    torch.manual_seed(2)
    np.random.seed(2)  # noqa: NPY002
    assert torch.equal(first.test.inputs, load("digits").test.inputs)


def test_statistics_are_those_of_the_training_images() -> None:
    digits = load("digits")
    pixels = digits.train.inputs.double() / 255
    torch.testing.assert_close(digits.mean, (float(pixels.mean()),))
    torch.testing.assert_close(digits.std, (float(pixels.std(correction=0)),))

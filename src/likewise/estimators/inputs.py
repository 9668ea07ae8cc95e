"""X as one tensor: features, images in an array, or images read from paths; and similarities of X."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state
from torch import Tensor

from likewise.datasets import (
    ArrayOnDisk,
    Augmentation,
    ImagesOnDisk,
    Jitter,
    UnitLengthOnDisk,
    channel_statistics,
    column_statistics,
    image_tensor,
    load_images,
    to_unit_length,
)
from likewise.distributed import agreed
from likewise.errors import InputError
from likewise.pairs import paths_of
from likewise.training import Augment

GENTLE = Augmentation(degrees=10, translate=0.1, scale=(0.9, 1.1))  # what leaves digits, letters and things as they are


@dataclass(frozen=True)
class InputForm:
    """What a classifier expects, learned from the items it was fitted on; it is saved with the model."""

    shape: tuple[int, ...]  # (C, H, W) or (d,)
    mean: tuple[float, ...]
    std: tuple[float, ...]
    unit_length: bool = False  # whether features are brought to length 1 before they are normalised

    @property
    def images(self) -> bool:
        return len(self.shape) == 3

    @classmethod
    def of(cls, inputs: Tensor, unit_length: bool = False) -> InputForm:
        """The form of these items, normalised by their own mean and deviation; `unit_length` says that it is 1."""
        if inputs.ndim == 4:
            mean, std = channel_statistics(inputs)
        else:
            mean, std = column_statistics(inputs)
        return cls(tuple(inputs.shape[1:]), mean, std, unit_length)

    def check(self, inputs: Tensor) -> Tensor:
        if tuple(inputs.shape[1:]) != self.shape:
            what = "images of shape" if self.images else "features:"
            raise InputError(f"X has items of shape {tuple(inputs.shape[1:])}, the model takes {what} {self.shape}.")
        return inputs

    def augmentation(self, augment: Augment | str | None) -> Augment | None:
        """The user's own, or the gentle one that suits the input."""
        if augment != "auto":
            if isinstance(augment, str):
                raise InputError(f"augment must be 'auto', None or an Augmentation, got {augment!r}.")
            return augment
        return GENTLE if self.images else Jitter(0.1, self.std)


def are_on_disk(X: Any) -> bool:
    """Whether X only stands for a tensor, and is to be read a batch at a time."""
    return isinstance(X, ArrayOnDisk | ImagesOnDisk)


def are_images(X: Any) -> bool:
    """Paths in a list, array or Series, or an array of three or four axes; anything else is a table of features."""
    return len(getattr(X, "shape", ())) in (3, 4) or paths_of(X) is not None


def read_images(X: Any, size: int) -> Tensor:
    """Images as uint8 (n, C, H, W), from paths or from an array of bytes or of numbers in [0, 1]."""
    paths = paths_of(X)
    if paths is not None:
        return load_images(paths, size=size).inputs
    array = X.numpy() if isinstance(X, Tensor) else np.asarray(X)
    if array.dtype.kind == "f":
        if not (np.isfinite(array).all() and array.min(initial=0) >= 0 and array.max(initial=0) <= 1):
            raise InputError("Images of floats must lie between 0 and 1; give these, or bytes from 0 to 255.")
        array = np.round(array * 255).astype(np.uint8)
    return image_tensor(array, "X")


def of_unit_length(inputs: Any) -> Tensor:
    """Feature vectors, in memory or on disk, brought to length 1."""
    if inputs.ndim != 2:
        raise InputError("unit_length is for feature vectors, and these items are images; leave it out.")
    return to_unit_length(inputs) if isinstance(inputs, Tensor) else cast(Tensor, UnitLengthOnDisk(inputs))


def index_pairs_of(index_pairs: ArrayLike, n: int) -> NDArray[np.int64]:
    """Pairs of rows of X (m, 2), if they are that."""
    rows = np.asarray(index_pairs)
    if rows.ndim != 2 or rows.shape[1] != 2 or rows.dtype.kind not in "iu":
        raise InputError(f"index_pairs must be whole numbers of shape (m, 2), got {rows.dtype} {rows.shape}.")
    if len(rows) and not 0 <= rows.min() <= rows.max() < n:
        raise InputError(f"index_pairs must be rows 0 to {n - 1} of X, got {rows.min()} to {rows.max()}.")
    return rows.astype(np.int64)


def seed_of(random_state: int | np.random.RandomState | None) -> int:
    """scikit-learn's random_state as one number; where it is drawn, the processes of a job have that of the first."""
    if isinstance(random_state, int | np.integer):
        return int(random_state)
    return agreed(int(check_random_state(random_state).randint(2**31)))


PAIRS_AT_ONCE = 10_000


def pairwise_matrix(similarity: Any, X: Any, rows: NDArray[np.int64]) -> NDArray[np.float32]:
    """The probability that two are the same, for all pairs of some rows of X, (rows, rows), with a diagonal of ones.

    >>> X = np.array([[0.0], [0.1], [5.0]])
    >>> pairwise_matrix(lambda a, b: (abs(a - b) < 1)[:, 0], X, np.arange(3))
    array([[1., 1., 0.],
           [1., 1., 0.],
           [0., 0., 1.]], dtype=float32)
    """
    if callable(similarity):
        matrix = _ask(similarity, X, rows)
    else:
        similarities = np.asarray(similarity)
        if similarities.shape != (len(X), len(X)) or similarities.dtype.kind not in "fbiu":
            raise InputError(
                f"A similarity matrix of {len(X)} items must be ({len(X)}, {len(X)}) numbers, got {similarities.shape}."
            )
        matrix = similarities[np.ix_(rows, rows)].astype(np.float32)
    _check(matrix, "The similarity matrix")
    matrix = ((matrix + matrix.T) / 2).astype(np.float32)
    np.fill_diagonal(matrix, 1)
    return matrix


def _ask(similarity: Any, X: Any, rows: NDArray[np.int64]) -> NDArray[np.float32]:
    """Each pair once, many at a time: a function of two arrays of items, or of two lists of paths."""
    first, second = np.triu_indices(len(rows), 1)
    matrix = np.zeros((len(rows), len(rows)), dtype=np.float32)
    for start in range(0, len(first), PAIRS_AT_ONCE):
        i, j = first[start : start + PAIRS_AT_ONCE], second[start : start + PAIRS_AT_ONCE]
        answer = np.asarray(similarity(take(X, rows[i]), take(X, rows[j])), dtype=np.float32)
        if answer.shape != i.shape:
            raise InputError(
                f"The similarity was asked about {len(i)} pairs and gave {answer.shape}; it must give ({len(i)},)."
            )
        _check(answer, "What the similarity gave")
        matrix[i, j] = matrix[j, i] = answer
    return matrix


def take(X: Any, rows: NDArray[np.int64]) -> Any:
    """Some items of X: a list where they are paths, else an array."""
    paths = paths_of(X)
    return np.asarray(X)[rows] if paths is None else [paths[row] for row in rows]


def _check(values: NDArray[np.float32], what: str) -> None:
    if not (np.isfinite(values).all() and values.min(initial=0) >= 0 and values.max(initial=0) <= 1):
        raise InputError(f"{what} must be probabilities, finite and from 0 to 1.")

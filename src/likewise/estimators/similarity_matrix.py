"""A similarity of the user's own, as a function of pairs or as a matrix, checked and made whole."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from likewise.errors import InputError
from likewise.pairs import paths_of

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
        whole = np.asarray(similarity)
        if whole.shape != (len(X), len(X)) or whole.dtype.kind not in "fbiu":
            raise InputError(
                f"A similarity matrix of {len(X)} items must be ({len(X)}, {len(X)}) numbers, got {whole.shape}."
            )
        matrix = whole[np.ix_(rows, rows)].astype(np.float32)
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

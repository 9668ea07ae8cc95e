"""A light metric on features: their own cosine, moved only as far as known classes that are kept back say it should.

    same(i, j) by the cosine of  z = [A (x - m) ; c],     A = ((1 - l) W + l w I)^-1/2,     w = tr(W) / d

W is the covariance within known classes. With l = 1, m = 0 and c = 0 it is the cosine of the features themselves. With
a constant c far longer than the rest, the angle between two z grows with the distance of the x. Which of these suits
the features is decided by classes that the map was not fitted to: how many of an item's nearest neighbours among all
known items are of its class. The plain cosine stays unless another beats it over the classes beyond chance. In
a table of fewer than 100 columns that are not of unit length, it is distances that stay.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.stats import t as student_t
from torch import nn

from likewise.networks import SimilarityModule

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

LIFT = 3.0  # the length of c, in units of the items' mean square length: from there on angles follow distances
SHARES = (0.5, 0.2, 0.1, 0.03)  # l
EMBEDDING = 100  # columns from which on lengths are not looked at unless known classes want it
FOLDS = 3  # of the classes
NEIGHBOURS = 10
MOST_ITEMS = 2000  # whose neighbours are looked at, and four times as many for W
CHANCE = 0.977  # how sure it must be: two standard errors over many classes, and 2.9 over five


@dataclass(frozen=True)
class MetricForm:
    """Which map it is: all that is decided, before it is fitted to items.

    >>> MetricForm().in_words(), MetricForm(distance=True, whitened=0.1).in_words()
    ('the plain cosine of the features', 'distances, the spread within classes evened out to 90 %')
    """

    standardised: bool = False  # columns first brought to one standard deviation
    centred: bool = False  # m is the mean of the known items
    distance: bool = False  # c is long
    whitened: float = 1.0  # l

    def in_words(self) -> str:
        kind = "distances" if self.distance else "cosines about the mean" if self.centred else "cosines"
        if self == MetricForm():
            return "the plain cosine of the features"
        columns = " of standardised columns" if self.standardised else ""
        spread = f", the spread within classes evened out to {100 - 100 * self.whitened:.0f} %"
        return f"{kind}{columns}{spread if self.whitened < 1 else ''}"


COSINE, DISTANCE = MetricForm(), MetricForm(centred=True, distance=True)  # of embeddings, and of other tables
BASES = (
    COSINE,
    MetricForm(centred=True),
    DISTANCE,
    MetricForm(centred=True, standardised=True),
    MetricForm(centred=True, distance=True, standardised=True),
)


@dataclass(frozen=True, eq=False)
class MetricMap:
    """z = weight x + bias, before it is brought to length 1."""

    weight: Floats  # (h, d)
    bias: Floats  # (h,)

    def embed(self, rows: Floats) -> Floats:
        z = rows @ self.weight.T + self.bias
        return np.asarray(z / np.maximum(np.linalg.norm(z, axis=1, keepdims=True), 1e-12))


def choose_metric(rows: NDArray[np.float32], codes: Ints, seed: int) -> MetricForm:
    """The form that does best on known classes that it was not fitted to, from items (n, d) and their classes (n,).

    >>> random = np.random.default_rng(0)
    >>> codes = np.repeat(np.arange(8), 20)
    >>> rows = np.concatenate([random.normal(size=(8, 4))[codes], random.normal(scale=9, size=(160, 1))], axis=1)
    >>> choose_metric(rows.astype(np.float32), codes, 0) != MetricForm()  # the last column says nothing of the class
    True
    """
    random = np.random.default_rng(seed)
    chosen = np.sort(random.permutation(len(rows))[:MOST_ITEMS])
    x, codes = rows[chosen].astype(np.float64), np.unique(codes[chosen], return_inverse=True)[1]
    fold = random.permutation(int(codes.max()) + 1) % FOLDS
    length = np.linalg.norm(x, axis=1)
    best = COSINE if x.shape[1] >= EMBEDDING or length.std() < 1e-2 * length.mean() else DISTANCE
    share = _of_each_class(best, x, codes, fold)
    for step in (lambda _: BASES, lambda form: [replace(form, whitened=amount) for amount in SHARES]):
        for form in step(best):
            other = _of_each_class(form, x, codes, fold)
            if _is_better(other, share):
                best, share = form, other
    return best


def _is_better(other: Floats, share: Floats) -> bool:
    gain = other - share
    error = gain.std(ddof=1) / np.sqrt(len(gain))
    return bool(gain.mean() > max(1e-3, student_t.ppf(CHANCE, len(gain) - 1) * error))


def _of_each_class(form: MetricForm, x: Floats, codes: Ints, fold: Ints) -> Floats:
    """(classes,) How many of the nearest items are of the same class, the map being fitted without this class."""
    size = np.bincount(codes)
    k = int(max(1, min(NEIGHBOURS, np.median(size) - 1)))
    right = np.zeros(len(x))
    for number in np.unique(fold):
        out = fold[codes] == number
        there = ~out if (~out).any() else out
        z = fit_metric(form, x[there], codes[there]).embed(x)
        alike = z[out] @ z.T
        alike[np.arange(len(alike)), np.flatnonzero(out)] = -np.inf  # itself
        near = np.argpartition(-alike, k - 1, axis=1)[:, :k]
        right[out] = (codes[near] == codes[out][:, None]).mean(axis=1)
    return np.asarray(np.bincount(codes, right) / size)


def fit_metric(form: MetricForm, rows: NDArray[np.floating], codes: Ints) -> MetricMap:
    """The map of this form for items (n, d) and their classes (n,)."""
    x = np.asarray(rows, dtype=np.float64)
    d = x.shape[1]
    std = x.std(axis=0) if form.standardised else np.ones(d)
    scale = 1 / np.where(std > 1e-12, std, 1.0)
    centre = x.mean(axis=0) if form.centred else np.zeros(d)
    weight = np.diag(scale)
    if form.whitened < 1:
        some = np.random.default_rng(0).permutation(len(x))[: 4 * MOST_ITEMS]
        weight = _root(np.concatenate(list(_residuals(x[some] * scale, codes[some]))), form.whitened) * scale
    bias = -weight @ centre
    if form.distance:
        length = np.sqrt((((rows - centre) @ weight.T) ** 2).sum(axis=1).mean())
        weight, bias = np.concatenate([weight, np.zeros((1, d))]), np.append(bias, LIFT * max(length, 1e-12))
    return MetricMap(weight, bias)


def _residuals(x: Floats, codes: Ints) -> Iterator[Floats]:
    for name in np.unique(codes):
        rows = x[codes == name]
        yield rows - rows.mean(axis=0)


def _root(residuals: Floats, share: float) -> Floats:
    """(d, d) ((1 - l) W + l w I)^-1/2, in units in which w is 1."""
    n, d = residuals.shape
    if n < d:
        _, s, vectors = np.linalg.svd(residuals, full_matrices=False)
        values = s**2
    else:
        values, columns = np.linalg.eigh(residuals.T @ residuals)
        vectors = columns.T
    values = np.maximum(values, 0) * d / max(float(values.sum()), 1e-300)
    other = 1 / np.sqrt(share)  # where no item varies
    along = 1 / np.sqrt((1 - share) * values + share)
    return np.asarray(other * np.eye(d) + (vectors.T * (along - other)) @ vectors)


@torch.no_grad()
def put_metric(module: SimilarityModule, metric: MetricMap, mean: Sequence[float], std: Sequence[float]) -> None:
    """Make the map the head of a module that compares angles, whose network sees (x - mean) / std."""
    head = module.head
    head.first = nn.Linear(metric.weight.shape[1], len(metric.bias))
    head.first.weight.copy_(torch.from_numpy(metric.weight * np.array(std)))
    head.first.bias.copy_(torch.from_numpy(metric.bias + metric.weight @ np.array(mean)))

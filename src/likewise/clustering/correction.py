"""A partition corrected by answers: MCL of a linear model that is drawn towards the one that gives the partition.

    W* = argmin_W  -mean over the answers of log P(answer | s_hat = p_i . p_j) + lambda/2 |W - W_0|^2

with p = softmax(W x), and W_0 the linear model of the partition itself. Where classes overlap, clusters lie across
them; one item's answers cannot say so, but thousands of answers together can turn the borders. How far, lambda, is
chosen by the answers out of fold. The partition stays as it is unless they disagree with it by more than chance.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.sparse import csr_array
from scipy.special import softmax

from likewise.clustering.agglomeration import same_of_all
from likewise.clustering.constraints import Floats, Ints
from likewise.clustering.linkage import Odds

Bools = NDArray[np.bool_]

SCALE = 30.0  # the mean square length of an item
RIDGE = 1e-3  # of W_0
STRENGTHS = (1e-2, 3e-3, 1e-3, 3e-4)  # lambda
STEPS = 60
FOLDS = 3
LEAST_ANSWERS = 200  # with fewer there is nothing to choose by
CHANCE = 2.0  # standard errors


def corrected(rows: Floats, posterior: Floats, odds: Odds, out_of_fold: Bools, wrong: float, seed: int) -> Floats:
    """(n, K) The posterior of a linear model of the rows (n, d) that answers have corrected, or the given one.

    `out_of_fold` (m,) says which answers are about items in one cluster, the partition being made without the answer.
    The correction must be better than that, and than the linear model of the partition, which has seen all answers.
    Answers most of which say "same" could not tell that: the likelihood of such is greater where classes are merged.
    """
    if len(odds) < LEAST_ANSWERS or odds.is_same_heavy:
        return posterior
    x = scaled(rows)
    first = model_of_partition(x, posterior)
    fold = np.random.default_rng(seed).permutation(len(odds)) % FOLDS
    together = np.zeros((len(STRENGTHS), len(odds)), dtype=np.bool_)  # the items of each answer, out of fold
    for out in (fold == number for number in range(FOLDS)):
        train, model = Answers(x, odds.select(~out), wrong), first
        for number, strength in enumerate(STRENGTHS):
            model = train.fit(model, first, strength)
            together[number, out] = in_one_cluster(x @ model, odds.select(out))
    losses = np.stack([losses_of(place, odds) for place in together])
    best = int(losses.mean(axis=1).argmin())
    for before in (out_of_fold, in_one_cluster(x @ first, odds)):
        gain = losses_of(before, odds) - losses[best]
        if gain.mean() <= CHANCE * gain.std(ddof=1) / np.sqrt(len(gain)):
            return posterior
    everything, model = Answers(x, odds, wrong), first
    for strength in STRENGTHS[: best + 1]:
        model = everything.fit(model, first, strength)
    return np.asarray(softmax(x @ model, axis=1))


def scaled(rows: Floats) -> Floats:
    """(n, d + 1) The rows about their mean, in a common scale, and a 1."""
    x = rows - rows.mean(axis=0)
    x *= np.sqrt(SCALE / max(float((x**2).sum(axis=1).mean()), 1e-12))
    return np.concatenate([x, np.ones((len(x), 1))], axis=1)


def in_one_cluster(scores: Floats, odds: Odds) -> Bools:
    """(m,) Whether the two items of each answer have their largest score (n, K) in the same cluster."""
    cluster = scores.argmax(1)[odds.ends]
    return np.asarray(cluster[:, 0] == cluster[:, 1])


def losses_of(together: Bools, odds: Odds) -> Floats:
    """(m,) -log P(answer | in one cluster, or in two), with the rates of the four cases counted on all answers.

    Only clusters count in it, and not how sure a model is: one that is sure of nothing would be right about noise.
    """
    (same, within), (same_between, between) = same_of_all(together, odds)
    rate = np.where(together, same / within, same_between / between)
    return -odds.weight * np.log(np.where(odds.credit > 0, rate, 1 - rate))


def model_of_partition(x: Floats, posterior: Floats) -> Floats:
    """(d, K) W_0: logistic regression on the clusters, each item as far as it is sure."""
    cluster, sure = np.eye(posterior.shape[1])[posterior.argmax(1)], posterior.max(axis=1)
    sure = sure / sure.sum()

    def loss(w: Floats) -> tuple[float, Floats]:
        model = w.reshape(x.shape[1], -1)
        p = softmax(x @ model, axis=1)
        value = -(sure * np.log(np.maximum((p * cluster).sum(axis=1), 1e-300))).sum() + RIDGE / 2 * (model**2).sum()
        return value, (x.T @ (sure[:, None] * (p - cluster)) + RIDGE * model).ravel()

    return _minimum(loss, np.zeros((x.shape[1], posterior.shape[1])))


class Answers:
    """Answers about items x (n, d), of which a share is wrong; each counts by its weight."""

    def __init__(self, x: Floats, odds: Odds, wrong: float) -> None:
        items, place = np.unique(odds.ends, return_inverse=True)
        self.x = x[items]
        self.left, self.right = place.reshape(odds.ends.shape).T
        self.same, self.weight, self.wrong = odds.credit > 0, np.abs(odds.credit), wrong
        self.at_left, self.at_right = (_incidence(side, len(items)) for side in (self.left, self.right))

    def losses(self, model: Floats) -> Floats:
        """(m,) -log P(answer) of each."""
        p = softmax(self.x @ model, axis=1)
        return self._terms(p[self.left], p[self.right])[0]

    def fit(self, start: Floats, towards: Floats, strength: float) -> Floats:
        """(d, K) W*, from a start."""
        share = self.weight / self.weight.sum()

        def loss(w: Floats) -> tuple[float, Floats]:
            model = w.reshape(start.shape)
            p = softmax(self.x @ model, axis=1)
            left, right = p[self.left], p[self.right]
            losses, slope, alike = self._terms(left, right)
            slope = (share * slope)[:, None]
            by_logit = self.at_left @ (slope * left * (right - alike))  # (n, K)
            by_logit += self.at_right @ (slope * right * (left - alike))
            away = model - towards
            value = float(share @ losses) + strength / 2 * float((away**2).sum())
            return value, (self.x.T @ by_logit + strength * away).ravel()

        return _minimum(loss, start)

    def _terms(self, left: Floats, right: Floats) -> tuple[Floats, Floats, Floats]:
        """Of each answer the loss (m,), its derivative by s_hat (m,), and s_hat (m, 1)."""
        alike = (left * right).sum(axis=1)
        says_same = (1 - 2 * self.wrong) * alike + self.wrong
        p_said = np.where(self.same, says_same, 1 - says_same)
        slope = np.where(self.same, -1, 1) * (1 - 2 * self.wrong) / p_said
        return -np.log(p_said), slope, alike[:, None]


def _incidence(items: Ints, n_items: int) -> csr_array:
    """(n, m) 1 where an answer is about an item."""
    m = len(items)
    return csr_array((np.ones(m), (items, np.arange(m))), shape=(n_items, m))


def _minimum(loss: Callable[[Floats], tuple[float, Floats]], start: Floats) -> Floats:
    result = minimize(loss, start.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": STEPS})
    return np.asarray(result.x).reshape(start.shape)

"""LPNMF, against its updates entry by entry, and without a graph against scikit-learn's factorisation."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.decomposition import NMF
from sklearn.metrics import adjusted_rand_score

from likewise import InputError, Pairs
from likewise.clustering import LPNMF
from likewise.clustering.distances import neighbour_graph
from likewise.clustering.lpnmf import factorise

Array = NDArray[np.float64]

random = np.random.default_rng(0)
y = np.repeat([0, 1, 2], 15)
X = np.kron(np.eye(3), np.ones((15, 6))) * random.uniform(0.5, 1.5, (45, 18)) + random.uniform(0, 0.2, (45, 18))
GRAPH = neighbour_graph(X, 4, "one")


def objective(V: Array, U: Array, smoothness: float) -> float:
    Y, W = V @ U.T, GRAPH.toarray()
    total = sum(
        X[j, f] * np.log(X[j, f] / Y[j, f]) - X[j, f] + Y[j, f] for j in range(len(X)) for f in range(X.shape[1])
    )
    for j in range(len(X)):
        for i in range(len(X)):
            for a, b in ((V[j], V[i]), (V[i], V[j])):
                total += smoothness / 4 * W[j, i] * (a * np.log(a / b) - a + b).sum()
    return float(total)


@pytest.mark.parametrize("smoothness", [0.0, 0.7])
def test_the_updates(smoothness: float) -> None:
    before = factorise(X, GRAPH, 3, smoothness, 0, np.random.RandomState(1))
    after = factorise(X, GRAPH, 3, smoothness, 1, np.random.RandomState(1))
    V, U = before.items, before.parts
    Y, W = V @ U.T, GRAPH.toarray()
    new_U = np.array(
        [[U[f, k] * sum(X[j, f] / Y[j, f] * V[j, k] for j in range(45)) for k in range(3)] for f in range(18)]
    )
    new_U /= new_U.sum(0)
    Y = V @ new_U.T
    a = np.array(
        [[V[j, k] * sum(X[j, f] / Y[j, f] * new_U[f, k] for f in range(18)) for k in range(3)] for j in range(45)]
    )
    new_V = np.linalg.solve(np.eye(45) + smoothness * (np.diag(W.sum(1)) - W), a)
    np.testing.assert_allclose(after.parts, new_U)
    np.testing.assert_allclose(after.items, new_V)
    np.testing.assert_allclose(after.objective, [objective(V, U, smoothness), objective(new_V, new_U, smoothness)])


@pytest.mark.parametrize("smoothness", [0.0, 0.1, 1.0, 10.0])
def test_the_objective_falls(smoothness: float) -> None:
    found = LPNMF(3, smoothness=smoothness, neighbours=4, max_iter=50).fit(X)
    assert (np.diff(found.objective_) < 0).all()
    assert found.objective_[-1] == pytest.approx(objective(found.representation_, found.components_.T, smoothness))


def test_without_a_graph_it_is_a_factorisation() -> None:
    theirs = NMF(3, solver="mu", beta_loss="kullback-leibler", init="random", random_state=0, max_iter=2000, tol=1e-8)
    V = theirs.fit_transform(X)
    best = objective(V, theirs.components_.T, 0.0)
    found = LPNMF(3, smoothness=0.0, max_iter=2000).fit(X)
    assert found.objective_[-1] == pytest.approx(best, rel=1e-3)


def test_blocks_are_found() -> None:
    found = LPNMF(3).fit(X)
    assert adjusted_rand_score(y, found.labels_) == 1
    np.testing.assert_allclose(found.components_.sum(1), 1)
    assert (found.representation_ > 0).all()


def test_smooth_items_are_like_their_neighbours() -> None:
    i, j = GRAPH.nonzero()
    rough, smooth = (LPNMF(3, smoothness=s).fit(X).representation_ for s in (0.0, 10.0))
    assert ((smooth[i] - smooth[j]) ** 2).mean() < 0.2 * ((rough[i] - rough[j]) ** 2).mean()


def test_scale_is_not_seen() -> None:
    np.testing.assert_array_equal(LPNMF(3).fit(X).labels_, LPNMF(3).fit(1000 * X).labels_)


def test_pairs_change_nothing() -> None:
    pairs = Pairs.from_links([(0, 40)], [(0, 1)])
    np.testing.assert_array_equal(LPNMF(3).fit_predict(X, pairs=pairs), LPNMF(3).fit_predict(X))


@pytest.mark.parametrize(
    ("items", "message"),
    [
        (-X, "Negative values in data"),
        (0 * X, "X is 0 everywhere"),
    ],
)
def test_what_is_refused(items: Array, message: str) -> None:
    with pytest.raises(InputError, match=message):
        LPNMF(3).fit(items)

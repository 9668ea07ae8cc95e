"""CSP, against a dense solver of the whole pencil."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import eig, subspace_angles
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from likewise import InputError, Pairs
from likewise.clustering import CSP, read_constraints
from likewise.clustering.csp import constrained_vectors
from likewise.clustering.distances import neighbour_graph

X, y = make_blobs(60, centers=3, cluster_std=2.5, random_state=2)
GRAPH = neighbour_graph(X, 8, "gaussian")
W = GRAPH.toarray()
D = W.sum(1)
LAPLACIAN = np.eye(60) - W / np.sqrt(np.outer(D, D))


@pytest.mark.parametrize(("n_pairs", "strictness"), [(1770, 0.9), (400, 0.7), (60, 0.6)])
def test_the_pencil(n_pairs: int, strictness: float) -> None:
    signed = read_constraints(Pairs.from_labels(y, n=n_pairs), 60).signed
    Q = signed.toarray() / np.sqrt(np.outer(D, D))
    beta = strictness * np.sort(np.linalg.eigvalsh(Q))[-2]
    value, vector = eig(LAPLACIAN, Q - beta * np.eye(60))
    kept = (np.abs(value.imag) < 1e-9) & (value.real > 1e-9)
    v = np.real(vector[:, kept])
    v /= np.sqrt((v**2).sum(0))
    costs = np.einsum("ik,ij,jk->k", v, LAPLACIAN, v)
    order = np.argsort(costs)[:2]

    found = constrained_vectors(GRAPH, signed, 2, strictness, np.random.RandomState(0))
    assert found.beta == pytest.approx(beta)
    np.testing.assert_allclose(found.costs, costs[order], rtol=1e-3)
    expected = v[:, order] / np.sqrt(D)[:, None] * (1 - costs[order])
    assert subspace_angles(found.embedding, expected).max() < 0.01
    assert (found.satisfaction >= beta).all()
    np.testing.assert_allclose(found.satisfaction, np.einsum("ik,ij,jk->k", v[:, order], Q, v[:, order]), rtol=1e-3)


def test_without_answers_it_is_the_normalised_cut() -> None:
    found = CSP(n_clusters=3, neighbours=8).fit(X)
    value, vector = np.linalg.eigh(LAPLACIAN)
    np.testing.assert_allclose(found.costs_, value[1:3], rtol=1e-4)
    assert subspace_angles(found.embedding_, vector[:, 1:3] / np.sqrt(D)[:, None]).max() < 1e-3


def test_answers_turn_the_cut() -> None:
    grid = np.array([[i, j] for i in range(8) for j in range(5)], dtype=float)
    top = (grid[:, 1] > 1.5).astype(int)  # the cheaper cut is across the longer side
    assert abs(adjusted_rand_score(top, CSP(2, neighbours=6).fit(grid).labels_)) < 0.5
    pairs = Pairs.from_labels(top, n=300)
    assert adjusted_rand_score(top, CSP(2, neighbours=6).fit(grid, pairs=pairs).labels_) == 1


def test_the_order_of_items_does_not_matter() -> None:
    pairs = Pairs.from_labels(y, n=400)
    order = np.random.default_rng(0).permutation(60)
    place = np.argsort(order)
    moved = Pairs.from_arrays(np.stack([place[pairs.left], place[pairs.right]], 1), pairs.same)
    ours, theirs = CSP(3).fit(X, pairs=pairs), CSP(3).fit(X[order], pairs=moved)
    assert adjusted_rand_score(ours.labels_[order], theirs.labels_) == 1


def test_scale_is_not_seen() -> None:
    pairs = Pairs.from_labels(y, n=400)
    np.testing.assert_array_equal(CSP(3).fit(X, pairs=pairs).labels_, CSP(3).fit(1e4 * X, pairs=pairs).labels_)


def test_groups_that_nothing_joins() -> None:
    apart = np.concatenate([X, X + 1000])
    group = np.repeat([0, 1], 60)
    found = CSP(2, neighbours=5).fit(apart, pairs=Pairs.from_labels(group, n=3000))
    assert adjusted_rand_score(group, found.labels_) == 1
    assert found.costs_[0] < 1e-3


def test_without_answers_a_graph_in_parts_has_no_constant_vector() -> None:
    """Of three vectors that cost nothing one is constant, and an eigensolver may hide it in all of them."""
    parts = np.repeat(np.arange(3), 12)
    items = 100.0 * np.eye(3)[parts] + np.random.default_rng(0).normal(size=(36, 3))
    graph = neighbour_graph(items, 5, "gaussian")
    nothing = read_constraints(None, 36, "accept").signed
    root = np.sqrt(graph.toarray().sum(1))
    for seed in range(5):
        found = constrained_vectors(graph, nothing, 2, 0.5, np.random.RandomState(seed))
        np.testing.assert_allclose(found.costs, 0, atol=1e-6)
        np.testing.assert_allclose((found.embedding * root[:, None] ** 2).sum(0), 0, atol=1e-5)
        assert adjusted_rand_score(parts, CSP(3, neighbours=5, random_state=seed).fit(items).labels_) == 1


def test_answers_that_hold_all_items_together() -> None:
    together = Pairs.from_links(np.stack(np.triu_indices(60, 1), axis=1), [])
    with pytest.raises(InputError, match="leave no cut into 3 clusters; give some that say different"):
        CSP(3).fit(X, pairs=together)
    assert set(CSP(1).fit(X, pairs=together).labels_.tolist()) == {0}
    everything = Pairs.from_labels(y)
    only_same = everything.select(everything.same > 0.5)
    assert adjusted_rand_score(y, CSP(3).fit(X, pairs=only_same).labels_) > 0.3


def test_a_vector_counts_the_less_the_more_it_cuts() -> None:
    """Each column of the embedding is D^-1/2 v (1 - v' L v), with v of length 1."""
    signed = read_constraints(Pairs.from_labels(y, n=400), 60).signed
    found = constrained_vectors(GRAPH, signed, 3, 0.7, np.random.RandomState(0))
    lengths = np.sqrt((D[:, None] * found.embedding**2).sum(0))
    np.testing.assert_allclose(lengths, 1 - found.costs, rtol=1e-9)
    assert np.ptp(found.costs) > 0.1

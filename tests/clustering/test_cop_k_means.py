"""COP-KMeans: no constraint is broken, dead ends are backed out of, and what cannot be is refused."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from likewise import InputError, Pairs
from likewise.clustering import COPKMeans, KMeans
from likewise.clustering.cop_k_means import NoColouring, colour

X, y = make_blobs(60, centers=3, cluster_std=3.0, random_state=0)


def broken(pairs: Pairs, labels: np.ndarray) -> int:
    return int(((labels[pairs.left] == labels[pairs.right]) != (pairs.same > 0.5)).sum())


@pytest.mark.parametrize("n", [20, 100, 400, 1770])
def test_every_answer_is_kept(n: int) -> None:
    pairs = Pairs.from_labels(y, n=n)
    model = COPKMeans(3).fit(X, pairs=pairs)
    assert broken(pairs, model.labels_) == 0
    assert (np.diff(model.objective_) <= 1e-9).all()
    for cluster in range(3):
        np.testing.assert_allclose(model.cluster_centers_[cluster], X[model.labels_ == cluster].mean(0))
    expected = sum(((x - model.cluster_centers_[label]) ** 2).sum() for x, label in zip(X, model.labels_, strict=True))
    assert model.objective_[-1] == pytest.approx(expected)


def test_against_the_distances() -> None:
    crossed = np.random.default_rng(0).integers(0, 3, 60)
    assert adjusted_rand_score(crossed, COPKMeans(3).fit(X, pairs=Pairs.from_labels(crossed)).labels_) == 1


def test_without_pairs_it_is_k_means() -> None:
    far, truth = make_blobs(60, centers=[(0, 0), (20, 0), (0, 20)], random_state=0)
    ours, theirs = COPKMeans(3, random_state=1).fit(far), KMeans(3).fit(far)
    assert adjusted_rand_score(ours.labels_, theirs.labels_) == 1
    assert ours.objective_[-1] == pytest.approx(theirs.inertia_)
    assert adjusted_rand_score(ours.predict(far), truth) == 1


def test_a_dead_end_of_greedy_placement() -> None:
    """0 and 3 lie together, and 1 and 2; but 0-1, 1-2 and 2-3 are different, so that 0 goes with 2."""
    line = np.array([[0.0], [10.0], [10.1], [0.1]])
    pairs = Pairs.from_arrays([(0, 1), (1, 2), (2, 3)], [0, 0, 0])
    labels = COPKMeans(2).fit(line, pairs=pairs).labels_
    assert labels[0] == labels[2] != labels[1] == labels[3]


def test_no_group_gains_by_a_move_that_is_allowed() -> None:
    pairs = Pairs.from_labels(y, n=60)
    model = COPKMeans(3).fit(X, pairs=pairs)
    group = pairs.index(60).closure().component
    apart = ((X[:, None] - model.cluster_centers_) ** 2).sum(2)
    for g in np.unique(group):
        for cluster in range(3):
            moved = np.where(group == g, cluster, model.labels_)
            if broken(pairs, moved) == 0:
                gain = apart[np.arange(60), model.labels_].sum() - apart[np.arange(60), moved].sum()
                assert gain <= 1e-6


def test_what_cannot_be_is_refused() -> None:
    four = Pairs.from_arrays([(5, 6), (5, 7), (5, 8), (6, 7), (6, 8), (7, 8)], [0] * 6)
    with pytest.raises(InputError, match="No assignment to 3 clusters keeps all answers about items 5, 6, 7, 8 and"):
        COPKMeans(3).fit(X, pairs=four)
    assert broken(four, COPKMeans(4).fit(X, pairs=four).labels_) == 0
    random = np.random.default_rng(0)
    hidden = random.integers(0, 3, 60)
    hard = Pairs.from_labels(hidden, n=200)
    hard = hard.select(hard.same < 0.5)
    with pytest.raises(InputError, match="was found in 0 dead ends; give more clusters"):
        COPKMeans(3, max_dead_ends=0).fit(X, pairs=hard)
    assert broken(hard, COPKMeans(3).fit(X, pairs=hard).labels_) == 0


def test_contradictions() -> None:
    wrong = Pairs.from_arrays([(0, 1), (1, 2), (0, 2)], [1, 0.9, 0])
    with pytest.raises(InputError, match="0=1, 1=2, but 0!=2"):
        COPKMeans(3).fit(X, pairs=wrong)
    with pytest.warns(UserWarning, match="1 of 3 are left out"):
        labels = COPKMeans(3, contradictions="repair").fit(X, pairs=wrong).labels_
    assert labels[0] == labels[1] != labels[2]


def test_answers_that_need_more_clusters_are_repaired() -> None:
    four = Pairs.from_arrays([(5, 6), (5, 7), (5, 8), (6, 7), (6, 8), (7, 8)], [0, 0, 0, 0, 0, 0.4])
    with pytest.warns(UserWarning, match="do not fit 3 clusters: those about 1 of 6 pairs are left out"):
        labels = COPKMeans(3, contradictions="repair").fit(X, pairs=four).labels_
    assert labels[7] == labels[8]
    assert len(set(labels[5:8])) == 3


@pytest.mark.filterwarnings("ignore:The answers contradict:UserWarning", "ignore:Without contradictions:UserWarning")
@pytest.mark.parametrize("share", [0.3, 1.0])
def test_many_wrong_answers_are_repaired(share: float) -> None:
    random = np.random.default_rng(0)
    left, right = np.triu_indices(60, 1)
    asked = random.random(len(left)) < share
    left, right = left[asked], right[asked]
    said = (y[left] == y[right]) ^ (random.random(len(left)) < 0.1)
    labels = COPKMeans(3, contradictions="repair").fit(X, pairs=Pairs.from_arrays(np.stack([left, right], 1), said))
    assert adjusted_rand_score(y, labels.labels_) > 0.95


def graph(n: int, edges: list[tuple[int, int]]) -> csr_array:
    matrix = np.zeros((n, n))
    for i, j in edges:
        matrix[i, j] = matrix[j, i] = 1
    return csr_array(matrix)


def is_proper(apart: csr_array, labels: NDArray[np.int64]) -> bool:
    i, j = apart.nonzero()
    return bool((labels[i] != labels[j]).all())


def test_it_finds_one_exactly_where_there_is_one() -> None:
    random = np.random.default_rng(0)
    found = []
    for _ in range(100):
        n, k = int(random.integers(2, 7)), int(random.integers(1, 4))
        apart = graph(n, [pair for pair in itertools.combinations(range(n), 2) if random.random() < 0.6])
        found.append(any(is_proper(apart, np.array(labels)) for labels in itertools.product(range(k), repeat=n)))
        if found[-1]:
            assert is_proper(apart, colour(random.random((n, k)), apart, max_dead_ends=10**6)[0])
        else:
            with pytest.raises(NoColouring) as none:
                colour(random.random((n, k)), apart, max_dead_ends=10**6)
            assert none.value.proven
    assert 20 < sum(found) < 80  # both happened


def test_costs_decide_where_links_leave_a_choice() -> None:
    cost = np.array([[0.0, 5.0, 9.0], [0.0, 1.0, 9.0], [7.0, 7.0, 0.0]])
    labels, part = colour(cost, graph(3, [(0, 1)]), max_dead_ends=0)
    assert labels.tolist() == [0, 1, 2]  # the first loses more if it has to give way
    assert part.tolist() == [0, 0, 1]


def test_it_backs_out_of_a_dead_end() -> None:
    """The wheel of 6: nearest first without a way back leaves the hub without a colour, yet three are enough."""
    rim = [(i, (i + 1) % 6) for i in range(6)]
    apart = graph(7, rim + [(6, i) for i in range(6)])
    cost = np.zeros((7, 3))
    cost[np.arange(6), [0, 1, 2, 0, 1, 2]] = -1.0
    assert is_proper(apart, colour(cost, apart, max_dead_ends=100)[0])


def test_one_too_many_all_different_is_proven_at_once() -> None:
    clique = graph(21, list(itertools.combinations(range(21), 2)))
    with pytest.raises(NoColouring) as error:
        colour(np.random.default_rng(0).random((21, 20)), clique, max_dead_ends=1000)
    assert error.value.proven
    assert sorted(error.value.groups) == list(range(21))


def planted(n: int, k: int, share: float) -> tuple[csr_array, NDArray[np.float64]]:
    """A graph that has a colouring, with costs that say nothing about it."""
    random = np.random.default_rng(1)
    hidden = random.integers(0, k, n)
    edges = [
        (i, j) for i, j in itertools.combinations(range(n), 2) if hidden[i] != hidden[j] and random.random() < share
    ]
    return graph(n, edges), random.random((n, k))


def test_after_too_many_dead_ends_moves_find_it() -> None:
    apart, cost = planted(100, 4, 0.1)
    assert is_proper(apart, colour(cost, apart, max_dead_ends=3000)[0])
    with pytest.raises(NoColouring) as error:
        colour(cost, apart, max_dead_ends=1)
    assert not error.value.proven

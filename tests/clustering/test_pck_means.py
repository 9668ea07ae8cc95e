"""Moves of single items: the costs stay true, and nothing is left to gain.

PCK-means: its objective from loops, its fixed point, and cases with a known answer.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from likewise import InputError, Pairs
from likewise.clustering import KMeans, PCKMeans, read_constraints
from likewise.clustering.pck_means import Neighbourhoods, means, neighbourhoods, reassign, starts


@pytest.mark.parametrize("seed", range(5))
def test_costs_stay_true_and_no_move_is_left(seed: int) -> None:
    random = np.random.default_rng(seed)
    base = random.normal(size=(30, 4))
    link = np.triu(random.normal(size=(30, 30)) * (random.random((30, 30)) < 0.2), 1)
    links = csr_array(link + link.T)
    start = random.integers(0, 4, 30)
    cost = base - links @ np.eye(4)[start]
    labels = reassign(cost, start, links, lambda h, j, entries: links.data[entries])
    np.testing.assert_allclose(cost, base - links @ np.eye(4)[labels], atol=1e-12)
    assert (cost[np.arange(30), labels] <= cost.min(axis=1) + 1e-8).all()


def test_items_without_links_go_where_they_cost_least() -> None:
    cost = np.array([[3.0, 1.0], [0.0, 2.0], [5.0, 4.0]])
    labels = reassign(cost, np.array([0, 1, 0]), csr_array((3, 3)), lambda h, j, entries: np.empty(0))
    assert labels.tolist() == [1, 0, 1]


def test_a_gain_that_another_move_has_taken_away_is_left_alone() -> None:
    links = csr_array(np.array([[0.0, -2.0], [-2.0, 0.0]]))  # two that repel each other, both in the dearer cluster
    cost = np.array([[0.0, -1.0], [0.0, -0.9]]) - links @ np.eye(2)[[0, 0]]
    labels = reassign(cost, np.array([0, 0]), links, lambda h, j, entries: links.data[entries])
    assert labels.tolist() == [1, 0]


def test_means_and_a_cluster_without_items() -> None:
    items = np.array([[0.0, 0.0], [2.0, 4.0], [5.0, 5.0]])
    found = means(items, np.array([0, 0, 2]), np.full((3, 2), 9.0))
    assert found.tolist() == [[1.0, 2.0], [9.0, 9.0], [5.0, 5.0]]


def test_a_block_moves_where_none_of_its_items_would() -> None:
    base = np.array([[1.0, 0.0], [1.0, 0.0], [1.0, 0.0], [0.0, 5.0]])  # three that would do better together elsewhere
    links = csr_array(np.array([[0.0, 9, 9, 0], [9, 0, 9, 0], [9, 9, 0, 0], [0, 0, 0, 0]]))
    ends = np.array([[0, 1], [0, 2], [1, 2]])
    together = Neighbourhoods(np.array([0, 0, 0, 1]), ends, np.full((3, 2), 9.0))

    def settled(known: Neighbourhoods | None) -> list[int]:
        cost = base - links @ np.eye(2)[[0, 0, 0, 0]]
        labels = reassign(cost, np.zeros(4, dtype=np.int64), links, lambda h, j, entries: links.data[entries], known)
        np.testing.assert_allclose(cost, base - links @ np.eye(2)[labels], atol=1e-12)
        return [int(label) for label in labels]

    assert settled(None) == [0, 0, 0, 0]
    assert settled(together) == [1, 1, 1, 0]


@pytest.mark.parametrize("seed", range(5))
def test_the_change_of_a_block_is_that_of_the_objective(seed: int) -> None:
    """Pulls that differ between clusters: no move of a block that is left lowers J, from loops."""
    random = np.random.default_rng(seed)
    n, K = 18, 3
    base, pulls = random.normal(size=(n, K)), random.normal(size=(K, n, n)) * 0.4
    pulls = np.triu(pulls, 1) + np.triu(pulls, 1).transpose(0, 2, 1)
    links = csr_array(np.ones((n, n)) - np.eye(n))
    group = np.arange(n) // 3
    ends = np.array([(i, j) for i in range(n) for j in range(i + 1, n) if group[i] == group[j]])
    inside = np.stack([pulls[h][ends[:, 0], ends[:, 1]] for h in range(K)], axis=1)

    def J(labels: np.ndarray) -> float:
        together = [(i, j) for i in range(n) for j in range(i + 1, n) if labels[i] == labels[j]]
        return float(base[np.arange(n), labels].sum() - sum(pulls[labels[i], i, j] for i, j in together))

    start = random.integers(0, K, n)
    cost = base - np.stack([pulls[h][:, start == h].sum(axis=1) for h in range(K)], axis=1)
    near = [np.delete(np.arange(n), j) for j in range(n)]
    labels = reassign(
        cost, start, links, lambda h, j, entries: pulls[h][near[j], j], Neighbourhoods(group, ends, inside)
    )
    least = J(labels)
    assert least < J(start)
    for g in range(6):
        for a in range(K):
            for h in range(K):
                assert J(np.where((group == g) & (labels == a), h, labels)) >= least - 1e-9


ITEMS = np.array([[0.0], [1.0], [10.0], [11.0], [30.0], [31.0], [32.0], [100.0]])


def test_the_largest_neighbourhood_and_then_the_far() -> None:
    given = read_constraints(Pairs.from_links([(0, 1), (2, 3), (4, 5), (5, 6)], []), 8)
    labels, centres = next(starts(ITEMS, given.component, 2, 1, np.random.RandomState(0)))
    assert centres.ravel().tolist() == [31.0, 0.5]  # three items first; of the pairs that which is farther
    assert labels.tolist() == [1, 1, 1, 1, 0, 0, 0, 0]


def test_items_of_a_chosen_neighbourhood_begin_in_it_wherever_they_are() -> None:
    given = read_constraints(Pairs.from_links([(0, 7), (2, 3)], []), 8)
    labels, _ = next(starts(ITEMS, given.component, 2, 1, np.random.RandomState(0)))
    assert labels[0] == labels[7]
    assert labels[2] == labels[3] != labels[0]


def test_the_rest_is_drawn_far_from_the_chosen() -> None:
    given = read_constraints(Pairs.from_links([(0, 1)], []), 8)
    drawn = [next(starts(ITEMS, given.component, 2, 1, np.random.RandomState(seed)))[1] for seed in range(40)]
    assert {float(centres[0, 0]) for centres in drawn} == {0.5}
    assert sum(centres[1, 0] == 100 for centres in drawn) > 20  # its share of the squared distances is about 0.74
    assert any(centres[1, 0] != 100 for centres in drawn)


def test_the_later_starts_look_at_distances_alone() -> None:
    given = read_constraints(Pairs.from_links([(0, 7), (2, 3)], []), 8)
    first, *later = starts(ITEMS, given.component, 3, 4, np.random.RandomState(0))
    assert len(later) == 3
    assert first[0][0] == first[0][7]
    for labels, centres in later:
        apart = (ITEMS - centres.ravel()) ** 2
        np.testing.assert_array_equal(apart[np.arange(8), labels], apart.min(axis=1))
        assert set(centres.ravel()) <= set(ITEMS.ravel())


def test_as_many_centres_as_clusters_even_where_all_items_are_one() -> None:
    labels, centres = next(starts(np.zeros((5, 2)), np.arange(5), 3, 1, np.random.RandomState(0)))
    assert centres.shape == (3, 2)
    assert labels.tolist() == [0] * 5


def test_one_wrong_answer_does_not_join_two_neighbourhoods() -> None:
    truth = np.repeat([0, 1], 5)
    right = Pairs.from_labels(truth)
    assert adjusted_rand_score(truth, neighbourhoods(read_constraints(right, 10))) == 1
    i, j = np.append(right.left, 0), np.append(right.right, 9)
    wrong = Pairs.from_arrays(np.stack([i, j], 1), np.append(right.same, 1.0), weight=np.append(right.weight, 3.0))
    given = read_constraints(wrong, 10)
    assert len(set(given.component.tolist())) == 1
    assert adjusted_rand_score(truth, neighbourhoods(given)) == 1


X, y = make_blobs(60, centers=3, cluster_std=3.0, random_state=0)
PAIRS = Pairs.from_labels(y, n=120)


def objective(model: PCKMeans, pairs: Pairs, labels: NDArray[np.int64]) -> float:
    """J with the model's centres, in a loop over items and a loop over answers."""
    unit = np.mean([((x - X.mean(0)) ** 2).sum() for x in X])
    total = sum(((x - model.cluster_centers_[label]) ** 2).sum() / unit / 2 for x, label in zip(X, labels, strict=True))
    for i, j, same, weight in zip(pairs.left, pairs.right, pairs.same, pairs.weight, strict=True):
        total += model.weight * weight * abs(2 * same - 1) * ((labels[i] == labels[j]) != (same > 0.5))
    return float(total)


@pytest.mark.parametrize("weight", [0.0, 0.1, 1.0, 30.0])
def test_the_objective_falls_to_what_the_equation_says(weight: float) -> None:
    model = PCKMeans(3, weight=weight).fit(X, pairs=PAIRS)
    assert model.objective_[-1] == pytest.approx(objective(model, PAIRS, model.labels_))
    assert (np.diff(model.objective_) <= 1e-9).all()
    assert model.n_iter_ == len(model.objective_)


def test_no_single_move_gains_and_centres_are_means() -> None:
    random = np.random.default_rng(0)
    noisy = Pairs.from_arrays(random.integers(0, 60, (200, 2)), random.random(200), weight=random.random(200))
    model = PCKMeans(3, weight=0.5).fit(X, pairs=noisy)
    least = objective(model, noisy, model.labels_)
    for item in range(60):
        for cluster in range(3):
            moved = model.labels_.copy()
            moved[item] = cluster
            assert objective(model, noisy, moved) >= least - 1e-9
    for cluster in range(3):
        np.testing.assert_allclose(model.cluster_centers_[cluster], X[model.labels_ == cluster].mean(0))


def test_without_weight_it_is_k_means() -> None:
    far, truth = make_blobs(60, centers=[(0, 0), (20, 0), (0, 20)], random_state=0)
    pairs = Pairs.from_labels(truth, n=60)
    ours, theirs = PCKMeans(3, weight=0.0).fit(far, pairs=pairs), KMeans(3).fit(far)
    assert adjusted_rand_score(ours.labels_, theirs.labels_) == 1
    new = np.random.default_rng(0).normal(size=(40, 2)) * 15
    assert adjusted_rand_score(ours.predict(new), theirs.predict(new)) == 1


def test_enough_weight_keeps_every_answer() -> None:
    crossed = np.random.default_rng(1).integers(0, 3, 60)  # nothing to do with the distances
    pairs = Pairs.from_labels(crossed)
    assert adjusted_rand_score(crossed, PCKMeans(3, weight=10.0).fit(X, pairs=pairs).labels_) == 1


def test_scale_and_order_do_not_matter() -> None:
    labels = PCKMeans(3).fit(X, pairs=PAIRS).labels_
    np.testing.assert_array_equal(PCKMeans(3).fit(1000 * X - 70, pairs=PAIRS).labels_, labels)
    order = np.random.default_rng(0).permutation(60)
    place = np.argsort(order)
    shuffled = Pairs.from_arrays(np.stack([place[PAIRS.left], place[PAIRS.right]], 1), PAIRS.same)
    assert adjusted_rand_score(PCKMeans(3).fit(X[order], pairs=shuffled).labels_, labels[order]) == 1


def test_contradictions() -> None:
    wrong = Pairs.from_arrays([(0, 1), (1, 2), (0, 2)], [1, 1, 0])
    assert PCKMeans(3).fit(X, pairs=wrong).labels_.shape == (60,)
    with pytest.raises(InputError, match="contradict"):
        PCKMeans(3, contradictions="refuse").fit(X, pairs=wrong)
    with pytest.warns(UserWarning, match="1 of 3"):
        PCKMeans(3, contradictions="repair").fit(X, pairs=wrong)

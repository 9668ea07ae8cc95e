"""SKMS and SKKm: groups that the items do not show, but answers do."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from likewise import Pairs
from likewise.clustering import SKMS, Constraints, SKKm, read_constraints
from likewise.clustering.distances import all_distances, gaussian
from likewise.clustering.skms import FAR, NEAR, WIDTHS, best_width, learn_kernel, reaches, shift_to_modes, usual_place

blob = np.repeat(np.arange(6), 10)
y = blob % 3  # a class is two blobs that are not neighbours
places = np.array([[0, 0], [5, 0], [10, 0], [10, 5], [0, 5], [5, 5]])
X = places[blob] + np.random.default_rng(1).normal(0, 0.6, (60, 2))
pairs = Pairs.from_labels(y, n=400, random_state=1)


def test_what_answers_say_is_found() -> None:
    assert adjusted_rand_score(y, SKKm(n_clusters=3).fit(X).labels_) < 0.5
    found = SKKm(n_clusters=3).fit(X, pairs=pairs)
    assert adjusted_rand_score(y, found.labels_) == 1


def test_the_number_of_clusters_is_found() -> None:
    assert SKMS().fit(X).n_clusters_ == 6
    found = SKMS(energy=1.0).fit(X, pairs=Pairs.from_labels(y))  # with less, a class may keep two modes
    assert found.n_clusters_ == 3
    assert adjusted_rand_score(y, found.labels_) == 1


def test_the_number_that_was_asked_for_is_not_used() -> None:
    np.testing.assert_array_equal(SKMS(n_clusters=9).fit(X, pairs=pairs).labels_, SKMS().fit(X, pairs=pairs).labels_)


def test_inertia_is_that_of_the_labels() -> None:
    found = SKKm(n_clusters=3).fit(X, pairs=pairs)
    groups = [found.features_[found.labels_ == k] for k in range(3)]
    assert found.inertia_ == pytest.approx(sum(((group - group.mean(0)) ** 2).sum() for group in groups))


def test_the_usual_place_of_a_partner() -> None:
    squared = all_distances(X)
    given = read_constraints(pairs, 60)
    signed = given.signed.toarray()
    place = {(i, j): int((squared[i] < squared[i, j]).sum()) for i, j in zip(*signed.nonzero(), strict=True)}
    credit = [sum(signed[pair] for pair, at in place.items() if at <= most) for most in range(60)]
    most = max(range(60), key=lambda at: (credit[at], at))
    places = [at for pair, at in place.items() if signed[pair] > 0 and at <= most]
    assert usual_place(squared, given) == round(float(np.median(places)))
    must = [at for pair, at in place.items() if signed[pair] > 0]
    alone = read_constraints(pairs.select(pairs.same > 0.5), 60)  # nothing speaks against any of them
    assert usual_place(squared, alone) == round(float(np.median(must))) > usual_place(squared, given)


def test_must_links_that_are_mostly_wrong_do_not_join_all() -> None:
    random = np.random.default_rng(0)
    classes = np.repeat(np.arange(20), 8)
    left, right = np.triu_indices(160, 1)
    same = classes[left] == classes[right]
    said = np.where(same, random.random(len(left)) > 0.1, random.random(len(left)) < 0.06)
    assert (said & ~same).sum() > (said & same).sum()
    items = random.normal(size=(20, 30))[classes] + random.normal(size=(160, 30))
    found = SKMS().fit(items, pairs=Pairs.from_arrays(np.stack([left, right], 1), said))
    assert adjusted_rand_score(classes, found.labels_) > 0.8


def test_the_order_of_items_does_not_matter() -> None:
    order = np.random.default_rng(5).permutation(60)
    place = np.argsort(order)
    moved = Pairs.from_arrays(np.stack([place[pairs.left], place[pairs.right]], 1), pairs.same)
    ours, theirs = SKMS().fit(X, pairs=pairs), SKMS().fit(X[order], pairs=moved)
    assert adjusted_rand_score(ours.labels_[order], theirs.labels_) == 1


Array = NDArray[np.float64]

POINTS, classes = make_blobs(90, centers=3, cluster_std=0.5, random_state=4)


def density(place: Array, items: Array, reach: Array) -> float:
    total = 0.0
    for item, h in zip(items, reach, strict=True):
        u = ((place - item) ** 2).sum() / h**2
        total += np.exp(-u / 2) - np.exp(-0.5) if u < 1 else 0.0
    return total


def shifted(place: Array, items: Array, reach: Array) -> Array:
    above, below = np.zeros(items.shape[1]), 0.0
    for item, h in zip(items, reach, strict=True):
        u = ((place - item) ** 2).sum() / h**2
        if u <= 1 + 1e-9:
            above, below = above + np.exp(-u / 2) / h**2 * item, below + np.exp(-u / 2) / h**2
    return above / below


def test_a_step() -> None:
    reach = reaches(all_distances(POINTS), 10)
    places = shift_to_modes(POINTS, reach, merge=0.1, max_iter=1).places
    np.testing.assert_allclose(places, [shifted(x, POINTS, reach) for x in POINTS])


def test_the_density_never_falls() -> None:
    reach = reaches(all_distances(POINTS), 10)
    heights = np.array(
        [
            [density(place, POINTS, reach) for place in shift_to_modes(POINTS, reach, merge=0.1, max_iter=steps).places]
            for steps in (1, 2, 3, 5, 300)
        ]
    )
    assert (np.diff(heights, axis=0) >= -1e-9).all()
    assert (heights[-1] > heights[0] + 0.1).any()


def test_it_ends_where_it_would_stay() -> None:
    reach = reaches(all_distances(POINTS), 10)
    places = shift_to_modes(POINTS, reach, merge=0.1, tolerance=1e-8, max_iter=5000).places
    np.testing.assert_allclose(places, [shifted(place, POINTS, reach) for place in places], atol=1e-6)


def test_groups_are_found_and_counted() -> None:
    labels = shift_to_modes(POINTS, reaches(all_distances(POINTS), 25), merge=0.1).labels
    assert adjusted_rand_score(classes, labels) == 1


@pytest.mark.parametrize("move", [np.array([1000.0, -500.0])])
def test_a_shift_of_the_items_is_not_seen(move: Array) -> None:
    reach = reaches(all_distances(POINTS), 15)
    np.testing.assert_array_equal(
        shift_to_modes(POINTS, reach, merge=0.1).labels,
        shift_to_modes(POINTS + move, reach, merge=0.1).labels,
    )


def test_the_reach_is_the_distance_to_a_neighbour() -> None:
    squared = all_distances(POINTS)
    np.testing.assert_allclose(reaches(squared, 4), [np.sqrt(sorted(row)[4]) for row in squared])
    assert reaches(all_distances(np.array([[0.0], [0.0], [3.0]])), 1).tolist() == [
        3.0,
        3.0,
        3.0,
    ]  # as no other is above 0


def projected(kernel: Array, given: Constraints, near: float, far: float, gamma: float) -> Array:
    """Anand et al., algorithm 1: K changes by a matrix of rank 1 for each pair, until nothing changes."""
    pairs = [(*pair, 1.0, near, w) for pair, w in zip(given.must_link, given.must_weight, strict=True)]
    pairs += [(*pair, -1.0, far, w) for pair, w in zip(given.cannot_link, given.cannot_weight, strict=True)]
    K, multiplier, xi = kernel.copy(), np.zeros(len(pairs)), np.array([pair[3] for pair in pairs])
    for _ in range(5000):
        largest = 0.0
        for p, (i, j, sign, _, weight) in enumerate(pairs):
            distance = K[i, i] + K[j, j] - 2 * K[i, j]
            pays = gamma * weight
            step = min(multiplier[p], sign * pays / (pays + 1) * (1 / distance - 1 / xi[p]))
            multiplier[p] -= step
            xi[p] = 1 / (1 / xi[p] + sign * step / pays)
            column = K[:, i] - K[:, j]
            K += sign * step / (1 - sign * step * distance) * np.outer(column, column)
            largest = max(largest, abs(step) * distance)
        if largest < 1e-10:
            return K
    raise AssertionError("the projections did not converge")


@pytest.mark.parametrize("gamma", [0.5, 2.0])
def test_the_limit_of_the_projections(gamma: float) -> None:
    random = np.random.default_rng(3)
    items = random.normal(size=(9, 4))
    index = random.integers(0, 9, (14, 2))
    given = read_constraints(Pairs.from_arrays(index, random.integers(0, 2, 14), random.uniform(0.5, 2, 14)), 9)
    learned = learn_kernel(items, given, gamma, energy=1.0, tol=1e-6)
    start = gaussian(all_distances(items), learned.width)
    expected = projected(start, given, learned.near, learned.far, gamma)
    np.testing.assert_allclose(learned.features @ learned.features.T, expected, atol=1e-4)
    assert np.abs(expected - start).max() > 0.1


def test_the_width_of_the_least_divergence() -> None:
    items = np.random.default_rng(1).normal(size=(20, 2))
    given = read_constraints(Pairs.from_links([(0, 1), (2, 3)], [(4, 5), (6, 7)]), 20)
    squared = all_distances(items)
    median = np.median(squared[np.triu_indices(20, 1)])

    def cost(width: float) -> float:
        total = 0.0
        for (i, j), bound in [((0, 1), NEAR), ((2, 3), NEAR), ((4, 5), FAR), ((6, 7), FAR)]:
            ratio = (2 - 2 * np.exp(-((items[i] - items[j]) ** 2).sum() / width)) / bound
            total += ratio - np.log(ratio) - 1
        return total

    assert best_width(squared, given) == pytest.approx(min((m * median for m in WIDTHS), key=cost))


def test_bounds_are_percentiles_or_what_is_nearer_to_the_ends() -> None:
    items = np.random.default_rng(2).normal(size=(50, 1))
    learned = learn_kernel(items, read_constraints(None, 50))
    distances = 2 - 2 * gaussian(all_distances(items), learned.width)[np.triu_indices(50, 1)]
    assert learned.near == min(np.percentile(distances, 1), 0.05)
    assert learned.far == max(np.percentile(distances, 99), 1.95)


def test_no_pairs_leave_the_gaussian_kernel() -> None:
    items = np.random.default_rng(4).normal(size=(10, 2))
    learned = learn_kernel(items, read_constraints(None, 10), energy=1.0)
    expected = gaussian(all_distances(items), learned.width)
    np.testing.assert_allclose(learned.features @ learned.features.T, expected, atol=1e-8)


def test_scale_and_rotation_are_not_seen() -> None:
    random = np.random.default_rng(5)
    items, turn = random.normal(size=(10, 3)), np.linalg.qr(random.normal(size=(3, 3)))[0]
    given = read_constraints(Pairs.from_links([(0, 1), (2, 3)], [(0, 2), (4, 5)]), 10)
    kernels = [
        learned.features @ learned.features.T
        for learned in (
            learn_kernel(items, given, energy=1.0, tol=1e-6),
            learn_kernel(1000 * items @ turn + 3, given, energy=1.0, tol=1e-6),
        )
    ]
    np.testing.assert_allclose(kernels[0], kernels[1], atol=2e-3)


def test_items_at_one_place_that_should_be_apart() -> None:
    items = np.array([[0.0], [0.0], [1.0], [2.0]])
    given = read_constraints(Pairs.from_links([(2, 3)], [(0, 1)]), 4)
    features = learn_kernel(items, given).features
    assert np.isfinite(features).all()
    np.testing.assert_allclose(features[0], features[1])

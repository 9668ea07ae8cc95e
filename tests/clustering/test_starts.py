"""Neighbourhoods, and the centres that are made of them."""

from __future__ import annotations

import numpy as np
from sklearn.metrics import adjusted_rand_score

from likewise import Pairs
from likewise.clustering import read_constraints
from likewise.clustering.starts import neighbourhoods, starts

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
